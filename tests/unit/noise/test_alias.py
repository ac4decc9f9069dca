"""Alias tables meet every weight exactly, whatever the weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.noise import AliasTable, DenseAlias, WideAliasTable
from trasgo_lib.noise.alias import _check_columns

WORD = 2**64


def scaled(parts: list[int], total: int) -> list[int]:
    """Positive parts as weights >= 1 of a total."""
    spread = [1 + part * (total - len(parts)) // sum(parts) for part in parts]
    spread[0] += total - sum(spread)
    return spread


parts_lists = st.lists(st.integers(1, 2**40), min_size=2, max_size=70)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(parts_lists)
def test_one_word_table_realises_its_weights(parts: list[int]) -> None:
    weights = scaled(parts, WORD)
    assert AliasTable(weights).weights().tolist() == weights


@settings(derandomize=True, deadline=None, max_examples=100)
@given(parts_lists)
def test_two_word_table_realises_its_weights(parts: list[int]) -> None:
    weights = scaled(parts, WORD**2)
    assert WideAliasTable(weights).weights() == tuple(weights)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 2**32))
def test_dense_tables_realise_each_row(entries: int, rows: int, seed: int) -> None:
    matrix = [scaled([1 + (seed * (r + 3) * (c + 7)) % 1009 for c in range(entries)], WORD) for r in range(rows)]
    tables = DenseAlias(np.array(matrix, dtype=np.uint64))
    assert [tables.weights(row).tolist() for row in range(rows)] == matrix


@pytest.mark.parametrize(
    "weights",
    [
        [WORD // 2, WORD // 2],
        [WORD - 1, 1],
        [1, WORD - 1],
        [WORD // 4] * 4,
        [WORD - 2**16 + 1, *[1] * (2**16 - 1)],
        [*[1] * (2**16 - 1), WORD - 2**16 + 1],
    ],
    ids=["halves", "all-first", "all-last", "even", "large-first", "large-last"],
)
def test_extreme_rows(weights: list[int]) -> None:
    assert AliasTable(weights).weights().tolist() == weights


def compositions(total: int, entries: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a total as a sum of that many whole numbers from 1 on."""
    if entries == 1:
        yield (total,)
        return
    for first in range(1, total - entries + 2):
        for rest in compositions(total - first, entries - 1):
            yield first, *rest


@pytest.mark.parametrize("entries", range(2, 7))
def test_every_small_table_draws_exactly_its_weights(entries: int) -> None:
    # weights in sixteenths: some are exactly a column's capacity, which random weights never are
    sixteenth = WORD // 16
    first = np.arange(16, dtype=np.uint64) * np.uint64(sixteenth)
    words = np.concatenate([first, first + np.uint64(sixteenth - 1)])
    pairs = np.stack([words, words], axis=1).reshape(-1)
    out = np.empty(len(words), dtype=np.int32)
    for parts in compositions(16, entries):
        table = AliasTable([part * sixteenth for part in parts])
        wide = WideAliasTable([part * WORD * sixteenth for part in parts])
        table.draw(words, out)
        assert np.bincount(out, minlength=entries).tolist() == [2 * part for part in parts]
        wide.draw(pairs, out)
        assert np.bincount(out, minlength=entries).tolist() == [2 * part for part in parts]


@pytest.mark.parametrize(
    "weights", [[WORD], [WORD - 1, 2], [0, WORD], [WORD // 2, WORD // 2, 1]], ids=["one", "over", "zero", "three"]
)
def test_rows_that_are_none_are_refused(weights: list[int]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        AliasTable(weights)


@pytest.mark.parametrize("weights", [[WORD**2], [WORD**2 - 1, 2], [0, WORD**2]], ids=["one", "over", "zero"])
def test_wide_rows_that_are_none_are_refused(weights: list[int]) -> None:
    with pytest.raises(ValueError, match=r"2\*\*128|two weights|at least 1"):
        WideAliasTable(weights)


def draw(table: AliasTable, words: list[int]) -> list[int]:
    out = np.empty(len(words), dtype=np.int32)
    table.draw(np.array(words, dtype=np.uint64), out)
    return out.tolist()


def test_every_word_of_a_column_edge_goes_where_the_columns_say() -> None:
    weights = scaled([5, 1, 9, 2, 2, 30], WORD)
    table = AliasTable(weights)
    columns = table.columns()
    capacity = WORD // len(columns)
    counted = [0] * len(columns)
    for column, (share, alias) in enumerate(columns):
        start = column * capacity
        words, expected = (
            [start, start + capacity - 1],
            [column if share else alias, alias if share < capacity else column],
        )
        if 0 < share < capacity:
            words += [start + share - 1, start + share]
            expected += [column, alias]
        assert draw(table, words) == expected
        counted[column] += share
        counted[alias] += capacity - share
    assert counted[: len(weights)] == weights
    assert not any(counted[len(weights) :])


def test_draws_follow_the_order_of_words_only() -> None:
    table = AliasTable(scaled([1, 2, 3], WORD))
    words = [int(word) for word in np.arange(0, WORD - 1, WORD // 997, dtype=np.uint64)]
    together = draw(table, words)
    assert [draw(table, [word])[0] for word in words] == together
    assert set(together) == {0, 1, 2}


def test_wide_draws_decide_by_both_words() -> None:
    weights = [3, WORD**2 // 2 + WORD - 3, WORD**2 - WORD - WORD**2 // 2]
    table = WideAliasTable(weights)
    out = np.empty(5, dtype=np.int32)
    pairs = [(0, 0), (0, 2), (0, 3), (1, 0), (WORD - 1, WORD - 1)]
    table.draw(np.array([word for pair in pairs for word in pair], dtype=np.uint64), out)
    assert out.tolist()[:2] == [0, 0]  # the first column's own share is 3 of 2**126
    assert out.tolist()[2] != 0
    assert out.tolist()[3] != 0


def test_dense_draws_use_each_codes_own_table() -> None:
    rows = [scaled([1, 1000, 1], WORD), scaled([1000, 1, 1], WORD), scaled([1, 1, 1000], WORD)]
    tables = DenseAlias(np.array(rows, dtype=np.uint64))
    words = np.arange(0, WORD - 1, WORD // 3001, dtype=np.uint64)
    for code, row in enumerate(rows):
        out, alone = np.empty(len(words), dtype=np.int32), np.empty(len(words), dtype=np.int32)
        tables.draw(np.full(len(words), code, dtype=np.int32), words, out)
        AliasTable(row).draw(words, alone)
        assert np.array_equal(out, alone)


def test_columns_that_miss_their_weights_are_refused() -> None:
    own, alias = np.array([3, 5], dtype=np.uint64), np.array([1, 1], dtype=np.int32)
    _check_columns(own, alias, np.uint64(5), np.array([3, 7], dtype=np.uint64))
    for shares, weights in (([3, 5], [4, 6]), ([3, 6], [3, 7]), ([6, 5], [6, 4])):
        with pytest.raises(RuntimeError, match="does not realise"):
            _check_columns(np.array(shares, dtype=np.uint64), alias, np.uint64(5), np.array(weights, dtype=np.uint64))
