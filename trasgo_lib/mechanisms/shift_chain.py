"""Kernels and exact products of clamped shift families whose likelihood ratios are monotone.

A clamped shift by log-concave noise is totally positive of order two: every 2 x 2 minor is non-negative. Products of
such matrices are so too (Cauchy and Binet). In a totally positive product P over codes 0..N the ratio
``P(i, y) / P(j, y)``, i < j, falls in y, so the largest log-ratio stands at output 0, between inputs 0 and N, or, in
mirror image, at output N. With symmetric noise both are ``P(0, 0) / P(0, N)``: one row of the product, kept as whole
numbers, certifies the level exactly. The sets that tell two inputs apart best are prefixes, which does the same for
delta above 0. Source: Karlin 1968, Total Positivity, chapter 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import TableKernel
from trasgo_lib.mechanisms.certificate import log_ratio, rounded_up
from trasgo_lib.mechanisms.fixed_point import rounded_row
from trasgo_lib.mechanisms.shift import ShiftChannel, ShiftNoise
from trasgo_lib.mechanisms.shift_rows import clamped_row
from trasgo_lib.noise import AliasTable

_WORD = 1 << 64
_NOMINAL_BITS = 256
"""Rows of published weights are carried with this many bits, 170 more than rounding to a word can see."""

_UNITS_OFF = 2


class ShiftKernel(TableKernel):
    """Add clamped noise to a code.

    Args:
        noise: uint64[2 * codes - 1], symmetric weights of the shifts, tails lumped; far shifts may have weight 0.
    """

    def __init__(self, noise: NDArray[np.uint64]) -> None:
        super().__init__(len(noise) // 2 + 1)
        self.noise = ShiftNoise(noise)
        self.shifts: list[int] = noise.tolist()
        used = np.flatnonzero(noise)
        self._first, self._stop = int(used[0]), int(used[-1]) + 1

    @cached_property
    def _alias(self) -> AliasTable:
        return AliasTable(self.noise.weights[self._first : self._stop])

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 0 that sum to 2**64."""
        return tuple(clamped_row(self.shifts, self._checked_code(code)))

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        self._alias.draw(words, out)
        out += np.int32(self._first - self.noise.reach)
        out += codes
        np.maximum(out, np.int32(0), out=out)
        np.minimum(out, np.int32(self.noise.reach), out=out)

    def push(self, row: Sequence[int]) -> list[int]:
        """A row of whole numbers times this kernel, exactly; its total grows by a factor of 2**64."""
        used = self.shifts[self._first : self._stop]
        spread = _convolve(row, used)
        start, reach = self._first - self.noise.reach, self.noise.reach  # spread[k] stands at place start + k
        below, inside_stop = max(0, -start), reach + 1 - start
        pushed = [0] * max(0, start) + spread[below:inside_stop]
        pushed += [0] * (reach + 1 - len(pushed))
        pushed[0] += sum(spread[:below])
        pushed[-1] += sum(spread[inside_stop:])
        return pushed

    def ends(self, row: Sequence[int]) -> tuple[int, int]:
        """The entries of ``push(row)`` at outputs 0 and N alone, in linear time."""
        reach = self.noise.reach
        # [d]: weight of shifts of at least d, for d = 0..N
        tails = list(accumulate(self.shifts[: reach - 1 : -1]))[::-1]
        low = sum(share * tail for share, tail in zip(row, tails, strict=True))
        high = sum(share * tail for share, tail in zip(row, reversed(tails), strict=True))
        return low, high

    def _table_bytes(self) -> Iterator[bytes]:
        yield self.noise.weights.astype("<u8").tobytes()


def _convolve(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Exact convolution of non-negative whole numbers, as one product of two long integers (Kronecker)."""
    bits = max(left).bit_length() + max(right).bit_length() + min(len(left), len(right)).bit_length()
    width = bits // 8 + 1
    packed = [
        int.from_bytes(b"".join(entry.to_bytes(width, "little") for entry in side), "little") for side in (left, right)
    ]
    length = len(left) + len(right) - 1
    product = (packed[0] * packed[1]).to_bytes(width * length, "little")
    return [int.from_bytes(product[place : place + width], "little") for place in range(0, len(product), width)]


def truncated(row: Sequence[int], bits: int) -> list[int]:
    """The row with its largest entry cut to so many bits; others lose the same low bits."""
    shift = max(0, max(row).bit_length() - bits)
    return [entry >> shift for entry in row]


def prefix_epsilon(row: Sequence[int], delta: Fraction) -> Decimal:
    """The least epsilon at which the exact hockey-stick sum of a symmetric, totally positive product is at most delta.

    Args:
        row: row 0 of the product; row N is its mirror image.
        delta: exact; 0 gives the largest log-ratio.

    Returns:
        An upper bound within 1e-49; not yet rounded.
    """
    if not delta:
        return log_ratio(row[0], row[-1])
    near = far = 0
    allowance, best_numerator, best_denominator = delta.numerator * sum(row), 1, 1
    for one, other in zip(row[:-1], reversed(row[1:]), strict=True):
        near, far = near + one, far + other  # P(output <= cut) from input 0 and from input N
        numerator, denominator = near * delta.denominator - allowance, far * delta.denominator
        if numerator * best_denominator > best_numerator * denominator:
            best_numerator, best_denominator = numerator, denominator
    return log_ratio(best_numerator, best_denominator)


def published_difference(row: Sequence[int]) -> Decimal | None:
    """Bound on the relative difference between a product and its rows rounded to words; None where there is none.

    No entry is smaller than the least of row 0 divided by the largest ratio of the product.

    Args:
        row: row 0 of the product.
    """
    return rounded_difference(min(row) * Fraction(_WORD, sum(row)) * Fraction(row[-1], row[0]), len(row))


def rounded_difference(smallest: Fraction, size: int) -> Decimal | None:
    """Bound on the relative difference between exact rows and the same rows rounded to words; None without one.

    Args:
        smallest: a lower bound on every entry, in units of a word.
        size: entries a row; the mode of a row takes what rounding leaves.
    """
    largest, moved = Fraction(_WORD, size), _UNITS_OFF * size
    if smallest <= 2 * _UNITS_OFF or largest <= moved:
        return None
    return rounded_up(max(_UNITS_OFF / (smallest - _UNITS_OFF), moved / (largest - moved)))


class ShiftProduct:
    """The linear maps of a product of clamped shift families, without forming a matrix.

    Args:
        noises: the families in the order in which they run.
    """

    __slots__ = ("_noises", "reach", "size")

    def __init__(self, noises: Sequence[ShiftNoise]) -> None:
        self._noises = tuple(noises)
        self.reach, self.size = noises[0].reach, noises[0].size

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected value of a function of the last output for each first input."""
        for noise in reversed(self._noises):
            values = noise.expectation(values)
        return values

    def outputs_of(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Expected last output frequencies of first input frequencies."""
        for noise in self._noises:
            frequencies = noise.outputs_of(frequencies)
        return frequencies


class ShiftLaw:
    """What a top shift family and the kernels after it do together; a ``LevelLaw``.

    Args:
        top: channel of the top level.
        kernels: in the order in which they run.
    """

    def __init__(self, top: ShiftChannel, kernels: Sequence[ShiftKernel]) -> None:
        self._top, self._kernels = top, tuple(kernels)
        self.linear = ShiftProduct([top.noise, *(kernel.noise for kernel in kernels)])

    def row(self, code: int) -> NDArray[np.uint64]:
        """The product's row of one input, rounded to words: uint64[outputs]."""
        row: Sequence[int] = self._top.weights(code)
        for kernel in self._kernels:
            row = truncated(kernel.push(row), _NOMINAL_BITS)
        return rounded_row(row)

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words."""
        yield self._top.noise.weights.astype("<u8").tobytes()
        for kernel in self._kernels:
            yield kernel.noise.weights.astype("<u8").tobytes()
