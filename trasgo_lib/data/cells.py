"""H3 cells. The only importer of h3."""

from __future__ import annotations

from collections.abc import Sequence

import h3.api.basic_int as h3
import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason

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


def _number(cell: object) -> int | None:
    try:
        return int(h3.str_to_int(cell)) if isinstance(cell, str) else None
    except ValueError:
        return None


def _bad(required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, "cells", required=required, came=came, fix=fix)
