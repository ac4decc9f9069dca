"""Contingency tables within a stated size: exact while they fit, on equal parts beyond it, and said so."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from trasgo_lib.utility import LossColumn, measure, table_sizes
from trasgo_lib.utility.table_sizes import MOST_TABLE_BYTES, parts_of, table_shape

ROWS = 4000
WIDE = tuple(LossColumn(name, name, "number", 2001, 20) for name in "abc")
LABEL = LossColumn("l", "l", "label", 3)


def codes(shift: int = 0) -> dict[str, np.ndarray]:
    place = np.arange(ROWS)
    a = (place * 7919) % 2001
    b = np.clip(a + (place * 31 + shift) % 400 - 200, 0, 2000)
    c = np.where(place % 50 == 0, 2001, 2000 - (a + place % 900) % 2001)  # some are missing
    return {name: part.astype(np.int32) for name, part in (("a", a), ("b", b), ("c", c), ("l", place % 3))}


def losses(method: str, columns=(*WIDE, LABEL), parts: int = 3):
    before, after = (
        {name: partial(np.array_split, part, parts) for name, part in codes(shift).items()} for shift in (0, 9)
    )
    return measure(before, after, columns, method=method, rows=ROWS).losses


@pytest.mark.parametrize("method", ["spearman", "kendall"])
def test_beyond_the_size_ranks_are_those_of_parts_and_said_so(monkeypatch, method):
    exact = losses(method)
    assert exact.on_parts == ()
    monkeypatch.setattr(table_sizes, "MOST_TABLE_BYTES", 6 * 8 * 80 * 80)
    cut = losses(method)
    assert cut.on_parts == ("a", "b", "c")
    assert cut.to_json()["on_parts"] == ["a", "b", "c"]
    assert cut.correlation_loss != exact.correlation_loss
    assert cut.correlation_loss == pytest.approx(exact.correlation_loss, abs=1.0)  # per cent
    assert [column.tvd for column in cut.columns] == [column.tvd for column in exact.columns]


def test_parts_do_not_depend_on_batches_or_on_which_columns_are_fresh(monkeypatch):
    monkeypatch.setattr(table_sizes, "MOST_TABLE_BYTES", 6 * 8 * 80 * 80)
    assert losses("spearman", parts=1) == losses("spearman", parts=9)
    before, after = ({name: partial(list, [part]) for name, part in codes(shift).items()} for shift in (0, 9))
    columns, attempts = (*WIDE, LABEL), dict.fromkeys("abcl", 1)
    first = measure(before, before, columns, method="spearman", rows=ROWS, attempts=attempts)
    mixed = {**before, "a": after["a"], "b": after["b"]}
    again = measure(
        before, mixed, columns, method="spearman", rows=ROWS, attempts={**attempts, "a": 2, "b": 2}, before=first
    )
    assert again.losses == measure(before, mixed, columns, method="spearman", rows=ROWS).losses


def test_pearson_of_numbers_needs_no_table(monkeypatch):
    exact = losses("pearson", WIDE)
    monkeypatch.setattr(table_sizes, "MOST_TABLE_BYTES", 1)
    assert losses("pearson", WIDE) == exact


@pytest.mark.parametrize("sizes", [(2001, 2001), (10**6, 3), (3, 10**6), (10**6, 10**6), (65, 10**5)])
@pytest.mark.parametrize("tables", [1, 45, 10_000])
def test_shapes_fit_the_room(sizes, tables):
    pair = tuple(LossColumn(name, name, "number", size) for name, size in zip("ab", sizes))
    shape = table_shape(pair, 10**8, tables)  # type: ignore[arg-type]
    room = MOST_TABLE_BYTES // tables
    assert shape.is_exact == (shape.sizes == sizes)
    assert shape.is_exact or shape.sizes[0] * shape.sizes[1] * 8 <= max(room, 65 * 64 * 8)
    assert table_shape(pair, 100, 45).is_exact, "few rows have few cells"  # type: ignore[arg-type]


def test_missing_stays_behind_the_last_part():
    bins = np.array([0, 0, 1, 1, 2], dtype=np.int32)
    assert parts_of(np.array([0, 3, 4, 5], dtype=np.int32), bins).tolist() == [0, 1, 2, 3]
    assert parts_of(np.array([7], dtype=np.int32), None).tolist() == [7]
