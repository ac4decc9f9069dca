"""A box on the map, cut into the square cells of a metric projection.

Raw points and cells: a point moves by at most half a cell diagonal when it is encoded. Two points at a ground distance
d are at most s*d apart in the projection, s its largest local scale on the geodesic between them, hence their cell
centres at most s*d + sqrt(2)*g. With s >= 1 this is at most s*(d + sqrt(2)*g), the published form
(``lattice_distance``); ``scale_bound`` is therefore never below 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal, localcontext
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.data.domain import (
    Codes,
    Outside,
    checked_codes,
    decimal_text,
    exact_decimal,
    refuse_outside,
    refuse_rows,
)
from trasgo_lib.data.positions import Degrees, checked_positions, wrap_longitude
from trasgo_lib.errors import ConfigError, Reason

if TYPE_CHECKING:
    from trasgo_lib.data.projection import Projection

MAX_CELLS = 2**26
"""Largest lattice; histograms over it must still fit a small machine."""

_STEPS_M = (Decimal("0.1"), Decimal(1_000_000))
_METRES_PER_DEGREE = 111_320.0
_LARGEST_ROUND_TRIP_M = 0.01


@dataclass(frozen=True, slots=True)
class BoxDomain:
    """A lattice of square cells over a box of latitudes and longitudes.

    Code ``row * columns + column``; row 0 is south, column 0 is west. The lattice is the upright rectangle, in the
    projection, around the box.

    Args:
        box: south, west, north, east in degrees, decimal text; public. West may be larger than east: the box then
            crosses the 180th meridian.
        crs: catalogue entry of a projection, such as ``EPSG:3035``; latitudes and longitudes are taken in its datum.
        step_m: side of a cell in metres of the projection, decimal text.

    Raises:
        ConfigError: a box that is empty, too wide or does not project, an unfit projection, or more than 2**26 cells.
    """

    box: Sequence[str]
    crs: str
    step_m: str | int = "100"
    columns: int = field(init=False, compare=False)
    rows: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)
    scale_bound: Decimal = field(init=False, compare=False)
    _first_column: int = field(init=False, repr=False, compare=False)
    _first_row: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # imported here, so that a program without points never loads pyproj
        from trasgo_lib.data.box_outline import outline, read_box, scale_bound

        box, step = read_box(self.box), _read_step(self.step_m)
        object.__setattr__(self, "box", tuple(decimal_text(edge) for edge in box))
        object.__setattr__(self, "step_m", decimal_text(step))
        projection = self._projection()
        object.__setattr__(self, "scale_bound", scale_bound(projection, *map(float, box)))
        east, north, pad = outline(projection, *map(float, box))
        side = float(step)
        for name, values in (("columns", east), ("rows", north)):
            first, last = floor((values.min() - pad) / side), floor((values.max() + pad) / side)
            object.__setattr__(self, f"_first_{name[:-1]}", first)
            object.__setattr__(self, name, last - first + 1)
        object.__setattr__(self, "size", self.columns * self.rows)
        if not 2 <= self.size <= MAX_CELLS:
            raise ConfigError.of(
                Reason.BAD_DOMAIN,
                "step_m",
                required=f"between 2 and {MAX_CELLS} cells",
                came=f"{self.columns} x {self.rows} cells",
                fix=f"Use a step of about {ceil(side * (self.size / MAX_CELLS) ** 0.5)} m or more, or a smaller box."
                if self.size > 2
                else "Use a finer step.",
            )
        self._check_border(projection)

    @property
    def kind(self) -> str:
        """``box``."""
        return "box"

    @property
    def decimals(self) -> int:
        """Decimals of released degrees: the fewest that move a cell centre by less than a hundredth of a cell."""
        places = 0
        while _METRES_PER_DEGREE * 10.0**-places > float(self.step_m) / 100:
            places += 1
        return places

    def describe(self) -> dict[str, Any]:
        """Strict JSON: box, projection, step, the lattice's extent in cells from the projection's origin, scale."""
        return {
            "kind": self.kind,
            "box": list(self.box),
            "crs": self.crs,
            "step_m": str(self.step_m),
            "first_column": self._first_column,
            "first_row": self._first_row,
            "columns": self.columns,
            "rows": self.rows,
            "size": self.size,
            "scale_bound": str(self.scale_bound),
        }

    def lattice_distance(self, ground_m: Decimal) -> Decimal:
        """Upper bound, rounded up to 1e-6 m, on the distance of two points' cell centres.

        Args:
            ground_m: distance of the two points on the ground (WGS 84 ellipsoid), in metres, at least 0.
        """
        with localcontext() as context:
            context.prec, context.rounding = 40, ROUND_CEILING
            diagonal = Decimal("1.4142135623730950488017") * Decimal(self.step_m)
            return (self.scale_bound * (Decimal(ground_m) + diagonal)).quantize(Decimal("1e-6"))

    def encode(self, latitude: ArrayLike, longitude: ArrayLike, *, outside: Outside = "clip") -> Codes:
        """The cell of each point: int32[rows].

        Args:
            latitude: degrees in -90..90, private.
            longitude: degrees in -180..180, private.
            outside: ``clip`` moves points outside the box to its nearest latitude and nearest longitude, ``reject``
                refuses them.

        Raises:
            InputContractError: missing or infinite, off the globe (under either policy), or outside the box under
                ``reject``; with counts only.
        """
        lat, lon = checked_positions(latitude, longitude)
        south, west, north, east = map(float, self.box)
        width = np.mod(east - west, 360.0)
        past_west = np.mod(lon - west, 360.0)
        beside, above = past_west > width, (lat < south) | (lat > north)
        refuse_outside(
            int(np.count_nonzero(beside | above)),
            outside,
            f"latitude {south} to {north}, longitude {west} to {east}",
        )
        nearest = np.where(past_west - width < 360.0 - past_west, east, west)
        lon = wrap_longitude(np.where(beside, nearest, lon))
        east_m, north_m = self._projection().forward(np.clip(lat, south, north), lon)
        refuse_rows(
            int(np.count_nonzero(~(np.isfinite(east_m) & np.isfinite(north_m)))),
            Reason.OUT_OF_DOMAIN,
            required="points that the projection covers",
            came="points it does not cover",
            fix="Choose a projection made for the area.",
        )
        side = float(self.step_m)
        column = np.clip(np.floor(east_m / side) - self._first_column, 0, self.columns - 1)
        row = np.clip(np.floor(north_m / side) - self._first_row, 0, self.rows - 1)
        return np.asarray(row * self.columns + column, dtype=np.int32)

    def decode(self, codes: Codes) -> tuple[Degrees, Degrees]:
        """Latitude and longitude of cell centres, in degrees with ``decimals`` decimals: float64[rows] each.

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        distinct, where = np.unique(checked_codes(codes, self.size), return_inverse=True)
        lat, lon = self._projection().inverse(*self.positions_m(distinct))
        lat = np.clip(np.round(lat, self.decimals), -90.0, 90.0)
        lon = np.round(wrap_longitude(np.round(lon, self.decimals)), self.decimals)
        return lat[where], lon[where]

    def positions_m(self, codes: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Metres east and north of cell centres in the projection: float64[rows] each."""
        row, column = np.divmod(np.asarray(codes, dtype=np.int64), self.columns)
        side = float(self.step_m)
        return (column + self._first_column + 0.5) * side, (row + self._first_row + 0.5) * side

    def displacement_m(self, codes: Codes, others: Codes) -> NDArray[np.float64]:
        """Distance in metres of the projection between the cells of two code arrays: float64[rows]."""
        (east, north), (other_east, other_north) = self.positions_m(codes), self.positions_m(others)
        return np.asarray(np.hypot(east - other_east, north - other_north))

    def _projection(self) -> Projection:
        from trasgo_lib.data.projection import Projection

        return Projection(self.crs)

    def _check_border(self, projection: Projection) -> None:
        """Refuse a lattice whose border cells have no position on the globe."""
        from trasgo_lib.data.box_outline import EDGE_SAMPLES, too_wide

        across = np.linspace(0, self.columns - 1, min(self.columns, EDGE_SAMPLES)).astype(np.int64)
        along = np.linspace(0, self.rows - 1, min(self.rows, EDGE_SAMPLES)).astype(np.int64)
        border = np.concatenate(
            [
                across,
                (self.rows - 1) * self.columns + across,
                along * self.columns,
                along * self.columns + self.columns - 1,
            ]
        )
        east, north = self.positions_m(border.astype(np.int32))
        lat, lon = projection.inverse(east, north)
        if np.all(np.isfinite(lat) & np.isfinite(lon)):
            back_east, back_north = projection.forward(lat, lon)
            if np.all(np.hypot(back_east - east, back_north - north) < _LARGEST_ROUND_TRIP_M):
                return
        raise too_wide("a lattice that lies on the globe", "border cells without a position")


def _read_step(step_m: str | int) -> Decimal:
    step = exact_decimal(step_m, "step_m")
    if not _STEPS_M[0] <= step <= _STEPS_M[1]:
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "step_m",
            required=f"between {_STEPS_M[0]} and {_STEPS_M[1]} metres",
            came=decimal_text(step),
            fix="Write the side of a cell in metres.",
        )
    return step
