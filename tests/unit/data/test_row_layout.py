"""Rows that were packed, moved and unpacked are the same rows, whatever their types, missing values and slices."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data.row_layout import RowLayout, take

COLUMNS: dict[str, pa.Array] = {
    "uint8": pa.array([0, 1, 255, 7, 9], pa.uint8()),
    "uint16": pa.array([0, 1, 65535, 7, 9], pa.uint16()),
    "int32": pa.array([-(2**31), -1, 0, 5, 2**31 - 1], pa.int32()),
    "int64": pa.array([-(2**63), -1, 0, 5, 2**63 - 1], pa.int64()),
    "float32": pa.array([0.5, -0.0, float("inf"), 1.0, 2.0], pa.float32()),
    "float64": pa.array([0.1, -0.0, float("nan"), 1.0, 2.0], pa.float64()),
    "decimal": pa.array([Decimal("1.5"), Decimal("-2.5"), Decimal(0), Decimal(3), Decimal(4)], pa.decimal128(38, 1)),
    "date": pa.array([date(2020, 1, day) for day in range(1, 6)]),
    "time": pa.array([datetime(2020, 1, day, tzinfo=UTC) for day in range(1, 6)], pa.timestamp("us", "UTC")),
    "boolean": pa.array([True, False, True, True, False]),
    "text": pa.array(["", "a", "é\0", "long" * 9, "z"], pa.large_string()),
    "dictionary": pa.array(["a", "b", "a", None, "b"]).dictionary_encode(),
    "nothing": pa.nulls(5),
    "int64, missing": pa.array([1, None, 3, None, 5], pa.int64()),
    "text, missing": pa.array(["a", None, "", None, "b"]),
}


def moved(batch: pa.RecordBatch, order: list[int], with_missing: set[int]) -> pa.RecordBatch:
    """The batch in another order, by way of packed rows."""
    layout = RowLayout.of(batch.schema, with_missing)
    return layout.unpack(take(layout.pack(batch), np.array(order, dtype=np.int64)))


def same(found: pa.RecordBatch, expected: pa.RecordBatch) -> bool:
    """Equal bit by bit: NaN and -0.0 are what they were."""
    found.validate(full=True)
    return found.schema == expected.schema and repr(found.to_pydict()) == repr(expected.to_pydict())


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=40),
    st.lists(st.integers(0, 4), max_size=12),
    st.integers(0, 4),
)
def test_any_columns_in_any_order(names: list[str], places: list[int], skipped: int) -> None:
    batch = pa.record_batch([COLUMNS[name] for name in names], names=[str(at) for at in range(len(names))])[skipped:]
    order = [place % batch.num_rows for place in places]
    with_missing = {at for at, name in enumerate(names) if COLUMNS[name].null_count}
    assert same(moved(batch, order, with_missing), batch.take(pa.array(order, pa.int64())))


@pytest.mark.parametrize("name", [name for name in COLUMNS if COLUMNS[name].null_count])
def test_a_column_that_has_missing_values_elsewhere_is_kept_apart(name: str) -> None:
    """Batches of one file have one layout, also those without a missing value."""
    batch = pa.record_batch([COLUMNS["uint8"], COLUMNS[name]], names=["0", "1"])
    layouts: list[Any] = [
        layout.row.itemsize for layout in (RowLayout.of(batch.schema, {1}), RowLayout.of(batch.schema, ()))
    ]
    assert layouts[0] == 1 <= layouts[1]
    for part in (batch[:1], batch):
        assert same(moved(part, list(range(len(part)))[::-1], {1}), part[::1].take(pa.array(range(len(part))[::-1])))


def test_nine_codes_take_one_move() -> None:
    batch = pa.record_batch([COLUMNS["uint8"]] * 9, names=[str(at) for at in range(9)])
    layout = RowLayout.of(batch.schema, ())
    assert layout.row.itemsize == 16 and layout.apart == ()
    assert layout.pack(batch).num_columns == 1
