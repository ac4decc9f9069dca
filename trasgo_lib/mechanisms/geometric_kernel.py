"""The kernel between two levels of clamped geometric noise, exact before rounding.

Let ``a2 < a1`` be the decays of the finer and the coarser level on codes 0..N, and ``D(a)`` the two-sided geometric law
``(1-a)/(1+a) * a**|z|``, with generating function ``(1-a)**2 / ((1 - a s)(1 - a/s))``.

*Inside.* The quotient of the generating functions of ``D(a1)`` and ``D(a2)`` is that of ``W``: 0 with probability
``w0 = a2 (1-a1)**2 / (a1 (1-a2)**2)``, else drawn from ``D(a1)``. If ``Z`` has law ``D(a2)``, ``Z + W`` has ``D(a1)``.

*At an end.* Given that the finer output stands at 0 from any input ``i``, the unclamped ``i + Z`` was ``-G`` with
``P(G = g) = (1-a2) a2**g``: geometric noise forgets ``i``. The kernel's row 0 is therefore the law of ``clamp(W - G)``
for every input. The generating function of ``W - G`` is ``D(a1)(s) (1 - a2 s) / (1 - a2)``, which gives

    stay at 0:                    (1 - a1 a2) / ((1 - a2)(1 + a1))
    go to d, 0 < d < N:           a1**(d-1) (a1 - a2)(1 - a1) / ((1 - a2)(1 + a1))
    go to the far end N:          a1**(N-1) (a1 - a2) / ((1 - a2)(1 + a1))

Row N is its mirror image, the rows inside are ``clamp(y + W)``, and ``K2 R = K1`` holds entry by entry. The integer
tables differ from these numbers by a bounded relative error, which ``rounding_error`` states and certificates add.
Source: Gupte and Sundararajan 2010 for the existence of R.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.base import TableKernel
from trasgo_lib.mechanisms.fixed_point import BITS, CONTEXT, rounded_row, symmetric_weights, to_fixed
from trasgo_lib.mechanisms.shift_rows import clamped_row
from trasgo_lib.noise import AliasTable

_UNITS_OFF = 2
"""Nearest integers are off by half a unit; leftovers shared between two entries and 256-bit truncation by less than
another one and a half."""


class GeometricKernel(TableKernel):
    """One step down in a chain of clamped geometric noise.

    Args:
        inside: uint64[2 * codes - 1], weights of the shifts from a code that is not an end, tails lumped.
        end: uint64[codes], weights of the outputs from code 0; from the last code they are mirrored.
    """

    def __init__(self, inside: NDArray[np.uint64], end: NDArray[np.uint64]) -> None:
        super().__init__(len(end))
        self._inside = inside
        self._end = end
        self._reach = len(end) - 1

    @cached_property
    def _tables(self) -> tuple[AliasTable, AliasTable]:
        return AliasTable(self._inside), AliasTable(self._end)

    @property
    def rounding_error(self) -> Fraction | None:
        """Bound on the relative error of every weight; None where some weight is too small to have one."""
        errors = (rounding_error(self._inside), rounding_error(self._end))
        return None if errors[0] is None or errors[1] is None else max(errors[0], errors[1])

    def weights(self, code: int) -> tuple[int, ...]:
        """Weights over output codes for one input: integers >= 1 that sum to 2**64."""
        place, reach = self._checked_code(code), self._reach
        if place == 0:
            return tuple(self._end.tolist())
        if place == reach:
            return tuple(self._end[::-1].tolist())
        return tuple(clamped_row(self._inside.tolist(), place))

    def draw_into(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write one chunk of outputs: int32[rows], uint64[rows] -> ``out``, int32[rows]."""
        inside, end = self._tables
        reach = np.int32(self._reach)
        inside.draw(words, out)
        out -= reach
        out += codes
        np.maximum(out, np.int32(0), out=out)
        np.minimum(out, reach, out=out)
        at_end = np.flatnonzero((codes == 0) | (codes == reach))
        moved = np.empty(len(at_end), dtype=np.int32)
        end.draw(words[at_end], moved)
        out[at_end] = np.where(codes[at_end] == 0, moved, reach - moved)

    def _table_bytes(self) -> Iterator[bytes]:
        yield self._inside.astype("<u8").tobytes()
        yield self._end.astype("<u8").tobytes()


def geometric_kernel(size: int, finer: Decimal, coarser: Decimal) -> GeometricKernel:
    """The kernel from the noise of one exact level to that of a lower one.

    Args:
        size: number of codes, at least 2.
        finer: the level that is coarsened, over the whole domain.
        coarser: the lower level.
    """
    reach = size - 1
    with localcontext(CONTEXT):
        a1, a2 = (-coarser / reach).exp(), (-finer / reach).exp()
        spread = (a1 - a2) * (1 - a1 * a2) / (a1 * (1 - a2) ** 2)  # 1 - w0
        centre, tail = spread * (1 - a1) / (1 + a1), spread * (-coarser).exp() / (1 + a1)
        front = (a1 - a2) / ((1 - a2) * (1 + a1))
        stay, near, far = (1 - a1 * a2) / ((1 - a2) * (1 + a1)), front * (1 - a1), front * (-coarser).exp() / a1
    factor = to_fixed(a1)
    shifts = _powers(to_fixed(centre), factor, reach)  # of |z| = 0..reach-1
    shifts[0] += (1 << BITS) - to_fixed(spread)
    inside = symmetric_weights([*shifts, to_fixed(tail)])
    end = rounded_row([to_fixed(stay), *_powers(to_fixed(near), factor, reach - 1), to_fixed(far)])
    return GeometricKernel(inside, end)


def rounding_error(weights: NDArray[np.uint64]) -> Fraction | None:
    """Bound on the relative error of nearest-integer weights and of sums of them; None where there is none.

    All entries but the heaviest are off by at most two units. The heaviest takes what rounding leaves of 2**64, at most
    two units an entry. A sum of positive terms is off by no more than the worst of them.

    Args:
        weights: uint64[entries], rounded from exact shares; the heaviest takes the remainder.
    """
    smallest, count = int(weights.min()), _UNITS_OFF * len(weights)
    heaviest = int(weights.max())
    if smallest <= _UNITS_OFF or heaviest <= count:
        return None
    return max(Fraction(_UNITS_OFF, smallest - _UNITS_OFF), Fraction(count, heaviest - count))


def _powers(first: int, factor: int, count: int) -> list[int]:
    shares, share = [], first
    for _ in range(count):
        shares.append(share)
        share = (share * factor) >> BITS
    return shares
