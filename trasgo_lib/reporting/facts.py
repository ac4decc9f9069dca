"""What a finished run states about itself in public: the plan, what was drawn and charged, which targets were met.

Nothing here comes from raw data except, under ``loss_from: original``, the choice of levels and the words met or not
met; the statement says that its guarantee does not cover that choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, LossEvent, cost
from trasgo_lib.checks import CheckReport
from trasgo_lib.errors import BudgetError, Reason

if TYPE_CHECKING:
    from trasgo_lib.mechanisms import Channel
    from trasgo_lib.plan import ReleasePlan


Interval = tuple[float, float, float]
"""A loss and its 95 % interval: value, low, high."""

Drawing = tuple[str, int]
"""Which draw: noise unit, and number of its draw from 1."""


@dataclass(frozen=True, slots=True)
class DrawOutcome:
    """What one draw of a noise unit was expected to lose and what it is estimated to have lost; public.

    Args:
        round: round of the loop in which it was drawn, from 1.
        predicted: the target's loss, foreseen from the round before through released codes; None where it was not.
        estimate: the target's loss, estimated from the draw; None where there is no estimate or no target.
    """

    round: int
    predicted: Interval | None = None
    estimate: Interval | None = None


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """What happened to one noise unit.

    Args:
        unit: its name.
        levels: every level drawn under this version, in order; the last one is published.
        met: whether its target is met; None without a target.
        estimate: the target's loss and its 95 % interval (value, low, high), where losses come from released data and
            an estimate exists; never a loss computed on raw data.
        draws: one entry a level, or none where the rounds are not known.
    """

    unit: str
    levels: tuple[Epsilon, ...]
    met: bool | None
    estimate: Interval | None = None
    draws: tuple[DrawOutcome, ...] = ()

    def __post_init__(self) -> None:
        if not self.levels:
            raise ValueError(f"noise unit {self.unit} was never drawn")
        if self.draws and len(self.draws) != len(self.levels):
            raise ValueError(f"noise unit {self.unit}: {len(self.levels)} levels, {len(self.draws)} draws")


class RoundRecord(Protocol):
    """One noise unit after one round of the loop, as far as facts need it."""

    @property
    def unit(self) -> str:
        """The noise unit."""

    @property
    def level(self) -> Epsilon:
        """Level of the unit's current draw."""

    @property
    def attempt(self) -> int:
        """Number of the unit's draw, from 1; the same in a later round in which it was not drawn again."""

    @property
    def met(self) -> bool:
        """Whether the unit's target was met after this round."""

    @property
    def loss(self) -> float | None:
        """The loss the target names."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its 95 % interval, where it is an estimate."""

    @property
    def source(self) -> str:
        """``released`` or ``original``."""


def unit_outcomes(
    plan: ReleasePlan,
    entries: Iterable[RoundRecord],
    drawn_in: Mapping[Drawing, int] | None = None,
    foreseen: Mapping[Drawing, Interval] | None = None,
) -> tuple[UnitOutcome, ...]:
    """What the history says about each unit, in plan order.

    Args:
        plan: the compiled plan.
        entries: the history, round by round; a unit that was not drawn again repeats its attempt.
        drawn_in: the round of each draw; None leaves the rounds out.
        foreseen: the loss predicted for a draw, from released codes alone.

    Raises:
        ValueError: when a unit was never drawn.
    """
    drawn: dict[str, dict[int, RoundRecord]] = {unit.name: {} for unit in plan.units}
    last: dict[str, RoundRecord] = {}
    for entry in entries:
        drawn[entry.unit][entry.attempt] = entry
        last[entry.unit] = entry
    outcomes = []
    for unit in plan.units:
        has_target = unit.target is not None and unit.name in last
        of_unit = [entry for _, entry in sorted(drawn[unit.name].items())]
        outcomes.append(
            UnitOutcome(
                unit=unit.name,
                levels=tuple(entry.level for entry in of_unit),
                met=last[unit.name].met if has_target else None,
                estimate=_estimate(last[unit.name]) if has_target else None,
                draws=tuple(_draw(entry, drawn_in, foreseen or {}, has_target) for entry in of_unit)
                if drawn_in is not None
                else (),
            )
        )
    return tuple(outcomes)


def _draw(
    entry: RoundRecord, drawn_in: Mapping[Drawing, int], foreseen: Mapping[Drawing, Interval], has_target: bool
) -> DrawOutcome:
    which = (entry.unit, entry.attempt)
    if not has_target:
        return DrawOutcome(drawn_in[which])
    return DrawOutcome(drawn_in[which], foreseen.get(which), _estimate(entry))


def _estimate(entry: RoundRecord) -> Interval | None:
    """The published loss: only one that was estimated from released data."""
    if entry.source != "released" or entry.loss is None or entry.interval is None:
        return None
    return (entry.loss, *entry.interval)


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything public documents are made of.

    Args:
        plan: the compiled plan.
        rows: rows of the release; public.
        outcomes: one entry a noise unit, in plan order.
        account_to_date: what the account has spent so far, this version and all earlier ones included.
        checks: the output checks of the staged files and the probes.
        created: when the release was made, ISO 8601 with a time zone.
        library_version: version of this library.
        commit: source revision the run was made from, or ``unknown``.
    """

    plan: ReleasePlan
    rows: int
    outcomes: tuple[UnitOutcome, ...]
    account_to_date: Cost
    checks: CheckReport
    created: str
    library_version: str
    commit: str

    def __post_init__(self) -> None:
        if tuple(outcome.unit for outcome in self.outcomes) != tuple(unit.name for unit in self.plan.units):
            raise ValueError("one outcome for each noise unit, in plan order")

    def outcome(self, unit: str) -> UnitOutcome:
        """What happened to one unit."""
        return next(outcome for outcome in self.outcomes if outcome.unit == unit)

    def draws(self, unit: str) -> tuple[LossEvent, ...]:
        """The loss events of a unit's draws, in order."""
        levels = self.outcome(unit).levels
        return tuple(self.plan.unit(unit).event(level, before) for before, level in pairwise((Epsilon(0), *levels)))

    def published_channel(self, unit: str) -> Channel:
        """The channel of the draw that is published: the last one."""
        return self.plan.unit(unit).channel(self.outcome(unit).levels[-1])

    def charged(self, unit: str) -> Cost:
        """What a unit's draws cost a privacy unit, all attempts together."""
        return sum((cost(event, self.plan.max_rows) for event in self.draws(unit)), start=Cost.zero())

    @property
    def guarantee(self) -> Cost:
        """The cap of the run, fixed before data was opened."""
        return Cost(self.plan.epsilon_total, self.plan.delta_total, self.plan.geo_total)

    @property
    def realised(self) -> Cost:
        """What was spent on this path, summed over all draws of all units."""
        return sum((self.charged(outcome.unit) for outcome in self.outcomes), start=Cost.zero())

    def require_ledger(self, spent: Cost) -> None:
        """Stop when the ledger's sum for this version is not what the draws add up to.

        Args:
            spent: what the ledger charged for this version.

        Raises:
            BudgetError: on any difference, and when the draws pass the cap of the run.
        """
        if spent != self.realised:
            raise BudgetError.of(
                Reason.CHAIN_BROKEN,
                "ledger",
                required=f"the sum of all draws, {self.realised}",
                came=str(spent),
                fix="Run trasgo ledger check; nothing was published.",
            )
        if not self.realised.fits(self.guarantee):
            raise BudgetError.of(
                Reason.OVER_TOTAL,
                "privacy.epsilon_total",
                required=f"at most {self.guarantee}",
                came=str(self.realised),
                fix="Nothing was published; report this: the loop passed its total.",
            )
