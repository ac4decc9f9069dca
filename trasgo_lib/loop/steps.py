"""What the loop decides: draw these levels next, or stop for this reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trasgo_lib.amounts import Epsilon

StopReason = Literal["met", "unmet", "exhausted"]
"""``met``: every target; ``exhausted``: the next rung does not fit what is left; ``unmet``: no rung is left to try."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Draw these units afresh.

    Args:
        levels: unit and level, in release order; public once the round is done.
        left: epsilon of the total that is left after these draws.
    """

    levels: tuple[tuple[str, Epsilon], ...]
    left: Epsilon


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One target that was not met, and why it was not tried further. As private as the loss.

    Args:
        unit: name of the unit.
        loss_name: the loss that has the target.
        loss: its value, or None without evidence.
        ceiling: the target, decimal text.
        level: epsilon of the last draw.
        next_rung: the level that would come next, or None at the end of the ladder.
        left: epsilon of the total that is left.
        obstacle: what stands in the way, in words.
        reason: why there is no loss, or what was left out of it.
    """

    unit: str
    loss_name: str
    loss: float | None
    ceiling: str
    level: Epsilon
    next_rung: Epsilon | None
    left: Epsilon
    obstacle: str
    reason: str | None = None

    @property
    def message(self) -> str:
        """One sentence for the person who runs it."""
        found = "without evidence" if self.loss is None else f"{self.loss:.4g}"
        aside = f" ({self.reason})" if self.reason else ""
        against = f"against {self.ceiling} at epsilon {self.level}"
        return f"{self.unit}: {self.loss_name} {found}{aside} {against}; {self.obstacle}"


@dataclass(frozen=True, slots=True)
class Stop:
    """The loop is over.

    Args:
        reason: why.
        shortfalls: targets not met, in release order; empty when all are.
    """

    reason: StopReason
    shortfalls: tuple[Shortfall, ...] = ()
