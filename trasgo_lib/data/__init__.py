"""Declared domains, batches of codes, readers: everything between a source file and private codes.

Importing this package loads neither pyproj nor h3: the domains on the map load them when they are first needed.
"""

from trasgo_lib.data.batches import (
    BatchRef,
    PrivateCodes,
    PrivateTable,
    PublicValues,
    ReleasedCodes,
    ReleasedTable,
)
from trasgo_lib.data.bins import EqualBins
from trasgo_lib.data.box_domain import BoxDomain
from trasgo_lib.data.category_domain import CategoryDomain
from trasgo_lib.data.cells_domain import CellsDomain
from trasgo_lib.data.date_domain import DateDomain
from trasgo_lib.data.dates import DateFormat
from trasgo_lib.data.describe import domain_from_description
from trasgo_lib.data.disk import require_room
from trasgo_lib.data.domain import Codes, Domain, Outside
from trasgo_lib.data.ingest import read_source, unit_hash_names, validate_source
from trasgo_lib.data.input_report import ColumnCounts, InputReport, UnitCounts, refused_report
from trasgo_lib.data.number_domain import NumberDomain
from trasgo_lib.data.product_domain import MAX_PRODUCT_CODES, ProductDomain, ProductPart
from trasgo_lib.data.reading import ColumnReading, CsvReading, GroupReading, SourceReading
from trasgo_lib.data.sealed_stage import SealedStage, stage_prefix
from trasgo_lib.data.source_file import source_digest
from trasgo_lib.data.store_codes import (
    CODE_BYTES,
    CodesDigest,
    ValuesDigest,
    codes_digest,
    read_batch,
    read_batches,
    read_codes,
    read_value_batches,
    read_values,
    remove_batches,
    values_digest,
    write_batch,
    write_values,
)

__all__ = [
    "CODE_BYTES",
    "MAX_PRODUCT_CODES",
    "BatchRef",
    "BoxDomain",
    "CategoryDomain",
    "CellsDomain",
    "Codes",
    "CodesDigest",
    "ColumnCounts",
    "ColumnReading",
    "CsvReading",
    "DateDomain",
    "DateFormat",
    "Domain",
    "EqualBins",
    "GroupReading",
    "InputReport",
    "NumberDomain",
    "Outside",
    "PrivateCodes",
    "PrivateTable",
    "ProductDomain",
    "ProductPart",
    "PublicValues",
    "ReleasedCodes",
    "ReleasedTable",
    "SealedStage",
    "SourceReading",
    "UnitCounts",
    "ValuesDigest",
    "codes_digest",
    "domain_from_description",
    "read_batch",
    "read_batches",
    "read_codes",
    "read_source",
    "read_value_batches",
    "read_values",
    "refused_report",
    "remove_batches",
    "require_room",
    "source_digest",
    "stage_prefix",
    "unit_hash_names",
    "validate_source",
    "values_digest",
    "write_batch",
    "write_values",
]
