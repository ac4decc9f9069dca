"""Planar Laplace over declared H3 cells: dense integers, a certificate per great-circle metre."""

from __future__ import annotations

from decimal import Decimal

import h3
import mpmath
import numpy as np
import pytest

from trasgo_lib.amounts import Geo
from trasgo_lib.budget.events import GeoEvent
from trasgo_lib.data import CellsDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason, VerificationError
from trasgo_lib.mechanisms import build_channel, cells_channel, rebuild_channel
from trasgo_lib.mechanisms.cells_channel import CellsChannel
from trasgo_lib.mechanisms.cells_weights import CellWeights, certified_geo, solve_decay
from trasgo_lib.noise import Keystream

CENTRE = (41.8, -87.6)


def _disk(resolution: int, rings: int) -> CellsDomain:
    return CellsDomain(sorted(h3.grid_disk(h3.latlng_to_cell(*CENTRE, resolution), rings)))


CITY = _disk(7, 3)


def _channel(domain: CellsDomain, epsilon: str = "1", radius: str = "2000") -> CellsChannel:
    channel = build_channel("planar_laplace", domain, epsilon, radius_m=radius)
    assert isinstance(channel, CellsChannel)
    return channel


def _largest_log_ratio_per_metre(channel: CellsChannel, domain: CellsDomain) -> mpmath.mpf:
    distances = domain.distance_m
    with mpmath.workdps(50):
        logs = [[mpmath.log(weight) for weight in channel.weights(code)] for code in range(channel.inputs)]
        return max(
            max(a - b for a, b in zip(logs[i], logs[j], strict=True)) / mpmath.mpf(float(distances[i, j]))
            for i in range(channel.inputs)
            for j in range(channel.inputs)
            if i != j
        )


@pytest.mark.parametrize(
    ("resolution", "rings", "epsilon", "radius"),
    [(7, 3, "0.5", "2000"), (7, 3, "8", "2000"), (0, 1, "1", "1000000"), (12, 2, "1", "200"), (15, 2, "1", "200")],
)
def test_no_pair_and_no_output_beats_the_certificate(resolution: int, rings: int, epsilon: str, radius: str) -> None:
    domain = _disk(resolution, rings)
    channel = _channel(domain, epsilon, radius)
    worst = _largest_log_ratio_per_metre(channel, domain)
    certified = mpmath.mpf(str(channel.certified_geo))
    assert worst <= certified
    assert worst >= certified * mpmath.mpf("0.999")
    assert certified * int(radius) <= mpmath.mpf(epsilon)


def test_far_apart_cells_have_a_floor_and_stay_certified() -> None:
    near, far = h3.latlng_to_cell(*CENTRE, 5), h3.latlng_to_cell(-33.9, 151.2, 5)
    domain = CellsDomain([near, *sorted(h3.grid_ring(near, 1)), far, *sorted(h3.grid_ring(far, 1))])
    channel = _channel(domain, "4", "5000")
    assert min(min(channel.weights(code)) for code in range(domain.size)) >= 2**44 // domain.size
    assert _largest_log_ratio_per_metre(channel, domain) <= mpmath.mpf(str(channel.certified_geo))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "8"])
def test_certificate_is_below_the_claim_and_close_to_it(epsilon: str) -> None:
    channel = _channel(_disk(7, 8), epsilon)
    claim = Decimal(epsilon)
    assert claim * Decimal("0.999") <= channel.certified_epsilon <= claim
    assert channel.event == GeoEvent(Geo.parse(str(claim / 2)))
    assert channel.certified_delta == 0
    assert (channel.words_per_row, channel.total) == (1, 2**64)


def test_the_exponent_is_below_geo_where_normalisers_differ_and_near_it_where_they_do_not() -> None:
    edges = Decimal(str(_channel(_disk(7, 1), "1").parameters["decay_per_m"])) * 2000
    assert Decimal("0.5") < edges < Decimal("0.9")
    pair = sorted(_disk(7, 1).cells)[:2]
    alike = Decimal(str(_channel(CellsDomain(pair), "1").parameters["decay_per_m"])) * 2000
    assert Decimal("0.9999") < alike < 1


def test_weights_follow_the_formula_within_the_stated_units() -> None:
    channel = _channel(CITY, "2")
    table = channel._table
    distances, floor = CITY.distance_m, 2**44 // CITY.size
    with mpmath.workdps(50):
        decay = mpmath.mpf(str(channel.parameters["decay_per_m"]))
        for code in (0, 17, CITY.size - 1):
            shares = [mpmath.exp(-decay * int(np.rint(d * 10_000)) / 10_000) for d in distances[code]]
            for other, weight in enumerate(channel.weights(code)):
                slack = 12 + (table.left[code] if other == code else 0)
                assert abs(weight - floor - table.factors[code] * shares[other]) <= slack
            assert 0 <= table.left[code] <= 13 * CITY.size


def test_rows_sum_exactly_and_every_weight_is_positive() -> None:
    channel = _channel(CITY)
    for code in range(CITY.size):
        weights = channel.weights(code)
        assert sum(weights) == 2**64
        assert min(weights) >= 1
        assert max(weights) == weights[code]
    with pytest.raises(IndexError):
        channel.weights(CITY.size)


def test_weights_never_change() -> None:
    """Known answer: a change of any weight is a new version of the mechanism."""
    channel = _channel(CITY)
    assert channel.parameters == {
        "epsilon": "1",
        "radius_m": "2000",
        "decay_per_m": "0.000356020964510097",
        "codes": 37,
    }
    assert channel.digest == "7be6ba70300e7d762b159fee9b111081d433315e7581f1ff35b8280629cb9f40"


def test_rebuilding_gives_the_same_channel_and_checks_it() -> None:
    channel = _channel(CITY)
    again = rebuild_channel("planar_laplace", CITY, channel.parameters)
    assert again.digest == channel.digest
    assert again.certified_epsilon == channel.certified_epsilon
    with pytest.raises(VerificationError) as caught:
        rebuild_channel("planar_laplace", CITY, {**channel.parameters, "decay_per_m": "0.0005"})
    assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


@pytest.mark.parametrize(
    "change",
    [{"codes": 3}, {"decay_per_m": "-1"}, {"decay_per_m": "x"}, {"decay_per_m": None}, {"radius_m": 5}, {"a": 1}],
)
def test_damaged_parameters_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        rebuild_channel("planar_laplace", CITY, {**_channel(CITY).parameters, **change})  # type: ignore[dict-item]


def test_draws_do_not_depend_on_batches_and_check_their_codes() -> None:
    channel, stream = _channel(CITY), Keystream(bytes(range(32)), "cells")
    codes = (np.arange(70_000) % CITY.size).astype(np.int32)
    whole = channel.sample(codes, stream)
    parts = [channel.sample(codes[a:b], stream, first_row=a) for a, b in ((0, 5), (5, 40_000), (40_000, 70_000))]
    assert np.array_equal(np.concatenate(parts), whole)
    with pytest.raises(InputContractError):
        channel.sample(np.array([CITY.size], dtype=np.int32), stream)


def test_inversion_undoes_the_channel_and_cells_have_no_scores() -> None:
    channel = _channel(CITY, "4")
    truth = np.arange(CITY.size, dtype=np.float64)
    expected = sum(truth[i] * np.array(channel.weights(i), dtype=np.float64) / 2**64 for i in range(CITY.size))
    assert np.allclose(channel.invert(np.asarray(expected)), truth, atol=1e-8)
    assert np.allclose(channel.expectation(np.ones(CITY.size)), 1)
    assert channel.scores is None
    assert channel.moments is None


def test_a_search_that_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for decay in (Decimal(1), Decimal(0)):
        monkeypatch.setattr(cells_channel, "solve_decay", lambda distances, geo, decay=decay: decay)
        with pytest.raises(ConfigError) as caught:
            _channel(CITY)
        assert caught.value.reason is Reason.CLAIM_NOT_CERTIFIED


def test_small_cells_at_a_huge_radius_are_certified_too() -> None:
    channel = _channel(_disk(15, 1), "1", "10000000")
    assert Decimal("0.999") <= channel.certified_epsilon <= 1


def test_a_search_that_overshoots_a_little_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    high = solve_decay(CITY.distance_m, (1 + 2e-10) / 2000)
    assert certified_geo(CellWeights.build(CITY.distance_m, high), CITY.distance_m) * 2000 > 1
    monkeypatch.setattr(cells_channel, "solve_decay", lambda distances, geo: high)
    assert _channel(CITY).certified_epsilon <= 1
