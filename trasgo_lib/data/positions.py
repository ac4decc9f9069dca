"""Latitude and longitude as they come in and as they go out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trasgo_lib.data.domain import refuse_rows
from trasgo_lib.errors import InputContractError, Reason

Degrees = NDArray[np.float64]


def checked_positions(latitude: ArrayLike, longitude: ArrayLike) -> tuple[Degrees, Degrees]:
    """Both coordinates as float64[rows], once all of them stand on the globe.

    Projections and cell libraries fold a latitude of 100 over the pole without a word, so ranges are checked here.

    Args:
        latitude: degrees in -90..90, private; no missing values.
        longitude: degrees in -180..180, private; 180 comes out as -180.

    Raises:
        InputContractError: not numbers, unequal lengths, missing or infinite, or off the globe; with counts only.
    """
    lat, lon = _as_float(latitude), _as_float(longitude)
    if lat.shape != lon.shape or lat.ndim != 1:
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "point",
            required="two columns of equal length",
            came=f"shapes {lat.shape} and {lon.shape}",
            fix="Pass one latitude and one longitude a row.",
        )
    refuse_rows(
        int(np.count_nonzero(~(np.isfinite(lat) & np.isfinite(lon)))),
        Reason.NON_FINITE,
        required="finite coordinates",
        came="missing or infinite values",
        fix="Correct the data, or declare missing codes and a missing policy for the point.",
    )
    refuse_rows(
        int(np.count_nonzero((np.abs(lat) > 90) | (np.abs(lon) > 180))),
        Reason.OUT_OF_DOMAIN,
        required="latitude in -90..90 and longitude in -180..180 degrees",
        came="points off the globe",
        fix="Check that latitude and longitude are not swapped and are in degrees.",
    )
    return lat, np.where(lon == 180, -180.0, lon)


def wrap_longitude(longitude: Degrees) -> Degrees:
    """The same meridians in -180 (included) to 180 (excluded) degrees."""
    inside = (longitude >= -180) & (longitude < 180)
    # only what is outside goes through the remainder, which costs some last bits
    return np.where(inside, longitude, np.mod(longitude + 180, 360) - 180)


def _as_float(values: ArrayLike) -> Degrees:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            "point",
            required="coordinates as numbers without missing values",
            came=f"an array of type {array.dtype}",
            fix="Parse the columns as declared before they are encoded.",
        )
    return array.astype(np.float64)
