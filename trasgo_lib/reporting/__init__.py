"""Reports for people: public facts for everyone, and exact losses for those who may read them."""

from trasgo_lib.reporting.facts import ReleaseFacts, RoundRecord, UnitOutcome, unit_outcomes
from trasgo_lib.reporting.howto import howto_analyse
from trasgo_lib.reporting.public import render_report
from trasgo_lib.reporting.restricted import RestrictedFacts, RoundFacts, render_restricted_report

__all__ = [
    "ReleaseFacts",
    "RestrictedFacts",
    "RoundFacts",
    "RoundRecord",
    "UnitOutcome",
    "howto_analyse",
    "render_report",
    "render_restricted_report",
    "unit_outcomes",
]
