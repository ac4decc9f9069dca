"""How strong an epsilon is: what the best attacker can come to believe, from amounts and domains alone."""

from __future__ import annotations

from fractions import Fraction
from math import exp

from trasgo_lib.amounts import Epsilon

BELIEFS = ("0.01", "0.1", "0.5")
"""Beliefs before the release: a rare guess, a fair one, an even one."""

_LARGEST_EXPONENT = 700
"""Above this, e^x leaves the float range."""


def belief_after(before: float, epsilon: Epsilon) -> float:
    """The most that a belief in one of two records can become, by Bayes' rule.

    Args:
        before: probability before the release.
        epsilon: privacy loss in nats.
    """
    factor = exp(min(float(epsilon.fraction), _LARGEST_EXPONENT))
    return before * factor / (before * factor + 1 - before)


def best_guess(codes: int, epsilon: Epsilon, delta: Fraction = Fraction(0)) -> float:
    """The most often that anyone can name the true value of one row, all values being equally likely beforehand.

    For any mechanism: let S be the sum, over values, of the chance that a guess is right when that value is true. Each
    of the other values makes the same guess at least e^-epsilon as often, but for delta, and guesses sum to one.

    Args:
        codes: number of values, at least 1.
        epsilon: privacy loss of one row in nats.
        delta: that goes with it.
    """
    factor = exp(min(float(epsilon.fraction), _LARGEST_EXPONENT))
    return min(1.0, (factor + (codes - 1) * float(delta)) / (factor + codes - 1))
