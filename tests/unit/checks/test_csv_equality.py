"""CSV and Parquet are compared exactly: nulls, empty texts, quotes, floats, dates, order, length."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from trasgo_lib.checks import csv_equals_parquet, read_csv_batches

TABLE = pa.table(
    {
        "n": pa.array([1, -5, None, 2**53], pa.int64()),
        "f": pa.array([0.1, 1e-300, None, float("nan")], pa.float64()),
        "g": pa.array([0.1, float("nan"), None, float("inf")], pa.float32()),
        "t": pa.array(["", 'a "quoted", text\nof two lines', None, "001"], pa.string()),
        "d": pa.array([date(2020, 2, 29), date(1969, 12, 31), None, date(1, 1, 1)], pa.date32()),
        "b": pa.array([True, False, None, True]),
        "m": pa.array([Decimal("1.50"), Decimal("-0.01"), None, Decimal("3.00")], pa.decimal128(10, 2)),
        "s": pa.array([datetime(2020, 1, 1, 12, 30), None, None, datetime(1999, 1, 1)], pa.timestamp("us")),
    }
)


def write(folder: Path, csv: pa.Table, parquet: pa.Table) -> tuple[Path, Path]:
    paths = folder / "x.csv", folder / "x.parquet"
    pacsv.write_csv(csv, paths[0])
    pq.write_table(parquet, paths[1], row_group_size=3)
    return paths


def test_equal_files_pass(tmp_path: Path) -> None:
    result = csv_equals_parquet(*write(tmp_path, TABLE, TABLE))
    assert result.passed
    assert result.observed == "4 equal rows"


def test_a_header_that_is_not_utf8_is_a_difference(tmp_path: Path) -> None:
    """Arrow checks cells, and gives the names of a header as they are."""
    csv, parquet = write(tmp_path, TABLE, TABLE)
    csv.write_bytes(csv.read_bytes().replace(b'"n"', b'"\xae"', 1))
    result = csv_equals_parquet(csv, parquet)
    assert not result.passed and result.observed == "a file that cannot be read as the declared columns"


@pytest.mark.parametrize("values", [[None, "a", None], [None, None], ["a", ""]])
def test_a_file_of_one_column_keeps_its_nulls(tmp_path: Path, values: list[str | None]) -> None:
    table = pa.table({"only": pa.array(values, pa.string())})
    assert csv_equals_parquet(*write(tmp_path, table, table)).observed == f"{len(values)} equal rows"
    shorter = pa.table({"only": pa.array(values[:-1], pa.string())})
    assert not csv_equals_parquet(*write(tmp_path, shorter, table)).passed


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("n", [1, -5, None, 2**53 + 1]),
        ("n", [1, -5, 0, 2**53]),
        ("f", [0.1, 1e-300, None, 0.5]),
        ("f", [0.10000000000000002, 1e-300, None, float("nan")]),
        ("t", [None, 'a "quoted", text\nof two lines', None, "001"]),
        ("t", ["", 'a "quoted", text\nof two lines', None, "1"]),
        ("d", [date(2020, 2, 28), date(1969, 12, 31), None, date(1, 1, 1)]),
        ("b", [True, True, None, True]),
    ],
)
def test_one_differing_cell_fails_and_is_named_without_its_value(
    tmp_path: Path, column: str, values: list[object]
) -> None:
    place = TABLE.schema.get_field_index(column)
    other = TABLE.set_column(place, column, pa.array(values, TABLE.schema.field(column).type))
    result = csv_equals_parquet(*write(tmp_path, other, TABLE))
    assert not result.passed
    assert result.observed == f"difference in {column}"


@pytest.mark.parametrize("rows", [[0, 1, 2], [0, 1, 2, 3, 3], [1, 0, 2, 3], []])
def test_other_rows_fail(tmp_path: Path, rows: list[int]) -> None:
    assert not csv_equals_parquet(*write(tmp_path, TABLE.take(pa.array(rows, pa.int64())), TABLE)).passed


@pytest.mark.parametrize("names", [["n", "f"], ["f", "n", "t", "d", "b", "m", "s"]])
def test_other_columns_fail(tmp_path: Path, names: list[str]) -> None:
    assert not csv_equals_parquet(*write(tmp_path, TABLE.select(names), TABLE)).passed


def test_a_cell_of_another_type_fails_without_being_quoted(tmp_path: Path) -> None:
    csv, parquet = write(tmp_path, TABLE.select(["n"]), TABLE.select(["n"]))
    csv.write_text('"n"\n1\ncanary-cell\n')
    result = csv_equals_parquet(csv, parquet)
    assert not result.passed
    assert "canary" not in result.detail


def test_files_that_cannot_be_read_fail(tmp_path: Path) -> None:
    csv, parquet = write(tmp_path, TABLE, TABLE)
    assert not csv_equals_parquet(tmp_path / "absent.csv", parquet).passed
    parquet.write_bytes(b"PAR1 no more")
    assert not csv_equals_parquet(csv, parquet).passed
    csv.write_bytes(b"")
    assert not csv_equals_parquet(*write(tmp_path, TABLE, TABLE)[:1], tmp_path / "absent.parquet").passed


def test_bytes_from_a_store_compare_like_files(tmp_path: Path) -> None:
    csv, parquet = write(tmp_path, TABLE, TABLE)
    result = csv_equals_parquet(pa.BufferReader(csv.read_bytes()), pa.BufferReader(parquet.read_bytes()))
    assert result.passed


def test_batches_of_different_lengths_are_compared_row_by_row(tmp_path: Path) -> None:
    rows = 300_000
    table = pa.table({"n": pa.array(range(rows)), "t": pa.array([f"text number {row}" for row in range(rows)])})
    csv, parquet = tmp_path / "x.csv", tmp_path / "x.parquet"
    pacsv.write_csv(table, csv)
    pq.write_table(table, parquet, row_group_size=70_000)
    assert csv.stat().st_size > 1 << 22
    assert csv_equals_parquet(csv, parquet).observed == f"{rows} equal rows"


def test_empty_text_and_null_are_read_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"t"\n""\n\n"a"\n')
    schema = pa.schema([("t", pa.string()), ("n", pa.int64())])
    path.write_text('"t","n"\n"",1\n,\n"a",3\n')
    (batch,) = read_csv_batches(path, schema)
    assert batch.column("t").to_pylist() == ["", None, "a"]
    assert batch.column("n").to_pylist() == [1, None, 3]


@pytest.mark.parametrize("block", range(64, 80))
@pytest.mark.parametrize("from_store", [False, True])
def test_line_ends_within_quotes_are_equal_where_a_block_ends_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, from_store: bool
) -> None:
    monkeypatch.setattr("trasgo_lib.checks.equality._BLOCK_BYTES", block)
    texts = [f"{'x' * (row % 13)}\r\n{row}\r\r\n" for row in range(60)]
    table = pa.table({"name": texts, "row": range(60)})
    csv, parquet = write(tmp_path, table, table)
    source = pa.BufferReader(csv.read_bytes()) if from_store else csv
    assert csv_equals_parquet(source, parquet).observed == "60 equal rows"
