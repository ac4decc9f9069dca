"""Output expectations over the batches that will be published, and the probe of every channel.

The only importer of great_expectations, and only inside functions: importing this room does not load it.
"""

from trasgo_lib.checks.batches import check_batches
from trasgo_lib.checks.data_docs import DATA_DOCS, data_docs
from trasgo_lib.checks.equality import csv_equals_parquet, parquet_equals_parquet, read_csv_batches
from trasgo_lib.checks.expected import (
    ExpectedColumn,
    ExpectedTable,
    PublishedPart,
    domain_types,
    expected_table,
    expected_unit,
    published_parts,
)
from trasgo_lib.checks.grids import Grid, grid_of, published_labels
from trasgo_lib.checks.probe import FALSE_ALARM, LEAST_ROWS, judge_probe, probe_rows
from trasgo_lib.checks.report import CheckReport, CheckResult

__all__ = [
    "DATA_DOCS",
    "FALSE_ALARM",
    "LEAST_ROWS",
    "CheckReport",
    "CheckResult",
    "ExpectedColumn",
    "ExpectedTable",
    "Grid",
    "PublishedPart",
    "check_batches",
    "csv_equals_parquet",
    "data_docs",
    "domain_types",
    "expected_table",
    "expected_unit",
    "grid_of",
    "judge_probe",
    "parquet_equals_parquet",
    "probe_rows",
    "published_labels",
    "published_parts",
    "read_csv_batches",
]
