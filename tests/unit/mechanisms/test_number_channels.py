"""laplace and gaussian: closed forms, sizes, limits and what is refused."""

from __future__ import annotations

from decimal import Decimal
from math import exp, log
from statistics import NormalDist

import mpmath
import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.errors import AmountError, ConfigError, Reason
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.mechanisms.gaussian import normal_noise
from trasgo_lib.mechanisms.laplace import geometric_noise
from trasgo_lib.mechanisms.shift import ShiftChannel
from trasgo_lib.mechanisms.smooth_inverse import SCORE_BIAS_SHARE
from trasgo_lib.noise import Keystream

WORD = 2**64


def numbers(size: int) -> NumberDomain:
    return NumberDomain(lower="0", upper=str(size - 1), step="1")


def test_geometric_weights_are_the_nearest_integers() -> None:
    noise = geometric_noise(9, Decimal(2)).tolist()
    with mpmath.workdps(60):
        a = mpmath.exp(mpmath.mpf(-2) / 8)
        inside = [(1 - a) / (1 + a) * a**z * WORD for z in range(8)]
        tail = a**8 / (1 + a) * WORD
    assert noise == noise[::-1]
    assert sum(noise) == WORD
    assert all(abs(noise[8 + z] - inside[z]) <= 0.5001 for z in range(1, 8))
    assert abs(noise[8] - inside[0]) <= 8
    assert abs(noise[16] - tail) <= 8


@pytest.mark.parametrize("sigma", ["0.3", "1.9", "2.1", "40"])
def test_normal_weights_are_the_nearest_integers(sigma: str) -> None:
    noise = normal_noise(9, Decimal(sigma)).tolist()
    with mpmath.workdps(60):
        width = mpmath.mpf(sigma)
        total = mpmath.fsum(mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * width**2)) for z in range(-600, 601))
        inside = [max(1, mpmath.exp(-(z**2) / (2 * width**2)) / total * WORD) for z in range(8)]
    assert noise == noise[::-1]
    assert sum(noise) == WORD
    # the remainder sits on shift 0 or on the ends
    assert all(abs(noise[8 + z] - inside[z]) <= 0.51 for z in range(1, 8))
    assert abs(noise[8] - inside[0]) <= 20


def test_laplace_decoder_moves_the_ends_only() -> None:
    channel = build_channel("laplace", numbers(101), "2")
    a = exp(-1.999999999 / 100)
    scores = channel.scores
    assert scores is not None
    assert scores[1:-1].tolist() == list(range(1, 100))
    assert scores[0] == pytest.approx(-a / (1 - a), rel=1e-9)
    assert scores[-1] == pytest.approx(100 + a / (1 - a), rel=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4", "8"])
def test_pure_gaussian_uses_the_clamped_formula_not_the_textbook_one(epsilon: str) -> None:
    channel = build_channel("gaussian", numbers(1025), epsilon)
    sigma = float(str(channel.parameters["sigma"]))
    assert sigma == pytest.approx(-1024 / NormalDist().inv_cdf(0.5 * exp(-float(epsilon))), rel=5e-3)
    assert channel.certified_delta == 0


def test_delta_buys_less_noise() -> None:
    sigmas = [
        float(str(build_channel("gaussian", numbers(201), "1", delta=delta).parameters["sigma"]))
        for delta in ("0", "0.000001", "0.001", "0.1")
    ]
    assert sigmas == sorted(sigmas, reverse=True)
    assert len(set(sigmas)) == 4


@pytest.mark.parametrize("epsilon", ["1.5", "9"])
def test_gaussian_takes_epsilon_above_one(epsilon: str) -> None:
    assert build_channel("gaussian", numbers(50), epsilon, delta="0.001").certified_epsilon <= Decimal(epsilon)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "1", "8", "30"])
@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_the_smallest_domains_certify(name: str, size: int, epsilon: str) -> None:
    certified = build_channel(name, numbers(size), epsilon).certified_epsilon
    assert Decimal("0.999") * Decimal(epsilon) <= certified <= Decimal(epsilon)


def test_large_domains_keep_every_weight_and_their_rows() -> None:
    channel = build_channel("laplace", numbers(2**17), "0.5")
    assert isinstance(channel, ShiftChannel)
    assert Decimal("0.4995") <= channel.certified_epsilon <= Decimal("0.5")
    for code in (0, 2**16, 2**17 - 1):
        row = channel.row(code)
        assert int(row.min()) >= 1
        assert int((row >> np.uint64(32)).sum()) * 2**32 + int((row & np.uint64(2**32 - 1)).sum()) == WORD
    codes = np.full(5, 2**16, dtype=np.int32)
    assert len(set(channel.sample(codes, Keystream(bytes(32), "large")).tolist())) > 1
    moments = channel.moments
    assert moments is not None
    assert moments.mean[[0, 12345, -1]] == pytest.approx([0, 12345, 2**17 - 1], abs=1e-3)


def test_structured_and_direct_sums_agree() -> None:
    """Above 4096 codes sums go through a Fourier transform."""
    channel = build_channel("laplace", numbers(5000), "3")
    values = np.sin(np.arange(5000) / 300)
    expected = channel.expectation(values)  # type: ignore[attr-defined]
    for code in (0, 17, 2500, 4999):
        row = np.array(channel.weights(code), dtype=np.float64) / WORD
        assert expected[code] == pytest.approx(row @ values, abs=1e-12)
    shares = np.zeros(5000)
    shares[17] = 1.0
    row = np.array(channel.weights(17), dtype=np.float64) / WORD
    assert channel.noise.outputs_of(shares) == pytest.approx(row, abs=1e-12)  # type: ignore[attr-defined]
    assert channel.invert(row) == pytest.approx(shares, abs=1e-6)


def test_large_gaussian_has_a_bounded_decoder() -> None:
    channel = build_channel("gaussian", numbers(6001), "2")
    moments = channel.moments
    assert moments is not None
    assert np.abs(moments.mean - np.arange(6001)).max() <= 1.001e-3 * 6000
    assert channel.score_bias <= 1.001 * SCORE_BIAS_SHARE * 6000
    assert float(np.sqrt(moments.variance.max())) < 1.2 * 6000


def test_two_codes_decode_exactly_under_normal_noise() -> None:
    channel = build_channel("gaussian", numbers(2), "1")
    shares = np.array([channel.weights(code) for code in range(2)], dtype=np.float64) / WORD
    scores = channel.scores
    assert scores is not None
    assert shares @ scores == pytest.approx([0, 1], abs=1.1e-3)


@pytest.mark.parametrize(
    "epsilon", [0.5, float("nan"), float("inf"), True, None, "nan", "inf", "0", "-1", "one", "1e-9", ""]
)
@pytest.mark.parametrize("name", ["laplace", "gaussian", "exponential", "kary_randomized_response"])
def test_bad_epsilon_is_refused(name: str, epsilon: object) -> None:
    with pytest.raises(AmountError):
        build_channel(name, numbers(10), epsilon)


@pytest.mark.parametrize("delta", [0.1, "1", "2", "-0.1", "nan", True, "1e-20"])
def test_bad_delta_is_refused(delta: object) -> None:
    with pytest.raises(ConfigError):
        build_channel("gaussian", numbers(10), "1", delta=delta)


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_a_huge_epsilon_names_the_largest_that_works(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_channel(name, numbers(10), "1000")
    named = caught.value.faults[0].required.split()[2]
    assert 30 < float(named) < log(WORD)
    assert build_channel(name, numbers(10), named).certified_epsilon <= Decimal(named)


def test_what_the_gaussian_does_not_build() -> None:
    with pytest.raises(ConfigError, match="65536"):
        build_channel("gaussian", numbers(2**16 + 1), "1")
    with pytest.raises(ConfigError, match="missing"):
        build_channel("gaussian", numbers(10), "1", delta="0.01", missing=True)
    with pytest.raises(ConfigError, match="monotone"):
        build_channel("gaussian", numbers(4001), "0.001", delta="0.000001")


def test_numbers_only() -> None:
    for name in ("laplace", "gaussian"):
        with pytest.raises(ConfigError) as caught:
            build_channel(name, CategoryDomain(["a", "b"]), "1")
        assert caught.value.reason is Reason.BAD_PARAMETER
        assert "kary_randomized_response" in caught.value.faults[0].fix
