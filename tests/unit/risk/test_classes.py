"""Counting rows by their values, whatever the batches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trasgo_lib.errors import InputContractError
from trasgo_lib.risk import RiskColumn, class_sizes, classes, count_classes

TABLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 6)), min_size=1, max_size=60)


@given(rows=TABLES, cut=st.integers(0, 60), is_dense=st.booleans())
def test_classes_are_the_distinct_rows_and_batches_do_not_matter(kit: Any, rows: Any, cut: int, is_dense: bool) -> None:
    names, sizes = ("a", "b", "c"), (4, 2, 7)
    table = dict(zip(names, zip(*rows)))
    columns = [kit.column(name, size) for name, size in zip(names, sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "_DENSE_COMBINATIONS", 2**20 if is_dense else 0)
        patch.setattr(classes, "_LEAST_PENDING", 3)
        found = count_classes(kit.readers(table, cuts=[min(cut, len(rows))]), columns)
    assert found.rows == len(rows)
    counted = dict(zip(zip(*(values.tolist() for values in found.values(columns))), found.counts.tolist()))
    assert counted == Counter(rows)
    assert list(counted) == sorted(counted)


def test_a_source_can_give_several_columns_and_bins() -> None:
    """A group is one source of two columns; a column in bins has fewer values than codes."""
    codes = np.array([0, 1, 2, 3, 4, 5], dtype=np.int32)
    columns = [
        RiskColumn("first", "group", 3, False, codes // 2),
        RiskColumn("second", "group", 2, False, codes % 2),
    ]
    readers = {"group": lambda: iter([np.array([5, 5, 0, 3], dtype=np.int32)])}
    found = count_classes(readers, columns)
    assert [values.tolist() for values in found.values(columns)] == [[0, 1, 2], [0, 1, 1]]
    assert found.counts.tolist() == [1, 1, 2]
    assert count_classes(readers, columns[:1]).counts.tolist() == [1, 1, 2]


def test_sizes_by_hand(kit: Any) -> None:
    counts = [1, 1, 2, 3, 12, 2000]
    table = {"a": np.repeat(np.arange(6), counts)}
    found = class_sizes(count_classes(kit.readers(table), [kit.column("a", 6)]))
    assert (found.rows, found.classes, found.k, found.median, found.unique_rows) == (2019, 6, 1, 2.5, 2)
    brackets = [(entry.least, entry.most, entry.classes, entry.rows) for entry in found.brackets]
    assert brackets == [(1, 1, 2, 2), (2, 2, 1, 2), (3, 4, 1, 3), (10, 19, 1, 12), (1000, None, 1, 2000)]


def test_too_many_combinations_or_classes_are_refused_without_a_count(
    kit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = [kit.column(name, 2**21) for name in "abc"]
    with pytest.raises(InputContractError, match="2\\*\\*62 combinations"):
        count_classes(kit.readers({name: [0] for name in "abc"}), wide)
    monkeypatch.setattr(classes, "MOST_CLASSES", 3)
    with pytest.raises(InputContractError, match="at most 3 distinct classes; came more"):
        count_classes(kit.readers({"a": [0, 1, 2, 3], "b": [0] * 4}), wide[:2])
