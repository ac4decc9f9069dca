"""The alphabet of a collection: H3 cells and ``other``, numbered once for all devices.

It is made of a declared area and a resolution, or of the children of cells that were published; never of live data.
Its version is a digest of everything that gives a slot its meaning, so that a report whose version is not known is
refused before it is counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.collection.area import Corners, area_m2, box_corners, polygon_corners
from trasgo_lib.data.cells import (
    H3_MAJOR,
    average_cell_m2,
    cell_numbers,
    cell_rings,
    cell_text,
    cells_in_ring,
    cells_of,
    children_of,
    parents_of,
)
from trasgo_lib.data.positions import checked_positions
from trasgo_lib.errors import ConfigError, Reason

MAX_CELLS = 2**20
"""Largest alphabet: a unary report of it has 128 KiB, and no phone should send more."""

_FORMAT = 1
_VERSION_HEX = 32
_FINEST = 15
_TOO_FEW = "Use a finer resolution, or correct the area: latitude comes first."
_FAR_UP = 4
"""Levels up from which it is looked for cells near the 180th meridian: 2,401 times fewer cells."""

Slots = NDArray[np.int32]
"""Places in an alphabet, ``0..slots-1``; private until they were noised."""


@dataclass(frozen=True, eq=False)
class Alphabet:
    """Slots ``0..slots-1``: the cells in rising order, then ``nobody`` where it is declared, then ``other``.

    Two alphabets are equal when their versions are.

    Args:
        resolution: of its cells, 0 to 15.
        cells: uint64[cells], rising; public.
        has_nobody: whether the slot before the last is one that no device ever encodes to; its share of reports shows
            with which epsilon clients answer (see ``health``).
        parent: version of the alphabet whose published cells it refines, or None.
    """

    resolution: int
    cells: NDArray[np.uint64] = field(repr=False)
    has_nobody: bool = False
    parent: str | None = None

    def __post_init__(self) -> None:
        if not 2 <= len(self.cells) <= MAX_CELLS:
            fix = "Use a coarser resolution or a smaller area." if len(self.cells) > 2 else _TOO_FEW
            raise _bad(f"2 to {MAX_CELLS} cells", f"{len(self.cells)}", fix)
        if not bool((self.cells[1:] > self.cells[:-1]).all()):
            raise _bad("each cell once, in rising order", "another order", "Use an alphabet that was written here.")
        self.cells.setflags(write=False)

    @classmethod
    def declare(
        cls,
        *,
        resolution: int,
        box: Sequence[str | int] | None = None,
        polygon: Sequence[Sequence[str | int | float]] | None = None,
        has_nobody: bool = False,
    ) -> Alphabet:
        """The cells whose centres lie in a declared area.

        Args:
            resolution: 0 to 15; public.
            box: south, west, north, east in degrees, decimal text; public; or
            polygon: corners of latitude and longitude in degrees, decimal text; public.
            has_nobody: whether there is a slot that no device encodes to.

        Raises:
            ConfigError: an area that is off the globe, crosses itself or the 180th meridian; one cell or none; more
                than 2**20 cells.
        """
        if (box is None) == (polygon is None):
            raise _bad("a box, or a polygon", "neither" if box is None else "both", "Declare one of them.")
        corners = box_corners(box) if box is not None else polygon_corners(polygon or ())
        _require_resolution(resolution)
        _require_size(corners, resolution)
        return cls(resolution, cells_in_ring(corners, resolution), has_nobody)

    @classmethod
    def refine(cls, parent: Alphabet, published: ArrayLike, resolution: int) -> Alphabet:
        """The children of published cells; what lies elsewhere is ``other``.

        Since it follows from published figures only, it costs nothing. Devices that answered before are charged for
        answering again: another alphabet is another report.

        Args:
            parent: the alphabet of the earlier release.
            published: uint64[cells], cells that release shows; public.
            resolution: finer than the parent's.

        Raises:
            ConfigError: cells that are not the parent's, or a resolution that is not finer.
        """
        _require_resolution(resolution)
        shown = np.unique(np.asarray(published, dtype=np.uint64))
        if len(shown) == 0:
            raise _bad(f"published cells of resolution {parent.resolution}", "none", "Where none is shown, keep it.")
        if not bool(np.isin(shown, parent.cells).all()):
            raise _bad("published cells of the parent alphabet", "others", "Take both from the same release.")
        if resolution <= parent.resolution:
            raise _bad(f"a resolution finer than {parent.resolution}", f"{resolution}", "Raise the resolution.")
        count = len(shown) * 7 ** (resolution - parent.resolution)
        if count > MAX_CELLS:
            raise _bad(f"at most {MAX_CELLS} cells", f"about {count}", "Use a coarser resolution.")
        return cls(resolution, children_of(shown, resolution), parent.has_nobody, parent.version)

    @property
    def slots(self) -> int:
        """How many slots a device answers over, ``other`` included."""
        return len(self.cells) + self.has_nobody + 1

    @property
    def other(self) -> int:
        """The last slot: everywhere else."""
        return self.slots - 1

    @property
    def nobody(self) -> int | None:
        """The slot that no device encodes to, or None."""
        return self.slots - 2 if self.has_nobody else None

    @cached_property
    def version(self) -> str:
        """Digest of the H3 major version, resolution, slots and cells: 32 hexadecimal characters."""
        head = f"trasgo-alphabet/{_FORMAT}|h3 {H3_MAJOR}|{self.resolution}|{int(self.has_nobody)}|{len(self.cells)}|"
        summary = hashlib.sha256(head.encode("ascii"))
        summary.update(self.cells.astype("<u8").tobytes())
        return summary.hexdigest()[:_VERSION_HEX]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    def encode(self, latitude: ArrayLike, longitude: ArrayLike) -> Slots:
        """The slot of each point: int32[points]. Nothing else of the point is kept.

        Args:
            latitude: WGS84 degrees in -90..90, private.
            longitude: WGS84 degrees in -180..180, private.

        Raises:
            InputContractError: missing, infinite or off the globe; with counts only.
        """
        lat, lon = checked_positions(latitude, longitude)
        return self.slots_of(cells_of(lat, lon, self.resolution))

    def slots_of(self, cells: NDArray[np.uint64]) -> Slots:
        """The slot of each cell of this resolution: uint64[rows] -> int32[rows]; cells of elsewhere are ``other``."""
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[place] == cells, place, self.other).astype(np.int32)

    def names(self) -> list[str]:
        """The name of every slot: H3 indexes, ``nobody`` where it is declared, ``other``."""
        return [
            *(cell_text(cell) for cell in self.cells.tolist()),
            *(["nobody"] if self.has_nobody else []),
            "other",
        ]

    def coarser(self, resolution: int) -> Alphabet:
        """The alphabet of the parents of these cells: never made by encoding anew.

        Args:
            resolution: at most this alphabet's.

        Raises:
            ConfigError: a finer resolution, or parents of which there is only one.
        """
        _require_resolution(resolution)
        if resolution > self.resolution:
            raise _bad(f"a resolution of at most {self.resolution}", f"{resolution}", "Lower it.")
        return Alphabet(resolution, np.unique(parents_of(self.cells, resolution)), self.has_nobody)

    def slots_in(self, coarser: Alphabet) -> Slots:
        """For each slot, the slot of a coarser alphabet that contains it: int32[slots].

        A cell whose parent the coarser alphabet lacks lies in its ``other``.
        """
        parents = coarser.slots_of(parents_of(self.cells, coarser.resolution))
        special = [coarser.nobody if coarser.nobody is not None else coarser.other] if self.has_nobody else []
        return np.concatenate([parents, np.array([*special, coarser.other], dtype=np.int32)]).astype(np.int32)

    def cells_across(self) -> int:
        """How many cells lie across the 180th meridian or around a pole: maps and GeoJSON cannot hold them whole."""
        parents = parents_of(self.cells, max(0, self.resolution - _FAR_UP))
        coarse = np.unique(parents)
        near = [_reach(ring) > 180 for ring in cell_rings(coarse)]
        return sum(_width(ring) > 180 for ring in cell_rings(self.cells[np.isin(parents, coarse[near])]))

    def to_json(self) -> dict[str, Any]:
        """The published file: strict JSON from which the same alphabet follows."""
        return {
            "format": _FORMAT,
            "version": self.version,
            "h3": H3_MAJOR,
            "resolution": self.resolution,
            "parent": self.parent,
            "nobody": self.has_nobody,
            "cells": [cell_text(cell) for cell in self.cells.tolist()],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Alphabet:
        """The alphabet of a published file.

        Raises:
            ConfigError: another format or H3 version, malformed cells, or a version that is not that of its cells.
        """
        expected = ["cells", "format", "h3", "nobody", "parent", "resolution", "version"]
        if not isinstance(document, Mapping) or sorted(document) != expected or document["format"] != _FORMAT:
            raise _bad("an alphabet file of format 1", "something else", "Name a file that `collect alphabet` wrote.")
        if document["h3"] != H3_MAJOR:
            raise _bad(f"cells of H3 {H3_MAJOR}", f"H3 {document['h3']}", "Use the trasgo that wrote the file.")
        numbers, resolution = cell_numbers(list(document["cells"]) or [""])
        found = cls(resolution, numbers, document["nobody"] is True, document["parent"])
        if resolution != document["resolution"] or found.version != document["version"]:
            raise _bad("cells that have the version they claim", "others", "The alphabet file was changed.")
        return found


def _width(ring: Sequence[tuple[float, float]]) -> float:
    """Degrees of longitude between the ends of a ring, as if it stayed on one side."""
    longitudes = [longitude for _, longitude in ring]
    return max(longitudes) - min(longitudes)


def _reach(ring: Sequence[tuple[float, float]]) -> float:
    """How far from longitude 0 a cell and its descendants, which stand out a little, can lie: degrees."""
    return max(abs(longitude) for _, longitude in ring) + _width(ring)


def _require_resolution(resolution: int) -> None:
    if isinstance(resolution, bool) or not isinstance(resolution, int) or not 0 <= resolution <= _FINEST:
        raise _bad("a resolution from 0 to 15", repr(resolution), "Correct it.")


def _require_size(corners: Corners, resolution: int) -> None:
    """Refuse before memory is filled; hexagons differ from their average by less than half."""
    about = area_m2(corners) / average_cell_m2(resolution)
    if about > 2 * MAX_CELLS:
        raise _bad(f"at most {MAX_CELLS} cells", f"about {about:.0f}", "Use a coarser resolution or a smaller area.")


def _bad(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, "alphabet", required=required, came=came, fix=fix)


__all__ = ["MAX_CELLS", "Alphabet", "Slots"]
