"""Coefficients against scipy, against each other in both forms of a table, and at counts that overflow 64 bits."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.errors import ConfigError
from trasgo_lib.utility import (
    CORRELATIONS,
    PairMoments,
    PairTable,
    Scores,
    correlation_ratio,
    cramers_v,
    kendall,
    pearson,
    spearman,
)
from trasgo_lib.utility import pair_table as form
from trasgo_lib.utility.coefficients import correlation_method

_ORACLE = {"pearson": scipy.stats.pearsonr, "spearman": scipy.stats.spearmanr, "kendall": scipy.stats.kendalltau}


def _codes(seed, rows, sizes, strength=0.5):
    """Two dependent columns of codes."""
    source = np.random.Generator(np.random.PCG64(seed))
    left = source.integers(0, sizes[0], rows)
    mixed = np.where(source.random(rows) < strength, left * sizes[1] // sizes[0], source.integers(0, sizes[1], rows))
    return left.astype(np.int32), mixed.astype(np.int32)


def _table(left, right, sizes, dense, monkeypatch):
    monkeypatch.setattr(form, "DENSE_CELLS", 10**9 if dense else 0)
    monkeypatch.setattr(form, "_FEW_CELLS", 10**9)
    table = PairTable.count(left, right, sizes)
    assert (table.grid() is not None) == dense
    return table


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("sizes", [(2, 2), (5, 3), (3, 40), (200, 77)])
@pytest.mark.parametrize("name", list(_ORACLE))
def test_coefficients_agree_with_scipy(name, sizes, dense, monkeypatch):
    left, right = _codes(sizes[0] * 100 + sizes[1], 3000, sizes)
    table = _table(left, right, sizes, dense, monkeypatch)
    assert CORRELATIONS[name].of_table(table) == pytest.approx(_ORACLE[name](left, right).statistic, abs=1e-12)


@pytest.mark.parametrize("name", list(_ORACLE))
def test_untied_rows(name):
    source = np.random.Generator(np.random.PCG64(3))
    left = source.permutation(2000)
    right = np.argsort(np.argsort(left + 300 * source.standard_normal(2000)))
    table = PairTable.count(left, right, (2000, 2000), rows=1)
    assert table.grid() is None
    assert CORRELATIONS[name].of_table(table) == pytest.approx(_ORACLE[name](left, right).statistic, abs=1e-12)


def test_moments_and_table_give_the_same_pearson_to_the_last_bit():
    left, right = _codes(5, 4000, (31, 17))
    moments = PairMoments.of(Scores.of(left), Scores.of(right))
    table = PairTable.count(left, right, (31, 17))
    assert table.moments() == moments
    assert pearson(moments) == CORRELATIONS["pearson"].of_table(table)


def _brute_tau(cells):
    """Kendall's tau-b of weighted cells by the definition, in exact arithmetic."""
    difference = ours = theirs = 0
    for left, right, count in cells:
        for other_left, other_right, other in cells:
            across, along = left - other_left, right - other_right
            difference += ((across * along > 0) - (across * along < 0)) * count * other
            ours += (across != 0) * count * other
            theirs += (along != 0) * count * other
    return difference / math.sqrt(Fraction(ours) * Fraction(theirs))


@pytest.mark.parametrize("dense", [True, False])
def test_counts_that_overflow_when_squared(dense):
    """A table of 2**47 rows: ranks near 2**48, products of three beyond 2**130."""
    source = np.random.Generator(np.random.PCG64(9))
    sizes = (7, 6)
    counts = source.integers(1, 2**42, 42) * 2 + 1
    keys = np.arange(42, dtype=np.int64)
    table = PairTable(sizes, None if dense else keys, counts)
    cells = [(key // 6, key % 6, count) for key, count in zip(keys.tolist(), counts.tolist())]
    assert kendall(table) == pytest.approx(_brute_tau(cells), rel=1e-14)
    # the same table in small: shares decide all three coefficients up to terms of order 1 / rows
    small = PairTable(sizes, None if dense else keys, (counts >> 22).astype(np.int64))
    for name in ("pearson", "spearman", "kendall"):
        of_table = CORRELATIONS[name].of_table
        assert of_table(table) == pytest.approx(of_table(small), abs=1e-4)
        assert abs(of_table(table)) < 1


def test_moments_beyond_two_to_the_53():
    values = np.array([0, 2**53 - 1, 2**52 + 1, 7], dtype=np.int64)
    moments = PairMoments.of(Scores.of(values), Scores.of(values[::-1].copy()))
    assert moments.products == sum(int(a) * int(b) for a, b in zip(values, values[::-1]))
    assert pearson(PairMoments.of(Scores.of(values), Scores.of(values))) == 1.0


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=40), st.integers(0, 40))
def test_merging_batches_changes_nothing(rows, cut):
    left, right = (np.array(side, dtype=np.int32) for side in zip(*rows))
    sizes = (5, 4)  # the highest code of each side means missing
    for whole in (1, 10**6):
        table = PairTable.count(left, right, sizes, rows=whole)
        parts = [PairTable.count(left[part], right[part], sizes, rows=whole) for part in (slice(cut), slice(cut, None))]
        merged = parts[0].merge(parts[1])
        assert [side.tolist() for side in merged.cells()] == [side.tolist() for side in table.cells()]
        assert merged.rows == int(np.count_nonzero((left < 5) & (right < 4)))
    present = [(codes, codes < size) for codes, size in zip((left, right), sizes)]
    moments = PairMoments.of(*(Scores.of(codes, here) for codes, here in present))
    halves = [
        PairMoments.of(*(Scores.of(codes[part], here[part]) for codes, here in present))
        for part in (slice(cut), slice(cut, None))
    ]
    assert halves[0].merge(halves[1]) == moments == table.moments()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 6)), min_size=2, max_size=60))
def test_both_forms_agree_to_the_last_bit(rows):
    left, right = (np.array(side, dtype=np.int64) for side in zip(*rows))
    keys, counts = np.unique(left * 7 + right, return_counts=True)
    sparse = PairTable((9, 7), keys, counts)
    dense = PairTable((9, 7), None, np.bincount(left * 7 + right, minlength=63))
    for coefficient in (spearman, kendall, cramers_v, correlation_ratio, CORRELATIONS["pearson"].of_table):
        assert coefficient(sparse) == coefficient(dense)
    flipped = [[side.tolist() for side in table.transposed().cells()] for table in (sparse, dense)]
    assert flipped[0] == flipped[1]
    assert kendall(sparse.transposed()) == kendall(sparse)


@pytest.mark.parametrize("rows", [[], [(1, 1)], [(1, 0), (1, 2), (1, 1)], [(0, 2), (1, 2)]])
def test_constant_or_empty_columns_have_no_coefficient(rows):
    left, right = (np.array([row[side] for row in rows], dtype=np.int32) for side in (0, 1))
    for table in (PairTable.count(left, right, (3, 3)), PairTable.count(left, right, (3, 3), rows=-(10**6))):
        for coefficient in (spearman, kendall, cramers_v, correlation_ratio, CORRELATIONS["pearson"].of_table):
            assert coefficient(table) is None


def test_cramers_v_agrees_with_scipy():
    left, right = _codes(4, 900, (4, 6))
    table = PairTable.count(left, right, (4, 6))
    expected = scipy.stats.contingency.association(table.grid(), method="cramer")
    assert cramers_v(table) == pytest.approx(expected, abs=1e-12)
    same = PairTable.count(left, left, (4, 4))
    assert cramers_v(same) == pytest.approx(1.0, abs=1e-12)


def test_correlation_ratio_by_its_definition():
    labels, numbers = _codes(8, 500, (4, 50))
    between = sum(
        (numbers[labels == label].mean() - numbers.mean()) ** 2 * np.count_nonzero(labels == label)
        for label in range(4)
    )
    expected = math.sqrt(between / ((numbers - numbers.mean()) ** 2).sum())
    assert correlation_ratio(PairTable.count(labels, numbers, (4, 50))) == pytest.approx(expected, abs=1e-12)


def test_standard_errors():
    assert CORRELATIONS["pearson"].standard_error(103) == pytest.approx(0.1)
    assert CORRELATIONS["spearman"].standard_error(103) == pytest.approx(0.1 * math.sqrt(1.06))
    assert CORRELATIONS["kendall"].standard_error(10) == pytest.approx(math.sqrt(50 / 810))


@pytest.mark.parametrize("name", ["Pearson", "", None, 3])
def test_unknown_methods_list_the_known_ones(name):
    with pytest.raises(ConfigError, match="pearson, spearman, kendall"):
        correlation_method(name)


def test_statistics_show_no_counts():
    table = PairTable.count(np.array([1, 1], dtype=np.int32), np.array([0, 2], dtype=np.int32), (3, 3))
    assert repr(table) == "PairTable(sizes=(3, 3))"
    assert "products" not in repr(table.moments())


@pytest.mark.parametrize("sizes", [(1, 2**16), (2, 2**15), (2**15, 2), (2**16, 1)])
def test_the_largest_small_tables_take_narrow_codes(sizes: tuple[int, int]) -> None:
    left, right = (np.array([0, size - 1], dtype=np.uint16) for size in sizes)
    table = PairTable.count(left, right, sizes)
    assert table.grid() is not None
    assert [cell.tolist() for cell in table.cells()][2] == [1, 1]
    assert [margin.nonzero()[0].tolist() for margin in table.margins()] == [sorted({0, size - 1}) for size in sizes]
