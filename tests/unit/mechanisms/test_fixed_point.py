"""Fixed-point arithmetic against exact integers and 60-digit exponentials."""

from __future__ import annotations

from decimal import Decimal

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.mechanisms.fixed_point import (
    BITS,
    exponentials,
    multiply_high,
    normalised_rows,
    symmetric_weights,
    to_fixed,
)

WORD = 2**64
words = st.integers(0, WORD - 1)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(words, words)
def test_multiply_high_is_exact(left: int, right: int) -> None:
    product = multiply_high(np.array([left], dtype=np.uint64), np.array([right], dtype=np.uint64))
    assert int(product[0]) == left * right >> 64


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.decimals("0.000001", 3, places=6), st.lists(st.integers(0, 2**20), min_size=1, max_size=8))
def test_exponentials_are_close_and_never_zero(rate: Decimal, steps: list[int]) -> None:
    values = exponentials(rate, np.array(steps, dtype=np.uint64)).tolist()
    with mpmath.workdps(60):
        for step, value in zip(steps, values, strict=True):
            exact = mpmath.exp(-mpmath.mpf(str(rate)) * step) * WORD
            assert value >= 1
            assert value == 1 or -6 <= value - exact <= 1


def test_exponentials_fall_with_the_step() -> None:
    values = exponentials(Decimal("0.001"), np.arange(5000, dtype=np.uint64))
    assert values[0] == WORD - 1
    assert bool((values[1:] < values[:-1]).all())


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.lists(st.integers(1, WORD - 1), min_size=4, max_size=4), min_size=1, max_size=70))
def test_normalised_rows_sum_to_the_word(rows: list[list[int]]) -> None:
    shares = np.array(rows, dtype=np.uint64)
    shares[:, 2] = WORD - 1
    weights = normalised_rows(shares)
    for given_row, row in zip(shares.tolist(), weights.tolist(), strict=True):
        assert sum(row) == WORD
        assert min(row) >= 1
        exact = [share * WORD / sum(given_row) for share in given_row]
        assert row == pytest.approx(exact, rel=1e-9, abs=4)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=30))
def test_symmetric_weights_sum_and_mirror(parts: list[int]) -> None:
    total = parts[0] + 2 * sum(parts[1:])
    weights = symmetric_weights([part * 2**BITS // total for part in parts]).tolist()
    assert sum(weights) == WORD
    assert weights == weights[::-1]
    assert min(weights) >= 1


def test_the_remainder_goes_to_the_heavier_place() -> None:
    third = 2**BITS // 3
    peaked = symmetric_weights([third, third // 2, third // 2]).tolist()
    assert peaked[2] == max(peaked)
    lumped = symmetric_weights([third // 4, third // 8, 2**BITS // 2 - third // 4]).tolist()
    assert lumped[0] == lumped[-1] == max(lumped)


def test_to_fixed_rounds_down() -> None:
    assert to_fixed(Decimal(1)) == 2**BITS
    assert to_fixed(Decimal(1) / Decimal(3)) <= 2**BITS // 3
