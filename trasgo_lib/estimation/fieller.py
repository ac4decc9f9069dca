"""Fieller's interval: for a ratio of two noisy figures, right where the lower one is too noisy for a normal law."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.estimate import BOUND_BY_BINS, Estimate

LEAST_SCORE = 4.0
"""What stands in a denominator is at least this many standard errors above 0."""

BINNED = "values within a bin are not told apart, and that alone leaves everything possible"


def fieller(
    value: float,
    slope: float,
    covariance: NDArray[np.float64],
    *,
    point: float,
    hidden: str,
    biases: tuple[float, float] = (0.0, 0.0),
) -> Estimate:
    """The numbers b at which a score ``(value - b) * slope`` lies within its own noise.

    Args:
        value: the ratio.
        slope: what stands below, or the slope of the score.
        covariance: float64[2, 2], of the score at ``value`` and of the slope.
        point: two-sided point of the normal law.
        hidden: the reason that is given where the slope is not clearly above 0.
        biases: the most that score and slope are off on average.

    Source:
        Fieller (1954), Some Problems in Interval Estimation, JRSS B 16.
    """
    of_score, both, of_slope = (float(covariance[place]) for place in ((0, 0), (0, 1), (1, 1)))
    if not slope > LEAST_SCORE * sqrt(max(0.0, of_slope)):
        return Estimate.none(hidden)
    surely = slope - biases[1]
    leading = surely**2 - point**2 * of_slope
    if surely <= 0 or leading <= 0:
        return Estimate.none(BINNED)
    rest = biases[0] ** 2 - point**2 * of_score
    reach = []
    for sign in (-1.0, 1.0):
        half = surely * biases[0] - sign * point**2 * both
        reach.append((half + sqrt(max(0.0, half**2 - leading * rest))) / leading)
    error = sqrt(max(0.0, of_score))
    note = BOUND_BY_BINS if biases[0] > point * error else None
    return Estimate(value, value - reach[0], value + reach[1], error / slope, note=note)
