"""Reports for people: public facts for everyone, and exact losses for those who may read them."""

from trasgo_lib.reporting.facts import DrawOutcome, ReleaseFacts, RoundRecord, UnitOutcome, unit_outcomes
from trasgo_lib.reporting.public import render_report
from trasgo_lib.reporting.restricted import RestrictedFacts, RoundFacts, render_restricted_report

__all__ = [
    "DrawOutcome",
    "ReleaseFacts",
    "RestrictedFacts",
    "RoundFacts",
    "RoundRecord",
    "UnitOutcome",
    "render_report",
    "render_restricted_report",
    "unit_outcomes",
]
