"""What rehearsals say of targets: the least total that meets them, and why one cannot be met."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median_low

from trasgo_lib.amounts import Epsilon
from trasgo_lib.loop.forecast.rehearsal import Rehearsal
from trasgo_lib.loop.history import RoundEntry
from trasgo_lib.plan import ReleasePlan, UnitPlan


@dataclass(frozen=True, slots=True)
class TargetForecast:
    """What comes of one noise unit.

    Args:
        unit: name of the noise unit.
        loss: the loss that has a target, or None.
        ceiling: the target, decimal text, or None.
        met: in how many rehearsals it is met.
        median: median of what it costs, epsilon per privacy unit.
        most: the most it costs.
        obstacle: why it is not met in every rehearsal, or None.
        rows_needed: least number of rows looked at from which on it is met, where it is not at the release's; or None.
    """

    unit: str
    loss: str | None
    ceiling: str | None
    met: int
    median: Epsilon
    most: Epsilon
    obstacle: str | None
    rows_needed: int | None


@dataclass(frozen=True, slots=True)
class Rehearsals:
    """All rehearsals at one number of rows."""

    rows: int
    runs: tuple[Rehearsal, ...] = field(repr=False)

    @property
    def met(self) -> int:
        """How many rehearsals meet every target."""
        return sum(run.is_met for run in self.runs)

    @property
    def is_met(self) -> bool:
        """Whether every rehearsal meets every target."""
        return self.met == len(self.runs)

    @property
    def most(self) -> Epsilon:
        """The largest total; where every target is met, the least ``epsilon_total`` that does it."""
        return max(run.total for run in self.runs)

    @property
    def median(self) -> Epsilon:
        """The median total (of two in the middle, the lower)."""
        return median_low(run.total for run in self.runs)

    @property
    def rounds(self) -> int:
        """The most rounds."""
        return max(run.rounds for run in self.runs)


def target_forecasts(plan: ReleasePlan, here: Rehearsals, by_rows: Sequence[Rehearsals]) -> tuple[TargetForecast, ...]:
    """What comes of every noise unit that was rehearsed.

    Args:
        plan: the plan of the rehearsals.
        here: at the release's number of rows.
        by_rows: at other numbers of rows too, rising.
    """
    return tuple(_target(unit, plan, here, by_rows) for unit in plan.units)


def _target(unit: UnitPlan, plan: ReleasePlan, here: Rehearsals, by_rows: Sequence[Rehearsals]) -> TargetForecast:
    entries = [run.entries[unit.name] for run in here.runs]
    spent = [run.spent[unit.name] for run in here.runs]
    missed = [entry for entry in entries if not entry.met]
    enough = [
        other.rows
        for other in by_rows
        if other.rows > here.rows and all(run.entries[unit.name].met for run in other.runs)
    ]
    return TargetForecast(
        unit=unit.name,
        loss=None if unit.target is None else unit.target.loss,
        ceiling=None if unit.target is None else unit.target.ceiling,
        met=len(entries) - len(missed),
        median=median_low(spent),
        most=max(spent),
        obstacle=_obstacle(unit, missed[0], here, plan) if missed else None,
        rows_needed=min(enough, default=None) if missed else None,
    )


def _obstacle(unit: UnitPlan, entry: RoundEntry, here: Rehearsals, plan: ReleasePlan) -> str:
    if unit.target is None:
        return "no target"
    at = f"at epsilon {entry.level.text}"
    if here.rounds >= plan.max_rounds:
        return f"the limit of {plan.max_rounds} rounds is reached {at}"
    end = f"{at}, the last of its ladder"
    if entry.loss is None:
        return f"no loss can be told {end}: {entry.reason}"
    if entry.interval is not None and entry.loss <= float(unit.target.ceiling):
        return (
            f"the loss {end}, is {entry.loss:.3g}, but its interval goes up to {entry.interval[1]:.3g}: with"
            f" {here.rows:,} rows chance alone is wider than the target"
        )
    return f"{end}, the loss is still {entry.loss:.3g}"
