"""H3 cells. The only importer of h3."""

from __future__ import annotations

from collections.abc import Sequence

import h3.api.basic_int as h3
import numpy as np
from h3 import H3BaseException
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason

H3_MAJOR = int(h3.versions()["python"].split(".")[0])
"""Major version of the library: within one, a point's cell and a cell's parent never change."""

_CENTRE_DECIMALS = 7
"""One centimetre: below any cell's size, and above what two machines' mathematical libraries differ by."""


def cell_numbers(cells: Sequence[str]) -> tuple[NDArray[np.uint64], int]:
    """Declared H3 cells as uint64[cells], and their resolution.

    Args:
        cells: H3 indexes as text; public.

    Raises:
        ConfigError: an index that is no cell, or cells of different resolutions.
    """
    numbers = []
    for cell in cells:
        number = _number(cell)
        if number is None or not h3.is_valid_cell(number):
            raise _bad("H3 cell indexes as text", repr(cell), 'Write indexes such as "872a1072bffffff".')
        numbers.append(number)
    resolutions = sorted({h3.get_resolution(number) for number in numbers})
    if len(resolutions) > 1:
        raise _bad("cells of one resolution", f"resolutions {resolutions}", "Declare cells of one resolution.")
    return np.array(numbers, dtype=np.uint64), resolutions[0]


def cell_text(number: int) -> str:
    """A cell's index in its canonical form: lower-case hexadecimal without leading zeros."""
    return str(h3.int_to_str(number))


def cell_centres(numbers: NDArray[np.uint64]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Latitudes and longitudes of cell centres as decimal text in degrees, with 7 decimals."""
    centres = [h3.cell_to_latlng(int(number)) for number in numbers]
    latitudes = tuple(f"{lat:.{_CENTRE_DECIMALS}f}" for lat, _ in centres)
    return latitudes, tuple(f"{lon:.{_CENTRE_DECIMALS}f}" for _, lon in centres)


def cells_of(latitude: NDArray[np.float64], longitude: NDArray[np.float64], resolution: int) -> NDArray[np.uint64]:
    """The H3 cell of each point: uint64[rows].

    Args:
        latitude: degrees in -90..90, finite, private.
        longitude: degrees in -180..180, finite, private.
        resolution: 0 to 15; public.
    """
    rows = len(latitude)
    levels = [resolution] * rows
    # map over plain lists is the fastest that h3 offers without private functions (0.7 M points a second)
    return np.fromiter(map(h3.latlng_to_cell, latitude.tolist(), longitude.tolist(), levels), np.uint64, rows)


def cells_in_ring(corners: Sequence[tuple[float, float]], resolution: int) -> NDArray[np.uint64]:
    """The cells whose centre lies inside a closed ring: sorted uint64[cells].

    Args:
        corners: latitude and longitude of each corner, degrees; a simple ring away from the 180th meridian; public.
        resolution: 0 to 15; public.
    """
    try:
        found = h3.h3shape_to_cells(h3.LatLngPoly([(lat, lon) for lat, lon in corners]), resolution)
    except H3BaseException:  # as of some rings with a corner at a pole
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "area",
            required="a ring that H3 can fill with cells",
            came="one that it cannot",
            fix="Stay away from the poles.",
        ) from None
    return np.sort(np.fromiter(found, np.uint64, len(found)))


def average_cell_m2(resolution: int) -> float:
    """Average area of a cell in square metres."""
    return float(h3.average_hexagon_area(resolution, unit="m^2"))


def parents_of(numbers: NDArray[np.uint64], resolution: int) -> NDArray[np.uint64]:
    """The ancestor of each cell at a coarser resolution (or its own): uint64[cells].

    By bits: the resolution field is rewritten and the digits below it are set, as ``cell_to_parent`` does.
    """
    unused = np.uint64((1 << 3 * (15 - resolution)) - 1)
    return ((numbers & ~np.uint64(0xF << 52)) | np.uint64(resolution << 52)) | unused


def children_of(numbers: NDArray[np.uint64], resolution: int) -> NDArray[np.uint64]:
    """All descendants of cells at a finer resolution (or their own): sorted uint64[cells]."""
    found = [child for number in numbers.tolist() for child in h3.cell_to_children(number, resolution)]
    return np.sort(np.array(found, dtype=np.uint64))


def resolution_of(number: int) -> int:
    """The resolution of a cell."""
    return int(h3.get_resolution(number))


def cell_rings(numbers: NDArray[np.uint64]) -> list[list[tuple[float, float]]]:
    """The corners of each cell, latitude and longitude in degrees with 7 decimals, as maps draw them."""
    return [
        [(round(lat, _CENTRE_DECIMALS), round(lon, _CENTRE_DECIMALS)) for lat, lon in h3.cell_to_boundary(number)]
        for number in numbers.tolist()
    ]


def _number(cell: object) -> int | None:
    try:
        return int(h3.str_to_int(cell)) if isinstance(cell, str) else None
    except ValueError:
        return None


def _bad(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, "cells", required=required, came=came, fix=fix)
