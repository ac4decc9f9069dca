"""Correlations between normal numbers that give wanted correlations between the codes cut from them.

Codes are cut from a standard normal number at the quantiles of their shares, so a column is a step function of it. In
the normalised Hermite polynomials h_k a step at t has the coefficients ``phi(t) h_(k-1)(t) / sqrt(k)``, and two columns
with coefficients a and b over normal numbers correlated r have the covariance ``sum a_k b_k r**k`` (Mehler's formula),
which rises with r. Repair of an impossible set: Higham 2002, IMA J. Numer. Anal. 22, algorithm 3.3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STRONGEST = 0.99
"""Largest size of a correlation between normal numbers: beyond it the series needs thousands of terms."""

_TERMS = 400
"""What is cut off is at most ``STRONGEST**400``, 1.8 %, of terms that fall with the power 1.5 of their number."""

_MOST_CUTS = 2**13
"""Cells of about 0.0015 on the normal scale: the polynomials of the last term turn over at 0.16. A column of a million
codes takes milliseconds instead of seconds."""

_HALVINGS = 50
_LEAST_EIGENVALUE = 1e-6
_MOST_PROJECTIONS = 500
_SAME = 1e-9


def quantiles(shares: Floats) -> Floats:
    """Where a standard normal number is cut: float64[codes - 1], rising; the code is the number of cuts at or below it.

    Args:
        shares: float64[codes], 0 or more, summing to 1; public.
    """
    # imported late: only forecasts need scipy
    from scipy.special import ndtri

    cuts: Floats = ndtri(np.clip(np.cumsum(shares)[:-1], 0.0, 1.0))
    return cuts


def hermite_coefficients(shares: Floats, values: Floats | None = None) -> Floats:
    """Coefficients of a function of a column's codes: float64[terms], from the first on.

    Args:
        shares: as for ``quantiles``.
        values: float64[codes], the function; None: the codes themselves.
    """
    cuts = quantiles(shares)
    steps = np.ones(len(cuts)) if values is None else np.diff(values)
    steps, cuts = _merged(steps[np.isfinite(cuts)], cuts[np.isfinite(cuts)])
    density = np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
    before, polynomial = np.zeros_like(cuts), np.ones_like(cuts)
    found: Floats = np.empty(_TERMS)
    for order in range(1, _TERMS + 1):
        found[order - 1] = (steps * density) @ polynomial / np.sqrt(order)
        before, polynomial = polynomial, (cuts * polynomial - np.sqrt(order - 1) * before) / np.sqrt(order)
    return found


def _merged(steps: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """The same steps, those of one narrow cell taken together at the mean of their cuts where there are very many."""
    if len(cuts) <= _MOST_CUTS:
        return steps, cuts
    edges = np.linspace(cuts[0], cuts[-1], _MOST_CUTS + 1)
    cells = np.clip(np.searchsorted(edges, cuts, side="right") - 1, 0, _MOST_CUTS - 1)
    counts = np.bincount(cells, minlength=_MOST_CUTS)
    held = counts > 0
    means = np.bincount(cells, weights=cuts, minlength=_MOST_CUTS)[held] / counts[held]
    together: Floats = np.bincount(cells, weights=steps, minlength=_MOST_CUTS)[held].astype(np.float64)
    return together, means


def spread(shares: Floats) -> float:
    """Standard deviation of the codes."""
    codes = np.arange(len(shares))
    return math.sqrt(max(0.0, float(shares @ codes**2 - (shares @ codes) ** 2)))


def series(left: Floats, right: Floats, normal: float) -> float:
    """The covariance of two functions of two columns.

    Args:
        left: coefficients of the one.
        right: coefficients of the other.
        normal: correlation of their normal numbers.
    """
    return float((left * right) @ normal ** np.arange(1, _TERMS + 1))


def normal_correlation(left: Floats, right: Floats, wanted: float) -> float:
    """The correlation of normal numbers that gives the wanted covariance, or the nearest within ``STRONGEST``.

    Args:
        left: coefficients of the codes of the one column, in terms of their standard deviation.
        right: likewise of the other.
        wanted: Pearson's correlation of the codes.
    """
    low, high = -STRONGEST, STRONGEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if series(left, right, middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def nearest_correlations(matrix: Floats) -> Floats:
    """The nearest positive definite matrix with ones on its diagonal; the matrix itself where it is one.

    Args:
        matrix: float64[n, n], symmetric, ones on the diagonal.
    """
    if np.linalg.eigvalsh(matrix)[0] >= _LEAST_EIGENVALUE:
        return matrix
    current, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(_MOST_PROJECTIONS):
        held = current - correction
        values, vectors = np.linalg.eigh(held)
        positive = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
        correction = positive - held
        before, current = current, positive.copy()
        np.fill_diagonal(current, 1.0)
        if np.abs(current - before).max() < _SAME:
            break
    # the last projection set the diagonal; what that took from the smallest eigenvalue is given back
    values, vectors = np.linalg.eigh(current)
    positive = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    nearest: Floats = positive / np.outer(scale, scale)
    return nearest
