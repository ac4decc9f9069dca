"""Stored batches: they come back as written, change is noticed, digests ignore the batching."""

from __future__ import annotations

import hmac
import os
import platform
import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data import (
    PrivateCodes,
    PublicValues,
    codes_digest,
    read_batch,
    read_batches,
    read_codes,
    read_value_batches,
    read_values,
    store_codes,
    values_digest,
    write_batch,
    write_values,
)
from trasgo_lib.errors import Reason, StoreError

KEY = bytes(range(32))
CODES = np.arange(10, dtype=np.int32)


def test_codes_come_back_as_written(tmp_path):
    ref = write_batch(tmp_path / "work", "wage", 20, CODES, KEY)
    assert (ref.first_row, ref.rows) == (20, 10)
    assert read_batch(ref).tolist() == CODES.tolist()
    assert read_batch(ref, KEY).dtype == np.int32
    assert not read_batch(ref).flags.writeable
    assert ref.digest == hmac.new(KEY, CODES.astype("<i4").tobytes(), "sha256").hexdigest()


def test_files_and_folder_are_for_their_owner_only(tmp_path):
    ref = write_batch(tmp_path / "work", "wage", 0, CODES, KEY)
    assert stat.S_IMODE(Path(ref.path).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "work").stat().st_mode) == 0o700


def test_writing_again_replaces_the_whole_batch(tmp_path):
    first = write_batch(tmp_path, "wage", 0, CODES, KEY)
    Path(first.path).with_suffix(f".{platform.node()}-{os.getpid()}.partial").write_bytes(b"left over")
    second = write_batch(tmp_path, "wage", 0, CODES[::-1], KEY)
    assert first.path == second.path
    assert read_batch(second, KEY).tolist() == CODES[::-1].tolist()
    assert [path.name for path in tmp_path.iterdir()] == [Path(second.path).name]
    assert write_batch(tmp_path, "wage", 0, CODES, KEY) == first


def test_two_workers_that_write_the_same_batch_do_not_meet(tmp_path, monkeypatch):
    """One was taken for lost and goes on: it ends while the other one is in the middle of its file."""
    expected = write_batch(tmp_path / "alone", "wage", 0, CODES, KEY)
    create = store_codes.create_private

    def overtaken(path):
        stream = create(path)
        with monkeypatch.context() as patch:
            patch.setattr(store_codes, "create_private", create)
            patch.setattr(os, "getpid", lambda: 1)
            assert read_batch(write_batch(tmp_path, "wage", 0, CODES, KEY), KEY).tolist() == CODES.tolist()
        return stream

    monkeypatch.setattr(store_codes, "create_private", overtaken)
    ref = write_batch(tmp_path, "wage", 0, CODES, KEY)
    assert read_batch(ref, KEY).tolist() == CODES.tolist()
    assert [path.name for path in tmp_path.glob("wage*")] == [Path(expected.path).name]


@pytest.mark.parametrize("stem", ["a/b", "..", "", "Wage", "wage", "ö" * 300, "a\nb", "a%2Fb", "con:"])
def test_every_name_has_its_own_file_inside_the_folder(tmp_path, stem):
    others = {write_batch(tmp_path, other, 0, CODES, KEY).path.lower() for other in ("a_b", "WAGE", "x")}
    ref = write_batch(tmp_path, stem, 0, CODES, KEY)
    assert Path(ref.path).parent == tmp_path
    assert ref.path.lower() not in others
    assert read_batch(ref, KEY).tolist() == CODES.tolist()


def test_only_flat_int32_codes_are_stored(tmp_path):
    for wrong in (CODES.astype(np.int64), CODES.reshape(2, 5)):
        with pytest.raises(TypeError, match="int32"):
            write_batch(tmp_path, "x", 0, wrong, KEY)
    with pytest.raises(ValueError, match="at least one row"):
        write_batch(tmp_path, "x", 0, CODES[:0], KEY)


def test_a_file_that_is_gone_damaged_or_exchanged_is_noticed(tmp_path):
    ref = write_batch(tmp_path, "x", 0, CODES, KEY)
    other = write_batch(tmp_path, "y", 0, CODES[::-1], KEY)
    values = write_values(tmp_path, "z", 0, pa.array(["a"] * 10), KEY)
    with pytest.raises(StoreError) as caught:
        read_batch(replace(ref, path=str(tmp_path / "gone")))
    assert caught.value.reason is Reason.MISSING_FILE
    assert caught.value.__context__ is None
    for path, key in ((other.path, KEY), (values.path, None)):
        with pytest.raises(StoreError) as caught:
            read_batch(replace(ref, path=path), key)
        assert caught.value.reason is Reason.DIGEST_MISMATCH
    with pytest.raises(StoreError):
        read_batch(replace(ref, rows=9))
    with pytest.raises(StoreError):
        read_values(replace(values, digest="0" * 64), KEY)
    floats = write_values(tmp_path, "f", 0, pa.array([1.0] * 10), KEY)
    table = pa.ipc.open_file(floats.path).read_all().rename_columns(["code"])
    with pa.OSFile(ref.path, "wb") as stream, pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(StoreError):
        read_batch(ref)
    Path(ref.path).write_bytes(b"no arrow file")
    with pytest.raises(StoreError):
        read_batch(ref)


@settings(max_examples=50, derandomize=True, deadline=None)
@given(cuts=st.lists(st.integers(0, 10), max_size=4))
def test_the_digest_of_a_column_ignores_its_batching(cuts):
    edges = [0, *sorted(cuts), 10]
    pieces = [CODES[start:stop] for start, stop in pairwise(edges)]
    assert codes_digest(pieces, KEY) == codes_digest([CODES], KEY)
    values = pa.array(["", "a", None, "bc", "é€", "", None, "x" * 50, "a", "b"])
    parts = [values.slice(start, stop - start) for start, stop in pairwise(edges)]
    assert values_digest(parts, KEY) == values_digest([values], KEY)


def test_the_digest_notices_key_order_and_moved_characters():
    assert codes_digest([CODES], KEY) != codes_digest([CODES], bytes(32))
    assert codes_digest([CODES], KEY) != codes_digest([CODES[::-1]], KEY)
    columns = [
        ["ab", "c"],
        ["a", "bc"],
        ["abc"],
        ["ab", "c", None],
        ["ab", "c", ""],
        ["", "ab", "c"],
        [None, "ab", "c"],
    ]
    assert len({values_digest([pa.array(column)], KEY) for column in columns}) == len(columns)


def test_digests_take_any_slice_of_an_array():
    values = pa.array(["aa", None, "b", "ccc", "d"])
    part = values.slice(1, 3)
    assert values_digest([part], KEY) == values_digest([pa.array([None, "b", "ccc"])], KEY)
    assert values_digest([values.slice(0, 0)], KEY) == values_digest([], KEY)


@pytest.mark.parametrize("values", [pa.array(["a", None]), pa.array([1, None]), pa.array([1.5, 2.5]), pa.nulls(2)])
def test_public_values_come_back_as_written(tmp_path, values):
    ref = write_values(tmp_path, "p", 0, values, KEY)
    column = PublicValues("p", (ref,), values_digest([values], KEY))
    assert read_values(ref, KEY).equals(values)
    assert [batch.to_pylist() for batch in read_value_batches(column, KEY)] == [values.to_pylist()]


def test_batches_are_read_in_order(tmp_path):
    refs = tuple(write_batch(tmp_path, "x", first, CODES[first : first + 4], KEY) for first in (0, 4, 8))
    column = PrivateCodes("x", refs, codes_digest([CODES], KEY))
    assert read_codes(column, KEY).tolist() == CODES.tolist()
    assert read_codes(refs).tolist() == CODES.tolist()
    assert [len(batch) for batch in read_batches(column, KEY)] == [4, 4, 2]
    assert read_codes(()).dtype == np.int32
