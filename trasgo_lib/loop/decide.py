"""The loop's decision, a pure function of public plan values and the history.

Plain form, for fresh draws that all add up: every round draws one unit again, the one with the largest loss in terms
of its ceiling, at the next rung of its ladder. Units that meet their targets are not drawn again, so what they leave
of the total is there for the others. No step can pass a total, whatever the history holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost
from trasgo_lib.errors import AmountError, ConfigError, ConflictError, Reason
from trasgo_lib.loop.history import History, RoundEntry
from trasgo_lib.loop.steps import Continue, Shortfall, Stop, StopReason
from trasgo_lib.loop.view import LoopPlan, LoopUnit, cost_of, total_of


def first_step(plan: LoopPlan) -> Continue:
    """Draw every unit at its first rung.

    Raises:
        ConfigError: the first rungs do not fit the totals; compile refuses such a plan.
    """
    return _draw_first(plan, plan.units, Cost.zero())


def next_step(plan: LoopPlan, history: History) -> Continue | Stop:
    """Decide what comes after a round.

    Args:
        plan: public.
        history: everything drawn under this version, interrupted rounds included; under ``loss_from: original`` the
            decision tells something about the raw data, which the statement says.

    Returns:
        ``Continue`` with levels above the units' current ones, whose cost fits what is left of every total; or
        ``Stop``. It ends: levels only rise, and ladders are finite.

    Raises:
        ConflictError: a history of another plan.
        ConfigError: units without a draw whose first rungs do not fit.
    """
    spent = _spent(plan, history)
    latest = history.latest
    undrawn = [unit for unit in plan.units if unit.name not in latest]
    if undrawn:
        return _draw_first(plan, undrawn, spent)
    unmet = [unit for unit in plan.units if not latest[unit.name].met]
    if not unmet:
        return Stop("met")
    if len(history.rounds) >= plan.max_rounds:
        return _stop(plan, "unmet", unmet, latest, spent, f"the limit of {plan.max_rounds} rounds is reached")
    hopeless = [unit for unit in unmet if not latest[unit.name].is_mendable]
    if hopeless and plan.on_unmet == "hold":
        # the version will be held whatever the others reach, so drawing them again would waste the account
        names = ", ".join(unit.name for unit in hopeless)
        return _stop(plan, "unmet", unmet, latest, spent, f"not raised, since no level can meet the target of {names}")
    climbing = [
        (unit, rung)
        for unit in sorted(unmet, key=lambda unit: _urgency(unit, latest[unit.name]))
        if latest[unit.name].is_mendable and (rung := _next_rung(unit, latest[unit.name])) is not None
    ]
    for unit, rung in climbing:
        after = _after(plan, unit, rung, spent)
        if after is not None:
            return Continue(((unit.name, rung),), after.left(total_of(plan)).epsilon)
    return _stop(plan, "exhausted" if climbing else "unmet", unmet, latest, spent)


def _draw_first(plan: LoopPlan, units: Sequence[LoopUnit], spent: Cost) -> Continue:
    for unit in units:
        spent = spent + cost_of(plan, unit, unit.rungs[0])
    if not spent.fits(total_of(plan)):
        raise ConfigError.of(
            Reason.OVER_TOTAL,
            "privacy.epsilon_total",
            required=f"first rungs that cost at most {total_of(plan)}",
            came=str(spent),
            fix="Raise the total or lower the start of the ladders.",
        )
    return Continue(tuple((unit.name, unit.rungs[0]) for unit in units), spent.left(total_of(plan)).epsilon)


def _spent(plan: LoopPlan, history: History) -> Cost:
    """What the draws of a history cost; each is charged once, however often it was measured.

    Raises:
        ConflictError: a draw that the plan does not know, or one draw at two levels.
    """
    units = {unit.name: unit for unit in plan.units}
    draws = history.draws
    for entry in (entry for entries in history.rounds for entry in entries):
        is_planned = entry.unit in units and entry.level in units[entry.unit].rungs
        if not is_planned or draws[entry.unit, entry.attempt] != entry.level:
            raise ConflictError.of(
                Reason.PLAN_CHANGED,
                entry.unit,
                required="a history of this plan: its units, their rungs, one level a draw",
                came=f"draw {entry.attempt} at epsilon {entry.level}",
                fix="Start a new version for a changed plan.",
            )
    spent = Cost.zero()
    for (name, _), level in draws.items():
        spent = spent + cost_of(plan, units[name], level)
    return spent


def _next_rung(unit: LoopUnit, entry: RoundEntry) -> Epsilon | None:
    return next((rung for rung in unit.rungs if rung > entry.level), None)


def _after(plan: LoopPlan, unit: LoopUnit, rung: Epsilon, spent: Cost) -> Cost | None:
    """What is spent once the rung is drawn too, or None where that passes a total."""
    try:
        after = spent + cost_of(plan, unit, rung)
    except AmountError:  # the delta of many rows grows with e**epsilon, past what an amount can hold
        return None
    return after if after.fits(total_of(plan)) else None


def _urgency(unit: LoopUnit, entry: RoundEntry) -> tuple[bool, float]:
    """Sort key: the largest loss in terms of its ceiling first, losses without evidence last, then release order."""
    if entry.loss is None or math.isnan(entry.loss) or unit.target is None:
        return True, 0.0
    ceiling = float(unit.target.ceiling)
    return False, -entry.loss / ceiling if ceiling else -math.inf


def _stop(
    plan: LoopPlan,
    reason: StopReason,
    unmet: Sequence[LoopUnit],
    latest: Mapping[str, RoundEntry],
    spent: Cost,
    obstacle: str | None = None,
) -> Stop:
    return Stop(reason, tuple(_shortfall(plan, unit, latest[unit.name], spent, obstacle) for unit in unmet))


def _shortfall(plan: LoopPlan, unit: LoopUnit, entry: RoundEntry, spent: Cost, obstacle: str | None) -> Shortfall:
    rung = _next_rung(unit, entry)
    left = spent.left(total_of(plan)).epsilon
    if not entry.is_mendable:
        obstacle = "no level can change that"
    elif obstacle is None:
        obstacle = _obstacle(plan, rung, left)
    return Shortfall(
        unit=unit.name,
        loss_name=unit.target.loss if unit.target is not None else "",
        loss=entry.loss,
        ceiling=unit.target.ceiling if unit.target is not None else "",
        level=entry.level,
        next_rung=rung,
        left=left,
        obstacle=obstacle,
        reason=entry.reason,
    )


def _obstacle(plan: LoopPlan, rung: Epsilon | None, left: Epsilon) -> str:
    if rung is None:
        return "its ladder ends there"
    price = rung.times(plan.max_rows)
    amount = f"{rung}" if plan.max_rows == 1 else f"{rung} ({price} for {plan.max_rows} rows of one unit)"
    what = f"the {left} left" if price > left else "the delta left"
    return f"next rung {amount} does not fit {what}"
