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
from trasgo_lib.config.document import Document, KeyPath, Mark
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
from trasgo_lib.config.load import LoadedConfig, SoundPart, json_schema, json_schema_text, load_config, load_sound_part
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

__all__ = [
    "ROWS_PER_BATCH",
    "BoxSpec",
    "CategoryColumn",
    "CategorySpec",
    "CellsSpec",
    "Checks",
    "Column",
    "CsvOptions",
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
    "S3Spec",
    "SoundPart",
    "Source",
    "SqliteFile",
    "TargetSpec",
    "UnitColumn",
    "closest",
    "documented_keys",
    "in_file_order",
    "json_schema",
    "json_schema_text",
    "ledger_address",
    "load_config",
    "load_prior",
    "load_sound_part",
    "parse_embargo",
    "prior_here",
]
