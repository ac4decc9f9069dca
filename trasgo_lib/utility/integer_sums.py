"""Sums of products of integers, exact at any size.

Statistics of tens of millions of rows overflow 64 bits as soon as counts are multiplied, and a float sum depends on
the order of the rows. Here every sum is a Python integer, and the work on arrays stays inside numpy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_SAFE_BITS = 62
"""Products of this many bits cannot overflow a signed 64-bit integer, whatever their signs."""

_HALF_BITS = 32
"""Arrays are shorter than 2**31, so sums of 32-bit halves cannot overflow either."""


def exact_sum(values: NDArray[np.int64]) -> int:
    """The sum of an array as a Python integer.

    Args:
        values: int64[any], any magnitude.
    """
    if values.size == 0 or _bit_length(values) + values.size.bit_length() <= _SAFE_BITS:
        return int(values.sum())
    high = values >> _HALF_BITS
    low = values & ((1 << _HALF_BITS) - 1)
    return (int(high.sum()) << _HALF_BITS) + int(low.sum())


def product_sum(*factors: NDArray[np.int64]) -> int:
    """The sum over positions of the product of the factors, as a Python integer.

    The widest factor is split into a high and a low half until the products fit 64 bits; one pass where they do
    already.

    Args:
        factors: one or more int64 arrays of the same shape, any magnitude.
    """
    first, *others = factors
    if not others or first.size == 0:
        return exact_sum(first)
    bits = [_bit_length(factor) for factor in factors]
    if sum(bits) + first.size.bit_length() <= _SAFE_BITS:
        return int(np.dot(math.prod(others[:-1], start=first), others[-1]))
    if sum(bits) <= _SAFE_BITS:
        return exact_sum(math.prod(others, start=first))
    widest = bits.index(max(bits))
    shift = bits[widest] // 2
    high = list(factors)
    low = list(factors)
    high[widest] = factors[widest] >> shift  # floors, so that the low half is never negative
    low[widest] = factors[widest] & ((1 << shift) - 1)
    return (product_sum(*high) << shift) + product_sum(*low)


def _bit_length(values: NDArray[np.int64]) -> int:
    return max(int(values.max()).bit_length(), int(values.min()).bit_length())


def root_ratio(numerator: int, left: int, right: int) -> float:
    """``numerator / sqrt(left * right)`` for integers of any size, within an ulp of the true value.

    Exactly 1 or -1 where the numbers say so, which a quotient of float roots is not.

    Args:
        numerator: any integer, at most ``sqrt(left * right)`` in size.
        left: positive.
        right: positive.
    """
    # int / int is correctly rounded in Python, at any size
    size = math.sqrt(numerator * numerator / (left * right))
    return math.copysign(size, numerator) if numerator else 0.0
