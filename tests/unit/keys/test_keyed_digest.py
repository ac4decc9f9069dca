"""Keyed digests: the standard, any split, and no way to print the key."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.keys import KeyedDigest

KEY = bytes(range(32))


def test_it_is_hmac_sha256() -> None:
    digest = KeyedDigest(KEY)
    digest.update(b"Hi There")
    assert digest.hexdigest() == hmac.new(KEY, b"Hi There", hashlib.sha256).hexdigest()


def test_known_answer() -> None:
    """RFC 4231 case 4 pads its 25-byte key with zeros to the block, so the 32-byte key with 7 zeros is the same."""
    digest = KeyedDigest(bytes(range(1, 26)) + bytes(7))
    digest.update(b"\xcd" * 50)
    assert digest.hexdigest() == "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"


@settings(derandomize=True, deadline=None)
@given(st.lists(st.binary(max_size=80), max_size=6))
def test_any_split_gives_the_same_digest(pieces: list[bytes]) -> None:
    whole, split = KeyedDigest(KEY), KeyedDigest(KEY)
    whole.update(b"".join(pieces))
    for piece in pieces:
        split.update(piece)
    assert split.hexdigest() == whole.hexdigest()


def test_arrays_are_hashed_as_their_bytes() -> None:
    codes = np.arange(10, dtype=np.int32)
    by_array, by_bytes = KeyedDigest(KEY), KeyedDigest(KEY)
    by_array.update(codes)
    by_bytes.update(codes.tobytes())
    assert by_array.hexdigest() == by_bytes.hexdigest()


def test_another_key_gives_another_digest_and_reading_does_not_end_it() -> None:
    one, other = KeyedDigest(KEY), KeyedDigest(bytes(reversed(KEY)))
    assert one.hexdigest() != other.hexdigest()
    before = one.hexdigest()
    assert one.hexdigest() == before
    one.update(b"x")
    assert one.hexdigest() != before


@pytest.mark.parametrize("size", [0, 16, 31, 33])
def test_a_key_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedDigest(bytes(size))


def test_key_material_is_neither_printed_nor_pickled() -> None:
    digest = KeyedDigest(KEY)
    assert repr(digest) == "KeyedDigest(...)"
    for leak in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="never pickled"):
            leak(digest)
