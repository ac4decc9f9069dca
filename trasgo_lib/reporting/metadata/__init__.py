"""The release described in the forms that archives, catalogues, tools and supervisors read: one file a standard.

Pure functions from the run's public facts, the columns and the staged files to documents. Bytes depend on nothing else,
so a package that is written again is the same.
"""

from trasgo_lib.reporting.metadata.answers import answers_codebook, answers_csvw, answers_data_package
from trasgo_lib.reporting.metadata.cells import (
    CellsDescription,
    cells_codebook,
    cells_csvw,
    cells_data_package,
    cells_resources,
    cells_sections,
    cells_tables,
)
from trasgo_lib.reporting.metadata.central import CentralDescription
from trasgo_lib.reporting.metadata.central_deployment import central_deployment
from trasgo_lib.reporting.metadata.code_lists import code_list
from trasgo_lib.reporting.metadata.codebook import CODEBOOK, codebook
from trasgo_lib.reporting.metadata.csvw import CSVW, column_name, csvw_document
from trasgo_lib.reporting.metadata.data_package import DATA_PACKAGE, data_package_document
from trasgo_lib.reporting.metadata.dcat import DCAT, dcat_document
from trasgo_lib.reporting.metadata.ddi import DDI, NAMESPACE, ddi_document
from trasgo_lib.reporting.metadata.deployment import (
    DP_STATEMENT,
    DP_STATEMENT_TEXT,
    deployment_document,
    deployment_text,
)
from trasgo_lib.reporting.metadata.description import Description, PublishedFile
from trasgo_lib.reporting.metadata.impact_assessment import IMPACT_ASSESSMENT, impact_assessment
from trasgo_lib.reporting.metadata.models import model_codebook, model_data_package
from trasgo_lib.reporting.metadata.processing_record import PROCESSING_RECORD, processing_record
from trasgo_lib.reporting.metadata.variables import Code, Noise, Variable, variables

__all__ = [
    "CODEBOOK",
    "CSVW",
    "DATA_PACKAGE",
    "DCAT",
    "DDI",
    "DP_STATEMENT",
    "DP_STATEMENT_TEXT",
    "IMPACT_ASSESSMENT",
    "NAMESPACE",
    "PROCESSING_RECORD",
    "CellsDescription",
    "CentralDescription",
    "Code",
    "Description",
    "Noise",
    "PublishedFile",
    "Variable",
    "answers_codebook",
    "answers_csvw",
    "answers_data_package",
    "cells_codebook",
    "cells_csvw",
    "cells_data_package",
    "cells_resources",
    "cells_sections",
    "cells_tables",
    "central_deployment",
    "code_list",
    "codebook",
    "column_name",
    "csvw_document",
    "data_package_document",
    "dcat_document",
    "ddi_document",
    "deployment_document",
    "deployment_text",
    "impact_assessment",
    "model_codebook",
    "model_data_package",
    "processing_record",
    "variables",
]
