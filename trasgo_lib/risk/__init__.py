"""Descriptive audits of a release: anonymity measures and attacks. They decide nothing and change no epsilon."""

from trasgo_lib.risk.audit import RiskAudit, VersionRisk, audit_risk
from trasgo_lib.risk.classes import Classes, count_classes
from trasgo_lib.risk.columns import PublicReaders, Reader, Readers, RiskColumn, risk_columns
from trasgo_lib.risk.inference import Inference
from trasgo_lib.risk.linkage import Attack, Linkage, informed_bound, link_records, target_only_bound
from trasgo_lib.risk.measures import (
    ClassSizes,
    SensitiveMeasures,
    SizeBracket,
    class_sizes,
    sensitive_measures,
)

__all__ = [
    "Attack",
    "ClassSizes",
    "Classes",
    "Inference",
    "Linkage",
    "PublicReaders",
    "Reader",
    "Readers",
    "RiskAudit",
    "RiskColumn",
    "SensitiveMeasures",
    "SizeBracket",
    "VersionRisk",
    "audit_risk",
    "class_sizes",
    "count_classes",
    "informed_bound",
    "link_records",
    "risk_columns",
    "sensitive_measures",
    "target_only_bound",
]
