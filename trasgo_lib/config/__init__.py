"""The release file: its models, its reader and its JSON Schema."""

from trasgo_lib.config.columns import (
    CategoryColumn,
    Column,
    DateColumn,
    LossName,
    NoisedColumn,
    NumberColumn,
    PlainColumn,
    PointColumn,
    Replace,
    TargetSpec,
)
from trasgo_lib.config.document import Document, KeyPath, Mark, read_document
from trasgo_lib.config.domains import (
    BoxSpec,
    CategorySpec,
    CellsSpec,
    DateSpec,
    GeoSpec,
    HierarchySpec,
    NumberSpec,
    PointSources,
)
from trasgo_lib.config.embargo import Embargo, parse_embargo
from trasgo_lib.config.faults import closest, in_file_order
from trasgo_lib.config.keys import documented_keys
from trasgo_lib.config.ledger import LedgerAddress, PostgresDatabase, SqliteFile, ledger_address
from trasgo_lib.config.load import (
    LoadedConfig,
    SoundPart,
    json_schema,
    json_schema_text,
    load_config,
    load_sound_part,
    read_text,
)
from trasgo_lib.config.load_prior import LoadedPrior, load_prior, prior_here
from trasgo_lib.config.prior import PriorColumn, PriorCorrelation, PriorFile, PriorSpec
from trasgo_lib.config.publishing import ROWS_PER_BATCH, Publish, S3Spec
from trasgo_lib.config.release import (
    Checks,
    CsvOptions,
    GroupSpec,
    Keys,
    LedgerSpec,
    Loop,
    Privacy,
    ReleaseConfig,
    ReleaseInfo,
    Source,
    UnitColumn,
)
from trasgo_lib.config.risk import RiskSpec
from trasgo_lib.config.runner import DaskAddress, DaskSpec, RunnerSpec, dask_address, dask_of
from trasgo_lib.config.salvage import declared_sources, source_as_written
from trasgo_lib.config.shape import UNDECIDED, is_column_name
from trasgo_lib.config.undecided import not_undecided, undecided_faults

__all__ = [
    "ROWS_PER_BATCH",
    "UNDECIDED",
    "BoxSpec",
    "CategoryColumn",
    "CategorySpec",
    "CellsSpec",
    "Checks",
    "Column",
    "CsvOptions",
    "DaskAddress",
    "DaskSpec",
    "DateColumn",
    "DateSpec",
    "Document",
    "Embargo",
    "GeoSpec",
    "GroupSpec",
    "HierarchySpec",
    "KeyPath",
    "Keys",
    "LedgerAddress",
    "LedgerSpec",
    "LoadedConfig",
    "LoadedPrior",
    "Loop",
    "LossName",
    "Mark",
    "NoisedColumn",
    "NumberColumn",
    "NumberSpec",
    "PlainColumn",
    "PointColumn",
    "PointSources",
    "PostgresDatabase",
    "PriorColumn",
    "PriorCorrelation",
    "PriorFile",
    "PriorSpec",
    "Privacy",
    "Publish",
    "ReleaseConfig",
    "ReleaseInfo",
    "Replace",
    "RiskSpec",
    "RunnerSpec",
    "S3Spec",
    "SoundPart",
    "Source",
    "SqliteFile",
    "TargetSpec",
    "UnitColumn",
    "closest",
    "dask_address",
    "dask_of",
    "declared_sources",
    "documented_keys",
    "in_file_order",
    "is_column_name",
    "json_schema",
    "json_schema_text",
    "ledger_address",
    "load_config",
    "load_prior",
    "load_sound_part",
    "not_undecided",
    "parse_embargo",
    "prior_here",
    "read_document",
    "read_text",
    "source_as_written",
    "undecided_faults",
]
