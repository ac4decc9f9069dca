"""The metadata of a package: every standard's file is written from the run, and listed like every other file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow.parquet as pq

from trasgo_lib.release import documents
from trasgo_lib.release.manifest import StagedFile
from trasgo_lib.reporting import ReleaseFacts, metadata

Write = Callable[[str, bytes], StagedFile]
"""Stages the content of one file of the package, by key."""


def standard_files(facts: ReleaseFacts, data: Sequence[StagedFile], write: Write) -> Iterator[StagedFile]:
    """Write the metadata files of a package, code lists first.

    Args:
        facts: what the run states about itself.
        data: the staged data files; the Parquet file is among them, and only its schema is read.
        write: stages one file.

    Raises:
        VerificationError: a document that does not satisfy its schema.
    """
    parquet = next(file for file in data if file.key.endswith(".parquet"))
    description = metadata.Description(facts, data, pq.read_schema(parquet.path))
    lists = tuple(
        write(variable.code_list, metadata.code_list(variable))
        for variable in description.variables
        if variable.code_list is not None
    )
    yield from lists
    statement = metadata.deployment_document(description)
    yield write(metadata.CODEBOOK, metadata.codebook(description))
    yield write(metadata.DDI, metadata.ddi_document(description))
    table = metadata.csvw_document(description)
    if table is not None:
        yield write(metadata.CSVW, documents.dump(table, "csvw"))
    package = metadata.data_package_document(description, lists)
    yield write(metadata.DATA_PACKAGE, documents.dump(package, "datapackage"))
    yield write(metadata.DCAT, documents.dump(metadata.dcat_document(description), "dcat"))
    yield write(metadata.DP_STATEMENT, documents.dump(statement, "dp_statement"))
    yield write(metadata.DP_STATEMENT_TEXT, metadata.deployment_text(statement))
