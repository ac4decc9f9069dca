"""Certificates: the privacy loss that a channel's integers prove, computed exactly and rounded up.

No float decides anything here. Floats only narrow down which integer ratios are compared, with a margin four orders
above their error. Logarithms are taken once, of one exact ratio, with 60 digits.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_DIGITS = 60
_LOGARITHM_ERROR = Decimal("1e-50")
"""More than the error of a 60-digit division and logarithm; added, so that results never round down."""

_EPSILON_STEP = Decimal("1e-6")
_CANDIDATE_MARGIN = 1e-12
"""A float ratio of two 64-bit integers is off by less than 4e-16; whatever lies within this of the top is compared."""


def log_ratio(numerator: int, denominator: int) -> Decimal:
    """An upper bound, within 1e-49, on the natural logarithm of a ratio of positive integers."""
    with localcontext(Context(prec=_DIGITS)):
        return (Decimal(numerator) / Decimal(denominator)).ln() + _LOGARITHM_ERROR


def published(epsilon: Decimal) -> Decimal:
    """A loss rounded up to 1e-6, as it is published; never negative."""
    with localcontext(Context(prec=_DIGITS)):
        return max(epsilon, Decimal(0)).quantize(_EPSILON_STEP, rounding=ROUND_CEILING)


def rounded_up(value: Fraction) -> Decimal:
    """A non-negative fraction as a decimal of 20 digits, rounded up."""
    with localcontext(Context(prec=20, rounding=ROUND_CEILING)):
        return Decimal(value.numerator) / Decimal(value.denominator)


def largest_ratio(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> tuple[int, int]:
    """The pair ``(high[j], low[j])`` of the largest ratio, exactly.

    Args:
        high: uint64[n], largest weight of each output over all inputs.
        low: uint64[n], smallest weight of each output, at least 1.
    """
    approximate = high.astype(np.float64) / low.astype(np.float64)
    near = np.flatnonzero(approximate >= approximate.max() * (1 - _CANDIDATE_MARGIN))
    pairs = np.unique(np.stack([high[near], low[near]], axis=1), axis=0).tolist()
    best_high, best_low = pairs[0]
    for pair_high, pair_low in pairs[1:]:
        if pair_high * best_low > best_high * pair_low:
            best_high, best_low = pair_high, pair_low
    return best_high, best_low


def shift_extremes(noise: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Largest and smallest weight of each output of a clamped shift family, in linear time.

    Output ``y`` inside collects ``noise[y - i]`` over inputs ``i``: a window of ``size`` shifts that always contains 0,
    so running maxima from 0 outwards suffice. The end outputs collect sums, which are monotone in the input.

    Args:
        noise: uint64[2 * size - 1], weights of the shifts ``-(size-1)..size-1``, tails lumped at both ends.

    Returns:
        high, low: uint64[size] each.
    """
    reach = len(noise) // 2
    down, up = noise[reach::-1], noise[reach:]
    high = np.maximum(np.maximum.accumulate(down)[::-1], np.maximum.accumulate(up))
    low = np.minimum(np.minimum.accumulate(down)[::-1], np.minimum.accumulate(up))
    high[0], low[0] = noise[: reach + 1].sum(), noise[0]
    high[reach], low[reach] = noise[reach:].sum(), noise[-1]
    return high, low


def dense_extremes(matrix: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Largest and smallest weight of each output: uint64[inputs, outputs] -> uint64[outputs] each."""
    return matrix.max(axis=0), matrix.min(axis=0)


def pure_epsilon(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Decimal:
    """The largest log-ratio between two inputs over all outputs, from the extremes of each output; not yet rounded."""
    return log_ratio(*largest_ratio(high, low))


def has_monotone_ratios(noise: NDArray[np.uint64]) -> bool:
    """Whether the likelihood ratios of every two rows of the clamped shift family are monotone in the output.

    Checked exactly for neighbouring rows; ratios of distant rows are products of these, so they are monotone too. Then
    the sets that tell two inputs apart best are prefixes and suffixes of the outputs (Neyman-Pearson).
    """
    weights = [int(weight) for weight in noise.tolist()]
    reach = len(weights) // 2
    # inside: w[z]**2 >= w[z-1] * w[z+1] for shifts that no end output lumps
    inside = all(weights[z] * weights[z] >= weights[z - 1] * weights[z + 1] for z in range(2, 2 * reach - 1))
    if not inside or reach < 2:
        return inside
    return _ends_are_monotone(weights) and _ends_are_monotone(weights[::-1])


def _ends_are_monotone(weights: list[int]) -> bool:
    """Output 0 against output 1 for inputs ``i`` and ``i + 1``: F(-i) / F(-i-1) >= w[1-i] / w[-i]."""
    reach = len(weights) // 2
    prefix = 0
    prefixes = [prefix := prefix + weight for weight in weights[: reach + 1]]  # [k]: shifts -reach..-reach+k
    return all(
        prefixes[reach - i] * weights[reach - i] >= prefixes[reach - i - 1] * weights[reach + 1 - i]
        for i in range(reach)
    )


def approximate_epsilon(noise: NDArray[np.uint64], delta: Fraction) -> Decimal:
    """The least epsilon at which the exact hockey-stick sum over a clamped shift family is at most ``delta``.

    For a family with monotone ratios the worst pair is the two ends of the domain and the worst sets are prefixes (and
    suffixes), so the hockey-stick sum at epsilon is the largest ``F(c) - e**epsilon * F(c - N)`` over cuts ``c``, and
    the least epsilon solves in closed form. Not yet rounded.

    Args:
        noise: uint64[2 * N + 1] with ``has_monotone_ratios``.
        delta: exact, 0 <= delta < 1.
    """
    total = 1 << 64
    weights = noise.tolist()
    return max(_one_sided_epsilon(weights, delta, total), _one_sided_epsilon(weights[::-1], delta, total))


def _one_sided_epsilon(weights: list[int], delta: Fraction, total: int) -> Decimal:
    reach = len(weights) // 2
    near = sum(weights[:reach])
    far = 0
    best_numerator, best_denominator = 1, 1
    for cut in range(reach):
        near += weights[reach + cut]  # P(output <= cut | input 0)
        far += weights[cut]  # P(output <= cut | input N)
        numerator = near * delta.denominator - delta.numerator * total
        denominator = far * delta.denominator
        if numerator * best_denominator > best_numerator * denominator:
            best_numerator, best_denominator = numerator, denominator
    return log_ratio(best_numerator, best_denominator)


def hockey_stick(first: tuple[int, ...], second: tuple[int, ...], epsilon: Decimal) -> Decimal:
    """An upper bound, tight to 50 digits, on the hockey-stick sum of two rows at ``epsilon``, in the given direction.

    Args:
        first: weights of one input.
        second: weights of the other input, same total.
        epsilon: the level.
    """
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_FLOOR)):
        factor = int(epsilon.exp().scaleb(50).to_integral_value(rounding=ROUND_FLOOR)) - 1
    scale = 10**50
    gain = sum(max(0, p * scale - factor * q) for p, q in zip(first, second, strict=True))
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)):
        return Decimal(gain) / Decimal(sum(first) * scale)
