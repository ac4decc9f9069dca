"""Integer weights of planar Laplace noise on a lattice, and the certificate they prove.

The ideal. Cells of side g, decay ``theta`` per cell, offsets ``o`` in Z x Z. For an input cell i and an output cell c

    ideal(i, c) = K * C * sum_{z in Z x Z : clamp(z) = c} exp(-theta * |z - i|) + A(c),

where clamp moves each coordinate to the box, C > 0 is a constant and A(c) > 0 does not depend on i. For two inputs
i, j each term changes by at most the factor exp(theta * |i - j|), because |z - j| <= |z - i| + |i - j|; A(c) does not
change. Hence ideal(i, c) <= exp(theta * |i - j|) * ideal(j, c), at the edges of the box too, with no normaliser in the
way. Source: Andres et al. 2013, section 4, where rounding to a lattice costs a correction term; noise that lives on
the lattice itself needs none.

The channel. Draws use 128 bits. The last 20 choose: all zero (1 in 2**20) gives a cell uniform over the box, from the
other 108 bits; anything else gives an offset from a window D of weights w that sum to 2**108, also from those 108 bits,
with each coordinate clamped. So, with K = 2**20 - 1,

    weight(i, c) = K * sum_{o in D : clamp(i + o) = c} w(o) + A(c),     sum over c = 2**128,

where A(c) counts the 108-bit numbers R with floor(R * cells / 2**108) = c, so A(c) >= floor(2**108 / cells) =: A_min.

The difference. D is the disc |o| <= R. Every w(o) differs from C * exp(-theta * |o|) by at most an amount r in D (at
o = 0, which takes the remainder, by at most r0), and is missing outside D. Hence, for every i and c,

    |weight(i, c) - ideal(i, c)| <= K * (r * |D| + r0 + C * T),   T >= sum_{|o| > R} exp(-theta * |o|),

and as ideal >= A_min the relative difference is at most delta = that / A_min. With rho = -ln(1 - delta), which is at
least ln(1 + delta),

    ln weight(i, c) / weight(j, c) <= theta * |i - j| + 2 * rho <= (theta + 2 * rho) * |i - j|,

since different cells are at least 1 apart. Per metre, with geo = theta / g, this is geo * (1 + 2 * rho / (geo * g)).

The tail. Around each lattice point o lies a unit square, within h = sqrt(1/2) of o, so exp(-theta |o|) is at most
exp(theta h) times the integral of exp(-theta |x|) over it, and the squares of |o| > R lie in |x| > R - h:

    T <= exp(theta h) * 2 pi * integral_{R-h}^inf x exp(-theta x) dx
       = 2 pi / theta**2 * (1 + theta (R - h)) * exp(-theta R + 2 theta h).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import exp, log1p, pi

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms.geo_claim import DOWN, EXACT, UP

UNIFORM_BITS = 20
"""One draw in 2**20 is uniform over the box: rare enough to cost nothing, and a floor under every weight."""

VALUE_BITS = 128 - UNIFORM_BITS
WINDOW_TOTAL = 1 << VALUE_BITS
WINDOW_SHARE = (1 << UNIFORM_BITS) - 1
"""K of the derivation: how often, in 2**20, the offset window decides."""

LARGEST_RADIUS = 577
"""Offsets: a disc of this radius holds 2**20 lattice points, about 100 MB of exact integers."""

_PI_UP = Decimal("3.1415926535897932384626433832795028841972")
_HALF_DIAGONAL_UP = Decimal("0.7071067811865475244008443621048490392849")
_ANY_LOG_RATIO = Decimal(89)
"""Weights lie in 1..2**128, so no log-ratio is above 128 * ln 2 = 88.73, whatever the window."""

_SLIGHTLY_MORE = Decimal("1.0000000000000000000000000000000000000001")
"""Covers the last digit of an exponential or logarithm that was rounded to nearest; written out, because the default
decimal context would round the sum 1 + 1e-40 to 1."""

_WEIGHT_ERROR = Decimal("1e-20")
"""Bound on what 60 digits lose in C * exp(-theta * |o|) <= 2**108, and in comparing a weight with it."""


@dataclass(frozen=True)
class PlanarWindow:
    """Weights of the offsets within a disc.

    Args:
        decay: theta, per cell; 60 digits at most.
        radius: R, in cells, 1 to 577.
    """

    decay: Decimal
    radius: int

    @cached_property
    def norms(self) -> NDArray[np.int64]:
        """Squared lengths of all offsets within the disc, ascending."""
        axis = np.arange(self.radius + 1, dtype=np.int64) ** 2
        squares = np.unique(axis[:, None] + axis[None, :])
        return squares[squares <= self.radius**2]

    @cached_property
    def multiplicity(self) -> NDArray[np.int64]:
        """How many offsets have each squared length."""
        axis = np.arange(-self.radius, self.radius + 1, dtype=np.int64) ** 2
        squares = (axis[:, None] + axis[None, :]).ravel()
        return np.bincount(squares[squares <= self.radius**2], minlength=self.radius**2 + 1)[self.norms]

    @cached_property
    def _decays(self) -> tuple[Decimal, ...]:
        """exp(-theta * |o|) for each squared length; libmpdec rounds square root and exponential correctly."""
        # copy_negate: the operator would round to the digits of the caller's context, which the certificate cannot see
        lengths = (EXACT.multiply(self.decay, EXACT.sqrt(Decimal(norm))) for norm in self.norms.tolist())
        return tuple(EXACT.exp(length.copy_negate()) for length in lengths)

    @cached_property
    def constant(self) -> Decimal:
        """C: what makes the disc sum to 2**108, before rounding down."""
        mass = Decimal(0)
        for decayed, count in zip(self._decays, self.multiplicity.tolist(), strict=True):
            mass = EXACT.fma(decayed, Decimal(count), mass)
        return EXACT.divide(Decimal(WINDOW_TOTAL), mass)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Integer weight of an offset of each squared length; with multiplicities they sum to 2**108.

        Rounded down; the offset of length 0 takes the remainder.
        """
        floors = [int(EXACT.multiply(self.constant, decayed)) for decayed in self._decays]
        spent = sum(weight * count for weight, count in zip(floors, self.multiplicity.tolist(), strict=True))
        floors[0] += WINDOW_TOTAL - spent
        return tuple(floors)

    def offsets(self, reach_x: int, reach_y: int) -> tuple[NDArray[np.int32], NDArray[np.int32], list[int]]:
        """Offsets with a weight, each coordinate clamped to its reach, and their weights.

        A box of n columns sends every offset of n - 1 or more to its edge, so clamping offsets first changes nothing.

        Args:
            reach_x: columns - 1, at least 0.
            reach_y: rows - 1, at least 0.

        Returns:
            x, y: int32[offsets]; weights: integers >= 1 that sum to 2**108.
        """
        wide, high = min(self.radius, reach_x), min(self.radius, reach_y)
        table = np.zeros((2 * high + 1, 2 * wide + 1), dtype=object)
        by_norm = np.zeros(self.radius**2 + 1, dtype=object)
        by_norm[self.norms] = np.array(self.weights, dtype=object)
        columns = np.arange(-self.radius, self.radius + 1, dtype=np.int64)
        place = np.clip(columns, -wide, wide) + wide
        for y in range(-self.radius, self.radius + 1):
            inside = columns**2 + y * y <= self.radius**2
            np.add.at(table[min(max(y, -high), high) + high], place[inside], by_norm[columns[inside] ** 2 + y * y])
        row, column = np.nonzero(table)
        return (column - wide).astype(np.int32), (row - high).astype(np.int32), table[row, column].tolist()

    def certified_decay(self, cells: int) -> Decimal:
        """theta + 2 * rho of the derivation, rounded up: log-ratio per cell that the integer weights prove.

        The roundings r and r0 are measured on the weights.

        Args:
            cells: number of cells in the box.
        """
        deviations = [
            UP.add(EXACT.subtract(Decimal(weight), EXACT.multiply(self.constant, decayed)).copy_abs(), _WEIGHT_ERROR)
            for weight, decayed in zip(self.weights, self._decays, strict=True)
        ]
        disc = int(self.multiplicity.sum())
        rounding = UP.fma(max(deviations[1:]), Decimal(disc), deviations[0])
        cut = UP.multiply(self.constant, self.tail)
        difference = UP.multiply(Decimal(WINDOW_SHARE), UP.add(rounding, cut))
        delta = UP.divide(difference, Decimal(WINDOW_TOTAL // cells))
        if delta >= 1:
            return _ANY_LOG_RATIO
        rho = UP.multiply(EXACT.ln(DOWN.subtract(Decimal(1), delta)).copy_negate(), _SLIGHTLY_MORE)
        return UP.fma(rho, Decimal(2), self.decay)

    @cached_property
    def tail(self) -> Decimal:
        """T: an upper bound on the sum of exp(-theta * |o|) over all offsets outside the disc."""
        theta, half = self.decay, _HALF_DIAGONAL_UP
        front = UP.divide(UP.multiply(Decimal(2), _PI_UP), DOWN.multiply(theta, theta))
        middle = UP.fma(theta, Decimal(self.radius), Decimal(1))
        power = UP.multiply(theta, UP.subtract(UP.add(half, half), Decimal(self.radius)))
        return UP.multiply(UP.multiply(front, middle), UP.multiply(EXACT.exp(power), _SLIGHTLY_MORE))


def needed_radius(decay: float, cells: float, allowed: float) -> int:
    """The least disc radius, in cells, whose tail costs at most ``allowed`` relative difference (floats; a search).

    Uses C <= 2**108 / (2 pi / theta**2) * (1 + tiny), from Poisson's summation formula with all terms positive.

    Args:
        decay: theta, per cell.
        cells: number of cells in the box.
        allowed: largest delta of the derivation that the tail may take.
    """
    radius = 1.0
    mass = max(1.0, 2 * pi / decay**2)
    while True:
        tail = 2 * pi / decay**2 * (1 + decay * radius) * exp(decay * (2 * 0.7072 - radius))
        excess = WINDOW_SHARE * cells * tail / mass / allowed
        if excess <= 1:
            return int(-(-radius // 1))
        # the tail falls by about exp(-decay) a cell, so this never jumps over the answer by more than it must
        radius += max(1.0, log1p(excess - 1) / decay / 2)
