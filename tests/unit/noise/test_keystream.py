"""The word stream: addressed, seekable, labelled, never shown."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.noise import Keystream, derive

ROOT = bytes(range(32))


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(0, 5000), st.integers(0, 300))
def test_any_cut_gives_the_same_words(first: int, count: int) -> None:
    stream = Keystream(ROOT, "cut")
    assert np.array_equal(stream.words(first, count), stream.words(0, first + count)[first:])


def test_words_are_64_bit_and_reading_moves_nothing() -> None:
    stream = Keystream(ROOT, "x")
    words = stream.words(3, 4)
    assert words.dtype == np.uint64
    assert np.array_equal(stream.words(3, 4), words)


def test_far_words_are_reached_and_the_last_is_refused() -> None:
    stream = Keystream(ROOT, "far")
    assert len(stream.words(2**60 - 2, 2)) == 2
    for first, count in [(2**60 - 1, 2), (2**60, 1), (-1, 1), (0, -1)]:
        with pytest.raises(ValueError, match="outside"):
            stream.words(first, count)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b"), ("ab",)),
        (("a", "b"), ("b", "a")),
        (("1",), (1,)),
        (("a",), (b"a",)),
        (("", "a"), ("a", "")),
        ((), ("",)),
        ((12,), (1, 2)),
    ],
)
def test_labels_do_not_collide(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert derive(ROOT, *one) != derive(ROOT, *other)  # type: ignore[arg-type]


def test_roots_and_labels_are_checked() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        derive(b"short", "label")
    with pytest.raises(TypeError, match="label part"):
        derive(ROOT, True)


def test_key_material_is_neither_shown_nor_pickled() -> None:
    stream = Keystream(ROOT, "secret label")
    assert repr(stream) == "Keystream(...)"
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(stream)
