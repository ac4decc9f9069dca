"""Great-circle distances that come out alike on every machine.

Distances between cells decide integer weights, so they may not depend on a mathematical library's last bits. Unit
vectors are computed in decimal arithmetic and rounded once; after that only additions, products, quotients and square
roots of float64 are used, which IEEE 754 rounds in one way only.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

EARTH_RADIUS_M = 6371008.8
"""Mean radius of the GRS 80 ellipsoid (Moritz 2000), in metres."""

DISTANCE_ERROR_M = 1e-6
"""Bound on the error of ``great_circle_m``: 16 roundings of 2**-53 of the half circumference stay below 1e-7 m."""

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582")
_DIGITS = 40
_SERIES_TERMS = 14
"""Terms of the arctangent series for arguments below 0.2: the first one left out is below 1e-21."""


def unit_vectors(latitude: Sequence[Decimal], longitude: Sequence[Decimal]) -> NDArray[np.float64]:
    """Unit vectors of positions in degrees: float64[positions, 3], each coordinate correct to 1e-16."""
    vectors = np.empty((len(latitude), 3), dtype=np.float64)
    with localcontext() as context:
        context.prec = _DIGITS
        for place, (lat, lon) in enumerate(zip(latitude, longitude, strict=True)):
            sin_lat, cos_lat = _sine(lat * _PI / 180), _sine((90 - lat) * _PI / 180)
            sin_lon, cos_lon = _sine(lon * _PI / 180), _sine((90 - lon) * _PI / 180)
            vectors[place] = float(cos_lat * cos_lon), float(cos_lat * sin_lon), float(sin_lat)
    return vectors


def great_circle_m(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Great-circle distance in metres between unit vectors: float64[..., 3] twice, broadcast, to float64[...]."""
    # sine and cosine of half the angle, each well conditioned where the other is not
    sine, cosine = _length(first, second, -1.0), _length(first, second, 1.0)
    tangent = sine / (cosine + np.sqrt(sine * sine + cosine * cosine))  # of a quarter of the angle
    for _ in range(2):
        tangent = tangent / (1 + np.sqrt(1 + tangent * tangent))
    square = tangent * tangent
    series = np.zeros_like(tangent)
    for power in range(_SERIES_TERMS, -1, -1):
        series = (1.0 if power % 2 == 0 else -1.0) / (2 * power + 1) + square * series
    return np.asarray(16 * EARTH_RADIUS_M * (tangent * series))


def _length(first: NDArray[np.float64], second: NDArray[np.float64], sign: float) -> NDArray[np.float64]:
    """Length of ``first + sign * second``; the sum runs in one fixed order."""
    squares = np.zeros(np.broadcast_shapes(first.shape, second.shape)[:-1], dtype=np.float64)
    for axis in range(3):
        side = first[..., axis] + sign * second[..., axis]
        squares = squares + side * side
    return np.asarray(np.sqrt(squares))


def _sine(angle: Decimal) -> Decimal:
    """Taylor series; angles stay below 3 pi / 2, so that 40 digits lose at most 3 of them to cancellation."""
    term = total = angle
    square, power = angle * angle, 1
    while abs(term) > Decimal("1e-38"):
        term = -term * square / ((power + 1) * (power + 2))
        total += term
        power += 2
    return total
