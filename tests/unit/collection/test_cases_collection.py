"""Reported faults of collecting under local privacy. Ids name the rows of the list of reports."""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from pointed import POINT, lattice_of, pointed

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import build_report_channel, count_answers, estimate
from trasgo_lib.collection.client import Client
from trasgo_lib.collection.device_budget import DeviceState
from trasgo_lib.collection.simulation import answers
from trasgo_lib.errors import InputContractError

KEY = bytes(range(32))
MONDAY = date(2026, 1, 5)


@pytest.mark.parametrize("name", ["optimised_unary_encoding", "symmetric_unary_encoding", "rappor"])
def test_b38_bits_are_kept_with_the_probabilities_that_are_certified(name: str) -> None:
    """200,000 reports at epsilon 0.5: p and q within 4 standard errors, and their log-ratio within epsilon."""
    permanent = Epsilon.parse("1") if name == "rappor" else None
    channel = build_report_channel(name, 6, Epsilon.parse("0.5"), permanent)
    devices = np.arange(200_000)
    given = answers(channel, np.zeros(200_000, dtype=np.int32), devices, 0, KEY)
    shares = count_answers(channel, given).counts / 200_000
    p, q = float(channel.p), float(channel.q)
    assert abs(shares[0] - p) < 4 * math.sqrt(p * (1 - p) / 200_000)
    assert np.abs(shares[1:] - q).max() < 4 * math.sqrt(q * (1 - q) / 200_000)
    assert math.log(p * (1 - q) / (q * (1 - p))) <= 0.5
    assert not math.log(1.02 * p * (1 - q) / (q * (1 - 1.02 * p))) <= 0.5, "a bit kept 2 % more often passes epsilon"


def test_b40_the_consistent_shares_are_shares_and_the_unbiased_ones_stay_beside_them() -> None:
    channel = build_report_channel("kary_randomized_response", 500, Epsilon.parse("0.1"))
    given = answers(channel, np.arange(50, dtype=np.int32), np.arange(50), 0, KEY)
    found = estimate(channel, count_answers(channel, given))
    assert found.adjusted.min() >= 0
    assert found.adjusted.sum() == pytest.approx(1)
    assert found.shares.min() < 0
    assert found.shares.sum() == pytest.approx(1)


def test_b42_noise_differs_by_device_and_by_window_and_comes_from_no_seed() -> None:
    channel = build_report_channel("optimised_unary_encoding", 64, Epsilon.parse("1"))
    home = np.zeros(2, dtype=np.int32)
    first, second = (answers(channel, home, np.arange(2), window, KEY) for window in (0, 1))
    other = answers(channel, home, np.arange(2), 0, bytes(32))
    assert len({row.tobytes() for each in (first, second, other) for row in each}) == 6


@pytest.mark.parametrize("place", [(float("nan"), -87.6), (41.9, float("inf")), (-105.0, 40.0), (41.9, 200.0)])
def test_b49_b50_b53_no_point_is_made_of_a_place_that_is_none(tmp_path: Path, place: tuple[float, float]) -> None:
    device = Client(pointed(tmp_path), bytes(32))
    with pytest.raises(InputContractError) as raised:
        device.point(*place, MONDAY)
    assert device.state == DeviceState(), "nothing is charged"
    assert not {"41.9", "-87.6", "-105", "200"} & set(str(raised.value).replace(",", " ").split()), "counts only"


def test_b49_a_swapped_place_on_the_globe_counts_as_elsewhere(tmp_path: Path) -> None:
    lattice = lattice_of(pointed(tmp_path))
    codes = lattice.domain.encode([41.88, -87.63], [-87.63, 41.88], outside="clip")
    assert (lattice.places[codes] == lattice.alphabet.other).tolist() == [False, True]


def test_b42_t01_points_differ_by_device_and_window_whatever_was_drawn_before(tmp_path: Path) -> None:
    plan = pointed(tmp_path)
    devices = [bytes([number]) * 32 for number in range(40)]
    drawn = [Client(plan, key).point(41.88, -87.63, MONDAY).answer for key in devices]
    assert len(set(drawn)) > 10
    later = [Client(plan, key).point(41.88, -87.63, MONDAY + timedelta(days=7)).answer for key in devices]
    assert sum(one != other for one, other in zip(drawn, later, strict=True)) > 20
    beside = Client(plan, devices[0])
    beside.report(41.88, -87.63, MONDAY)
    assert beside.point(41.88, -87.63, MONDAY).answer == drawn[0]


def test_b52_the_same_loss_at_another_radius_is_the_same_noise(tmp_path: Path) -> None:
    def decay(epsilon: str, radius: str) -> Decimal:
        point = {**POINT, "geo": {"epsilon": epsilon, "radius_m": radius}}
        parameters = lattice_of(pointed(tmp_path, point=point)).channel.parameters
        assert (parameters["epsilon"], parameters["radius_m"]) == (epsilon, radius)
        return Decimal(str(parameters["decay_per_cell"]))

    near, far = decay("0.693", "200"), decay("1.386", "400")
    assert abs(near - far) < Decimal("1e-8") and decay("1.386", "2000") < far / 4
