"""A declared area: a box or a polygon, checked before any cell is made of it.

H3 folds a latitude of 100 over the pole and takes a polygon that crosses itself without a word, so what cannot be
meant is refused here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason

Corners = tuple[tuple[float, float], ...]
"""Latitude and longitude of each corner of a ring, in degrees; the last one is not the first again."""

_MOST_CORNERS = 2000
_EARTH_RADIUS_M = 6371008.8


def box_corners(box: Sequence[str | int]) -> Corners:
    """The ring of a box.

    Args:
        box: south, west, north, east in degrees, decimal text; public.

    Raises:
        ConfigError: not four numbers, off the globe, empty, or across the 180th meridian.
    """
    if isinstance(box, (str, bytes)) or len(box) != 4:
        raise _bad("four edges: south, west, north, east", f"{len(box)} entries")
    south, west, north, east = (_degrees(edge) for edge in box)
    _require_on_globe(((south, west), (north, east)))
    if south >= north:
        raise _bad("south below north", f"south {south:g}, north {north:g}")
    if west > east:
        raise _bad("west below east: an area does not cross the 180th meridian", f"west {west:g}, east {east:g}")
    return polygon_corners([(south, west), (south, east), (north, east), (north, west)])


def polygon_corners(polygon: Sequence[Sequence[str | int | float]]) -> Corners:
    """The ring of a polygon.

    Args:
        polygon: latitude and longitude of each corner in degrees, decimal text; the first corner may be repeated at
            the end; public.

    Raises:
        ConfigError: fewer than three corners, off the globe, across the 180th meridian, or a ring that crosses or
            touches itself.
    """
    ring = [_pair(corner) for corner in polygon]
    if len(ring) > 1 and ring[0] == ring[-1]:
        ring.pop()
    if not 3 <= len(ring) <= _MOST_CORNERS:
        raise _bad(f"3 to {_MOST_CORNERS} corners", f"{len(ring)}")
    _require_on_globe(ring)
    _require_one_side(ring)
    corners = np.array(ring, dtype=np.float64)
    if len(np.unique(corners, axis=0)) < len(corners):
        raise _bad("each corner once", "a corner twice")
    if _crosses_itself(corners):
        raise _bad("a ring that neither crosses nor touches itself", "one that does")
    return tuple((lat, lon) for lat, lon in corners.tolist())


def area_m2(corners: Corners) -> float:
    """Area of a ring on the sphere in square metres, its edges taken straight in latitude and longitude."""
    ring = np.radians(np.array(corners))
    after = np.roll(ring, -1, axis=0)
    strips = (after[:, 1] - ring[:, 1]) * (2 + np.sin(ring[:, 0]) + np.sin(after[:, 0]))
    return abs(float(strips.sum())) / 2 * _EARTH_RADIUS_M**2


def _pair(corner: Sequence[str | int | float]) -> tuple[float, float]:
    if isinstance(corner, (str, bytes)) or len(corner) != 2:
        raise _bad("corners of latitude and longitude", "another entry")
    return _degrees(corner[0]), _degrees(corner[1])


def _degrees(value: object) -> float:
    try:
        number = float(Decimal(value.strip() if isinstance(value, str) else value))  # type: ignore[arg-type]
    except (ArithmeticError, TypeError, ValueError):
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise _bad("finite degrees", repr(value))
    return number


def _require_on_globe(ring: Sequence[tuple[float, float]]) -> None:
    for latitude, longitude in ring:
        if abs(latitude) > 90 or abs(longitude) > 180:
            swapped = abs(longitude) <= 90 and abs(latitude) <= 180
            came = f"latitude {latitude:g}, longitude {longitude:g}"
            fix = "They look swapped: latitude comes first." if swapped else "Correct the corner."
            raise _bad("latitude in -90..90 and longitude in -180..180 degrees", came, fix)


def _require_one_side(ring: Sequence[tuple[float, float]]) -> None:
    """An edge of more than half the globe is one that was meant to cross the 180th meridian."""
    longitudes = [longitude for _, longitude in ring]
    widest = max(abs(a - b) for a, b in zip(longitudes, [*longitudes[1:], longitudes[0]], strict=True))
    if widest > 180 or max(longitudes) - min(longitudes) >= 360:
        fix = "Declare two areas, one on either side, as two collections."
        raise _bad("an area that does not cross the 180th meridian", f"an edge {widest:g} degrees wide", fix)


def _crosses_itself(corners: NDArray[np.float64]) -> bool:
    """Whether two edges that are no neighbours meet, or two neighbours lie on one another."""
    starts, ends = corners, np.roll(corners, -1, axis=0)
    count = len(corners)
    for edge in range(count - 1):
        # neighbours share a corner; they overlap only when the ring turns back on itself
        others = np.arange(edge + 1, count)
        is_neighbour = (others == edge + 1) | ((edge == 0) & (others == count - 1))
        if _turns_back(starts, ends, edge, (edge + 1) % count):
            return True
        far = others[~is_neighbour]
        if bool(_meet(starts[edge], ends[edge], starts[far], ends[far]).any()):
            return True
    return _turns_back(starts, ends, count - 1, 0)


def _turns_back(starts: NDArray[np.float64], ends: NDArray[np.float64], edge: int, following: int) -> bool:
    first, second = ends[edge] - starts[edge], ends[following] - starts[following]
    return bool(first[0] * second[1] == first[1] * second[0] and first @ second < 0)


def _meet(
    a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.float64], d: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether the segment ab meets each segment cd, ends included: bool[segments]."""
    side_c, side_d = _side(a, b, c), _side(a, b, d)
    side_a, side_b = _side(c, d, a), _side(c, d, b)
    apart = (side_c * side_d > 0) | (side_a * side_b > 0)
    low, high = np.minimum(a, b), np.maximum(a, b)
    boxes_apart = ((np.maximum(c, d) < low) | (np.minimum(c, d) > high)).any(axis=-1)
    return np.asarray(~apart & ~boxes_apart)


def _side(a: NDArray[np.float64], b: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """On which side of the line ab a point lies: -1, 0 or 1."""
    along, towards = b - a, point - a
    return np.sign(along[..., 0] * towards[..., 1] - along[..., 1] * towards[..., 0])


def _bad(required: str, came: str, fix: str = "Correct the area.") -> ConfigError:
    return ConfigError.of(Reason.BAD_DOMAIN, "area", required=required, came=came, fix=fix)
