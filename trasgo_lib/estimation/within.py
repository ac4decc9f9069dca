"""Joint shares, variances and correlations within noised groups: three columns and more, decoded row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.estimate import CONFIDENCE, Estimate, normal_point
from trasgo_lib.estimation.fieller import LEAST_SCORE, fieller
from trasgo_lib.estimation.moments import CONSTANT
from trasgo_lib.estimation.products import Products
from trasgo_lib.estimation.regression import HIDDEN_ROWS
from trasgo_lib.estimation.subsets import HIDDEN_GROUP, LEAST_SHARE_SCORE

Floats = NDArray[np.float64]


def joint_shares_within(products: Products, confidence: float = CONFIDENCE) -> tuple[Estimate, ...]:
    """Shares of pairs of sets among the rows that count, not cut to 0..1; the sets of the last column run fastest.

    Ratios of two decoded means, so unbiased to first order; standard errors come from the influence of one row.

    Args:
        products: of the sets of two columns, the last two factors, and of whatever says which rows count.
        confidence: of the intervals.
    """
    moments = products.moments()
    ours, theirs = products.factors[-2].functions, products.factors[-1].functions
    left = np.repeat(products.size - theirs - ours + np.arange(ours), theirs)
    right = np.tile(products.size - theirs + np.arange(theirs), ours)
    size, pairs = float(moments[0, 0]), np.arange(ours * theirs)
    if size <= 0:
        return (Estimate.none(HIDDEN_GROUP),) * len(pairs)
    values, whole = moments[left, right] / size, _constant(moments)
    weights = -values[:, None, None] * whole
    weights[pairs, left, right] += 1.0
    spreads = np.diag(products.covariance(np.concatenate([weights / size, whole[None]])))
    errors = np.sqrt(np.maximum(0.0, spreads))
    if size <= LEAST_SHARE_SCORE * errors[-1]:
        return (Estimate.none(HIDDEN_GROUP),) * len(pairs)
    off = (products.bias[left, right] + np.abs(values) * products.bias[0, 0]) / size
    triples = zip(values.tolist(), errors[:-1].tolist(), off.tolist(), strict=True)
    return tuple(Estimate.of(value, error, bias=moved, confidence=confidence) for value, error, moved in triples)


def variance_within(products: Products, confidence: float = CONFIDENCE) -> Estimate:
    """Variance of the one function over the rows that count.

    Args:
        products: of one number, and of whatever says which rows count.
        confidence: of the interval.
    """
    moments = products.moments()
    if moments[0, 0] <= 0:
        return Estimate.none(HIDDEN_ROWS)
    spread, weights = _spread(moments, 1, 1)
    place = moments[0, 1] / moments[0, 0]
    of_mean = np.zeros_like(moments)
    of_mean[0, 0], of_mean[0, 1] = -place / moments[0, 0], 1 / moments[0, 0]
    covariance = products.covariance(np.stack([weights, of_mean, _constant(moments)]))
    if moments[0, 0] < LEAST_SCORE * np.sqrt(max(0.0, covariance[2, 2])):
        return Estimate.none(HIDDEN_ROWS)
    square = float(products.factors[-1].scale[0] ** 2)
    # the square of an estimated mean is too large by the variance of that estimate
    value, error = square * (spread + float(covariance[1, 1])), square * float(np.sqrt(max(0.0, covariance[0, 0])))
    bias = square * float(np.abs(weights).ravel() @ products.bias.ravel())
    return Estimate.of(value, error, bias=bias, within=(0.0, np.inf), confidence=confidence)


def correlation_within(products: Products, confidence: float = CONFIDENCE) -> Estimate:
    """Correlation of the two functions over the rows that count.

    Args:
        products: of two numbers, and of whatever says which rows count.
        confidence: of the interval.
    """
    moments = products.moments()
    if moments[0, 0] <= 0:
        return Estimate.none(HIDDEN_ROWS)
    (ours, of_ours), (theirs, of_theirs), (both, of_both) = (
        _spread(moments, *pair) for pair in ((1, 1), (2, 2), (1, 2))
    )
    if min(ours, theirs) <= 0:
        return Estimate.none(CONSTANT)
    below = float(np.sqrt(ours * theirs))
    value, slope = both / below, below / 2 * (of_ours / ours + of_theirs / theirs)
    weights = np.stack([of_both - value * slope, slope, of_ours, of_theirs, _constant(moments)])
    covariance = products.covariance(weights)
    errors = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    if moments[0, 0] < LEAST_SCORE * errors[4]:
        return Estimate.none(HIDDEN_ROWS)
    if ours < LEAST_SCORE * errors[2] or theirs < LEAST_SCORE * errors[3]:
        return Estimate.none(CONSTANT)
    off = float(np.abs(weights[0]).ravel() @ products.bias.ravel())
    found = fieller(
        value,
        below,
        covariance[:2, :2],
        point=normal_point(confidence),
        hidden=CONSTANT,
        biases=(off, 0.0),
    )
    return found.within(-1.0, 1.0)


def _spread(moments: Floats, left: int, right: int) -> tuple[float, Floats]:
    """A covariance over the rows that count, and the influence of a row as weights of products."""
    present = moments[0, 0]
    mine, other = moments[0, left] / present, moments[0, right] / present
    found = float(moments[left, right] / present - mine * other)
    weights = np.zeros_like(moments)
    weights[left, right] += 1.0
    weights[0, left] -= other
    weights[0, right] -= mine
    weights[0, 0] += mine * other - found
    return found, weights / present


def _constant(moments: Floats) -> Floats:
    weights = np.zeros_like(moments)
    weights[0, 0] = 1.0
    return weights
