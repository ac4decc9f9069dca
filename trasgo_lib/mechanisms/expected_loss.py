"""What a channel takes from a column whose distribution is known: population values, without sampling.

Losses are those of ``trasgo_lib.utility``, for infinitely many rows: divergences between the distribution p and the
distribution p K of what is released, and the share of every correlation that is lost when only this column is noised.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.channel import Channel

CORRELATION_LOSS = "correlation_loss"
LOSSES = (CORRELATION_LOSS, "tvd", "js", "kl")

MOST_WITHIN = 0.02
"""Largest variance within noise bins, in terms of a column's own, at which correlations of released bins can be undone;
as ``trasgo_lib.utility``, which lies higher, has it."""

MOST_NOISE = 0.06
"""Root of the summed variances of inverted shares beyond which a divergence is not estimated; likewise."""

MOST_BIAS = 0.01
"""Largest part of a code's weight that an inverse may put in a wrong bin; likewise."""

MOST_INVERTED_CODES = 256
"""Laplace noise on the scale of a range of more codes is never undone well enough. Measured for an even column in 20
bins, 512 codes, a million rows, epsilon 16: the error is 0.38 (0.09 in 2 bins), and it grows with the codes."""

MOST_SMOOTH_CODES = 64
"""Likewise for staircase and gaussian, whose inverses put over 0.4 of a code's weight into wrong bins from 128 codes
on."""

Floats = NDArray[np.float64]


class _Linear(Protocol):
    def expectation(self, values: Floats) -> Floats: ...


def attenuation(channel: Channel, shares: Floats, size: int) -> float:
    """Correlation between private and released values of a column, in code steps; 0 where either is constant.

    A correlation with another column keeps this share of itself when only this column is noised: exactly where the mean
    of the released value is a straight line in the private one, else nearly.

    Args:
        channel: over the column's codes.
        shares: float64[inputs], the distribution; public.
        size: number of codes that are values; one more means missing and is left out on both sides.
    """
    places = np.arange(channel.outputs, dtype=np.float64)
    is_value = (places < size).astype(np.float64)
    known = places * is_value
    released, first, second = (expected(channel, values)[:size] for values in (is_value, known, known * places))
    law = shares[:size] * released
    if law.sum() <= 0:
        return 0.0
    weights = shares[:size] / law.sum()
    values = np.arange(size, dtype=np.float64)
    mean_x, mean_y = float(weights * released @ values), float(weights @ first)
    var_x = float(weights * released @ (values - mean_x) ** 2)
    var_y = float(weights @ second) - mean_y**2
    if var_x <= 0 or var_y <= 0:
        return 0.0
    return float(weights * (values - mean_x) @ first) / math.sqrt(var_x * var_y)


def expected(channel: Channel, values: Floats) -> Floats:
    """Expected value of a function of the output, for each input: float64[outputs] -> float64[inputs]."""
    linear: _Linear = channel  # type: ignore[assignment]
    return linear.expectation(values)


def divergence(channel: Channel, shares: Floats, bins: NDArray[np.int32], loss: str) -> float:
    """Divergence of what is released from the distribution it comes from.

    Args:
        channel: over the column's codes.
        shares: float64[codes], the distribution; public.
        bins: int32[codes], the bin of each code.
        loss: ``tvd``, ``js`` or ``kl``.
    """
    count = int(bins.max()) + 1
    before: Floats = np.bincount(bins, weights=shares, minlength=count).astype(np.float64)
    after = np.array([float(shares @ expected(channel, (bins == place).astype(np.float64))) for place in range(count)])
    after = np.maximum(after, 0.0)
    if loss == "tvd":
        return min(1.0, 0.5 * math.fsum(np.abs(before - after).tolist()))
    if loss == "js":
        middle = (before + after) / 2
        return max(0.0, 0.5 * (_gain(before, middle) + _gain(after, middle)))
    # a bin that is never released makes the divergence infinite
    return math.inf if bool(((before > 0) & (after <= 0)).any()) else max(0.0, _gain(before, after))


def _gain(ours: Floats, theirs: Floats) -> float:
    here = ours > 0
    return math.fsum((ours[here] * (np.log(ours[here]) - np.log(theirs[here]))).tolist())


def expected_loss(channel: Channel, shares: Floats, loss: str, *, size: int, bins: NDArray[np.int32]) -> float:
    """The loss of a column whose distribution is known.

    Args:
        channel: over the column's codes.
        shares: float64[codes]; public.
        loss: one of ``LOSSES``; the correlation loss in per cent, the other columns' noise left out.
        size: number of codes that are values.
        bins: int32[codes], bins of the divergences.
    """
    if loss == CORRELATION_LOSS:
        return 100 * (1 - attenuation(channel, shares, size))
    return divergence(channel, shares, bins, loss)


def within_bins(shares: Floats, size: int, bins: NDArray[np.int32], representatives: NDArray[np.int32]) -> float:
    """Variance that values may have within noise bins, in terms of the column's own; infinite for a constant column.

    Args:
        shares: float64[codes]; public.
        size: number of codes that are values.
        bins: int32[size], noise bin of each.
        representatives: int32[bins], released code of each bin.
    """
    law = shares[:size] / max(float(shares[:size].sum()), np.finfo(np.float64).tiny)
    places = np.arange(size)
    variance = float(law @ (places - law @ places) ** 2)
    widest = float(np.abs(representatives[bins] - places).max())
    return widest**2 / 3 / variance if variance > 0 else math.inf


def least_within_bins(size: int, bins: NDArray[np.int32], representatives: NDArray[np.int32]) -> float:
    """The same for the column that varies most: half its values at either end of the domain. No column has less."""
    ends = np.zeros(size)
    ends[[0, -1]] = 0.5
    return within_bins(ends, size, bins, representatives)


def divergence_is_known(channel: Channel, shares: Floats, bins: NDArray[np.int32], rows: int) -> bool:
    """Whether a divergence can be estimated from so many released rows, as ``trasgo_lib.utility`` decides it.

    Args:
        channel: over the column's codes; at most ``MOST_INVERTED_CODES`` where it is no randomised response.
        shares: float64[codes]; public.
        bins: int32[codes], bins of the divergence.
        rows: expected number of rows.
    """
    spread = _inverse_spread(channel, shares, bins)
    return spread is not None and math.sqrt(spread / rows) <= MOST_NOISE


def rows_for_divergence(channel: Channel, shares: Floats, bins: NDArray[np.int32]) -> int | None:
    """From how many released rows on a divergence can be estimated; None where no number of rows is enough.

    Args:
        channel: over the column's codes; at most ``MOST_INVERTED_CODES`` where it is no randomised response.
        shares: float64[codes]; public.
        bins: int32[codes], bins of the divergence.
    """
    spread = _inverse_spread(channel, shares, bins)
    return None if spread is None else max(1, math.ceil(spread / MOST_NOISE**2))


def _inverse_spread(channel: Channel, shares: Floats, bins: NDArray[np.int32]) -> float | None:
    """Summed variances of one row's inverted shares; None where the channel does not tell the bins apart."""
    support = np.array(channel.support)
    identity = np.zeros((len(support), channel.outputs))
    identity[np.arange(len(support)), support] = 1.0
    rows_of = np.stack([expected(channel, row) for row in identity], axis=1)  # float64[inputs, support]
    groups = (np.arange(int(bins.max()) + 1)[:, None] == bins[None, :]).astype(np.float64)
    undone = np.stack([groups @ channel.invert(row) for row in identity], axis=1)  # float64[bins, support]
    if float(np.abs(undone @ rows_of.T - groups).max()) > MOST_BIAS:
        return None
    released = shares @ rows_of
    variances = undone**2 @ released - (undone @ released) ** 2
    return max(0.0, float(variances.sum()))
