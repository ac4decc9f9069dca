"""Lattices over boxes: projection, units, edges of the map, scale."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyproj
import pytest

from trasgo_lib.data import BoxDomain, box_domain, box_outline, domain_from_description
from trasgo_lib.data.positions import wrap_longitude
from trasgo_lib.data.projection import Projection
from trasgo_lib.errors import ConfigError, InputContractError, Reason

CHICAGO = BoxDomain(["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "100")
FIJI = BoxDomain(["-20", "176", "-12", "-178"], "EPSG:3460", "1000")
EUROPE = BoxDomain(["35", "-10", "60", "30"], "EPSG:3035", "2000")
GEOD = pyproj.Geod(ellps="WGS84")


def _inside(domain: BoxDomain, rows: int) -> tuple[np.ndarray, np.ndarray]:
    south, west, north, east = map(float, domain.box)
    places = np.arange(rows, dtype=np.float64)
    lat = south + (north - south) * ((places * 0.6180339887) % 1)
    lon = west + ((east - west) % 360) * ((places * 0.7548776662) % 1)
    return lat, (lon + 180) % 360 - 180


def _ground_m(lat: np.ndarray, lon: np.ndarray, lat_1: np.ndarray, lon_1: np.ndarray) -> np.ndarray:
    return np.asarray(GEOD.inv(lon, lat, lon_1, lat_1)[2])


@pytest.mark.parametrize("domain", [CHICAGO, FIJI, EUROPE], ids=["feet", "antimeridian", "continent"])
def test_points_move_by_at_most_half_a_diagonal(domain: BoxDomain) -> None:
    lat, lon = _inside(domain, 20_000)
    codes = domain.encode(lat, lon, outside="reject")
    assert codes.dtype == np.int32
    assert codes.min() >= 0
    assert codes.max() < domain.size
    east, north = Projection(domain.crs).forward(lat, lon)
    cell_east, cell_north = domain.positions_m(codes)
    half = float(domain.step_m) / 2
    assert np.abs(east - cell_east).max() <= half * (1 + 1e-9)
    assert np.abs(north - cell_north).max() <= half * (1 + 1e-9)
    released_lat, released_lon = domain.decode(codes)
    moved = _ground_m(lat, lon, released_lat, released_lon)
    assert moved.max() <= 1.01 * 2**0.5 * half / 0.95  # the smallest scale of these projections is above 0.95


def test_feet_are_converted_to_metres() -> None:
    lat, lon = np.array([41.8, 41.8]), np.array([-87.7, -87.69])
    metres = CHICAGO.displacement_m(*(code.reshape(1) for code in CHICAGO.encode(lat, lon)))
    assert metres[0] == pytest.approx(_ground_m(lat[:1], lon[:1], lat[1:], lon[1:])[0], abs=150)
    assert Projection("EPSG:3435").metres_per_unit == pytest.approx(0.3048006096)


@pytest.mark.parametrize("domain", [CHICAGO, FIJI, EUROPE], ids=["feet", "antimeridian", "continent"])
def test_released_values_are_cell_centres_and_encode_to_their_cell(domain: BoxDomain) -> None:
    codes = domain.encode(*_inside(domain, 5000))
    lat, lon = domain.decode(codes)
    assert np.array_equal(lat, np.round(lat, domain.decimals))
    assert np.array_equal(lon, np.round(lon, domain.decimals))
    south, west, north, east = map(float, domain.box)
    within = (lat >= south) & (lat <= north) & ((lon - west) % 360 <= (east - west) % 360)
    assert within.mean() > 0.95
    assert np.array_equal(domain.encode(lat[within], lon[within], outside="reject"), codes[within])


@pytest.mark.parametrize("domain", [FIJI, CHICAGO, EUROPE])
def test_every_cell_has_a_position_on_the_globe(domain: BoxDomain) -> None:
    codes = np.arange(0, domain.size, 97, dtype=np.int32)
    lat, lon = domain.decode(codes)
    assert np.abs(lat).max() <= 90
    assert lon.min() >= -180
    assert lon.max() < 180
    if domain is FIJI:
        assert lon.min() < -179
        assert lon.max() > 179


def test_the_180th_meridian_has_one_side() -> None:  # B50
    lat = np.full(2, -17.0)
    codes = FIJI.encode(lat, np.array([180.0, -180.0]), outside="reject")
    assert codes[0] == codes[1]
    near = FIJI.encode(np.full(2, -17.0), np.array([179.9999, -179.9999]), outside="reject")
    assert FIJI.displacement_m(near[:1], near[1:])[0] <= 1000


def test_longitudes_wrap_into_one_turn() -> None:  # B50
    wrapped = wrap_longitude(np.array([180.0384, 180.0, -180.0, -180.5, 179.9999, 0.0, 540.0]))
    assert np.allclose(wrapped, [-179.9616, -180.0, -180.0, 179.5, 179.9999, 0.0, -180.0], atol=1e-9)


def test_clip_goes_to_the_nearest_edge_in_latitude_and_longitude() -> None:
    outside_lat, outside_lon = np.array([43.0, 41.8, 41.8, 30.0]), np.array([-87.7, -80.0, -100.0, 92.4])
    edge_lat, edge_lon = np.array([42.1, 41.8, 41.8, 41.6]), np.array([-87.7, -87.5, -87.95, -87.95])
    assert np.array_equal(CHICAGO.encode(outside_lat, outside_lon), CHICAGO.encode(edge_lat, edge_lon))
    # just west of a box that starts at 176 east, and across the 180th meridian east of it
    clipped = FIJI.encode(np.array([-15.0, -15.0]), np.array([170.0, -170.0]))
    assert np.array_equal(clipped, FIJI.encode(np.array([-15.0, -15.0]), np.array([176.0, -178.0])))


def test_swapped_coordinates_are_rejected_with_a_count() -> None:  # B49
    york = BoxDomain(["40.4", "-74.3", "41", "-73.6"], "EPSG:32618", "100")
    with pytest.raises(InputContractError) as caught:
        york.encode(np.array([-74.0, 40.7]), np.array([40.7, -74.0]), outside="reject")
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 1


@pytest.mark.parametrize("outside", ["clip", "reject"])
@pytest.mark.parametrize(("lat", "lon"), [(100.0, 0.0), (-90.1, 0.0), (41.0, 200.0), (41.0, -180.1)])
def test_points_off_the_globe_are_never_folded_over(lat: float, lon: float, outside: str) -> None:
    with pytest.raises(InputContractError) as caught:
        CHICAGO.encode([lat, 41.8], [lon, -87.7], outside=outside)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.OUT_OF_DOMAIN
    assert caught.value.faults[0].rows == 1
    assert str(lat) not in caught.value.faults[0].came


def test_missing_coordinates_count_once_a_pair() -> None:  # B53
    with pytest.raises(InputContractError) as caught:
        CHICAGO.encode([np.nan, 41.8, np.nan, 41.9], [-87.7, np.inf, np.nan, -87.7])
    assert caught.value.reason is Reason.NON_FINITE
    assert caught.value.faults[0].rows == 3


@pytest.mark.parametrize(
    ("lat", "lon"),
    [(["41.8"], [-87.7]), ([41.8], [None]), ([41.8, 41.9], [-87.7]), ([[41.8]], [[-87.7]]), ([[1], [2, 3]], [1])],
)
def test_other_shapes_and_types_are_refused(lat: object, lon: object) -> None:
    with pytest.raises(InputContractError) as caught:
        CHICAGO.encode(lat, lon)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.WRONG_TYPE


def test_real_trips_encode() -> None:
    path = Path(__file__).parents[4] / "shared" / "data" / "chicago_taxi_trips.csv"
    if not path.exists():
        pytest.skip("shared data are absent")
    with path.open() as lines:
        pairs = [(row["pickup_latitude"], row["pickup_longitude"]) for row in csv.DictReader(lines)]
    points = np.array([pair for pair in pairs if all(pair)], dtype=np.float64)
    assert len(pairs) - len(points) == 2
    codes = CHICAGO.encode(points[:, 0], points[:, 1], outside="reject")
    lat, lon = CHICAGO.decode(codes)
    assert _ground_m(points[:, 0], points[:, 1], lat, lon).max() < 71


@pytest.mark.parametrize(
    ("domain", "expected"), [(CHICAGO, "1.0001"), (EUROPE, "1.02"), (FIJI, "1.002")], ids=["chicago", "europe", "fiji"]
)
def test_scale_bound_holds_for_pairs_of_points_and_is_tight(domain: BoxDomain, expected: str) -> None:
    lat, lon = _inside(domain, 4001)
    east, north = Projection(domain.crs).forward(lat, lon)
    ground = _ground_m(lat[:-1], lon[:-1], lat[1:], lon[1:])
    projected = np.hypot(np.diff(east), np.diff(north))
    assert (projected / ground).max() <= float(domain.scale_bound)
    near_lat, near_lon = lat + 1e-3, lon
    near_east, near_north = Projection(domain.crs).forward(near_lat, near_lon)
    local = np.hypot(near_east - east, near_north - north) / _ground_m(lat, lon, near_lat, near_lon)
    assert local.max() <= float(domain.scale_bound)
    assert Decimal(1) <= domain.scale_bound <= Decimal(expected)


def test_scale_agrees_with_tissots_indicatrix() -> None:
    lat, lon = _inside(EUROPE, 50)
    factors = pyproj.Proj("EPSG:3035").get_factors(lon, lat)
    assert np.allclose(Projection("EPSG:3035").scale(lat, lon), factors.tissot_semimajor, rtol=2e-6)


def test_cells_of_two_points_are_within_the_published_bound() -> None:
    lat, lon = _inside(CHICAGO, 20_001)
    codes = CHICAGO.encode(lat, lon)
    ground = _ground_m(lat[:-1], lon[:-1], lat[1:], lon[1:])
    apart = CHICAGO.displacement_m(codes[:-1], codes[1:])
    bounds = [float(CHICAGO.lattice_distance(Decimal(float(metres)))) for metres in ground[:2000]]
    assert (apart[:2000] <= bounds).all()
    assert CHICAGO.lattice_distance(Decimal(0)) == Decimal("141.435499")


@pytest.mark.parametrize(
    ("box", "crs", "step", "where"),
    [
        (["42.1", "-87.95", "41.6", "-87.5"], "EPSG:3435", "100", "box"),
        (["41.6", "-87.5", "41.6", "-87.5"], "EPSG:3435", "100", "box"),
        (["41.6", "-87.5", "42.1", "-87.5"], "EPSG:3435", "100", "box"),
        (["41.6", "180", "42.1", "-180"], "EPSG:3435", "100", "box"),
        (["41.6", "-187", "42.1", "-87"], "EPSG:3435", "100", "box"),
        (["41.6", "-87.95", "42.1"], "EPSG:3435", "100", "box"),
        ("41.6,-87.95,42.1,-87.5", "EPSG:3435", "100", "box"),
        ([41.6, "-87.95", "42.1", "-87.5"], "EPSG:3435", "100", "box"),
        (["-60", "-180", "60", "0"], "EPSG:3035", "10000", "box"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3857", "100", "box"),
        (["-90", "-100", "90", "0"], "EPSG:32616", "10000", "box"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:4326", "100", "crs"),
        (["43", "5", "44", "6"], "EPSG:27572", "100", "crs"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:999999", "100", "crs"),
        (["41.6", "-87.95", "42.1", "-87.5"], "+proj=utm +zone=16 +nadgrids=/etc/passwd", "100", "crs"),
        (["41.6", "-87.95", "42.1", "-87.5"], None, "100", "crs"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "0", "step_m"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "-5", "step_m"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "1", "step_m"),
        (["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", 100.0, "step_m"),
        (["41.61", "-87.95", "41.62", "-87.94"], "EPSG:3435", "900000", "step_m"),
    ],
)
def test_bad_boxes_are_config_errors(box: object, crs: object, step: object, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BoxDomain(box, crs, step)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_DOMAIN
    assert caught.value.faults[0].where == where


def test_domains_are_values_and_describe_themselves() -> None:
    again = BoxDomain(("41.60", "-87.95", "42.1", "-87.5"), "EPSG:3435", 100)
    assert again == CHICAGO
    assert hash(again) == hash(CHICAGO)
    described = CHICAGO.describe()
    assert (described["columns"], described["rows"], described["size"]) == (381, 561, 213741)
    assert (described["first_column"], described["first_row"]) == (3315, 5476)
    assert described["scale_bound"] == "1.0001"
    assert domain_from_description(described) == CHICAGO
    with pytest.raises(ConfigError):
        domain_from_description(described | {"first_row": 5477})
    with pytest.raises(InputContractError):
        CHICAGO.decode(np.array([CHICAGO.size], dtype=np.int32))


def test_edges_and_lattices_without_a_position_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="edges that do not project"):
        box_outline.outline(Projection("EPSG:3034"), -89.0, -170.0, -90.0, 170.0)
    monkeypatch.setattr(box_domain, "_LARGEST_ROUND_TRIP_M", -1.0)
    with pytest.raises(ConfigError, match="border cells without a position"):
        BoxDomain(["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "100")
