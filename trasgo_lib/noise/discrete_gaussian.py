"""Keyed discrete Gaussian noise: a finite table over 128-bit words, with a bound on what is missing from it.

Noise that is drawn millions of times, such as that of training, needs a table: exact rational sampling makes 60,000
draws a second, this one millions, and the same bits whenever the same step is drawn again.

A table differs from the law on all whole numbers in two ways: weights are whole multiples of 2**-128, and shifts whose
weight would be below one are never drawn. Both together are a total variation distance below ``missing``, which whoever
draws adds up over all draws and pays for as delta.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise.alias import CHUNK_ROWS, WideAliasTable
from trasgo_lib.noise.keystream import Keystream

LARGEST_SIGMA = 2**13
"""In steps. The table then has 2**18 columns and 5 MB; twice as many columns are slower to build and to draw from."""

MISSING_AT_MOST = Fraction(1, 2**106)
"""Of every table: at most 2**18 weights are each too small by less than 2**-128, and the tails weigh less than that."""

_WORDS_PER_DRAW = 2
_TOTAL_BITS = 128
_BITS = 256
"""Bits after the point while weights are made: 10**5 truncations stay 90 bits below the smallest weight."""

_CONTEXT = Context(prec=100)


class GaussianTable:
    """The discrete Gaussian law ``P(z) ~ exp(-z**2 / (2 variance))`` on whole numbers, as a table.

    Args:
        variance: square of sigma, in squared steps; sigma is from 1/2 to ``LARGEST_SIGMA``; public.

    Raises:
        ValueError: a variance outside that range.

    Source:
        Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Definition 1.
    """

    __slots__ = ("_table", "missing", "reach", "variance")

    def __init__(self, variance: Fraction) -> None:
        if not Fraction(1, 4) <= variance <= LARGEST_SIGMA**2:
            raise ValueError(f"sigma is from 0.5 to {LARGEST_SIGMA} steps")
        half = _half_weights(variance)
        self.variance = variance
        self.reach = len(half) - 1
        rest = [*reversed(half[1:]), *half[1:]]
        centre = (1 << _TOTAL_BITS) - sum(rest)
        self._table = WideAliasTable([*reversed(half[1:]), centre, *half[1:]])
        # each weight is less than one too small, and so is the tail beyond both ends: see ``_tail``
        self.missing = Fraction(len(rest) + 1 + 2 * _tail(variance, self.reach), 1 << _TOTAL_BITS)
        if self.missing > MISSING_AT_MOST:
            raise RuntimeError("a noise table lacks more than is paid for")

    def draw(self, keystream: Keystream, first: int, count: int) -> NDArray[np.int64]:
        """Draws ``first`` to ``first + count - 1`` of a stream, int64[count]; two words each."""
        drawn = np.empty(count, dtype=np.int32)
        for start in range(0, count, CHUNK_ROWS):
            rows = min(CHUNK_ROWS, count - start)
            words = keystream.words(_WORDS_PER_DRAW * (first + start), _WORDS_PER_DRAW * rows)
            self._table.draw(words, drawn[start : start + rows])
        return drawn.astype(np.int64) - self.reach

    def weights(self) -> tuple[int, ...]:
        """Weights of the shifts ``-reach..reach``, summed from the table's own columns."""
        return self._table.weights()


@lru_cache(maxsize=4)
def gaussian_table(variance: Fraction) -> GaussianTable:
    """The table of a variance, kept: it is public, never changes, and takes a second to build at its widest."""
    return GaussianTable(variance)


def _half_weights(variance: Fraction) -> list[int]:
    """Weights of the shifts 0, 1, 2, ... while they are at least one, rounded down."""
    exponent = _CONTEXT.divide(Decimal(-variance.denominator), Decimal(2 * variance.numerator))
    step = int(_CONTEXT.multiply(_CONTEXT.exp(exponent), Decimal(1 << _BITS)))  # exp(-1 / (2 variance))
    square, ratio, share = step * step >> _BITS, step, 1 << _BITS
    shares = [share]
    # the sum of all shares is at least 1, so a share below 2**-128 has a weight below one
    while share >> (_BITS - _TOTAL_BITS):
        share = share * ratio >> _BITS
        ratio = ratio * square >> _BITS
        shares.append(share)
    total = shares[0] + 2 * sum(shares[1:])
    weights = [(share << _TOTAL_BITS) // total for share in shares]
    return [weight for weight in weights if weight]


def _tail(variance: Fraction, reach: int) -> int:
    """A bound on the weight of all shifts above ``reach``: a geometric series whose first term is below one."""
    # the ratio of neighbours there is at most exp(-x), x = (2 reach + 3) / (2 variance); and 1 - exp(-x) >= x / (1 + x)
    x = Fraction(2 * reach + 3) / (2 * variance)
    return int((1 + x) / x) + 1
