"""Clamped staircase noise, and the chain that draws some rows afresh."""

from __future__ import annotations

from decimal import Decimal

import mpmath
import numpy as np
import pytest

from trasgo_lib.data import NumberDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import build_chain, build_channel, chi_square, probe_codes, rebuild_chain, rebuild_channel
from trasgo_lib.mechanisms.staircase import staircase_noise
from trasgo_lib.noise import Keystream

NUMBERS = NumberDomain("0", "64", "1")
LADDER = ("0.5", "1", "2", "4", "8")


@pytest.mark.parametrize(("size", "width"), [(2, 1), (10, 9), (65, 13)])
def test_weights_are_the_staircase_and_every_output_has_its_ratio(size: int, width: int) -> None:
    noise, reach = staircase_noise(size, width, Decimal(2)).tolist(), size - 1
    assert sum(noise) == 2**64
    with mpmath.workdps(40):
        low = mpmath.exp(-2)
        high = (1 - low) / ((2 * width - 1) + (2 * (reach - width) + 1) * low)
        for shift in range(1, reach):
            share = high if shift < width else high * low
            assert abs(noise[reach + shift] - share * 2**64) < 2
            assert noise[reach + shift] == noise[reach - shift]
        assert abs(noise[-1] - low * (1 + high) / 2 * 2**64) < 2 * size
        near = sum(noise[: reach + 1])
        assert abs(mpmath.log(mpmath.mpf(near) / noise[0]) - 2) < mpmath.mpf("1e-15")


def test_the_default_width_is_that_of_least_absolute_error() -> None:
    assert build_channel("staircase", NUMBERS, "2").parameters["width"] == 17  # 64 / (1 + e)
    assert build_channel("staircase", NUMBERS, "40").parameters["width"] == 1
    assert build_chain("staircase", NUMBERS, LADDER).parameters["width"] == 17  # of the middle rung


def _kept(channel: object) -> float:
    """Correlation of released and true codes on a bell-shaped column."""
    places = np.arange(65, dtype=np.float64)
    shares = np.exp(-(((places - 32) / 8) ** 2) / 2)
    shares /= shares.sum()
    mean = channel.expectation(places)  # type: ignore[attr-defined]
    second = channel.expectation(places**2)  # type: ignore[attr-defined]
    centre, middle = shares @ places, shares @ mean
    spread = np.sqrt(shares @ (places - centre) ** 2 * (shares @ second - middle**2))
    return float(shares @ ((places - centre) * (mean - middle)) / spread)


@pytest.mark.parametrize("level", ["1", "2", "4"])
def test_coarse_levels_keep_at_least_what_a_single_staircase_and_laplace_keep(level: str) -> None:
    chained = _kept(build_chain("staircase", NUMBERS, LADDER).channel(level))
    assert chained > _kept(build_channel("staircase", NUMBERS, level))
    assert chained > 1.2 * _kept(build_channel("laplace", NUMBERS, level))


def test_coarse_levels_are_decoded_inverted_and_sampled() -> None:
    channel = build_chain("staircase", NumberDomain("0", "19", "1"), ("1", "3")).channel("1")
    scores = channel.scores
    assert scores is not None
    shares = np.array([[weight / 2**64 for weight in channel.weights(code)] for code in range(20)])
    assert np.abs(shares @ scores - np.arange(20)).max() <= 1.001e-3 * 19
    assert channel.score_bias == pytest.approx(np.abs(shares @ scores - np.arange(20)).max(), abs=1e-9)
    moments = channel.moments
    assert moments is not None
    assert moments.mean == pytest.approx(shares @ scores, abs=1e-6)
    assert channel.invert(shares[3]).sum() == pytest.approx(1)
    codes = probe_codes(channel, 50_000)
    assert chi_square(channel, codes, channel.sample(codes, Keystream(bytes(32), "nominal"))) > 1e-6


def test_what_the_staircase_refuses() -> None:
    for width in (0, 65, True, "3"):
        with pytest.raises(ConfigError):
            build_channel("staircase", NUMBERS, "1", width=width)
    with pytest.raises(ConfigError) as caught:
        build_channel("staircase", NumberDomain("0", "4096", "1"), "1")
    assert "4096" in str(caught.value)
    with pytest.raises(ConfigError):
        build_channel("staircase", NUMBERS, "44.2")
    with pytest.raises(ConfigError):
        build_channel("staircase", NUMBERS, "1", missing=True)
    stored = build_channel("staircase", NUMBERS, "1").parameters
    with pytest.raises(ConfigError):
        rebuild_channel("staircase", NUMBERS, {**stored, "width": 0})
    chain = build_chain("staircase", NUMBERS, ("1", "2"))
    for refreshed in ([], [str(2**64 - 1)], ["1", "1"]):
        with pytest.raises(ConfigError):
            rebuild_chain("staircase", NUMBERS, {**chain.parameters, "refreshed": refreshed})


def test_binned_parameters_are_read_strictly() -> None:
    name = "binned_randomized_response"
    stored = build_channel(name, NUMBERS, "1", bins=4, missing=True).parameters
    for change in ({"other": "0"}, {"missing": "else"}, {"bins": 1}, {"codes": 64}):
        with pytest.raises(ConfigError):
            rebuild_channel(name, NUMBERS, {**stored, **change})
    for bins in (None, 1, 66, "4"):
        with pytest.raises(ConfigError):
            build_channel(name, NUMBERS, "1", bins=bins)
    with pytest.raises(ConfigError):
        build_channel(name, NUMBERS, "60", bins=4)
    kernel = build_channel(name, NUMBERS, "2", bins=4).coarsen("1")
    assert kernel is not None
    assert kernel.sample(np.array([8, 24, 40], dtype=np.int32), Keystream(bytes(32), "bins")).shape == (3,)
    assert len(kernel.digest) == 64
