"""What a channel does to values and to estimates: figures for people, computed from the channel's own integers."""

from __future__ import annotations

from math import sqrt

import numpy as np

from trasgo_lib.mechanisms import Channel

ROWS_OF_EXAMPLE = 10_000
"""Rows behind the example errors; one error scales with 1/sqrt(rows)."""

_NORMAL_95 = 1.96
_MOST_LOOKED_AT = 33
"""Inputs looked at for an average over inputs; the averages are smooth in the input."""

_MOST_WEIGHTS = 2**20
"""Weights looked at for one figure: rows of the largest domains have a million each."""

_MOST_CODES_INVERTED = 64
"""Codes up to which the error of a share is computed; it takes codes squared inversions' worth of numbers."""


def noise_sd_steps(channel: Channel, size: int) -> float | None:
    """Standard deviation of one decoded value in the middle of the domain, in code steps; None for labels and points.

    Args:
        channel: any channel.
        size: codes of the domain, without missing.
    """
    moments = channel.moments
    if moments is None:
        return None
    sd = float(np.sqrt(moments.variance[(size - 1) // 2]))
    return sd if np.isfinite(sd) else None


def share_at_bounds(channel: Channel, size: int) -> float:
    """Expected share of released values on the two ends when the true values are spread evenly over the domain."""
    ends = [row[0] + row[size - 1] for row in _rows(channel, size)]
    return sum(end / channel.total for end in ends) / len(ends)


def keep_probability(channel: Channel, size: int) -> float:
    """Probability that a value comes out as it went in, averaged over the codes."""
    codes = _looked_at(channel, size)
    return sum(channel.weights(code)[code] / channel.total for code in codes) / len(codes)


def share_released_missing(channel: Channel, size: int) -> float:
    """Probability that a present value comes out as missing; 0 without a missing code."""
    return channel.weights(0)[size] / channel.total if channel.outputs > size else 0.0


def mean_error(sd: float) -> float:
    """95 % error that the noise alone gives a mean over ``ROWS_OF_EXAMPLE`` rows, in the unit of ``sd``."""
    return _NORMAL_95 * sd / sqrt(ROWS_OF_EXAMPLE)


def share_error(channel: Channel) -> float | None:
    """Largest 95 % error that the noise alone gives an estimated share over ``ROWS_OF_EXAMPLE`` rows; None if large.

    The estimate is linear: output y counts as ``g[y, j]`` towards the share of input j, and g follows from ``invert``.
    """
    if channel.outputs > _MOST_CODES_INVERTED:
        return None
    g = np.stack([channel.invert(row) for row in np.eye(channel.outputs)])  # g: float64[outputs, inputs]
    rows = [np.array([weight / channel.total for weight in channel.weights(code)]) for code in range(channel.inputs)]
    chances = np.stack(rows)  # chances: float64[inputs, outputs]
    variance = chances @ g**2 - (chances @ g) ** 2  # of one row's contribution: [true input, estimated share]
    return _NORMAL_95 * sqrt(float(variance.max()) / ROWS_OF_EXAMPLE)


def _looked_at(channel: Channel, size: int) -> range | list[int]:
    count = min(size, _MOST_LOOKED_AT, max(3, _MOST_WEIGHTS // channel.outputs))
    return [(2 * place + 1) * size // (2 * count) for place in range(count)]


def _rows(channel: Channel, size: int) -> list[tuple[int, ...]]:
    return [channel.weights(code) for code in _looked_at(channel, size)]
