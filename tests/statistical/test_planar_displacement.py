"""How far points move: the mean, and how often each cell comes out.

Chi-square tests at 1e-4 under fixed keys: 1 key in 10,000 gives a false alarm, and the keys are fixed. Negative
controls must be caught by the same test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import h3
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from trasgo_lib.data import BoxDomain, CellsDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.mechanisms.geo_claim import GeoClaim
from trasgo_lib.mechanisms.planar import build_planar
from trasgo_lib.noise import Keystream

ROWS = 10**6
LEVEL = 1e-4
ROOT = bytes(range(32))
CHICAGO = BoxDomain(["41.6", "-87.95", "42.1", "-87.5"], "EPSG:3435", "40")


@dataclass(frozen=True)
class Grid:
    """A lattice without a map."""

    columns: int
    rows: int
    step_m: str = "100"

    def lattice_distance(self, ground_m: Decimal) -> Decimal:
        return ground_m


def _p_value(channel: Channel, code: int, outputs: NDArray[np.int32]) -> float:
    expected = np.array([float(weight) for weight in channel.weights(code)]) / float(channel.total) * len(outputs)
    counts = np.bincount(outputs, minlength=channel.outputs).astype(np.float64)
    sparse = expected < 10
    if sparse.any():
        expected = np.append(expected[~sparse], expected[sparse].sum())
        counts = np.append(counts[~sparse], counts[sparse].sum())
    keep = expected > 0.5
    statistic = float(((counts[keep] - expected[keep]) ** 2 / expected[keep]).sum())
    return float(chi2.sf(statistic, max(1, int(keep.sum()) - 1)))


def _lattice(epsilon: str) -> Channel:
    return build_planar(Grid(9, 7), GeoClaim.parse(epsilon, "200"))


def _cells(epsilon: str) -> Channel:
    cells = sorted(h3.grid_disk(h3.latlng_to_cell(41.8, -87.6, 7), 3))
    return build_channel("planar_laplace", CellsDomain(cells), epsilon, radius_m="2000")


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "8"])
@pytest.mark.parametrize("build", [_lattice, _cells], ids=["lattice", "cells"])
def test_a_million_draws_match_the_weights(build: Callable[[str], Channel], epsilon: str) -> None:
    channel = build(epsilon)
    for code in (0, channel.inputs // 2):  # a corner or border cell, and one inside
        codes = np.full(ROWS // 2, code, dtype=np.int32)
        outputs = channel.sample(codes, Keystream(ROOT, "chi-square", epsilon, code))
        assert _p_value(channel, code, outputs) > LEVEL


@pytest.mark.parametrize("build", [_lattice, _cells], ids=["lattice", "cells"])
def test_the_chi_square_catches_a_level_that_is_off_by_two_percent_and_noise_switched_off(
    build: Callable[[str], Channel],
) -> None:
    claimed, other = build("1"), build("1.02")
    code = claimed.inputs // 2
    codes = np.full(ROWS // 2, code, dtype=np.int32)
    assert _p_value(claimed, code, other.sample(codes, Keystream(ROOT, "control"))) < LEVEL
    assert _p_value(claimed, code, codes) < LEVEL


@pytest.mark.parametrize(
    ("epsilon", "radius"), [("0.01", "1"), ("10", "1000"), ("1.386", "200")], ids=["per-metre", "per-km", "ln4"]
)
def test_mean_displacement_is_two_over_geo(epsilon: str, radius: str) -> None:  # B52
    """10,000 points in the middle of the box: the mean has a standard error of 0.7 %, the criterion is 3 %."""
    channel = build_channel("planar_laplace", CHICAGO, epsilon, radius_m=radius)
    lat, lon = np.full(10_000, 41.85), np.linspace(-87.8, -87.65, 10_000)
    codes = CHICAGO.encode(lat, lon, outside="reject")
    outputs = channel.sample(codes, Keystream(ROOT, "mean"))
    expected = 2 / (float(epsilon) / float(radius))
    assert CHICAGO.displacement_m(codes, outputs).mean() == pytest.approx(expected, rel=0.03)
    released_lat, released_lon = CHICAGO.decode(outputs)
    north = (released_lat - lat) * 111_070
    east = (released_lon - lon) * 111_320 * np.cos(np.radians(lat))
    assert np.hypot(north, east).mean() == pytest.approx(expected, rel=0.03)


def test_each_row_has_noise_of_its_own_and_every_direction_is_alike() -> None:  # T01, T02: no shared draws
    channel = build_channel("planar_laplace", CHICAGO, "1.386", radius_m="200")
    codes = np.full(100_000, CHICAGO.encode([41.85], [-87.7])[0], dtype=np.int32)
    outputs = channel.sample(codes, Keystream(ROOT, "own"))
    east, north = CHICAGO.positions_m(outputs)
    east, north = east - CHICAGO.positions_m(codes)[0], north - CHICAGO.positions_m(codes)[1]
    moved = (east != 0) | (north != 0)
    octant = np.floor(np.arctan2(north[moved], east[moved]) / (np.pi / 4) + 0.5).astype(int) % 8
    counts = np.bincount(octant, minlength=8).reshape(4, 2)
    # axis octants and diagonal octants hold different lattice points, but each kind is symmetric under quarter turns
    for kind in counts.T:
        statistic = float(((kind - kind.mean()) ** 2 / kind.mean()).sum())
        assert chi2.sf(statistic, 3) > LEVEL
    follow = np.corrcoef(east[:-1], east[1:])[0, 1]
    assert abs(follow) < 4 / len(east) ** 0.5
    assert len(np.unique(outputs)) > 500


def test_points_near_the_180th_meridian_stay_in_range() -> None:  # B50
    box = BoxDomain(["-20", "176", "-12", "-178"], "EPSG:3460", "2500")
    channel = build_channel("planar_laplace", box, "0.0001", radius_m="1")
    lat, lon = np.full(20_000, -17.0), np.full(20_000, 179.9999)
    released_lat, released_lon = box.decode(channel.sample(box.encode(lat, lon), Keystream(ROOT, "meridian")))
    assert released_lon.min() >= -180
    assert released_lon.max() < 180
    assert np.abs(released_lat).max() <= 90
    assert 0.4 < (released_lon < 0).mean() < 0.6  # both sides of the meridian
    assert np.abs(np.mod(released_lon, 360) - 180).max() < 4.1


def test_outputs_are_cell_centres_whatever_the_input() -> None:
    """Two points of one cell give the same bits out: nothing of where they stood within it remains."""
    channel = build_channel("planar_laplace", CHICAGO, "1", radius_m="200")
    stream = Keystream(ROOT, "residual")
    centre_lat, centre_lon = CHICAGO.decode(np.arange(500_000, 700_000, 20, dtype=np.int32))
    inside = (centre_lat > 41.61) & (centre_lat < 42.09) & (centre_lon > -87.94) & (centre_lon < -87.51)
    lat, lon = centre_lat[inside], centre_lon[inside]
    nudged_lat, nudged_lon = lat + 1e-4, lon - 1e-4  # about 11 m of a half cell of 20 m
    first = CHICAGO.decode(channel.sample(CHICAGO.encode(lat, lon), stream))
    second = CHICAGO.decode(channel.sample(CHICAGO.encode(nudged_lat, nudged_lon), stream))
    assert np.array_equal(first, second)
    centres = np.stack(CHICAGO.decode(np.unique(channel.sample(CHICAGO.encode(lat, lon), stream))), axis=1)
    assert set(map(tuple, np.stack(first, axis=1))) <= set(map(tuple, centres))


def test_uniform_part_reaches_every_cell_of_a_steep_channel() -> None:
    channel = build_planar(Grid(40, 40), GeoClaim.parse("16", "200"))
    far = channel.weights(0)[-1]
    assert far / channel.total == pytest.approx(2**-20 / 1600, rel=1e-12)
