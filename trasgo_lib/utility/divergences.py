"""Total variation, Jensen-Shannon and Kullback-Leibler between two distributions of one column."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.errors import InputContractError, Reason


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
    return divergence_of_shares(original / ours, released / theirs)


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
    lost = int(np.count_nonzero((p > 0) & (q == 0)))
    # fsum is correctly rounded, so the order of the categories changes nothing
    tvd = 0.5 * math.fsum(np.abs(p - q).tolist())
    js = 0.5 * (_entropy_from_mean(p, q) + _entropy_from_mean(q, p))
    kl = None if lost else max(0.0, _relative_entropy(p, q))
    return Divergence(
        tvd=min(1.0, tvd),
        js=min(math.log(2), max(0.0, js)),
        kl=kl,
        lost=lost,
        reason=f"support lost: {lost}" if lost else None,
    )


def _entropy_from_mean(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Sum of p ln(p/m), m the mean of both; p is doubled, because halving a denormal sum would round it to 0."""
    here = p > 0
    return math.fsum((p[here] * np.log(2 * p[here] / (p[here] + q[here]))).tolist())


def _relative_entropy(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Sum of p ln(p/q) over p > 0; logs are subtracted because the quotient with a denormal overflows."""
    here = p > 0
    return math.fsum((p[here] * (np.log(p[here]) - np.log(q[here]))).tolist())
