"""What is judged of a statistics plan once the number of rows is known, which is public: before anything is charged."""

from __future__ import annotations

from fractions import Fraction

from trasgo_lib.budget import DeclaredPlanEvent
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.statistics.model import QueryPlan, StatisticsPlan
from trasgo_lib.statistics.sensitivity import range_of

_BELOW = 2**62
"""Sums are 62-bit numbers."""


def require_row_count(plan: StatisticsPlan, rows: int) -> None:
    """Refuse queries that this many rows do not allow.

    Whether a sum fits must not depend on the values: a run that ends for some values and not for others tells of them.

    Args:
        plan: the compiled plan.
        rows: of the source; public.

    Raises:
        ConfigError: a delta is not below one in the number of rows, or a sum of so many rows might not fit; all faults
            at once.
    """
    found = []
    for query in plan.queries:
        delta = query.cost.delta
        if delta.fraction * rows >= 1:
            required = f"a delta below 1/{rows}, for the {rows} rows of the source"
            found.append(_fault(query, required, delta.text, "Correct `rows`, and use a delta far below one in it."))
        if _largest(query) * rows >= _BELOW:
            required = f"sums of {rows} rows that fit 62 bits, whatever the values are"
            found.append(_fault(query, required, "values of too many steps", "Declare a coarser step."))
    for charge in plan.charges:
        event = charge.event
        if isinstance(event, DeclaredPlanEvent) and event.delta.fraction * rows >= 1:
            required, fix = (
                f"a delta below 1/{rows}, for the {rows} rows of the source",
                "Correct `rows` and the delta.",
            )
            found.append(Fault(Reason.BAD_PARAMETER, "composition", required, event.delta.text, fix))
    if found:
        raise ConfigError(*found)


def _largest(query: QueryPlan) -> int:
    """How much one row can add to a sum or a score."""
    if query.options is not None:
        return Fraction(query.options.probability or 1).denominator
    if query.frame is None:
        return 1
    ends = [end for part in query.parts for end in range_of(query.frame, part.measure)]
    return max(abs(end) for end in ends)


def _fault(query: QueryPlan, required: str, came: str, fix: str) -> Fault:
    return Fault(Reason.BAD_PARAMETER, f"query {query.name}", required, came, fix)
