"""Two Parquet files are compared by their rows, whatever their layout."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.checks import parquet_equals_parquet

TABLE = pa.table({"a": pa.array([1, None, 3], pa.int64()), "b": pa.array(["x", "", None], pa.string())})


def compare(folder: Path, other: pa.Table) -> tuple[bool, str]:
    pq.write_table(TABLE, folder / "left.parquet", row_group_size=2)
    pq.write_table(other, folder / "right.parquet", compression="zstd")
    result = parquet_equals_parquet(folder / "left.parquet", folder / "right.parquet")
    return result.passed, result.observed


def test_the_layout_does_not_matter(tmp_path: Path) -> None:
    assert compare(tmp_path, TABLE) == (True, "3 equal rows")


@pytest.mark.parametrize(
    ("other", "observed"),
    [
        (TABLE.set_column(0, "a", pa.array([1, 2, 3], pa.int64())), "difference in a"),
        (TABLE.set_column(1, "b", pa.array(["x", None, None], pa.string())), "difference in b"),
        (TABLE.slice(0, 2), "difference in the number of rows"),
        (TABLE.rename_columns(["a", "c"]), "difference in names or types of the columns"),
        (TABLE.set_column(0, "a", pa.array([1, None, 3], pa.int32())), "difference in names or types of the columns"),
    ],
)
def test_every_difference_is_named(tmp_path: Path, other: pa.Table, observed: str) -> None:
    assert compare(tmp_path, other) == (False, observed)


def test_what_is_no_parquet_fails(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "left.parquet")
    (tmp_path / "right.parquet").write_bytes(b"PAR1")
    assert not parquet_equals_parquet(tmp_path / "left.parquet", tmp_path / "right.parquet").passed
