"""Chains for any channel: keep the finer code, or draw afresh from one fixed law; exact at every level.

Let ``L`` be the top channel, ``low(y)`` its least weight at output y over all inputs, and ``n`` a row close to
proportional to ``low``. A kernel ``k I + 1 n'`` (keep with weight ``k``, else draw from ``n``) gives products of the
form ``B L + 1 u'`` with whole ``B`` and ``u``, exactly, because rows of ``L`` and of products have constant sums. A
level's largest ratio is the largest ``(B high(y) + u(y)) / (B low(y) + u(y))``. Where all outputs share one ratio, as
for staircase noise and randomised response, drawing from ``low`` keeps it so: no output wastes privacy.
Source: reference note on chains, "any K = (1 - beta) nu + beta M".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import TableKernel
from trasgo_lib.mechanisms.certificate import log_ratio, shift_extremes
from trasgo_lib.mechanisms.fixed_point import CONTEXT, rounded_row
from trasgo_lib.mechanisms.shift import Linear, ShiftChannel
from trasgo_lib.mechanisms.shift_chain import rounded_difference
from trasgo_lib.noise import AliasTable

_WORD = 1 << 64


class RefreshKernel(TableKernel):
    """Keep the code, or draw one from a fixed row.

    Args:
        fresh: weights >= 1 of the codes drawn afresh; what they leave of 2**64 is the weight of keeping.
    """

    def __init__(self, fresh: Sequence[int]) -> None:
        super().__init__(len(fresh))
        self.fresh, self.keep = tuple(fresh), _WORD - sum(fresh)

    @cached_property
    def _alias(self) -> AliasTable:
        return AliasTable([*self.fresh, self.keep])

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        row = list(self.fresh)
        row[self._checked_code(code)] += self.keep
        return tuple(row)

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        self._alias.draw(words, out)
        np.copyto(out, codes, where=out == self.inputs)

    def _table_bytes(self) -> Iterator[bytes]:
        yield np.array(self.fresh, dtype="<u8").tobytes()


@dataclass(frozen=True, slots=True)
class RefreshProduct:
    """The exact product ``B L + 1 u'`` of a top channel and the kernels that ran.

    Args:
        high: largest weight of the top channel at each output.
        low: least weight at each output.
        kept: B.
        fresh: u, one entry an output.
        words: how many matrices; rows sum to ``2**(64 * words)``.
    """

    high: tuple[int, ...]
    low: tuple[int, ...]
    kept: int
    fresh: tuple[int, ...]
    words: int

    @classmethod
    def of(cls, noise: NDArray[np.uint64]) -> RefreshProduct:
        """The top level alone: a clamped shift family with these weights."""
        high, low = shift_extremes(noise)
        return cls(tuple(high.tolist()), tuple(low.tolist()), 1, (0,) * len(low), 1)

    def times(self, kernel: RefreshKernel) -> RefreshProduct:
        """The product with one more kernel."""
        total = 1 << (64 * self.words)
        fresh = tuple(kernel.keep * old + total * new for old, new in zip(self.fresh, kernel.fresh, strict=True))
        return RefreshProduct(self.high, self.low, self.kept * kernel.keep, fresh, self.words + 1)

    def kernel(self, refresh: int) -> RefreshKernel | None:
        """The kernel that draws afresh with about this weight out of 2**64, in proportion to ``low``."""
        floor = sum(self.low)
        fresh = [refresh * weight // floor + 1 for weight in self.low]
        return RefreshKernel(fresh) if sum(fresh) < _WORD else None

    def ends(self) -> Iterator[tuple[int, int]]:
        """Largest and least entry of the product at each output."""
        for high, low, fresh in zip(self.high, self.low, self.fresh, strict=True):
            yield self.kept * high + fresh, self.kept * low + fresh

    @property
    def certificate(self) -> Decimal:
        """The largest log-ratio between two inputs, an upper bound within 1e-49; not yet rounded."""
        best_high, best_low = 1, 1
        for high, low in set(self.ends()):
            if high * best_low > best_high * low:
                best_high, best_low = high, low
        return log_ratio(best_high, best_low)

    @property
    def difference(self) -> Decimal | None:
        """Bound on the relative difference between the product and its rows rounded to words."""
        least = min(low for _, low in self.ends())
        return rounded_difference(Fraction(least, 1 << (64 * (self.words - 1))), len(self.low))

    def refresh_for(self, target: Decimal) -> int:
        """The least weight of drawing afresh that brings every output to a target loss.

        Keeping with probability r holds ``r high + (1 - r) nu <= e**target (r low + (1 - r) nu)`` at every output.

        Args:
            target: exact loss not to pass, above 0.
        """
        with localcontext(CONTEXT):
            total, floor, odds = Decimal(1 << (64 * self.words)), Decimal(sum(self.low)), target.exp()
            worst = max(
                (Decimal(ends[0]) - odds * Decimal(ends[1])) / total * floor / (Decimal(low) * (odds - 1))
                for low, ends in zip(self.low, self.ends(), strict=True)
            )
            return int(max(worst, Decimal(0)) / (1 + max(worst, Decimal(0))) * _WORD) + 1


class _Mixture:
    """The linear maps of ``kept * top + (1 - kept) * fresh``."""

    __slots__ = ("_fresh", "_kept", "_top", "reach", "size")

    def __init__(self, top: Linear, kept: float, fresh: NDArray[np.float64]) -> None:
        self._top, self._kept, self._fresh = top, kept, fresh
        self.size, self.reach = top.size, top.reach

    def expectation(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        expected: NDArray[np.float64] = self._kept * self._top.expectation(values) + float(self._fresh @ values)
        return expected

    def outputs_of(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs: NDArray[np.float64] = self._kept * self._top.outputs_of(frequencies)
        return outputs + float(frequencies.sum()) * self._fresh


class RefreshLaw:
    """The top channel, or a draw from the fixed law; a ``LevelLaw``.

    Args:
        top: channel of the top level.
        product: the product that ran.
    """

    def __init__(self, top: ShiftChannel, product: RefreshProduct) -> None:
        self._top, self._product = top, product
        scale = 1 << (64 * (product.words - 1))
        fresh = np.array([float(Fraction(entry, scale << 64)) for entry in product.fresh])
        self.linear = _Mixture(top.noise, float(Fraction(product.kept, scale)), fresh)

    def row(self, code: int) -> NDArray[np.uint64]:
        """The product's row of one input, rounded to words: uint64[outputs]."""
        kept = self._product.kept
        row = zip(self._top.weights(code), self._product.fresh, strict=True)
        return rounded_row([kept * weight + fresh for weight, fresh in row])

    def table_bytes(self) -> Iterator[bytes]:
        """Bytes that fix every weight, little-endian words."""
        yield self._top.noise.weights.astype("<u8").tobytes()
        for entry in (self._product.kept, *self._product.fresh):
            yield entry.to_bytes(8 * self._product.words + 8, "little")
