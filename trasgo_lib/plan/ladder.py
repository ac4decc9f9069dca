"""Rungs: the levels at which a noise unit may be drawn, fixed before anything is drawn."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from trasgo_lib.amounts import Epsilon
from trasgo_lib.errors import ConfigError, Reason

MOST_RUNGS = 200
"""A finer ladder finds no better level (a ratio of 1.02 has 200 rungs over a factor of 50) and costs a build each."""


def ladder(start: Epsilon, ratio: str, ceiling: Epsilon) -> tuple[Epsilon, ...]:
    """The rungs ``start * ratio**k`` up to a ceiling, each rounded down to 1e-6.

    Args:
        start: first rung.
        ratio: exact decimal text, more than 1.
        ceiling: no rung is above it; a ladder that starts above it is empty.

    Returns:
        Strictly rising rungs; at most ``MOST_RUNGS``.

    Raises:
        ConfigError: a ratio so close to 1 that two rungs are equal or that there are too many.
    """
    factor = Fraction(Decimal(ratio))
    rungs: list[Epsilon] = []
    exact = start.fraction
    while (rung := Epsilon.floor(exact)) <= ceiling:
        if rungs and (rung <= rungs[-1] or len(rungs) == MOST_RUNGS):
            raise ConfigError.of(
                Reason.BAD_PARAMETER,
                "ratio",
                required=f"levels that rise by at least 1e-6 and at most {MOST_RUNGS} of them",
                came=f"{ratio}, from {start.text} to {ceiling.text}",
                fix='Write a larger ratio, as in "1.25".',
            )
        rungs.append(rung)
        # from the rounded rung, so that a ladder is reproduced from its stored rungs and the fraction stays short
        exact = rung.fraction * factor
    return tuple(rungs)


def most_draws(rungs: tuple[Epsilon, ...], available: Epsilon, max_rows: int, max_rounds: int) -> int:
    """Most draws a unit can get when every attempt adds up: the lowest rungs, one after the other.

    Args:
        rungs: the unit's ladder.
        available: what the other units' first draws leave of the total.
        max_rows: rows per privacy unit; each draw is charged so many times.
        max_rounds: most rounds of the loop.
    """
    spent, draws = 0, 0
    for rung in rungs:
        spent += rung.units * max_rows
        if spent > available.units or draws == max_rounds:
            break
        draws += 1
    return max(draws, 1)
