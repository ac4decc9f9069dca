"""Stage objects of workers without a shared disk: sealed, the same bytes for the same codes, nothing else read back."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from trasgo_lib.data import SealedStage, codes_digest
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.noise import Keystream
from trasgo_lib.storage import open_store

KEY, ROOT = bytes(32), bytes(range(32))
CODES = np.array([7, 7, 7, 0, 1, 2, 7], dtype=np.int32)


def _stage(below: str = "private", root: bytes = ROOT) -> SealedStage:
    return SealedStage(open_store("memory:"), f".trasgo/work/d/1/{below}", partial(Keystream, root, "d", "1", "stage"))


def test_codes_come_back_and_no_object_holds_them() -> None:
    stage = _stage()
    ref = stage.write("wage", 100, CODES, KEY)
    assert (ref.first_row, ref.rows, ref.digest) == (100, 7, codes_digest([CODES], KEY))
    assert np.array_equal(stage.read(ref, KEY), CODES)
    (name,) = stage.store.list()
    sealed = stage.store.get(name)
    assert len(sealed) == 28 and CODES[:3].tobytes() not in sealed
    words = np.frombuffer(sealed, dtype="<i4")
    assert len(set(words[:3].tolist())) == 3, "equal codes are not equal bytes"
    assert "wage" not in name and ref.digest not in name


def test_the_same_codes_are_the_same_bytes_and_others_are_refused() -> None:
    stage = _stage()
    ref = stage.write("wage", 0, CODES, KEY)
    before = stage.store.get(ref.path)
    assert stage.write("wage", 0, CODES, KEY) == ref and stage.store.get(ref.path) == before
    with pytest.raises(ConflictError):
        stage.write("wage", 0, CODES[::-1], KEY)


def test_no_two_objects_share_a_pad() -> None:
    """The sum of two sealed objects would else be the sum of their codes."""
    zeros = np.zeros(64, dtype=np.int32)
    pads = set()
    for below in ("private", "draw/attempt-1", "draw/attempt-2"):
        for unit in ("wage", "sex"):
            for first, codes in ((0, zeros), (64, zeros), (128, zeros + 1)):
                stage = _stage(below)
                ref = stage.write(unit, first, codes, KEY)
                pads.add((np.frombuffer(stage.store.get(ref.path), dtype="<i4") ^ codes).tobytes())
    assert len(pads) == 18


@pytest.mark.parametrize("change", ["other bytes", "shorter", "another root", "another digest"])
def test_what_was_changed_is_not_read(change: str) -> None:
    stage = _stage()
    ref = stage.write("wage", 0, CODES, KEY)
    sealed = stage.store.get(ref.path)
    if change in ("other bytes", "shorter"):
        stage.store.remove(ref.path)
        stage.store.put_once(ref.path, bytes([sealed[0] ^ 1]) + sealed[1:] if change == "other bytes" else sealed[:-4])
    if change == "another root":
        stage = replace(stage, pads=partial(Keystream, bytes(32), "d", "1", "stage"))
    if change == "another digest":
        ref = replace(ref, digest="00" * 32)
    with pytest.raises(StoreError) as caught:
        stage.read(ref, KEY)
    assert caught.value.reason is Reason.DIGEST_MISMATCH


def test_it_shows_no_secret_and_does_not_travel() -> None:
    stage = _stage()
    assert "Keystream" not in repr(stage) and "pads" not in repr(stage)
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(stage.pads("a", "b"))
