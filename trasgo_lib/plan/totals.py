"""The totals of a release against what its columns will at least, and at most, spend; exact sums only."""

from __future__ import annotations

from collections.abc import Mapping

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import ApproximateEvent, Cost, cost
from trasgo_lib.config import KeyPath, PointColumn, ReleaseConfig, UnitColumn
from trasgo_lib.errors import Reason
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.groups import asked_units
from trasgo_lib.plan.levels import first_level
from trasgo_lib.plan.model import ReleasePlan, UnitPlan
from trasgo_lib.plan.parts import geo_level


def rows_per_unit(config: ReleaseConfig) -> int:
    """Most rows of one privacy unit; each draw is charged so many times."""
    unit = config.privacy.unit
    return unit.max_rows if isinstance(unit, UnitColumn) else 1


def first_charges(config: ReleaseConfig) -> Mapping[KeyPath, Epsilon]:
    """What the first draw of each noised column or group costs a privacy unit, by its place in the release file."""
    return {path: first_level(asked, config).times(rows_per_unit(config)) for asked, path in asked_units(config)}


def check_epsilon_total(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse first draws that cost more than the total."""
    names = {path: asked.name for asked, path in asked_units(config)}
    charges = {names[path]: charge for path, charge in first_charges(config).items() if charge.units}
    total = Epsilon.parse(config.privacy.epsilon_total)
    needed = Epsilon(0)
    for charge in charges.values():
        needed += charge
    if needed > total:
        parts = " + ".join(f"{name} {charge.text}" for name, charge in charges.items())
        rows = rows_per_unit(config)
        faults.add(
            Reason.OVER_TOTAL,
            ("privacy", "epsilon_total"),
            required=f"at least {needed.text}, the sum of the first draws"
            + (f", {rows} rows each" if rows > 1 else ""),
            came=f"{total.text} for {parts}",
            fix="Raise the total, lower the levels (epsilon, start, loop.start), or drop a column.",
        )


def check_geo_total(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Refuse points that cost more than the geo total."""
    points = [column for column in config.columns if isinstance(column, PointColumn)]
    if not points:
        return
    needed = Geo(0)
    for column in points:
        needed += geo_level(column).times(rows_per_unit(config))
    text = config.privacy.geo_total
    if text is None or Geo.parse(text) < needed:
        faults.add(
            Reason.OVER_TOTAL,
            ("privacy", "geo_total"),
            required=f"at least {needed.text} per km, the sum over {', '.join(column.name for column in points)}",
            came=text or "nothing",
            fix=f'Write geo_total: "{needed.text}", or lower geo.epsilon.',
        )


def check_delta_total(config: ReleaseConfig, units: tuple[UnitPlan, ...], faults: FaultCollector) -> None:
    """Refuse deltas whose sum over every draw that may happen is more than the total."""
    total = Delta.parse(config.privacy.delta_total, zero=True)
    needed = Delta(0)
    for unit in units:
        needed += worst_delta(unit, rows_per_unit(config))
    if needed > total:
        named = ", ".join(unit.name for unit in units if unit.delta.units)
        faults.add(
            Reason.OVER_TOTAL,
            ("privacy", "delta_total"),
            required=f"at least {needed.text}, the sum over all draws that may happen of {named}",
            came=total.text,
            fix='Raise the total, or lower the deltas of the columns; delta "0" is possible with every mechanism.',
        )


def worst_delta(unit: UnitPlan, max_rows: int) -> Delta:
    """Most delta that a unit's draws can cost: every draw at the delta of its highest rung."""
    if not unit.delta.units:
        return Delta(0)
    dearest = cost(ApproximateEvent(unit.rungs[-1], unit.delta), max_rows)
    return dearest.delta.times(unit.draws_at_most)


def worst_case(plan: ReleasePlan) -> Cost:
    """The most a run of this plan can spend, per privacy unit; never above the totals.

    Args:
        plan: a compiled plan.
    """
    epsilon, delta, geo = 0, Delta(0), Geo(0)
    for unit in plan.units:
        rungs = unit.rungs if unit.target is not None else unit.rungs[:1]
        # all that is seen of a chain costs its highest level; fresh draws add up
        epsilon += (rungs[-1].units if unit.is_chained else sum(rung.units for rung in rungs)) * plan.max_rows
        delta += worst_delta(unit, plan.max_rows)
        geo += unit.geo.times(plan.max_rows)
    return Cost(Epsilon(min(epsilon, plan.epsilon_total.units)), delta, geo)
