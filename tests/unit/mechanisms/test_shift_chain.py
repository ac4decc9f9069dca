"""Exact products of clamped normal noise: one row certifies what a full matrix proves."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest

from trasgo_lib.data import NumberDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import build_chain, build_channel, rebuild_chain
from trasgo_lib.mechanisms.certificate import approximate_epsilon, has_monotone_ratios
from trasgo_lib.mechanisms.gaussian import normal_noise
from trasgo_lib.mechanisms.gaussian_chain import normal_kernel
from trasgo_lib.mechanisms.shift_chain import ShiftKernel, prefix_epsilon, published_difference, truncated


def numbers(size: int) -> NumberDomain:
    return NumberDomain(lower="0", upper=str(size - 1), step="1")


@pytest.mark.parametrize(("size", "width"), [(2, "1.5"), (3, "0.4"), (17, "3"), (40, "1.1"), (40, "30")])
def test_pushing_a_row_is_the_matrix_product(size: int, width: str) -> None:
    kernel = ShiftKernel(normal_kernel(size, Decimal(width)))
    rows = np.array([kernel.weights(code) for code in range(size)], dtype=object)
    assert has_monotone_ratios(kernel.noise.weights)
    for code in (0, size // 2):
        row = [3**place % 1_000_003 + code for place in range(size)]
        pushed = kernel.push(row)
        assert pushed == np.array(row, dtype=object).dot(rows).tolist()
        assert kernel.ends(row) == (pushed[0], pushed[-1])
        assert sum(pushed) == sum(row) << 64


def test_far_shifts_of_a_narrow_step_are_left_out() -> None:
    kernel = ShiftKernel(normal_kernel(200, Decimal("2.5")))
    assert kernel.weights(100)[0] == 0
    assert sum(kernel.weights(100)) == 2**64
    assert has_monotone_ratios(kernel.noise.weights)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000), Fraction(1, 50)])
def test_one_row_certifies_what_all_pairs_prove(delta: Fraction) -> None:
    size = 9
    top, kernel = normal_noise(size, Decimal("5.5")), ShiftKernel(normal_kernel(size, Decimal("3.25")))
    first = ShiftKernel(top)
    rows = [kernel.push(first.weights(code)) for code in range(size)]
    worst = mpmath.mpf(0)
    with mpmath.workdps(50):
        allowance = mpmath.mpf(delta.numerator) / delta.denominator * sum(rows[0])
        for one, other in permutations(rows, 2):
            order = sorted(range(size), key=lambda y: mpmath.mpf(one[y]) / other[y], reverse=True)
            near = far = 0
            for y in order:
                near, far = near + one[y], far + other[y]
                if near - allowance > far:
                    worst = max(worst, mpmath.log((near - allowance) / far))
        found = mpmath.mpf(str(prefix_epsilon(rows[0], delta)))
        assert worst <= found <= worst + mpmath.mpf("1e-40")
    if delta:  # on a single table it is the certificate of single channels
        assert abs(prefix_epsilon(first.weights(0), delta) - approximate_epsilon(top, delta)) < Decimal("1e-45")


def test_truncation_and_differences() -> None:
    assert truncated([5, 2**20, 7], 10) == [0, 512, 0]
    assert truncated([5, 7], 10) == [5, 7]
    assert published_difference([2**63, 2**62, 2**62]) is not None
    assert published_difference([2**63, 2, 2**63 - 2]) is None


def test_sixteen_rungs_certify_and_coarse_levels_lose_little() -> None:
    ladder = tuple(f"{Decimal('0.25') * Decimal('1.25') ** rung:.6f}" for rung in range(16))
    chain = build_chain("gaussian", numbers(51), ladder)
    for level in chain.levels:
        assert Decimal("0.999") * level.decimal <= chain.certificate(level).epsilon <= level.decimal
        assert chain.certificate(level).difference < Decimal("1e-10")
    chained, single = chain.channel(ladder[8]), build_channel("gaussian", numbers(51), ladder[8])
    assert chained.scores is not None
    assert single.scores is not None
    kept = [np.corrcoef(np.arange(51), _mean_output(channel))[0, 1] for channel in (chained, single)]
    assert kept[0] > 0.99
    spread = [np.ptp(_mean_output(channel)) for channel in (chained, single)]
    assert spread[0] > 0.7 * spread[1]  # measured 0.73: the price of clamping at every step


def _mean_output(channel: object) -> np.ndarray:
    return channel.expectation(np.arange(51, dtype=np.float64))  # type: ignore[attr-defined]


def test_published_weights_are_sampled_too() -> None:
    channel = build_chain("gaussian", numbers(12), ("1", "2")).channel("1")
    from trasgo_lib.mechanisms import chi_square, probe_codes
    from trasgo_lib.noise import Keystream

    codes = probe_codes(channel, 50_000)
    assert chi_square(channel, codes, channel.sample(codes, Keystream(bytes(32), "nominal"))) > 1e-6
    estimate = channel.invert(np.array([weight / 2**64 for weight in channel.weights(5)]))
    assert estimate.sum() == pytest.approx(1)


def test_what_the_chain_refuses() -> None:
    with pytest.raises(ConfigError) as caught:
        build_chain("gaussian", numbers(4097), ("1", "2"))
    assert "4096" in str(caught.value)
    with pytest.raises(ConfigError):
        build_channel("gaussian", numbers(4097), "2").coarsen("1")
    chain = build_chain("gaussian", numbers(12), ("1", "2"))
    with pytest.raises(ConfigError):
        rebuild_chain("gaussian", numbers(12), {**chain.parameters, "widths": []})
    with pytest.raises(ConfigError):
        rebuild_chain("gaussian", numbers(12), {**chain.parameters, "delta": "1"})


@pytest.mark.long
def test_the_largest_domain_has_a_chain() -> None:
    chain = build_chain("gaussian", numbers(4096), ("0.25", "1", "1.25", "8"))
    assert all(chain.certificate(level).epsilon <= level.decimal for level in chain.levels)


@pytest.mark.parametrize("size", [5, 11, 101])
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_a_level_coarsened_many_times_keeps_a_decoder_that_is_of_use(size: int, delta: str) -> None:
    """At a bias of a thousandth of the range its standard deviation was up to 3e11 times the range."""
    ladder = ["0.5", "0.75", "1.125", "1.6875", "2.53125", "3.796875", "5.695312"]
    chain = build_chain("gaussian", numbers(size), ladder, delta=delta)
    reach = size - 1
    for level in ladder:
        channel = chain.channel(level)
        moments = channel.moments
        assert moments is not None
        spread = float(np.sqrt(moments.variance.max())) / reach
        assert spread < 12, level
        assert np.abs(moments.mean - np.arange(size)).max() <= channel.score_bias * (1 + 1e-9) + 1e-9
        assert channel.score_bias <= 0.0501 * reach
    assert chain.channel(ladder[-1]).score_bias <= 1.001e-3 * reach
