"""Reports for people: public facts for everyone, and exact losses for those who may read them.

The pages are imported from their own modules, ``public_page`` and ``restricted_page``, by those who render them: a
verification loads this room and renders nothing.
"""

from trasgo_lib.reporting.facts import DrawOutcome, ReleaseFacts, RoundRecord, UnitOutcome, unit_outcomes
from trasgo_lib.reporting.public import render_report
from trasgo_lib.reporting.restricted import (
    Annex,
    AnnexTable,
    RestrictedFacts,
    RoundFacts,
    render_restricted_report,
)

__all__ = [
    "Annex",
    "AnnexTable",
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
