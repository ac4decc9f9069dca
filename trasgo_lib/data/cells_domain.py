"""A declared list of H3 cells: points over areas too wide for one projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.data.domain import Codes, Outside, checked_codes, refuse_outside
from trasgo_lib.data.positions import Degrees, checked_positions
from trasgo_lib.data.sphere import great_circle_m, unit_vectors
from trasgo_lib.errors import ConfigError, Reason

MAX_H3_CELLS = 4096
"""A channel over cells is dense: this many make 16.8 million weights."""

_PAIRS_AT_ONCE = 2**22


@dataclass(frozen=True, slots=True)
class CellsDomain:
    """A list of H3 cells; the code of a cell is its place in the list.

    Args:
        cells: 2 to 4096 H3 indexes of one resolution, as text; public, never taken from the data.

    Raises:
        ConfigError: too few, too many, a cell listed twice, no cells, or different resolutions.
    """

    cells: Sequence[str]
    resolution: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)
    _latitudes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _longitudes: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # imported here, so that a program without cells never loads h3
        from trasgo_lib.data.cells import cell_centres, cell_numbers, cell_text

        if isinstance(self.cells, (str, bytes)) or not 2 <= len(self.cells) <= MAX_H3_CELLS:
            count = "one text" if isinstance(self.cells, (str, bytes)) else f"{len(self.cells)}"
            raise _bad(f"2 to {MAX_H3_CELLS} cells", count, "Declare a coarser resolution or a smaller area.")
        numbers, resolution = cell_numbers(self.cells)
        distinct, counts = np.unique(numbers, return_counts=True)
        if len(distinct) < len(numbers):
            twice = cell_text(int(distinct[counts > 1][0]))
            raise _bad("each cell once", f"{twice} more than once", "Remove the repetition.")
        latitudes, longitudes = cell_centres(numbers)
        object.__setattr__(self, "cells", tuple(cell_text(int(number)) for number in numbers))
        object.__setattr__(self, "resolution", resolution)
        object.__setattr__(self, "size", len(numbers))
        object.__setattr__(self, "_latitudes", latitudes)
        object.__setattr__(self, "_longitudes", longitudes)

    @property
    def kind(self) -> str:
        """``cells``."""
        return "cells"

    @property
    def distance_m(self) -> NDArray[np.float64]:
        """Great-circle distances in metres between cell centres: float64[size, size], alike on every machine.

        The centres are the published ones, with 7 decimals: up to 1 cm from those of H3, which the finest cells feel.
        """
        vectors = self._vectors()
        table = np.empty((self.size, self.size), dtype=np.float64)
        block = max(1, _PAIRS_AT_ONCE // self.size)
        for start in range(0, self.size, block):
            table[start : start + block] = great_circle_m(vectors[start : start + block, None, :], vectors[None])
        return table

    def describe(self) -> dict[str, Any]:
        """Strict JSON: kind, resolution, H3 indexes in code order, size."""
        return {"kind": self.kind, "resolution": self.resolution, "cells": list(self.cells), "size": self.size}

    def encode(self, latitude: ArrayLike, longitude: ArrayLike, *, outside: Outside = "clip") -> Codes:
        """The cell of each point: int32[rows].

        Args:
            latitude: degrees in -90..90, private.
            longitude: degrees in -180..180, private; -180 and 180 are the same meridian.
            outside: ``clip`` moves points outside all declared cells to the one with the nearest centre, ``reject``
                refuses them.

        Raises:
            InputContractError: missing or infinite, off the globe (under either policy), or outside the cells under
                ``reject``; with counts only.
        """
        from trasgo_lib.data.cells import cell_numbers, cells_of

        lat, lon = checked_positions(latitude, longitude)
        found = cells_of(lat, lon, self.resolution)
        declared, _ = cell_numbers(self.cells)
        order = np.argsort(declared)
        place = np.minimum(np.searchsorted(declared[order], found), self.size - 1)
        codes = order[place].astype(np.int32)
        elsewhere = np.flatnonzero(declared[codes] != found)
        refuse_outside(len(elsewhere), outside, f"one of the {self.size} declared cells")
        codes[elsewhere] = self._nearest(lat[elsewhere], lon[elsewhere])
        return codes

    def decode(self, codes: Codes) -> tuple[Degrees, Degrees]:
        """Latitude and longitude of cell centres, in degrees with 7 decimals: float64[rows] each.

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        places = checked_codes(codes, self.size)
        return np.array(self._latitudes, dtype=np.float64)[places], np.array(self._longitudes, dtype=np.float64)[places]

    def displacement_m(self, codes: Codes, others: Codes) -> NDArray[np.float64]:
        """Great-circle distance in metres between the cells of two code arrays: float64[rows]."""
        vectors = self._vectors()
        return great_circle_m(vectors[np.asarray(codes)], vectors[np.asarray(others)])

    def _vectors(self) -> NDArray[np.float64]:
        return unit_vectors([Decimal(lat) for lat in self._latitudes], [Decimal(lon) for lon in self._longitudes])

    def _nearest(self, latitude: Degrees, longitude: Degrees) -> Codes:
        """The declared cell whose centre is nearest; the shortest chord belongs to the shortest great circle."""
        if not len(latitude):
            return np.empty(0, dtype=np.int32)
        # imported here: most data have no point outside, and the tree takes a second to load
        from scipy.spatial import KDTree

        phi, theta = np.radians(latitude), np.radians(longitude)
        points = np.stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)], axis=1)
        _, nearest = KDTree(self._vectors()).query(points)
        return np.asarray(nearest, dtype=np.int32)


def _bad(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, "cells", required=required, came=came, fix=fix)
