"""Labels of one width are found as hashing finds them, and nothing else is taken for one of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from trasgo_lib.data import CategoryDomain
from trasgo_lib.data.fixed_texts import MOST_LABELS, FixedTexts, fixed_texts
from trasgo_lib.errors import InputContractError, Reason

_LETTERS = st.sampled_from("ab\0é")


@st.composite
def _labels(draw: st.DrawFn) -> list[str]:
    """Two to forty distinct texts of one number of bytes, from 1 to 19."""
    width = draw(st.integers(1, 19))
    text = st.text(_LETTERS | st.characters(max_codepoint=127), min_size=1, max_size=width)
    same = text.filter(lambda label: len(label.encode()) <= width).map(lambda label: label + "x" * width)
    cut = same.map(lambda label: label.encode()[:width].decode("utf-8", "ignore"))
    return draw(st.lists(cut.filter(lambda label: len(label.encode()) == width), min_size=2, max_size=40, unique=True))


@settings(deadline=None)
@given(st.data())
def test_codes_are_those_of_a_look_up(data: st.DataObject) -> None:
    labels = data.draw(_labels())
    codes = data.draw(st.lists(st.integers(0, len(labels) - 1), min_size=1, max_size=60))
    kind = data.draw(st.sampled_from([pa.string(), pa.large_string()]))
    skipped = data.draw(st.integers(0, len(codes) - 1))
    table = FixedTexts.of([label.encode() for label in labels])
    assume(table is not None)  # labels that no one window tells apart
    assert table is not None
    texts = pa.array([labels[code] for code in codes], kind)[skipped:]
    found = table.find(texts)
    assert found is not None
    assert found.tolist() == codes[skipped:]
    made = table.texts(found)
    assert made is not None
    made.validate(full=True)
    assert made.to_pylist() == texts.to_pylist()


@settings(deadline=None, max_examples=40)
@given(_labels(), st.text(_LETTERS, max_size=19), st.integers(0, 70_000))
def test_one_other_text_is_never_taken_for_a_label(labels: list[str], other: str, place: int) -> None:
    table = FixedTexts.of([label.encode() for label in labels])
    assume(table is not None and other not in labels)
    assert table is not None
    texts = pa.array(labels).take(pa.array(np.arange(70_000) % len(labels)))
    assert table.find(pa.concat_arrays([texts[:place], pa.array([other]), texts[place:]])) is None


def test_texts_that_are_labels_only_when_cut_elsewhere_are_not() -> None:
    table = FixedTexts.of([b"a", b"b"])
    assert table is not None
    assert table.find(pa.array(["", "ab"])) is None
    assert table.find(pa.array(["ab", ""])) is None


@pytest.mark.parametrize(
    "labels",
    [
        [],
        [b"a", b"bb"],
        [b"", b""],
        [b"%06d" % place for place in range(MOST_LABELS + 1)],
        [b"a" * 9 + b"c" * 9, b"a" * 9 + b"d" + b"c" * 8, b"b" + b"a" * 8 + b"c" * 9],
    ],
)
def test_other_labels_have_no_table(labels: list[bytes]) -> None:
    assert FixedTexts.of(labels) is None


def test_many_rows_cross_chunks_and_unknown_labels_are_counted() -> None:
    labels = tuple(f"occupation {place:02d}" for place in range(16))
    assert fixed_texts(labels) is not None
    codes = np.arange(100_000) * 7919 % 16
    domain = CategoryDomain(labels)
    texts = pa.array(labels).take(pa.array(codes))
    assert np.array_equal(domain.encode(texts), codes)
    assert domain.decode(codes.astype(np.int32)).equals(texts)
    strange = pa.concat_arrays([texts, pa.array(["occupation 99", "x"])])
    with pytest.raises(InputContractError) as refused:
        domain.encode(strange)
    assert [(fault.reason, fault.rows) for fault in refused.value.faults] == [(Reason.OUT_OF_DOMAIN, 2)]


@pytest.mark.parametrize("labels", [("a", "b", "c"), ("one", "two", "three")])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_dictionaries_are_encoded_as_their_texts_are(labels: tuple[str, ...], kind: pa.DataType) -> None:
    domain = CategoryDomain(labels)
    own = pa.array([labels[2], "not declared", labels[0], labels[2], None], kind)
    known = pa.DictionaryArray.from_arrays(pa.array([0, 2, 3, 0], pa.int8()), own)
    assert domain.encode(known).tolist() == [2, 0, 2, 2]
    assert domain.encode(pa.chunked_array([known, known[1:]])).tolist() == [2, 0, 2, 2, 0, 2, 2]
    for index, reason, rows in ((1, Reason.OUT_OF_DOMAIN, 2), (4, Reason.NULL_VALUE, 2), (None, Reason.NULL_VALUE, 2)):
        column = pa.DictionaryArray.from_arrays(pa.array([0, index, 2, index], pa.int8()), own)
        with pytest.raises(InputContractError) as refused:
            domain.encode(column)
        assert [(fault.reason, fault.rows) for fault in refused.value.faults] == [(reason, rows)]


def test_dictionaries_of_whole_numbers_and_of_nothing() -> None:
    domain = CategoryDomain(["1", "2"])
    assert domain.encode(pa.array([2, 1, 2]).dictionary_encode()).tolist() == [1, 0, 1]
    assert domain.encode(pa.array([], pa.string()).dictionary_encode()).tolist() == []
    with pytest.raises(InputContractError) as refused:
        domain.encode(pa.array([1.0, 2.0]).dictionary_encode())
    assert refused.value.faults[0].reason is Reason.WRONG_TYPE
