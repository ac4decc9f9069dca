"""Map projections in metres. The only importer of pyproj.

Latitude and longitude are taken in the projection's own datum: nothing is shifted between datums, because such a shift
depends on grid files that a machine may or may not have, and the lattice would then differ between machines. Input and
output stand in the same frame, so positions stay consistent; the guarantee speaks of distances only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pyproj
from numpy.typing import NDArray
from pyproj.exceptions import CRSError

from trasgo_lib.errors import ConfigError, Reason

_AUTHORITY_CODE = re.compile(r"[A-Za-z]{2,10}:[A-Za-z0-9_]{1,20}")
"""Only catalogue entries: free projection strings can name files of the machine."""

_WGS84_SEMI_MAJOR_M = 6378137.0
_WGS84_ECCENTRICITY_SQUARED = 0.0066943799901413165
_DERIVATIVE_STEP_DEG = 1e-4
"""About 11 m: differences over twice this lose 1e-9 to float64 and 1e-10 to curvature, far below the 1e-6 published."""

Degrees = NDArray[np.float64]
Metres = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Projection:
    """A projected coordinate reference system, read in metres.

    Args:
        crs: catalogue entry such as ``EPSG:3035``; public. Feet and other units are converted to metres.

    Raises:
        ConfigError: unknown, not projected, or based on a meridian other than Greenwich or on an angle other than
            degrees.
    """

    crs: str
    metres_per_unit: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        system = _read(self.crs)
        units = {axis.unit_conversion_factor for axis in system.axis_info}
        geodetic = system.geodetic_crs
        plain = (
            system.is_projected
            and not system.is_bound
            and not system.is_compound
            and len(system.axis_info) == 2
            and len(units) == 1
            and geodetic is not None
            and system.prime_meridian is not None
            and system.prime_meridian.longitude == 0
            and all(axis.unit_name == "degree" for axis in geodetic.axis_info)
        )
        if not plain:
            raise _bad_crs(self.crs, "a plane projection of degrees from Greenwich")
        object.__setattr__(self, "metres_per_unit", float(units.pop()))

    def forward(self, latitude: Degrees, longitude: Degrees) -> tuple[Metres, Metres]:
        """Degrees to metres east and north: float64[points] each; points that do not project become infinite."""
        east, north = self._transformer().transform(longitude, latitude)
        return np.asarray(east) * self.metres_per_unit, np.asarray(north) * self.metres_per_unit

    def inverse(self, east_m: Metres, north_m: Metres) -> tuple[Degrees, Degrees]:
        """Metres to latitude and longitude in degrees: float64[points] each."""
        longitude, latitude = self._transformer().transform(
            east_m / self.metres_per_unit, north_m / self.metres_per_unit, direction="INVERSE"
        )
        return np.asarray(latitude), np.asarray(longitude)

    def scale(self, latitude: Degrees, longitude: Degrees) -> NDArray[np.float64]:
        """Largest projected metres per metre on the ground (WGS 84 ellipsoid), over all directions: float64[points].

        The largest singular value of the projection's Jacobian, by central differences. Source: Snyder 1987, Map
        Projections: A Working Manual, section 4 (Tissot's indicatrix).
        """
        step = _DERIVATIVE_STEP_DEG
        sine = np.sin(np.radians(latitude))
        curvature = 1 - _WGS84_ECCENTRICITY_SQUARED * sine**2
        normal_m = _WGS84_SEMI_MAJOR_M / np.sqrt(curvature)
        meridian_m = normal_m * (1 - _WGS84_ECCENTRICITY_SQUARED) / curvature
        north_ground = np.radians(2 * step) * meridian_m
        east_ground = np.radians(2 * step) * normal_m * np.cos(np.radians(latitude))
        north_x, north_y = self._difference(latitude + step, longitude, latitude - step, longitude)
        east_x, east_y = self._difference(latitude, longitude + step, latitude, longitude - step)
        a, b = east_x / east_ground, north_x / north_ground
        c, d = east_y / east_ground, north_y / north_ground
        squares, determinant = a * a + b * b + c * c + d * d, a * d - b * c
        inner = np.sqrt(np.maximum(squares**2 - 4 * determinant**2, 0))
        return np.asarray(np.sqrt((squares + inner) / 2))

    def _difference(self, lat_1: Degrees, lon_1: Degrees, lat_0: Degrees, lon_0: Degrees) -> tuple[Metres, Metres]:
        (east_1, north_1), (east_0, north_0) = self.forward(lat_1, lon_1), self.forward(lat_0, lon_0)
        return east_1 - east_0, north_1 - north_0

    def _transformer(self) -> pyproj.Transformer:
        # made anew for each call: a transformer must not be shared between threads, and this one takes under 1 ms
        system = _read(self.crs)
        return pyproj.Transformer.from_crs(system.geodetic_crs, system, always_xy=True)


def _read(crs: object) -> pyproj.CRS:
    if not isinstance(crs, str) or not _AUTHORITY_CODE.fullmatch(crs):
        raise _bad_crs(crs, "a catalogue entry, authority:code")
    try:
        return pyproj.CRS.from_user_input(crs)
    except CRSError:
        raise _bad_crs(crs, "a catalogue entry that exists") from None


def _bad_crs(crs: object, required: str) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_DOMAIN,
        "crs",
        required=required,
        came=repr(crs),
        fix="Choose a projection made for the area, such as EPSG:3035 (Europe) or the UTM zone, EPSG:326xx.",
    )
