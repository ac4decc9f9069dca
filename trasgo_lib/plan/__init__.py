"""Plans: a release file compiled, costed and explained before any data is opened."""

from trasgo_lib.plan.compile import compile_plan, read_plan
from trasgo_lib.plan.digest import canonical_digest
from trasgo_lib.plan.explain import NOT_COVERED, PlanExplanation, RungExplanation, UnitExplanation, explain
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import ColumnPlan, PartPlan, ReleasePlan, Role, Target, UnitPlan
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.plan.reading import source_reading
from trasgo_lib.plan.render import render
from trasgo_lib.plan.rules import check_roots
from trasgo_lib.plan.runner import check_runner, require_ledger_for
from trasgo_lib.plan.source_only import compile_source
from trasgo_lib.plan.totals import worst_case

__all__ = [
    "NOT_COVERED",
    "ColumnPlan",
    "FaultCollector",
    "PartPlan",
    "PlanExplanation",
    "PublicPrior",
    "ReleasePlan",
    "Role",
    "RungExplanation",
    "Target",
    "UnitExplanation",
    "UnitPlan",
    "canonical_digest",
    "check_roots",
    "check_runner",
    "compile_plan",
    "compile_source",
    "explain",
    "read_plan",
    "render",
    "require_ledger_for",
    "source_reading",
    "worst_case",
]
