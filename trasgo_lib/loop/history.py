"""What the loop did and found, round by round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from trasgo_lib.amounts import Epsilon
from trasgo_lib.loop.view import LoopTarget

LossSource = Literal["original", "released"]


@dataclass(frozen=True, slots=True)
class RoundEntry:
    """One noise unit after one round. As private as its source.

    Args:
        unit: name of the unit.
        level: level of its current draw.
        attempt: number of its current draw, from 1; a unit that was not drawn again keeps its number.
        loss: the loss that has a target, or None: no target, or no evidence.
        interval: lower and upper end of an estimated loss; None for an exact one.
        source: what the loss was computed from.
        met: whether the target is met; True without a target.
        reason: why there is no loss, or what was left out of it.
        is_mendable: False when no level can change that there is no loss.
    """

    unit: str
    level: Epsilon
    attempt: int
    loss: float | None
    interval: tuple[float, float] | None
    source: LossSource
    met: bool
    reason: str | None = None
    is_mendable: bool = True

    @classmethod
    def judged(
        cls,
        unit: str,
        level: Epsilon,
        attempt: int,
        loss: float | None,
        target: LoopTarget | None,
        *,
        source: LossSource = "original",
        interval: tuple[float, float] | None = None,
        reason: str | None = None,
        is_mendable: bool = True,
    ) -> Self:
        """An entry whose ``met`` follows from loss and target.

        A missing loss is no evidence, so it never meets a target. An estimate meets it with its upper end.

        Args:
            unit: name of the unit.
            level: level of its current draw.
            attempt: number of its current draw.
            loss: the loss the target names.
            target: the target, or None.
            source: what the loss was computed from.
            interval: of an estimated loss.
            reason: why there is no loss.
            is_mendable: whether a higher level can give another loss.
        """
        return cls(
            unit,
            level,
            attempt,
            loss,
            interval,
            source,
            is_met(loss if interval is None else interval[1], target),
            reason,
            is_mendable,
        )


def is_met(loss: float | None, target: LoopTarget | None) -> bool:
    """Whether a loss is within a target's ceiling; NaN or None is no evidence.

    Args:
        loss: in the unit of the target; private under ``loss_from: original``.
        target: None is always met.
    """
    if target is None:
        return True
    # a loss is a rounded quotient: 5 of 100 rows is the float 0.05, which lies a little above the decimal 0.05
    return loss is not None and loss <= float(target.ceiling)


@dataclass(frozen=True, slots=True)
class History:
    """All rounds so far.

    Args:
        rounds: by round, the state of the units after it; the first one holds every unit.
    """

    rounds: tuple[tuple[RoundEntry, ...], ...] = ()

    def append(self, entries: Iterable[RoundEntry]) -> Self:
        """This history and one more round."""
        return type(self)((*self.rounds, tuple(entries)))

    @property
    def latest(self) -> dict[str, RoundEntry]:
        """By unit, its most recent entry."""
        return {entry.unit: entry for entries in self.rounds for entry in entries}

    @property
    def draws(self) -> dict[tuple[str, int], Epsilon]:
        """By unit and attempt, the level drawn; a unit that is measured again is not drawn again."""
        return {(entry.unit, entry.attempt): entry.level for entries in self.rounds for entry in entries}
