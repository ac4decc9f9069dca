"""Chains of randomised response: keep the finer code, or draw afresh; exact at every level.

Every matrix here is ``(2**64 - k*q) I + q J`` with a whole ``q`` (``J`` all ones). Such matrices multiply into their
own kind: with ``B`` the product of the ``2**64 - k*q`` of the m matrices that ran, the product is
``B I + (2**(64 m) - B) / k J``, exactly. So each kernel is solved against the product of those above it, nothing adds
up over the rungs, and the certificate of a level is the logarithm of one ratio of integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import TableKernel
from trasgo_lib.mechanisms.certificate import log_ratio, rounded_up
from trasgo_lib.mechanisms.fixed_point import CONTEXT
from trasgo_lib.noise import AliasTable

_WORD = 1 << 64


def rotate(
    alias: AliasTable, size: int, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]
) -> None:
    """Write ``(code + offset) mod size``: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
    alias.draw(words, out)
    out += codes
    # unsigned: below size the subtraction wraps to a huge number, so the minimum is the remainder modulo size
    place = out.view(np.uint32)
    np.minimum(place, place - np.uint32(size), out=place)


def rotation_table(codes: int, other: int) -> AliasTable:
    """The table of offsets: 0 keeps the code; every other offset has weight ``other`` out of 2**64."""
    offsets = np.full(codes, other, dtype=np.uint64)
    offsets[0] = _WORD - (codes - 1) * other
    return AliasTable(offsets)


class RotationKernel(TableKernel):
    """Keep the code, or draw one of all codes afresh.

    Args:
        codes: number of codes, at least 2.
        other: weight of each code but the kept one, out of 2**64.
    """

    def __init__(self, codes: int, other: int) -> None:
        super().__init__(codes)
        self.other = other
        self._keep = _WORD - (codes - 1) * other

    @cached_property
    def _alias(self) -> AliasTable:
        return rotation_table(self.inputs, self.other)

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        row = [self.other] * self.outputs
        row[self._checked_code(code)] = self._keep
        return tuple(row)

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        rotate(self._alias, self.inputs, codes, words, out)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self.inputs.to_bytes(8, "little")
        yield self.other.to_bytes(8, "little")


@dataclass(frozen=True, slots=True)
class RotationProduct:
    """The exact product of the matrices from the top level down to one level.

    Args:
        codes: number of codes, k.
        kept: product of ``2**64 - k*q`` over the matrices.
        words: how many matrices; the product's rows sum to ``2**(64 * words)``.
    """

    codes: int
    kept: int
    words: int

    @classmethod
    def of(cls, codes: int, others: Sequence[int]) -> RotationProduct:
        """The product of matrices with these weights ``q``, in any order."""
        product = cls(codes, 1, 0)
        for other in others:
            product = product.times(other)
        return product

    def times(self, other: int) -> RotationProduct:
        """The product with one more matrix."""
        return RotationProduct(self.codes, self.kept * (_WORD - self.codes * other), self.words + 1)

    @property
    def other(self) -> int:
        """Entry off the diagonal; whole, because ``2**(64 m)`` and ``kept`` agree modulo k."""
        return ((1 << (64 * self.words)) - self.kept) // self.codes

    @property
    def certificate(self) -> Decimal:
        """The largest log-ratio between two inputs, an upper bound within 1e-49; not yet rounded."""
        return log_ratio(self.other + self.kept, self.other)

    @property
    def nominal_other(self) -> int:
        """``other`` rounded to one word."""
        unit = 1 << (64 * (self.words - 1))
        return (2 * self.other + unit) // (2 * unit)

    @property
    def difference(self) -> Decimal:
        """Relative difference between the rounded weights and the product, the larger of its two, rounded up."""
        unit, other, keep = 1 << (64 * (self.words - 1)), self.other, self.other + self.kept
        nominal_keep = _WORD - (self.codes - 1) * self.nominal_other
        return rounded_up(
            max(
                Fraction(abs(self.nominal_other * unit - other), other), Fraction(abs(nominal_keep * unit - keep), keep)
            )
        )

    def step_to(self, target: Decimal) -> int | None:
        """The least weight ``q`` of one more matrix that brings the certificate to a target; None where none does.

        A target loss allows a kept share of ``beta = (e**eps - 1) / (e**eps + k - 1)``.

        Args:
            target: exact loss not to pass, above 0.
        """
        odds = CONTEXT.exp(target)
        beta = CONTEXT.divide(CONTEXT.subtract(odds, Decimal(1)), CONTEXT.add(odds, Decimal(self.codes - 1)))
        above = CONTEXT.divide(Decimal(self.kept), Decimal(1 << (64 * self.words)))
        share = CONTEXT.subtract(Decimal(1), CONTEXT.divide(beta, above))
        if share < 0:
            return None
        other = int(CONTEXT.divide(CONTEXT.multiply(share, Decimal(_WORD)), Decimal(self.codes))) + 1
        return other if self.codes * other < _WORD else None


def descend(top: RotationProduct, targets: Sequence[Decimal]) -> tuple[int, ...] | None:
    """Weights ``q`` of the kernels from a top level down, one a target, in the order in which they run.

    Args:
        top: the matrix of the top level.
        targets: losses of the lower levels, falling.
    """
    product, others = top, []
    for target in targets:
        other = product.step_to(target)
        if other is None:
            return None
        product = product.times(other)
        others.append(other)
    return tuple(others)


def products(top: RotationProduct, others: Sequence[int]) -> tuple[RotationProduct, ...]:
    """The products that ran, the top level first."""
    return tuple(accumulate(others, RotationProduct.times, initial=top))
