"""What ingest stores: order, batches, digests, modes; and that nobody changes the file meanwhile."""

from __future__ import annotations

import os
import shutil
import stat
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trasgo_lib.data import CategoryDomain, NumberDomain, SourceReading, validate_source
from trasgo_lib.data.column_encoding import ColumnEncoder
from trasgo_lib.data.csv_source import CsvSource
from trasgo_lib.data.missing import MissingCodes
from trasgo_lib.data.numbers import NumberFormat
from trasgo_lib.data.parquet_source import ParquetSource
from trasgo_lib.data.parse import CellRules
from trasgo_lib.errors import InputContractError, Reason, StoreError
from trasgo_lib.noise import Keystream, permutation

AGE = NumberDomain("0", "120")
KEY = bytes(range(32))
ROWS = 2500
NUMBERS = [(7 * row) % 121 for row in range(ROWS)]
CONTENT = "x,p,sex\n" + "".join(f"{number},p{row},{'FM'[row % 2]}\n" for row, number in enumerate(NUMBERS))


@pytest.fixture
def columns(column, public):
    return column("x", "number", AGE), public("p"), column("sex", "category", CategoryDomain(["F", "M"]))


def test_the_shuffle_is_the_keyed_permutation_and_keeps_records_together(ingest, columns):
    found = ingest(CONTENT, *columns, row_order="shuffle")
    order = permutation(Keystream(KEY, "permute", found.table.input_digest), ROWS)
    assert found.codes("x").tolist() == np.array(NUMBERS)[order].tolist()
    assert found.values("p") == [f"p{row}" for row in order]
    assert found.codes("sex").tolist() == (order % 2).tolist()
    assert found.report.row_order == "shuffle"


def test_source_order_is_kept_where_declared(ingest, columns):
    found = ingest(CONTENT, *columns)
    assert found.codes("x").tolist() == NUMBERS
    assert found.values("p") == [f"p{row}" for row in range(ROWS)]


@settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows_per_batch=st.integers(1, 3000))
def test_batch_size_changes_no_code_no_order_and_no_digest(ingest, columns, rows_per_batch):
    found = ingest("\n".join(CONTENT.split("\n")[:60]), *columns, row_order="shuffle", rows_per_batch=rows_per_batch)
    other = ingest("\n".join(CONTENT.split("\n")[:60]), *columns, row_order="shuffle", rows_per_batch=7)
    assert found.table.input_digest == other.table.input_digest
    assert [unit.digest for unit in found.table.units] == [unit.digest for unit in other.table.units]
    assert found.table.public[0].digest == other.table.public[0].digest
    for stored in (*found.table.units, *found.table.public):
        firsts = [batch.first_row for batch in stored.batches]
        assert firsts == list(range(0, 59, rows_per_batch))
        assert sum(batch.rows for batch in stored.batches) == 59


@pytest.mark.parametrize("row_order", ["shuffle", "source"])
@pytest.mark.parametrize("content", ["csv", "parquet"])
def test_rows_that_wait_on_disk_become_the_same_files(ingest, columns, row_order, content, monkeypatch):
    """In memory, in one file, in many buckets: references, digests, report, codes files and public values agree."""
    texts = pa.array([None if row % 9 == 0 else "é" * (row % 4) for row in range(ROWS)])
    table = pa.table({"x": NUMBERS, "p": texts, "sex": ["FM"[row % 2] for row in range(ROWS)]})
    stored = []
    for memory_bytes, bucket_bytes in ((1 << 30, 1 << 30), (0, 1 << 30), (0, 512), (5000, 4096)):
        monkeypatch.setattr("trasgo_lib.data.row_order.BUCKET_BYTES", bucket_bytes)
        monkeypatch.setattr("trasgo_lib.data.row_order._SCATTER_ROWS", 600)
        monkeypatch.setattr("trasgo_lib.data.parquet_source._BATCH_ROWS", 300)
        source = CONTENT if content == "csv" else table
        found = ingest(source, *columns, row_order=row_order, rows_per_batch=700, memory_bytes=memory_bytes)
        files = [path for path in ingest.work.rglob("*") if path.is_file()]
        assert {path.parent.name for path in files} == {"private"}, "no waiting row is left"
        codes = {path.name: path.read_bytes() for path in files if not path.name.startswith("p-")}
        stored.append((found.table, found.report, codes, found.values("p")))
    assert all(other == stored[0] for other in stored[1:])


def test_a_faulty_source_leaves_no_waiting_row(ingest, columns):
    """The fault stands in the last row, when all others wait on the disk already; ``refused`` looks for the folder."""
    for last in ("999,p,F\n", "1,p,X\n", "1,p\n"):
        ingest.refused(CONTENT + last, *columns, row_order="shuffle", memory_bytes=0)


def test_a_disk_without_room_is_told_before_anything_is_stored(ingest, columns, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 90, 10))
    with pytest.raises(StoreError) as caught:
        ingest(CONTENT, *columns)
    (fault,) = caught.value.faults
    assert fault.reason is Reason.STORE_FULL and "10 bytes" in fault.came
    assert int(fault.required.split()[2]) > 4 * 2 * ROWS
    assert not ingest.work.exists()


def test_files_are_for_their_owner_only(ingest, columns):
    before = os.umask(0)
    try:
        found = ingest(CONTENT, *columns)
    finally:
        os.umask(before)
    assert found.table.rows == ROWS
    files = list(ingest.work.rglob("*"))
    assert len(files) == 1 + 3 * 3
    for path in [ingest.work, *files]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_a_work_folder_open_to_others_is_closed(ingest, columns):
    ingest.work.mkdir(mode=0o755)
    ingest(CONTENT, *columns)
    assert stat.S_IMODE(ingest.work.stat().st_mode) == 0o700


def test_the_input_digest_is_keyed_and_follows_the_bytes(ingest, columns):
    digest = ingest(CONTENT, *columns).table.input_digest
    assert ingest(CONTENT, *columns).table.input_digest == digest
    assert ingest(CONTENT + "\n", *columns).table.input_digest != digest
    assert ingest(CONTENT, *columns, digest_key=bytes(32)).table.input_digest != digest
    assert len(digest) == 64


@pytest.mark.parametrize("source", [CsvSource, ParquetSource])
@pytest.mark.parametrize("how", ["append", "touch", "replace", "remove", "overwrite"])
def test_a_file_that_changes_while_it_is_read_is_refused(ingest, column, monkeypatch, source, how):
    content = pa.table({"x": [1, 2]}) if source is ParquetSource else "x\n1\n2\n"
    whole = source.batches

    def change_after_reading(self, names):
        yield from whole(self, names)
        if how == "append":
            with ingest.path.open("ab") as stream:
                stream.write(b"3\n")
        elif how == "overwrite":
            state = ingest.path.stat()
            body = bytearray(ingest.path.read_bytes())
            body[5] ^= 1
            ingest.path.write_bytes(body)
            os.utime(ingest.path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
        elif how == "touch":
            os.utime(ingest.path, ns=(1, 1))
        elif how == "replace":
            body = ingest.path.read_bytes()
            ingest.path.rename(ingest.folder / "old")
            ingest.path.write_bytes(body)
        else:
            ingest.path.unlink()

    monkeypatch.setattr(source, "batches", change_after_reading)
    assert ingest.refused(content, column("x", "number", AGE)).reason is Reason.INPUT_CHANGED


def test_a_parquet_file_changed_in_place_with_the_same_times_is_refused(ingest, column, monkeypatch):
    whole = ParquetSource.batches

    def change_quietly(self, names):
        yield from whole(self, names)
        state = ingest.path.stat()
        body = bytearray(ingest.path.read_bytes())
        body[5] ^= 1
        with ingest.path.open("r+b") as stream:
            stream.write(body)
        os.utime(ingest.path, ns=(state.st_atime_ns, state.st_mtime_ns))

    monkeypatch.setattr(ParquetSource, "batches", change_quietly)
    error = ingest.refused(pa.table({"x": [1, 2]}), column("x", "number", AGE))
    assert error.reason is Reason.INPUT_CHANGED


def test_the_unit_column_is_counted_and_not_stored(ingest, column):
    content = "who,x\nperson-a,1\nperson-b,2\nperson-a,3\n"
    columns = (column("who", "text", role="unit"), column("x", "number", AGE))
    found = ingest(content, *columns, privacy_unit="who", max_rows=2)
    assert found.report.unit is not None
    assert (found.report.unit.units, found.report.unit.most_rows) == (2, 2)
    assert [unit.unit for unit in found.table.units] == ["x"]
    assert not any(b"person" in path.read_bytes() for path in ingest.work.rglob("*.arrow"))
    faults = ingest.faults(content, *columns, privacy_unit="who", max_rows=1)
    assert faults[Reason.TOO_MANY_ROWS_PER_UNIT, "who"].rows == 2


def test_units_are_counted_over_the_whole_file(ingest, column, monkeypatch):
    monkeypatch.setattr("trasgo_lib.data.unit_rows._COUNTS_KEPT_APART", 2)
    monkeypatch.setattr("trasgo_lib.data.csv_source._BLOCK_BYTES", 4096)
    content = "who,x\n" + "".join(f"{row % 3000},1\n" for row in range(9000))
    columns = (column("who", "text", role="unit"), column("x", "number", AGE))
    found = ingest(content, *columns, privacy_unit="who", max_rows=3)
    assert found.report.unit is not None
    assert (found.report.unit.units, found.report.unit.most_rows) == (3000, 3)
    faults = ingest.faults(content + "5,1\n", *columns, privacy_unit="who", max_rows=3)
    assert faults[Reason.TOO_MANY_ROWS_PER_UNIT, "who"].rows == 4


def test_a_unit_column_must_be_text_or_whole_numbers(ingest, column):
    columns = (column("who", "text", role="unit"), column("x", "number", AGE))
    faults = ingest.faults(pa.table({"who": [1.5, 2.5], "x": [1, 2]}), *columns, privacy_unit="who")
    assert faults[Reason.WRONG_TYPE, "who"].rows == 2
    faults = ingest.faults(pa.table({"who": pa.array([1, None]), "x": [1, 2]}), *columns, privacy_unit="who")
    assert faults[Reason.NULL_VALUE, "who"].rows == 1


def test_validating_stores_nothing(ingest, columns):
    reading = ingest.reading(CONTENT, columns, {})
    report = validate_source(reading, digest_key=KEY)
    assert report.rows == ROWS
    assert not ingest.work.exists()
    with pytest.raises(InputContractError):
        validate_source(ingest.reading("a\n", columns, {}), digest_key=KEY)


def test_the_report_is_strict_json_of_counts(ingest, columns):
    report = ingest(CONTENT, *columns).report.to_json()
    assert report == {
        "format": 1,
        "passed": True,
        "source_format": "csv",
        "rows": ROWS,
        "row_order": "source",
        "bom_dropped": False,
        "blank_lines": 0,
        "columns": [
            {"name": "x", "role": "noised", "missing": 0, "clipped": 0},
            {"name": "p", "role": "public", "missing": 0, "clipped": 0},
            {"name": "sex", "role": "noised", "missing": 0, "clipped": 0},
        ],
        "unit": None,
        "faults": [],
    }


def test_a_reading_that_contradicts_itself_is_refused(ingest, columns, column):
    for wrong in (
        {"columns": columns, "privacy_unit": "who"},
        {"columns": (column("who", "text", role="unit"),)},
        {"columns": (column("x", "number", None),)},
        {"columns": (column("x", "text", AGE, role="public"),)},
        {"columns": (column("x", "number", AGE, missing="replace"),)},
        {"columns": (column("x", "number", AGE, fill=3),)},
    ):
        with pytest.raises(ValueError, match=r"unit|domain|fill"):
            SourceReading(**{"path": ingest.path, "format": "csv", **wrong})
    with pytest.raises(ValueError, match="at least one row"):
        ingest(CONTENT, *columns, rows_per_batch=0)


def test_an_encoder_needs_a_domain(column):
    with pytest.raises(ValueError, match="has a domain"):
        ColumnEncoder(column("x", "number"), CellRules(NumberFormat(), MissingCodes((), ()), True), True, "text")
