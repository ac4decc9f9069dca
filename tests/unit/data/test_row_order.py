"""The shuffle by buckets gives the permutation in memory, whatever the sizes; the files it needs are private and go."""

from __future__ import annotations

import errno
import shutil
import stat
from collections import namedtuple
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trasgo_lib.data import row_order, spool
from trasgo_lib.data.row_order import bucket_bits, cut, shuffled
from trasgo_lib.data.spool import Spool
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.noise import Keystream, order_of_bucket, permutation

STREAM = Keystream(bytes(range(32)), "permute", "row order")
ROWS = 3000


class FewWords:
    """A keystream with so few different words that most rows tie, in their first word and sometimes in both."""

    def words(self, first: int, count: int) -> np.ndarray:
        return (STREAM.words(first, count) >> np.uint64(59)) << np.uint64(59)


def source(rows: int, parts: int = 7) -> list[pa.RecordBatch]:
    """Row numbers and texts of changing length, in uneven batches."""
    whole = pa.record_batch(
        [
            pa.array(np.arange(rows, dtype=np.int32)),
            pa.array(["é" * (row % 5) for row in range(rows)], pa.large_string()),
        ],
        names=["0", "1"],
    )
    ends = sorted({0, rows, *(STREAM.words(0, parts) % np.uint64(rows)).tolist()})
    return [whole.slice(start, end - start) for start, end in pairwise(ends)]


def order_of(folder: Path, stream: object, rows: int, memory_bytes: int) -> list[int]:
    """What the shuffle makes of numbered rows; texts must have stayed with their numbers."""
    with Spool(folder / "rows", memory_bytes) as waiting:
        for batch in source(rows):
            waiting.add(batch)
        assert waiting.is_on_disk == (memory_bytes == 0)
        found = pa.Table.from_batches(shuffled(waiting, stream))  # type: ignore[arg-type]
    numbers = found.column("0").to_pylist()
    assert found.column("1").to_pylist() == ["é" * (row % 5) for row in numbers]
    assert not list(folder.iterdir()), "nothing is left of it"
    return numbers


@pytest.mark.parametrize("bucket_bytes", [1, 100, 4096, 1 << 15, 1 << 30])
@pytest.mark.parametrize("stream", [STREAM, FewWords()], ids=["words", "ties"])
def test_buckets_give_the_permutation_in_memory(tmp_path, monkeypatch, stream, bucket_bytes):
    monkeypatch.setattr(row_order, "BUCKET_BYTES", bucket_bytes)
    monkeypatch.setattr(row_order, "_SCATTER_ROWS", 700)
    monkeypatch.setitem(order_of_bucket.__globals__, "_SCAN_ROWS", 512)
    expected = permutation(stream, ROWS).tolist()
    assert sorted(expected) == list(range(ROWS)) != expected
    assert order_of(tmp_path, stream, ROWS, 0) == expected
    assert order_of(tmp_path, stream, ROWS, 1 << 30) == expected


@settings(max_examples=30, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(1, 400), bits=st.integers(0, 8))
def test_any_number_of_rows_and_buckets(tmp_path, rows, bits):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_order, "bucket_bits", lambda _: bits)
        assert order_of(tmp_path, STREAM, rows, 0) == permutation(STREAM, rows).tolist()


def test_the_number_of_buckets_follows_the_bytes():
    assert [bucket_bits(size) for size in (0, 1, row_order.BUCKET_BYTES)] == [0, 0, 0]
    assert bucket_bits(row_order.BUCKET_BYTES + 1) == 1
    assert bucket_bits(8 * row_order.BUCKET_BYTES) == 3
    assert bucket_bits(1 << 60) == 8


@given(st.lists(st.integers(0, 50), max_size=12), st.integers(1, 60))
def test_cutting_keeps_every_row_in_order(sizes, rows):
    batches = (
        pa.record_batch([pa.array(np.arange(size) + sum(sizes[:at]))], names=["0"]) for at, size in enumerate(sizes)
    )
    found = list(cut(batches, rows))
    assert [number for batch in found for number in batch.column(0).to_pylist()] == list(range(sum(sizes)))
    assert all(batch.num_rows == rows for batch in found[:-1])
    assert not found or 0 < found[-1].num_rows <= rows


def test_waiting_rows_are_for_their_owner_only_and_go(tmp_path, monkeypatch):
    seen: list[tuple[str, int]] = []
    add = spool.BatchFile.add

    def look(self, batch):
        add(self, batch)
        seen.append((self.path.name, stat.S_IMODE(self.path.stat().st_mode)))
        assert stat.S_IMODE(self.path.parent.stat().st_mode) == 0o700

    monkeypatch.setattr(spool.BatchFile, "add", look)
    monkeypatch.setattr(row_order, "BUCKET_BYTES", 4096)
    order_of(tmp_path, STREAM, ROWS, 0)
    assert {mode for _, mode in seen} == {0o600}
    assert len({name for name, _ in seen}) > 4


def test_a_shuffle_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(row_order, "BUCKET_BYTES", 4096)
    with Spool(tmp_path / "a" / "rows", 0) as waiting:
        for batch in source(ROWS):
            waiting.add(batch)
        found = shuffled(waiting, STREAM)
        next(found)
        assert list((tmp_path / "a" / "rows").iterdir())
        found.close()
    assert not (tmp_path / "a").exists()


def test_a_folder_that_was_there_stays(tmp_path):
    (tmp_path / "work").mkdir()
    with Spool(tmp_path / "work" / "rows", 0) as waiting:
        waiting.add(source(ROWS)[0])
    assert list(tmp_path.rglob("*")) == [tmp_path / "work"]


def test_a_disk_that_fills_says_what_was_needed_and_is_free(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, 1))

    class Full:
        closed = False

        def write(self, _data: bytes) -> int:
            raise OSError(errno.ENOSPC, "CANARY")

        def close(self) -> None:
            self.closed = True

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.close()

    monkeypatch.setattr(spool, "create_private", lambda _: Full())
    batch = source(ROWS)[0]
    with pytest.raises(StoreError) as caught, Spool(tmp_path / "rows", 0) as waiting:
        waiting.add(batch)
    (fault,) = caught.value.faults
    assert fault.reason is Reason.STORE_FULL
    assert f"{batch.nbytes} bytes were needed, 1 are free" in fault.came
    assert "CANARY" not in str(caught.value) and caught.value.__suppress_context__
