"""Declared H3 cells and the distances between them."""

from __future__ import annotations

from decimal import Decimal

import h3
import mpmath
import numpy as np
import pytest

from trasgo_lib.data import CellsDomain, domain_from_description
from trasgo_lib.data.sphere import EARTH_RADIUS_M, great_circle_m, unit_vectors
from trasgo_lib.errors import ConfigError, InputContractError, Reason

CENTRE = h3.latlng_to_cell(41.8, -87.6, 7)
CITY = CellsDomain(sorted(h3.grid_disk(CENTRE, 8)))


def test_points_take_the_cell_that_contains_them() -> None:
    places = np.arange(3000, dtype=np.float64)
    lat, lon = 41.75 + 0.1 * ((places * 0.618034) % 1), -87.65 + 0.1 * ((places * 0.754878) % 1)
    codes = CITY.encode(lat, lon, outside="reject")
    assert codes.dtype == np.int32
    expected = [h3.latlng_to_cell(a, b, 7) for a, b in zip(lat.tolist(), lon.tolist(), strict=True)]
    assert [CITY.cells[code] for code in codes] == expected


def test_released_values_are_centres_and_encode_to_their_cell() -> None:
    codes = np.arange(CITY.size, dtype=np.int32)
    lat, lon = CITY.decode(codes)
    assert np.array_equal(lat, np.round(lat, 7))
    assert np.array_equal(CITY.encode(lat, lon, outside="reject"), codes)
    centres = np.array([h3.cell_to_latlng(cell) for cell in CITY.cells])
    assert np.abs(np.stack([lat, lon], axis=1) - centres).max() < 6e-8


def test_both_names_of_the_180th_meridian_are_one_cell() -> None:  # B50
    cell = h3.latlng_to_cell(-17.0, 180.0, 6)
    domain = CellsDomain(sorted(h3.grid_disk(cell, 2)))
    codes = domain.encode([-17.0, -17.0, -17.0, -17.0], [180.0, -180.0, 179.99999, -179.99999], outside="reject")
    assert codes[0] == codes[1]
    _, lon = domain.decode(np.arange(domain.size, dtype=np.int32))
    assert lon.min() >= -180
    assert lon.max() < 180
    assert domain.distance_m.max() < 60_000


def test_clip_finds_the_nearest_centre_and_reject_counts() -> None:
    lat, lon = np.array([41.8, 45.0, -30.0, 10.0]), np.array([-87.6, -87.6, 90.0, -150.0])
    with pytest.raises(InputContractError) as caught:
        CITY.encode(lat, lon, outside="reject")
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.OUT_OF_DOMAIN, 3)
    codes = CITY.encode(lat, lon)
    centres = [h3.cell_to_latlng(cell) for cell in CITY.cells]
    for row in range(4):
        distances = [h3.great_circle_distance((lat[row], lon[row]), centre, unit="m") for centre in centres]
        if row:
            assert distances[codes[row]] == pytest.approx(min(distances), abs=0.1)


@pytest.mark.parametrize(("lat", "lon"), [(100.0, 0.0), (-105.0, 0.0), (41.0, 200.0)])
def test_points_off_the_globe_are_refused_where_h3_gives_a_cell(lat: float, lon: float) -> None:  # B49
    assert h3.is_valid_cell(h3.latlng_to_cell(lat, lon, 7))
    with pytest.raises(InputContractError) as caught:
        CITY.encode([lat], [lon])
    assert caught.value.reason is Reason.OUT_OF_DOMAIN


def test_missing_coordinates_are_counted() -> None:  # B53
    with pytest.raises(InputContractError) as caught:
        CITY.encode([np.nan, 41.8], [-87.6, -87.6])
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.NON_FINITE, 1)


def test_distances_agree_with_fifty_digits() -> None:
    points = ["0 0", "0.0000001 179.9999", "-0.00001 180", "90 5", "-89.9999999 3", "41.1 -87", "41.1 -87.0000001"]
    lat, lon = zip(*(tuple(map(Decimal, point.split())) for point in points), strict=True)
    vectors = unit_vectors(lat, lon)
    table = great_circle_m(vectors[:, None], vectors[None])
    assert np.array_equal(table, table.T)
    assert np.array_equal(np.diag(table), np.zeros(len(points)))
    with mpmath.workdps(50):
        exact = [
            (mpmath.cos(phi) * mpmath.cos(theta), mpmath.cos(phi) * mpmath.sin(theta), mpmath.sin(phi))
            for phi, theta in zip(map(_radians, lat), map(_radians, lon), strict=True)
        ]
        for i, first in enumerate(exact):
            for j, second in enumerate(exact):
                apart = mpmath.norm([a - b for a, b in zip(first, second, strict=True)])
                along = mpmath.norm([a + b for a, b in zip(first, second, strict=True)])
                metres = 2 * mpmath.atan2(apart, along) * mpmath.mpf(EARTH_RADIUS_M)
                assert abs(metres - mpmath.mpf(float(table[i, j]))) < 1e-7


def _radians(degrees: Decimal) -> mpmath.mpf:
    return mpmath.radians(mpmath.mpf(str(degrees)))


def test_distance_table_and_displacement_agree() -> None:
    table = CITY.distance_m
    assert table.shape == (CITY.size, CITY.size)
    first, second = np.arange(CITY.size, dtype=np.int32), np.arange(CITY.size, dtype=np.int32)[::-1]
    assert np.array_equal(CITY.displacement_m(first, second), table[first, second])
    assert table[table > 0].min() > 1000


@pytest.mark.parametrize(
    "cells",
    [
        [CENTRE],
        [],
        CENTRE,
        [CENTRE, CENTRE],
        [CENTRE, CENTRE.upper()],
        [CENTRE, h3.cell_to_parent(CENTRE)],
        [CENTRE, "canary"],
        [CENTRE, "ffffffffffffffff"],
        [CENTRE, int(CENTRE, 16)],
        ["x"] * 4097,
    ],
)
def test_bad_lists_are_config_errors(cells: object) -> None:
    with pytest.raises(ConfigError) as caught:
        CellsDomain(cells)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_DOMAIN


def test_domains_are_values_and_describe_themselves() -> None:
    again = CellsDomain(tuple(CITY.cells))
    assert again == CITY
    assert hash(again) == hash(CITY)
    assert CITY.describe() == {"kind": "cells", "resolution": 7, "cells": list(CITY.cells), "size": CITY.size}
    assert domain_from_description(CITY.describe()) == CITY
    with pytest.raises(InputContractError):
        CITY.decode(np.array([-1], dtype=np.int32))
    with pytest.raises(ConfigError):
        domain_from_description({"kind": "cells"})
