"""Randomised response and the exponential mechanism: weights, utilities, limits."""

from __future__ import annotations

from decimal import Decimal
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.mechanisms.dense import DenseChannel
from trasgo_lib.noise import Keystream

WORD = 2**64
THREE = CategoryDomain(["a", "b", "c"])


def labels(size: int) -> CategoryDomain:
    return CategoryDomain([f"c{code}" for code in range(size)])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(2, 300), st.integers(100_000, 12_000_000))
def test_kary_ratio_is_the_claim_from_below(size: int, micro: int) -> None:
    epsilon = f"{micro // 10**6}.{micro % 10**6:06d}"
    row = build_channel("kary_randomized_response", labels(size), epsilon).weights(size - 1)
    keep, other = row[-1], row[0]
    assert set(row[:-1]) == {other}
    assert 0 <= micro / 1e6 - log(keep / other) < 3e-9
    assert keep / WORD == pytest.approx(exp(micro / 1e6) / (exp(micro / 1e6) + size - 1), rel=1e-7)


def test_kary_of_a_million_codes_draws_inside() -> None:
    channel = build_channel("kary_randomized_response", NumberDomain("0", str(2**20 - 1), "1"), "14")
    codes = np.array([0, 2**19, 2**20 - 1] * 5000, dtype=np.int32)
    released = channel.sample(codes, Keystream(bytes(32), "million"))
    kept = float((released == codes).mean())
    assert released.min() >= 0
    assert released.max() < 2**20
    assert kept == pytest.approx(channel.weights(0)[0] / WORD, abs=0.02)


def test_binary_takes_two_codes_only() -> None:
    with pytest.raises(ConfigError, match="kary_randomized_response"):
        build_channel("randomized_response", THREE, "1")
    assert build_channel("randomized_response", labels(2), "1", missing=True).inputs == 3


def test_zero_one_is_randomised_response_with_the_whole_budget() -> None:
    exponential = build_channel("exponential", labels(6), "2")
    kary = build_channel("kary_randomized_response", labels(6), "2")
    for code in range(6):
        first, second = np.array(exponential.weights(code)) / WORD, np.array(kary.weights(code)) / WORD
        assert first == pytest.approx(second, abs=1e-8)
    # the textbook factor of one half would certify half of it
    assert exponential.certified_epsilon >= Decimal("1.998")


@pytest.mark.parametrize("epsilon", ["0.25", "1", "6"])
def test_a_declared_matrix_is_calibrated_to_the_claim(epsilon: str) -> None:
    matrix = [["3", "1", "0"], ["1.5", "2", "1"], ["0", "0.25", "1"]]
    channel = build_channel("exponential", THREE, epsilon, utility=matrix)
    assert Decimal("0.999") * Decimal(epsilon) <= channel.certified_epsilon <= Decimal(epsilon)
    factor = float(str(channel.parameters["factor"]))
    utility = np.array(matrix, dtype=float)
    shares = np.exp(factor * utility)
    shares /= shares.sum(axis=1, keepdims=True)
    rows = np.array([channel.weights(code) for code in range(3)]) / WORD
    assert rows == pytest.approx(shares, rel=1e-9)


def test_shifting_a_row_or_scaling_the_matrix_changes_nothing() -> None:
    plain = build_channel("exponential", THREE, "2", utility=[["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]])
    moved = build_channel("exponential", THREE, "2", utility=[["9", "4", "4"], ["-3", "2", "-3"], ["0", "0", "5"]])
    named = build_channel("exponential", THREE, "2", utility="zero_one")
    for code in range(3):
        expected = np.array(named.weights(code), dtype=float) / WORD
        assert np.array(plain.weights(code)) / WORD == pytest.approx(expected, abs=1e-8)
        assert np.array(moved.weights(code)) / WORD == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(
    ("utility", "said"),
    [
        ("best", "zero_one, ordinal"),
        (3, "3 rows of 3"),
        ([["1", "0"], ["0", "1"]], "3 rows of 3"),
        ([["1", "0", "0"], ["0", "1", "0"], ["0", "1"]], "3 rows of 3"),
        (["100", "010", "001"], "3 rows of 3"),
        ([["1", "0", "0"]] * 3, "different outputs"),
        ([[1.0, "0", "0"], ["0", "1", "0"], ["0", "0", "1"]], "exact decimal"),
        ([["nan", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]], "finite"),
        ([["1e15", "0.000001", "0"], ["0", "1", "0"], ["0", "0", "1"]], "2\\*\\*32"),
    ],
)
def test_what_is_no_utility_is_refused(utility: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build_channel("exponential", THREE, "1", utility=utility)


def test_ordinal_prefers_the_near() -> None:
    row = build_channel("exponential", NumberDomain("0", "20", "1"), "3", utility="ordinal").weights(10)
    assert list(row[10:]) == sorted(row[10:], reverse=True)
    assert row[:11] == row[:9:-1]


def test_a_thousand_codes_are_dense_and_certified() -> None:
    channel = build_channel("exponential", NumberDomain("0", "999", "1"), "2", utility="ordinal")
    assert Decimal("1.998") <= channel.certified_epsilon <= Decimal("2")
    codes = np.arange(1000, dtype=np.int32)
    assert channel.sample(codes, Keystream(bytes(32), "dense")).max() < 1000
    with pytest.raises(ConfigError, match="4096"):
        build_channel("exponential", NumberDomain("0", "4096", "1"), "2")


def test_rows_that_do_not_determine_the_codes_have_no_scores() -> None:
    equal_codes = [["2", "2", "0"], ["2", "2", "0"], ["0", "0", "2"]]
    channel = build_channel("exponential", CategoryDomain(["a", "b", "c"], ordered=True), "1", utility=equal_codes)
    assert isinstance(channel, DenseChannel)
    assert channel.scores is None
    assert channel.moments is None
    shares = np.array(channel.weights(0), dtype=float) / WORD
    recovered = channel.invert(shares)
    assert recovered.sum() == pytest.approx(1)
    assert recovered[2] == pytest.approx(0, abs=1e-9)


def test_labels_without_order_have_no_scores() -> None:
    assert build_channel("kary_randomized_response", THREE, "1").scores is None
    ordered = build_channel("kary_randomized_response", CategoryDomain(["a", "b", "c"], ordered=True), "1")
    assert ordered.scores is not None


@pytest.mark.parametrize("name", ["exponential", "kary_randomized_response"])
def test_a_huge_epsilon_names_one_that_works(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_channel(name, THREE, "1000")
    named = caught.value.faults[0].required.split()[2]
    assert build_channel(name, THREE, named).certified_epsilon <= Decimal(named)
