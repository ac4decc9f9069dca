"""What the loop may know of a plan: names, levels, ceilings and totals, all public."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import ApproximateEvent, Cost, GeoEvent, LossEvent, PureEvent, cost


class LoopTarget(Protocol):
    """A loss and its ceiling."""

    @property
    def loss(self) -> str:
        """Name of the loss."""

    @property
    def ceiling(self) -> str:
        """Exact decimal text, in the unit of the loss."""


class LoopUnit(Protocol):
    """A noise unit as the loop sees it; ``UnitPlan`` is one."""

    @property
    def name(self) -> str:
        """Name of the unit."""

    @property
    def rungs(self) -> tuple[Epsilon, ...]:
        """Levels that may be drawn, rising."""

    @property
    def delta(self) -> Delta:
        """Delta of each draw, per row."""

    @property
    def geo(self) -> Geo:
        """Geo epsilon of each draw, per row; 0 for all but points."""

    @property
    def target(self) -> LoopTarget | None:
        """What must be reached, or None."""


class LoopPlan(Protocol):
    """A plan as the loop sees it; ``ReleasePlan`` is one."""

    @property
    def units(self) -> Sequence[LoopUnit]:
        """Noise units, in release order."""

    @property
    def max_rows(self) -> int:
        """Most rows of one privacy unit; each draw is charged so many times."""

    @property
    def epsilon_total(self) -> Epsilon:
        """Most epsilon per privacy unit."""

    @property
    def delta_total(self) -> Delta:
        """Most delta per privacy unit."""

    @property
    def geo_total(self) -> Geo:
        """Most geo epsilon per privacy unit."""

    @property
    def composition(self) -> Literal["chain", "sequential"]:
        """How the levels of a unit add up: to the highest one looked at, or to the sum of fresh draws."""

    @property
    def max_rounds(self) -> int:
        """Most rounds."""

    @property
    def on_unmet(self) -> Literal["hold", "publish"]:
        """What happens when a target cannot be met."""


def total_of(plan: LoopPlan) -> Cost:
    """The ceiling of a run."""
    return Cost(plan.epsilon_total, plan.delta_total, plan.geo_total)


def spent_on(plan: LoopPlan, unit: LoopUnit, levels: Sequence[Epsilon]) -> Cost:
    """What the levels of one unit cost together.

    Under ``chain`` all of them are coarsenings of the highest, so that one alone pays epsilon; a level at or below it
    adds none. Delta adds up over every level looked at, since each has its own failure event. Under ``sequential``
    every draw is fresh and all of them add up.

    Args:
        plan: public.
        unit: one of its units.
        levels: levels drawn or revealed, one entry a draw; none costs nothing.

    Raises:
        AmountError: a sum past what an amount can hold.
    """
    looked_at = sorted(set(levels)) if plan.composition == "chain" else list(levels)
    each = [cost_of(plan, unit, level) for level in looked_at]
    total = Cost.zero()
    for one in each:
        total = total + one
    if plan.composition == "chain" and each:
        return Cost(each[-1].epsilon, total.delta, each[-1].geo)
    return total


def cost_of(plan: LoopPlan, unit: LoopUnit, level: Epsilon) -> Cost:
    """What it costs to draw a unit afresh at a level, with no other level of it looked at."""
    event: LossEvent
    if unit.geo.units:
        event = GeoEvent(unit.geo)
    elif unit.delta.units:
        event = ApproximateEvent(level, unit.delta)
    else:
        event = PureEvent(level)
    return cost(event, plan.max_rows)
