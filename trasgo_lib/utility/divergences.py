"""Total variation, Jensen-Shannon and Kullback-Leibler between two distributions of one column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.errors import InputContractError, Reason

_MANY_CATEGORIES = 2**14
"""From here on categories with the same two counts are taken together."""

_MOST_KEYS = 2**20
"""Pairs of counts are counted in a table of this size at most."""

_MOST_PAIRS = 256
"""More different pairs than these cost more as exact fractions than they save."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far a released column's distribution is from the original's. Private, as any loss on raw data.

    Args:
        tvd: total variation distance, 0..1; None without rows.
        js: Jensen-Shannon divergence in nats, 0..ln 2; the divergence, not its root.
        kl: Kullback-Leibler divergence of the original from the released in nats; None where it is infinite.
        lost: number of categories that the original has and the released column lost; ``kl`` is None if any.
        reason: why a value is None, else None.
    """

    tvd: float | None
    js: float | None
    kl: float | None
    lost: int = 0
    reason: str | None = None


def divergence_of_counts(original: NDArray[np.int64], released: NDArray[np.int64]) -> Divergence:
    """Divergences of two histograms over the same categories.

    Args:
        original: int64[categories], not negative.
        released: int64[categories], likewise.

    Returns:
        Values that do not depend on the order of categories or rows, to the last bit.
    """
    ours, theirs = int(original.sum()), int(released.sum())
    if ours == 0 or theirs == 0:
        return Divergence(None, None, None, 0, "no rows")
    grouped = _alike(original, released)
    if grouped is None:
        return divergence_of_shares(original / ours, released / theirs)
    left, right, times = grouped
    return _divergence(left / ours, right / theirs, times)


def _alike(
    original: NDArray[np.int64], released: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
    """Pairs of counts that occur, and in how many categories; None where categories are few or the pairs are many.

    Among a million distinct values nearly all occur once, so a million logarithms are a few, many times over.
    """
    width = int(released.max(initial=0)) + 1
    if original.size < _MANY_CATEGORIES or (int(original.max(initial=0)) + 1) * width > _MOST_KEYS:
        return None
    counted = np.bincount(original * width + released)
    keys = np.flatnonzero(counted)
    if keys.size > _MOST_PAIRS:
        return None
    left, right = np.divmod(keys, width)
    return left, right, counted[keys]


def divergence_of_shares(original: ArrayLike, released: ArrayLike) -> Divergence:
    """Divergences of two distributions over the same categories.

    Args:
        original: shares, float64[categories], each 0..1, summing to 1; denormal shares are fine.
        released: likewise.

    Raises:
        InputContractError: shares that are not numbers from 0 to 1 or not of one length.

    Source:
        Lin (1991), Divergence Measures Based on the Shannon Entropy, IEEE Trans. Inf. Theory 37(1).
    """
    p, q = np.asarray(original, dtype=np.float64), np.asarray(released, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1 or not all(bool(np.all((s >= 0) & (s <= 1))) for s in (p, q)):
        raise InputContractError.of(
            Reason.BAD_PARAMETER,
            "shares",
            required="two lists of shares from 0 to 1 over the same categories",
            came="other numbers or lists of unequal length",
            fix="Divide counts by their sum.",
        )
    return _divergence(p, q, None)


def _divergence(p: NDArray[np.float64], q: NDArray[np.float64], times: NDArray[np.int64] | None) -> Divergence:
    is_lost = (p > 0) & (q == 0)
    lost = int(np.count_nonzero(is_lost)) if times is None else int(times[is_lost].sum())
    tvd = 0.5 * _sum(np.abs(p - q), times)
    js = 0.5 * (_entropy_from_mean(p, q, times) + _entropy_from_mean(q, p, times))
    kl = None if lost else max(0.0, _relative_entropy(p, q, times))
    return Divergence(
        tvd=min(1.0, tvd),
        js=min(math.log(2), max(0.0, js)),
        kl=kl,
        lost=lost,
        reason=f"support lost: {lost}" if lost else None,
    )


def _sum(terms: NDArray[np.float64], times: NDArray[np.int64] | None) -> float:
    """The sum of the terms, each taken so many times, correctly rounded: neither order nor grouping changes a bit."""
    if times is None:
        return math.fsum(terms.tolist())
    return float(sum(count * Fraction(term) for count, term in zip(times.tolist(), terms.tolist(), strict=True)))


def _entropy_from_mean(p: NDArray[np.float64], q: NDArray[np.float64], times: NDArray[np.int64] | None) -> float:
    """Sum of p ln(p/m), m the mean of both; p is doubled, because halving a denormal sum would round it to 0."""
    here = p > 0
    terms = p[here] * np.log(2 * p[here] / (p[here] + q[here]))
    return _sum(terms, None if times is None else times[here])


def _relative_entropy(p: NDArray[np.float64], q: NDArray[np.float64], times: NDArray[np.int64] | None) -> float:
    """Sum of p ln(p/q) over p > 0; logs are subtracted because the quotient with a denormal overflows."""
    here = p > 0
    terms = p[here] * (np.log(p[here]) - np.log(q[here]))
    return _sum(terms, None if times is None else times[here])
