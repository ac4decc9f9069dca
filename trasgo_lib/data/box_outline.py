"""The edges of a box: read exactly, projected, and how much the projection stretches inside them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from math import atan, cos, degrees, radians, tan

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.domain import decimal_text, exact_decimal
from trasgo_lib.data.positions import wrap_longitude
from trasgo_lib.data.projection import Projection
from trasgo_lib.errors import ConfigError, Reason

EDGE_SAMPLES = 257
"""Points per edge; what lies between two of them is covered by a margin."""

_GRID_SAMPLES = 65
_WIDEST_DEG = 120.0
_LARGEST_SCALE = Decimal("1.25")
"""A projection that stretches more than this was not made for the box, and the noise would be far too small there."""


def read_box(box: object) -> tuple[Decimal, Decimal, Decimal, Decimal]:
    """South, west, north and east in degrees, exactly.

    Args:
        box: four edges as decimal text; public.

    Raises:
        ConfigError: not four exact numbers, off the globe, empty, or wider than 120 degrees.
    """
    if isinstance(box, (str, bytes)) or not isinstance(box, Sequence) or len(box) != 4:
        raise _bad_box("four edges: south, west, north, east", "something else")
    south, west, north, east = (exact_decimal(edge, "box") for edge in box)
    if not -90 <= south < north <= 90:
        raise _bad_box(
            "south below north, both in -90..90", f"south {decimal_text(south)}, north {decimal_text(north)}"
        )
    if not (-180 <= west <= 180 and -180 <= east <= 180) or (east - west) % 360 == 0:
        raise _bad_box("west and east apart, both in -180..180", f"{decimal_text(west)} and {decimal_text(east)}")
    if np.mod(float(east) - float(west), 360.0) > _WIDEST_DEG:
        raise too_wide(f"a box at most {_WIDEST_DEG:g} degrees wide", f"{decimal_text(west)} to {decimal_text(east)}")
    return south, west, north, east


def outline(
    projection: Projection, south: float, west: float, north: float, east: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The projected edge of the box, in metres east and north, and how far it can stray from its samples.

    Args:
        projection: the projection.
        south: edge of the box in degrees; public, as are the other three.
        west: may be larger than ``east``: the box then crosses the 180th meridian.
        north: edge in degrees.
        east: edge in degrees.

    Raises:
        ConfigError: an edge that does not project.
    """
    width = float(np.mod(east - west, 360.0))
    along, up = np.linspace(0, width, EDGE_SAMPLES), np.linspace(south, north, EDGE_SAMPLES)
    lat = np.concatenate([np.full_like(along, south), up, np.full_like(along, north), up[::-1]])
    lon = west + np.concatenate([along, np.full_like(up, width), along[::-1], np.zeros_like(up)])
    east_m, north_m = projection.forward(lat, wrap_longitude(lon))
    if not np.all(np.isfinite(east_m) & np.isfinite(north_m)):
        raise too_wide("a box inside the projection", "edges that do not project")
    # a point of the edge lies within half a segment, measured along the edge, of a sample
    pad = 0.51 * float(np.hypot(np.diff(east_m), np.diff(north_m)).max())
    return east_m, north_m, pad


def scale_bound(projection: Projection, south: float, west: float, north: float, east: float) -> Decimal:
    """Largest local scale over the box and over every geodesic between two of its points: at least 1, up to 1e-4.

    A geodesic between two points of a parallel bulges towards the pole, at most to atan(tan(lat) / cos(width / 2)).
    The scale is smooth: the largest change between neighbouring samples covers what lies between them. Four
    decimals, rounded up, so that the last bits of a machine's float arithmetic do not show in the plan.

    Raises:
        ConfigError: a scale above 1.25, or a box that does not project.
    """
    width = float(np.mod(east - west, 360.0))
    bulge = cos(radians(width) / 2)
    top = max(north, degrees(atan(tan(radians(min(north, 89.99))) / bulge)))
    bottom = min(south, degrees(atan(tan(radians(max(south, -89.99))) / bulge)))
    # derivatives at the pole itself are singular; a box that contains it is sampled to within 111 m of it
    up = np.clip(np.linspace(bottom, top, _GRID_SAMPLES), -89.999, 89.999)
    lat, lon = np.meshgrid(up, west + np.linspace(0, width, _GRID_SAMPLES), indexing="ij")
    with np.errstate(all="ignore"):
        scales = projection.scale(lat.ravel(), wrap_longitude(lon.ravel())).reshape(lat.shape)
        change = max(np.abs(np.diff(scales, axis=axis)).max() for axis in (0, 1))
        largest = scales.max() + change
    if not np.isfinite(largest) or largest > float(_LARGEST_SCALE):
        raise too_wide(f"a projection that stretches distances by at most {_LARGEST_SCALE} over the box", "more")
    return max(Decimal(1), Decimal(float(largest)).quantize(Decimal("1e-4"), rounding=ROUND_CEILING))


def _bad_box(required: str, came: str) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_DOMAIN, "box", required=required, came=came, fix='Write it as in ["41.6", "-87.9", "42.1", "-87.5"].'
    )


def too_wide(required: str, came: str) -> ConfigError:
    """The error of a box that its projection cannot hold."""
    return ConfigError.of(
        Reason.BAD_DOMAIN,
        "box",
        required=required,
        came=came,
        fix="Choose a projection made for the area, make the box smaller, or declare H3 cells instead.",
    )
