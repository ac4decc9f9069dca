"""Rows become stage files in the types that are published; what these cannot hold is refused by its name."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from trasgo_lib.data.private_store import PrivateStore
from trasgo_lib.data.store_codes import read_values
from trasgo_lib.errors import ConfigError

KEY = bytes(range(32))


def _stored(folder: Path, texts: pa.Array) -> PrivateStore:
    store = PrivateStore(folder, KEY, ["sex"], ["remark"])
    codes = pa.array(np.zeros(len(texts), dtype=np.uint8))
    store.add(pa.record_batch([codes, texts], names=["0", "1"]))
    return store


def test_texts_wait_with_wide_offsets_and_are_stored_with_narrow_ones(tmp_path: Path) -> None:
    _, (remark,) = _stored(tmp_path, pa.array(["é", "", None], pa.large_string())).columns()
    values = read_values(remark.batches[0], KEY)
    assert values.type == pa.string() and values.to_pylist() == ["é", "", None]


def test_a_batch_of_more_text_than_a_file_holds_is_refused_without_a_cell(tmp_path: Path) -> None:
    """2 GiB of memory that is never touched but where the mark stands."""
    offsets = pa.py_buffer(np.array([0, 2**31], dtype=np.int64))
    characters = mmap.mmap(-1, 2**31)
    characters[:6] = b"CANARY"
    texts = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(characters)])
    with pytest.raises(ConfigError) as caught:
        _stored(tmp_path, texts)
    (fault,) = caught.value.faults
    assert fault.where == "publish.rows_per_batch" and "'remark'" in fault.came
    assert "CANARY" not in str(caught.value) and caught.value.__context__ is None
