"""Reports for people: public facts for everyone, and exact losses for those who may read them.

The pages are imported from their own modules, ``public_page`` and ``restricted_page``, by those who render them: a
verification loads this room and renders nothing.
"""

from trasgo_lib.reporting.facts import DrawOutcome, ReleaseFacts, RoundRecord, UnitOutcome, unit_outcomes
from trasgo_lib.reporting.howto import howto_analyse
from trasgo_lib.reporting.public import render_report
from trasgo_lib.reporting.restricted import RestrictedFacts, RoundFacts, render_restricted_report
from trasgo_lib.reporting.risk import RISK_NOTES, risk_section, risk_tables

__all__ = [
    "RISK_NOTES",
    "DrawOutcome",
    "ReleaseFacts",
    "RestrictedFacts",
    "RoundFacts",
    "RoundRecord",
    "UnitOutcome",
    "howto_analyse",
    "render_report",
    "render_restricted_report",
    "risk_section",
    "risk_tables",
    "unit_outcomes",
]
