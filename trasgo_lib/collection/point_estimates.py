"""Shares of H3 cells from noised points: the planar noise is undone, and what is left of it is told as an error.

Let K be the channel's matrix and h the indicator of a cell over the lattice. The function g with ``K g = h`` (see
``mechanisms.planar_inverse``) has, of every place x, the expected value h(x) over the noise. So the mean of g over the
noised points is unbiased for the share of devices in the cell; g takes values far above 1 and below 0, the more so the
finer the lattice is against the noise. Without g a map of noised points is a blurred one.

All shares follow from one solve, ``K^T f = counts / n``. Their variance over the noise is the mean over devices of
``(K g**2)(x) - h(x)``, for which ``mean g**2 - share`` is unbiased. It needs the g of each cell; since g falls as
``exp(-theta r)`` away from its cell, it is found on the part of the lattice around it.

Where few points lie near a cell, the variance found is small by chance. Intervals are therefore made as if four more
points had the largest weight of the cell (as Agresti and Coull 1998 have it for shares). What decides whether a cell is
shown, and whether clients are suspected, must hold far out in the tail, so it is the score bound: of a count N of rare
points of weight b, whose mean is m, ``(N - m)**2 = z**2 m`` puts m within ``z**2 / 2 + z sqrt(N + z**2 / 4)`` of N. The
same with the variance of a share in place of ``N b**2`` is ``z (h + sqrt(variance + h**2))``, ``h = b z / 2``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.concluding import LevelTable, ShowRule
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.health import FALSE_ALARM, HealthCheck, share_check
from trasgo_lib.collection.points import PointLattice, lattice_cells
from trasgo_lib.estimation.estimate import normal_point
from trasgo_lib.estimation.shares import project_simplex

Floats = NDArray[np.float64]

_REACH = 16.0
"""Decays around a cell beyond which its decoder is taken as 0: ``exp(-16)`` of its height, squared in a variance."""

_MORE_POINTS = 4
_DIGITS_OF_ERROR = 5


@dataclass(frozen=True, slots=True)
class PointPart:
    """What was counted of the points of one window.

    Args:
        lattice: the lattice, its noise, and its H3 cells.
        counted: how many points each lattice cell got.
    """

    lattice: PointLattice
    counted: ReportCounts


@dataclass(frozen=True, slots=True)
class PointShares:
    """Estimated shares of devices by cell.

    Args:
        points: how many points they come from.
        shares: float64[slots], unbiased; entries can be negative, and they sum to 1.
        second: float64[slots], mean square of each decoder over the points.
        least: float64[slots], least value of each decoder.
        largest: float64[slots], largest value.
    """

    points: int
    shares: Floats = field(repr=False)
    second: Floats = field(repr=False)
    least: Floats = field(repr=False)
    largest: Floats = field(repr=False)

    @property
    def standard_error(self) -> Floats:
        """Of the shares, over the noise of the devices: float64[slots]."""
        return np.asarray(np.sqrt(self._variance + _MORE_POINTS * self._weight**2))

    def bound(self, level: float) -> Floats:
        """By how much any share is off its truth with probability ``level`` at most, to one side: float64[slots]."""
        z = NormalDist().inv_cdf(1 - level / len(self.shares))
        half = self._weight * z / 2
        return np.asarray(z * (half + np.sqrt(self._variance + half**2)))

    @property
    def _variance(self) -> Floats:
        return np.asarray(np.maximum(self.second - self.shares, 0.0) / self.points)

    @property
    def _weight(self) -> Floats:
        """The most that one point adds to a share, or takes from it."""
        return np.asarray(np.maximum(self.largest, -self.least) / self.points)


def estimate_points(part: PointPart) -> PointShares:
    """Undo the noise of the points of one window.

    Raises:
        ArithmeticError: the noise cannot be undone.
    """
    lattice, points = part.lattice, part.counted.reports
    slots = lattice.alphabet.slots
    observed = part.counted.counts / points
    inputs = lattice.channel.operator().inputs(observed)
    shares = np.bincount(lattice.places, inputs, slots).astype(np.float64)
    found = PointShares(points, shares, np.empty(slots), np.empty(slots), np.empty(slots))
    by_row = observed.reshape(lattice.domain.rows, lattice.domain.columns)
    for slot, window, decoder in decoders(lattice):
        found.second[slot] = float((by_row[window] * decoder**2).sum())
        found.least[slot], found.largest[slot] = decoder.min(), decoder.max()
    return found


def decoders(lattice: PointLattice) -> Iterator[tuple[int, tuple[slice, slice], Floats]]:
    """The decoder of each slot: the slot, the rows and columns around it, and its values there.

    That of ``other``, which lies all around, is found on the whole lattice.
    """
    yield from cell_decoders(lattice, range(lattice.alphabet.other))
    elsewhere = (lattice.places == lattice.alphabet.other).astype(np.float64)
    rows, columns = lattice.domain.rows, lattice.domain.columns
    whole = lattice.channel.operator().decoder(elsewhere).reshape(rows, columns)
    yield lattice.alphabet.other, (slice(0, rows), slice(0, columns)), whole


def cell_decoders(lattice: PointLattice, slots: Iterable[int]) -> Iterator[tuple[int, tuple[slice, slice], Floats]]:
    """The same, of some cells.

    All parts are of one size, so that one operator serves all: at an edge of the lattice they are moved inside. There
    the edge matters, and the decoder is found step by step; elsewhere at once.

    Args:
        lattice: the lattice.
        slots: of the cells, without ``other``.
    """
    sizes = lattice.domain.rows, lattice.domain.columns
    order, starts = lattice_cells(lattice)
    where = np.array(np.divmod(order[: starts[lattice.alphabet.other]], sizes[1]))  # [row or column, lattice cell]
    begin, around = starts[: lattice.alphabet.other], ceil(_REACH / _decay(lattice))
    first, last = np.minimum.reduceat(where, begin, axis=1), np.maximum.reduceat(where, begin, axis=1)
    shape = tuple(
        min(size, int(extent) + 2 * around) for size, extent in zip(sizes, (last - first).max(axis=1) + 1, strict=True)
    )
    operator = lattice.channel.operator(*shape)
    for slot in slots:
        corner = [int(np.clip(first[axis, slot] - around, 0, sizes[axis] - shape[axis])) for axis in range(2)]
        row, column = where[:, starts[slot] : starts[slot + 1]]
        inside = np.zeros(shape)
        inside[row - corner[0], column - corner[1]] = 1.0
        is_within = all(
            first[axis, slot] - around >= corner[axis] and last[axis, slot] + around < corner[axis] + shape[axis]
            for axis in range(2)
        )
        part = slice(corner[0], corner[0] + shape[0]), slice(corner[1], corner[1] + shape[1])
        flat = inside.ravel()
        decoder = operator.decoder_within(flat) if is_within else operator.decoder(flat, roughly=True)
        yield slot, part, decoder.reshape(shape)


@dataclass(frozen=True, slots=True)
class PointMap:
    """What the points of a window come to.

    Args:
        part: their counts.
        table: the estimates, as they are published.
        health: whether they follow their declared noise.
    """

    part: PointPart
    table: LevelTable
    health: HealthCheck


def conclude_points(part: PointPart, rule: ShowRule) -> PointMap:
    """Estimate the shares of cells from the points of a window.

    Args:
        part: their counts.
        rule: what decides which cells are shown.

    Raises:
        ArithmeticError: the noise cannot be undone.
    """
    found, alphabet = estimate_points(part), part.lattice.alphabet
    shares, error = _settled(found.shares, found.standard_error)
    reach = normal_point(rule.confidence) * error
    shown = found.shares > found.bound(rule.level)
    shown[alphabet.other] = False
    table = LevelTable(
        alphabet, found.points, {part.lattice.tag: 1.0}, shares, error,
        shares - reach, shares + reach, project_simplex(shares), shown,
    )  # fmt: skip
    return PointMap(part, table.rounded(), share_check(found.points, found.shares, found.bound(FALSE_ALARM)))


def _settled(shares: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Both to the fifth digit of the error: far above what the transforms of two machines differ by."""
    scale = 10.0 ** (_DIGITS_OF_ERROR - 1 - np.floor(np.log10(error)))
    return np.round(shares * scale) / scale, np.round(error * scale) / scale


def evenly_spread(lattice: PointLattice, points: int) -> PointShares:
    """What so many points would tell of the middle cell if devices were spread evenly over the box.

    Args:
        lattice: the lattice.
        points: how many.
    """
    middle = lattice.alphabet.other // 2
    _, _, decoder = next(cell_decoders(lattice, [middle]))
    share = float((lattice.places == middle).sum()) / lattice.domain.size
    return PointShares(
        points,
        np.array([share]),
        np.array([float((decoder**2).sum()) / lattice.domain.size]),
        np.array([float(decoder.min())]),
        np.array([float(decoder.max())]),
    )


def _decay(lattice: PointLattice) -> float:
    return float(str(lattice.channel.parameters["decay_per_cell"]))
