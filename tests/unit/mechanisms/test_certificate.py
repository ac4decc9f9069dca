"""Certificates against brute force, on tables that no mechanism would make."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.mechanisms.certificate import (
    approximate_epsilon,
    dense_extremes,
    has_monotone_ratios,
    hockey_stick,
    largest_ratio,
    log_ratio,
    published,
    pure_epsilon,
    shift_extremes,
)
from trasgo_lib.mechanisms.gaussian import normal_noise
from trasgo_lib.mechanisms.laplace import geometric_noise

WORD = 2**64


def noise_of(parts: list[int]) -> np.ndarray:
    """Any positive parts as a table of shifts; odd length."""
    weights = [1 + part * (WORD - len(parts)) // sum(parts) for part in parts]
    weights[len(parts) // 2] += WORD - sum(weights)
    return np.array(weights, dtype=np.uint64)


def rows_of(noise: np.ndarray) -> list[list[int]]:
    """The clamped rows, by definition."""
    reach, weights = len(noise) // 2, noise.tolist()
    rows = []
    for code in range(reach + 1):
        row = [0] * (reach + 1)
        for index, weight in enumerate(weights):
            row[min(max(code + index - reach, 0), reach)] += weight
        rows.append(row)
    return rows


odd_parts = st.integers(1, 9).flatmap(
    lambda reach: st.lists(st.integers(1, 10**6), min_size=2 * reach + 1, max_size=2 * reach + 1)
)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(odd_parts)
def test_shift_extremes_are_those_of_the_rows(parts: list[int]) -> None:
    noise = noise_of(parts)
    high, low = shift_extremes(noise)
    columns = list(zip(*rows_of(noise), strict=True))
    reach = len(noise) // 2
    assert high.tolist()[1:reach] == [max(column) for column in columns[1:reach]]
    assert low.tolist()[1:reach] == [min(column) for column in columns[1:reach]]
    assert (high[0], high[-1]) == (max(columns[0]), max(columns[-1]))
    assert (low[0], low[-1]) == (min(columns[0]), min(columns[-1]))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(odd_parts)
def test_pure_epsilon_is_the_largest_log_ratio(parts: list[int]) -> None:
    noise = noise_of(parts)
    rows = rows_of(noise)
    with mpmath.workdps(60):
        found = max(mpmath.log(mpmath.mpf(max(column)) / min(column)) for column in zip(*rows, strict=True))
        certified = mpmath.mpf(str(pure_epsilon(*shift_extremes(noise))))
        assert 0 <= certified - found <= mpmath.mpf("1e-49")
    dense = np.array(rows, dtype=np.uint64)
    assert pure_epsilon(*dense_extremes(dense)) == pure_epsilon(*shift_extremes(noise))


def test_near_ties_are_settled_in_integers() -> None:
    # the two ratios differ in the 19th digit, beyond any float
    high = np.array([WORD - 1, WORD - 2, 7], dtype=np.uint64)
    low = np.array([WORD // 2 + 1, WORD // 2, 7], dtype=np.uint64)
    assert largest_ratio(high, low) == (WORD - 2, WORD // 2)
    assert Fraction(WORD - 2, WORD // 2) > Fraction(WORD - 1, WORD // 2 + 1)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [("0.9999991", "1.000000"), ("1.000000", "1.000000"), ("1.0000000001", "1.000001"), ("-3", "0.000000")],
)
def test_publication_rounds_up(value: str, rounded: str) -> None:
    assert published(Decimal(value)) == Decimal(rounded)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(1, WORD), st.integers(1, WORD))
def test_log_ratio_never_rounds_down(numerator: int, denominator: int) -> None:
    with mpmath.workdps(80):
        exact = mpmath.log(mpmath.mpf(numerator) / denominator)
        assert 0 <= mpmath.mpf(str(log_ratio(numerator, denominator))) - exact <= mpmath.mpf("2e-50")


def brute_epsilon(rows: list[list[int]], delta: Fraction) -> mpmath.mpf:
    """The least epsilon over all pairs and all sets of outputs."""
    worst = mpmath.mpf(0)
    for first, second in permutations(rows, 2):
        for mask in range(1, 1 << len(first)):
            near = sum(weight for y, weight in enumerate(first) if mask >> y & 1)
            far = sum(weight for y, weight in enumerate(second) if mask >> y & 1)
            excess = Fraction(near) - delta * WORD
            if excess > far:
                worst = max(worst, mpmath.log(mpmath.mpf(excess.numerator) / excess.denominator / far))
    return worst


@pytest.mark.parametrize("delta", ["0", "0.000001", "0.01", "0.2"])
@pytest.mark.parametrize("size", [2, 3, 4, 6])
@pytest.mark.parametrize("sigma", ["0.8", "2", "9"])
def test_approximate_epsilon_is_the_least_over_all_pairs_and_sets(size: int, sigma: str, delta: str) -> None:
    noise = normal_noise(size, Decimal(sigma))
    assert has_monotone_ratios(noise)
    with mpmath.workdps(60):
        found = brute_epsilon(rows_of(noise), Fraction(delta))
        certified = max(mpmath.mpf(str(approximate_epsilon(noise, Fraction(delta)))), mpmath.mpf(0))
        assert abs(certified - found) <= mpmath.mpf("1e-48")


def test_monotone_ratios_are_recognised_and_their_loss_too() -> None:
    for noise in (normal_noise(30, Decimal(12)), normal_noise(3, Decimal(1)), geometric_noise(2, Decimal(1))):
        assert has_monotone_ratios(noise)
    # a geometric table sits on the border of log-concavity, where rounding falls to either side
    assert not has_monotone_ratios(geometric_noise(30, Decimal(2)))
    two_peaks = noise_of([9, 1, 1, 20, 1, 9, 1])
    assert not has_monotone_ratios(two_peaks)
    dented = normal_noise(30, Decimal(12)).copy()
    dented[10] -= np.uint64(2**50)
    dented[48] += np.uint64(2**50)
    assert not has_monotone_ratios(dented)


@pytest.mark.parametrize("place", [0, 1, 2, 57, 58])
def test_a_light_end_breaks_monotone_ratios(place: int) -> None:
    noise = normal_noise(30, Decimal(12)).copy()
    noise[29] += noise[place] - np.uint64(1)
    noise[place] = 1
    assert not has_monotone_ratios(noise)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 20), min_size=5, max_size=5), st.integers(1, 6))
def test_monotone_ratios_mean_what_they_say(up: list[int], scale: int) -> None:
    parts = [part * scale for part in (*reversed(up), 21, *up)]
    noise = np.array(parts, dtype=np.uint64)
    rows = rows_of(noise)
    falling = all(
        first[y] * second[y + 1] >= first[y + 1] * second[y]
        for i, first in enumerate(rows)
        for second in rows[i + 1 :]
        for y in range(len(first) - 1)
    )
    assert has_monotone_ratios(noise) == falling


def test_hockey_stick_agrees_with_the_certificate_and_is_an_upper_bound() -> None:
    noise = normal_noise(12, Decimal(9))
    rows = [tuple(row) for row in rows_of(noise)]
    delta = Fraction("0.001")
    epsilon = approximate_epsilon(noise, delta)
    worst = max(hockey_stick(first, second, epsilon) for first, second in permutations(rows, 2))
    assert abs(worst - Decimal("0.001")) < Decimal("1e-40")
    assert hockey_stick(rows[0], rows[-1], epsilon - Decimal("1e-6")) > Decimal("0.001")
    assert hockey_stick(rows[0], rows[-1], Decimal(0)) > hockey_stick(rows[0], rows[-1], Decimal(1))
    with mpmath.workdps(60):
        factor = mpmath.exp(mpmath.mpf("0.3"))
        exact = sum(max(mpmath.mpf(0), p - factor * q) for p, q in zip(rows[2], rows[9], strict=True)) / WORD
        assert 0 <= mpmath.mpf(str(hockey_stick(rows[2], rows[9], Decimal("0.3")))) - exact <= mpmath.mpf("1e-48")
