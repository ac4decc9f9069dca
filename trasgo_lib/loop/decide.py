"""The loop's decision, a pure function of public plan values and the history.

Every round draws, or under ``composition: chain`` reveals, one unit at a higher rung: the one with the largest loss,
as predicted for its next rung or else as found, in terms of its ceiling. It goes to the lowest rung that is predicted
to meet its target, or else to the next one. Units that meet their targets are left alone, so what they leave of the
total is there for the others. No step can pass a total, whatever the history or the predictions hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost
from trasgo_lib.errors import AmountError, ConfigError, ConflictError, Reason
from trasgo_lib.loop.history import History, RoundEntry, is_met
from trasgo_lib.loop.predictions import Predictions
from trasgo_lib.loop.steps import Continue, Shortfall, Stop, StopReason
from trasgo_lib.loop.view import LoopPlan, LoopUnit, cost_of, spent_on, total_of


def first_step(plan: LoopPlan) -> Continue:
    """Draw every unit at its first rung.

    Raises:
        ConfigError: the first rungs do not fit the totals; compile refuses such a plan.
    """
    return _draw_first(plan, plan.units, Cost.zero())


def next_step(plan: LoopPlan, history: History, predictions: Predictions | None = None) -> Continue | Stop:
    """Decide what comes after a round.

    Args:
        plan: public.
        history: everything drawn under this version, interrupted rounds included; under ``loss_from: original`` the
            decision tells something about the raw data, which the statement says.
        predictions: losses expected at rungs above, from released codes and public priors. They steer the order and
            the size of steps, never what fits a total. None: rung by rung.

    Returns:
        ``Continue`` with levels above the units' current ones, whose cost fits what is left of every total; or
        ``Stop``. It ends: levels only rise, and ladders are finite.

    Raises:
        ConflictError: a history of another plan.
        ConfigError: units without a draw whose first rungs do not fit.
    """
    levels = _levels(plan, history)
    spent = _spent(plan, levels)
    latest = history.latest
    undrawn = [unit for unit in plan.units if unit.name not in latest]
    if undrawn:
        return _draw_first(plan, undrawn, spent)
    unmet = [unit for unit in plan.units if not latest[unit.name].met]
    if not unmet:
        return Stop("met")
    if len(history.rounds) >= plan.max_rounds:
        return _stop(plan, "unmet", unmet, latest, levels, f"the limit of {plan.max_rounds} rounds is reached")
    hopeless = [unit for unit in unmet if not latest[unit.name].is_mendable]
    if hopeless and plan.on_unmet == "hold":
        # the version will be held whatever the others reach, so drawing them again would waste the account
        names = ", ".join(unit.name for unit in hopeless)
        return _stop(plan, "unmet", unmet, latest, levels, f"not raised, since no level can meet the target of {names}")
    expected = predictions or {}
    order = _order(unmet, latest, expected)
    is_shared = sum(_is_correlation(unit) for unit in unmet) > 1
    climbing = [
        (unit, rungs)
        for unit in order
        if latest[unit.name].is_mendable
        and (rungs := _wanted(unit, latest[unit.name], {} if is_shared and _is_correlation(unit) else expected))
    ]
    for unit, rungs in climbing:
        for rung in rungs:
            after = _after(plan, unit, rung, levels)
            if after is not None:
                return Continue(((unit.name, rung),), after.left(total_of(plan)).epsilon)
    return _stop(plan, "exhausted" if climbing else "unmet", unmet, latest, levels)


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


_Levels = Mapping[str, tuple[Epsilon, ...]]
"""By unit, the level of each of its draws; a draw measured again counts once."""


def _levels(plan: LoopPlan, history: History) -> _Levels:
    """The levels of a history.

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
    return {name: tuple(level for (unit, _), level in draws.items() if unit == name) for name in units}


def _spent(plan: LoopPlan, levels: _Levels) -> Cost:
    spent = Cost.zero()
    for unit in plan.units:
        spent = spent + spent_on(plan, unit, levels[unit.name])
    return spent


def _next_rung(unit: LoopUnit, entry: RoundEntry) -> Epsilon | None:
    return next((rung for rung in unit.rungs if rung > entry.level), None)


def _is_correlation(unit: LoopUnit) -> bool:
    """Whether the target is a correlation loss. Such losses fall when any of their columns climbs.

    So while several miss their targets none of them jumps: the prediction takes the others to stay where they are.
    """
    return unit.target is not None and unit.target.loss == "correlation_loss"


def _wanted(unit: LoopUnit, entry: RoundEntry, predictions: Predictions) -> tuple[Epsilon, ...]:
    """Rungs to try, the best first: the lowest one predicted to meet the target, then the next one."""
    above = [rung for rung in unit.rungs if rung > entry.level]
    promised = {
        found.level
        for found in predictions.get(unit.name, ())
        if found.loss.high is not None and is_met(found.loss.high, unit.target)
    }
    return tuple(dict.fromkeys([*[rung for rung in above if rung in promised][:1], *above[:1]]))


def _after(plan: LoopPlan, unit: LoopUnit, rung: Epsilon, levels: _Levels) -> Cost | None:
    """What is spent once the rung is drawn too, or None where that passes a total."""
    try:
        after = _spent(plan, {**levels, unit.name: (*levels[unit.name], rung)})
    except AmountError:  # the delta of many rows grows with e**epsilon, past what an amount can hold
        return None
    return after if after.fits(total_of(plan)) else None


def _order(unmet: Sequence[LoopUnit], latest: Mapping[str, RoundEntry], predictions: Predictions) -> list[LoopUnit]:
    """Units in the order in which they may climb.

    While noise hides the correlation loss of one unit, all units that miss theirs climb together, from the lowest
    level up: the loss that is seen first would send its unit far above the others, which are what it lacks.
    """
    keys = {unit.name: _urgency(unit, latest[unit.name], predictions) for unit in unmet}
    if any(_is_correlation(unit) and keys[unit.name][0] for unit in unmet):
        together = {unit.name: (True, float(latest[unit.name].level.units)) for unit in unmet if _is_correlation(unit)}
        keys |= together
    return sorted(unmet, key=lambda unit: keys[unit.name])


def _urgency(unit: LoopUnit, entry: RoundEntry, predictions: Predictions) -> tuple[bool, float]:
    """Sort key: the largest loss in terms of its ceiling first, those without evidence last, then release order.

    Of units without evidence the one at the lowest level goes first: else the first of the release would take the whole
    total before another is seen at a level at which its noise hides it no more.
    """
    following = _next_rung(unit, entry)
    at_next = next((found.loss.value for found in predictions.get(unit.name, ()) if found.level == following), None)
    loss = entry.loss if at_next is None else at_next
    if loss is None or math.isnan(loss) or unit.target is None:
        return True, float(entry.level.units)
    ceiling = float(unit.target.ceiling)
    return False, -loss / ceiling if ceiling else -math.inf


def _stop(
    plan: LoopPlan,
    reason: StopReason,
    unmet: Sequence[LoopUnit],
    latest: Mapping[str, RoundEntry],
    levels: _Levels,
    obstacle: str | None = None,
) -> Stop:
    return Stop(reason, tuple(_shortfall(plan, unit, latest[unit.name], levels, obstacle) for unit in unmet))


def _shortfall(plan: LoopPlan, unit: LoopUnit, entry: RoundEntry, levels: _Levels, obstacle: str | None) -> Shortfall:
    rung = _next_rung(unit, entry)
    left = _spent(plan, levels).left(total_of(plan)).epsilon
    if not entry.is_mendable:
        obstacle = "no level can change that"
    elif obstacle is None:
        obstacle = _obstacle(plan, rung, left, max(levels[unit.name]))
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


def _obstacle(plan: LoopPlan, rung: Epsilon | None, left: Epsilon, highest: Epsilon) -> str:
    if rung is None:
        return "its ladder ends there"
    if plan.composition == "chain":
        price = Epsilon(max(0, rung.units - highest.units)).times(plan.max_rows)
        what = f"the {left} left" if price > left else "the delta left"
        return f"going on to rung {rung} costs {price} more, which does not fit {what}"
    price = rung.times(plan.max_rows)
    amount = f"{rung}" if plan.max_rows == 1 else f"{rung} ({price} for {plan.max_rows} rows of one unit)"
    what = f"the {left} left" if price > left else "the delta left"
    return f"next rung {amount} does not fit {what}"
