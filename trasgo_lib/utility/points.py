"""Points on a coarse declared grid, and how far the noise moved them."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import add
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import BoxDomain, CellsDomain, Domain
from trasgo_lib.errors import ConfigError, Reason

GRID_SIDE = 20
"""Most cells a side: coarse enough that a few hundred points fill the grid, fine enough to show a moved centre."""

_PER_METRE = 1000
"""Displacements are summed in whole millimetres, so that their mean does not depend on the order of the rows."""


DISTANCE_EDGES_M = tuple(float(f"{2 ** (place / 2):.3g}") if place else 0.0 for place in range(52))
"""Upper ends of the distances that are counted apart: none, then two to each doubling, up to half round the globe."""


@dataclass(frozen=True, slots=True)
class GridLayout:
    """Where the cells of a coarse grid lie.

    Args:
        rows: lines of the map, from south to north.
        columns: cells in a line, from west to east.
        places: int64[size], line times ``columns`` plus cell, for each cell of the grid.
        aspect: height of the ground by its width.
    """

    rows: int
    columns: int
    places: NDArray[np.int64] = field(repr=False)
    aspect: float


class PointGrid(Protocol):
    """A coarse grid over the codes of one point domain."""

    @property
    def size(self) -> int:
        """Number of grid cells, at most ``GRID_SIDE**2``."""

    @property
    def domain(self) -> BoxDomain | CellsDomain:
        """The domain of the codes."""

    def cells(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Grid cell of each code; the missing code, ``domain.size``, becomes ``size``."""

    @property
    def layout(self) -> GridLayout:
        """Where the cells lie, for maps."""


@dataclass(frozen=True, slots=True)
class BoxGrid:
    """Blocks of lattice cells, as equal as whole cells allow."""

    domain: BoxDomain

    @property
    def size(self) -> int:
        """Number of blocks."""
        return self._rows * self._columns

    @property
    def _rows(self) -> int:
        return min(GRID_SIDE, self.domain.rows)

    @property
    def _columns(self) -> int:
        return min(GRID_SIDE, self.domain.columns)

    def cells(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Block of each code: int64[rows]; missing becomes ``size``."""
        row, column = np.divmod(codes.astype(np.int64), self.domain.columns)
        block = row * self._rows // self.domain.rows * self._columns + column * self._columns // self.domain.columns
        return np.where(codes == self.domain.size, self.size, block)

    @property
    def layout(self) -> GridLayout:
        """Where the blocks lie."""
        places = np.arange(self.size, dtype=np.int64)
        return GridLayout(self._rows, self._columns, places, self.domain.rows / self.domain.columns)


@dataclass(frozen=True, slots=True)
class CellsGrid:
    """Equal parts of the latitudes and longitudes that the declared cells span."""

    domain: CellsDomain
    size: int
    _cells: NDArray[np.int64] = field(repr=False, compare=False)
    _used: NDArray[np.int64] = field(repr=False, compare=False)

    @classmethod
    def of(cls, domain: CellsDomain) -> Self:
        """The grid over a list of H3 cells."""
        latitude, longitude = domain.decode(np.arange(domain.size, dtype=np.int32))
        # counted from the first cell, so that a list across the 180th meridian spans little
        east = (longitude - longitude[0] + 180) % 360 - 180
        row, column = _parts(latitude), _parts(east)
        used, place = np.unique(row * GRID_SIDE + column, return_inverse=True)
        return cls(domain, used.size, np.append(place.astype(np.int64), used.size), used.astype(np.int64))

    def cells(self, codes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Part of each code: int64[rows]; missing becomes ``size``."""
        return np.asarray(self._cells[codes])

    @property
    def layout(self) -> GridLayout:
        """Where the parts lie; a degree of longitude is shorter than one of latitude by the cosine of the middle."""
        latitude, longitude = self.domain.decode(np.arange(self.domain.size, dtype=np.int32))
        east = (longitude - longitude[0] + 180) % 360 - 180
        width = float(np.ptp(east)) * float(np.cos(np.radians(latitude.mean())))
        aspect = float(np.ptp(latitude)) / width if width else 1.0
        return GridLayout(GRID_SIDE, GRID_SIDE, self._used, min(max(aspect, 0.2), 5.0))


def _parts(degrees: NDArray[np.float64]) -> NDArray[np.int64]:
    span = float(np.ptp(degrees)) or 1.0
    return np.asarray(np.minimum((degrees - degrees.min()) / span * GRID_SIDE, GRID_SIDE - 1), dtype=np.int64)


def point_grid(domain: Domain) -> PointGrid:
    """The coarse grid of a point domain.

    Args:
        domain: a box with a lattice, or declared H3 cells; public.

    Raises:
        ConfigError: a domain of anything else.
    """
    if isinstance(domain, BoxDomain):
        return BoxGrid(domain)
    if isinstance(domain, CellsDomain):
        return CellsGrid.of(domain)
    raise ConfigError.of(
        Reason.BAD_DOMAIN,
        "domain",
        required="a box or cells",
        came=f"a {domain.kind} domain",
        fix="Declare the column as a point.",
    )


@dataclass(frozen=True, slots=True)
class Displacement:
    """How far points moved, summed over rows that are present on both sides; private.

    Args:
        rows: number of such rows.
        millimetres: sum of distances between original and released cell.
        distances: rows by distance, one count for each of ``DISTANCE_EDGES_M``.
    """

    rows: int = 0
    millimetres: int = field(default=0, repr=False)
    distances: tuple[int, ...] = field(default=(0,) * len(DISTANCE_EDGES_M), repr=False)

    @classmethod
    def of(cls, domain: BoxDomain | CellsDomain, original: NDArray[np.int32], released: NDArray[np.int32]) -> Self:
        """The displacement of one batch, row by row."""
        here = (original < domain.size) & (released < domain.size)
        metres = domain.displacement_m(original[here], released[here])
        # distances: up to and with the edge; what is beyond the last one counts with it
        place = np.minimum(np.searchsorted(DISTANCE_EDGES_M, metres), len(DISTANCE_EDGES_M) - 1)
        distances = np.bincount(place, minlength=len(DISTANCE_EDGES_M)).tolist()
        millimetres = int(np.rint(metres * _PER_METRE).astype(np.int64).sum())
        return cls(int(np.count_nonzero(here)), millimetres, tuple(distances))

    def merge(self, other: Self) -> Self:
        """Both batches together."""
        distances = tuple(map(add, self.distances, other.distances))
        return type(self)(self.rows + other.rows, self.millimetres + other.millimetres, distances)

    @property
    def mean_m(self) -> float | None:
        """Mean distance in metres, or None without rows."""
        return self.millimetres / (self.rows * _PER_METRE) if self.rows else None
