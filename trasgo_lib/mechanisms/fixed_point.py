"""Fixed-point numbers: how exponentials become integer weights without libm, the same on every machine.

Seeds come from ``decimal`` (correctly rounded arithmetic, 100 digits); everything after them is integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

CONTEXT = Context(prec=100)
"""Seeds carry 100 digits, more than the 256 bits kept after them. Every operation names this context: operators would
take the caller's, and with it other weights."""

BITS = 256
"""Bits after the point: a million truncations stay 170 bits below the last bit of a weight."""

_WORD_BITS = 64
_HALF_WORD = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
_DIGIT_BITS = 8
_ROWS_AT_ONCE = 64
"""Wide products need eight temporaries; a few rows at a time keep them out of main memory."""


def to_fixed(value: Decimal) -> int:
    """A number in 0..1 as an integer multiple of 2**-256, rounded down."""
    return int(CONTEXT.multiply(value, Decimal(1 << BITS)))


def symmetric_weights(shares: list[int]) -> NDArray[np.uint64]:
    """Weights of the shifts ``-reach..reach`` from fixed-point shares of the shifts ``0..reach``.

    Each is the nearest integer, at least 1. What rounding leaves of 2**64 goes to shift 0 or, evenly, to the two lumped
    ends, whichever is heavier: there it changes ratios least.

    Args:
        shares: reach + 1 multiples of 2**-256; the first plus twice the others is one.
    """
    half = 1 << (BITS - _WORD_BITS - 1)
    centre, *up = (max(1, (share + half) >> (BITS - _WORD_BITS)) for share in shares)
    if up[-1] > centre:
        up[-1] += ((1 << _WORD_BITS) - centre - 2 * sum(up)) // 2
    centre = (1 << _WORD_BITS) - 2 * sum(up)
    return np.array([*reversed(up), centre, *up], dtype=np.uint64)


def rounded_row(shares: Sequence[int]) -> NDArray[np.uint64]:
    """One row of relative shares as weights: nearest integers, at least 1, that sum to 2**64, remainder to the mode.

    Args:
        shares: at least two non-negative whole numbers of any size.
    """
    total = sum(shares)
    half = total >> 1
    weights = [max(1, ((share << _WORD_BITS) + half) // total) for share in shares]
    mode = max(range(len(weights)), key=weights.__getitem__)
    weights[mode] += (1 << _WORD_BITS) - sum(weights)
    return np.array(weights, dtype=np.uint64)


def multiply_high(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The upper 64 bits of 128-bit products, elementwise with broadcasting."""
    left_low, left_high = left & _LOW_HALF, left >> _HALF_WORD
    right_low, right_high = right & _LOW_HALF, right >> _HALF_WORD
    middle = left_high * right_low + ((left_low * right_low) >> _HALF_WORD)
    cross = left_low * right_high + (middle & _LOW_HALF)
    product: NDArray[np.uint64] = left_high * right_high + (middle >> _HALF_WORD) + (cross >> _HALF_WORD)
    return product


def exponentials(rate: Decimal, steps: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``exp(-rate * step)`` as uint64 multiples of 2**-64, at least 1; 1 itself becomes 2**64 - 1.

    Steps are cut into digits of 8 bits, each with a table of seeds, and the parts are multiplied in integers.

    Args:
        rate: above 0.
        steps: whole numbers, any shape.
    """
    largest = int(steps.max()) if steps.size else 0
    result = np.full(steps.shape, 2**_WORD_BITS - 1, dtype=np.uint64)
    for place in range(-(-largest.bit_length() // _DIGIT_BITS)):
        digit = (steps >> np.uint64(_DIGIT_BITS * place)) & np.uint64(2**_DIGIT_BITS - 1)
        seeds = _seeds(CONTEXT.multiply(rate, Decimal(1 << (_DIGIT_BITS * place))), np.unique(digit).tolist())
        # a digit of 0 stands for a factor of exactly 1, which a 64-bit fraction cannot hold
        result = np.where(digit == 0, result, multiply_high(result, seeds[digit.astype(np.int64)]))
    return np.maximum(result, np.uint64(1))


def _seeds(rate: Decimal, digits: list[int]) -> NDArray[np.uint64]:
    """``exp(-rate * digit)`` for the digits that occur; the entry of digit 0 is never used."""
    seeds = np.zeros(2**_DIGIT_BITS, dtype=np.uint64)
    for digit in digits:
        power = CONTEXT.exp(CONTEXT.multiply(rate, Decimal(-digit)))
        seeds[digit] = min(int(CONTEXT.multiply(power, Decimal(1 << _WORD_BITS))), 2**_WORD_BITS - 1)
    return seeds


def normalised_rows(shares: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Rows of relative shares as rows of weights: each at least 1, each row summing to 2**64, remainder to the mode.

    Args:
        shares: uint64[rows, entries], at least two entries, the largest of each row close to 2**64.
    """
    weights = np.empty_like(shares)
    for start in range(0, len(shares), _ROWS_AT_ONCE):
        weights[start : start + _ROWS_AT_ONCE] = _normalised(shares[start : start + _ROWS_AT_ONCE])
    return weights


def _normalised(shares: NDArray[np.uint64]) -> NDArray[np.uint64]:
    high = (shares >> _HALF_WORD).sum(axis=1, dtype=np.uint64)
    low = (shares & _LOW_HALF).sum(axis=1, dtype=np.uint64)
    sums = [(upper << 32) + lower for upper, lower in zip(high.tolist(), low.tolist(), strict=True)]
    scale = np.array([(1 << 128) // max(total, (1 << 64) + 1) for total in sums], dtype=np.uint64)
    weights = np.maximum(multiply_high(shares, scale[:, None]), np.uint64(1))
    modes = shares.argmax(axis=1)
    rows = np.arange(len(shares))
    weights[rows, modes] += np.uint64(0) - weights.sum(axis=1, dtype=np.uint64)  # wraps: 2**64 minus the sum
    return weights
