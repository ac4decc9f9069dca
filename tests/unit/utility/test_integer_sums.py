import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from trasgo_lib.utility.integer_sums import exact_sum, product_sum, root_ratio

_ANY = st.integers(-(2**62), 2**62)


@settings(derandomize=True, deadline=None)
@given(arrays.arrays(np.int64, st.integers(0, 40), elements=_ANY))
def test_exact_sum_is_the_sum_of_python_integers(values):
    assert exact_sum(values) == sum(values.tolist())


@settings(derandomize=True, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(0, 30), st.sampled_from([3, 20, 40, 62]))
def test_product_sum_is_the_sum_of_products_at_any_size(data, factors, rows, bits):
    sides = [
        data.draw(arrays.arrays(np.int64, rows, elements=st.integers(-(2**bits), 2**bits))) for _ in range(factors)
    ]
    assert product_sum(*sides) == sum(math.prod(row) for row in zip(*(side.tolist() for side in sides)))


def test_product_sum_of_counts_whose_squares_overflow():
    counts = np.full(1000, 3 * 10**15, dtype=np.int64)
    assert product_sum(counts, counts) == 1000 * (3 * 10**15) ** 2 > 2**64


def test_a_wrong_sum_would_be_seen():
    counts = np.full(10, 2**40, dtype=np.int64)
    with np.errstate(over="ignore"):
        assert int((counts * counts).sum()) != product_sum(counts, counts)


@pytest.mark.parametrize(("left", "right"), [(3, 7), (10**40, 3 * 10**41), (2**61 - 1, 2**61 - 1)])
def test_root_ratio_is_exactly_one_where_the_numbers_are_proportional(left, right):
    factor = 12345678901
    assert root_ratio(left * right * factor, left * left * factor, right * right * factor) == 1.0
    assert root_ratio(-left * right * factor, left * left * factor, right * right * factor) == -1.0


def test_root_ratio_of_nothing():
    assert root_ratio(0, 5, 7) == 0.0
