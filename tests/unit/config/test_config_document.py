"""YAML text to values with marks."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.config import load_config
from trasgo_lib.config.document import Mark, read_document
from trasgo_lib.errors import ConfigError, Reason


def _faults(text: str) -> list[tuple[Reason, int | None, str]]:
    try:
        faults = read_document(text).faults
    except ConfigError as error:
        faults = error.faults
    assert faults
    return [(fault.reason, fault.line, fault.came) for fault in faults]


def test_scalars_follow_the_core_schema() -> None:
    text = (
        "a: yes\nb: True\nc: 010\nd: 0o17\ne: 1e3\nf: ~\ng: 2017-01-01\nh: '1'\ni: .inf\nj: !!str 5\nk: 0x1f\nl: 1_0\n"
    )
    value = read_document(text).value
    assert value == {
        "a": "yes",
        "b": True,
        "c": 10,
        "d": 15,
        "e": 1000.0,
        "f": None,
        "g": "2017-01-01",
        "h": "1",
        "i": math.inf,
        "j": "5",
        "k": 31,
        "l": "1_0",
    }


def test_very_long_integers_do_not_stop_the_reader() -> None:
    value = read_document("a: " + "9" * 5000).value
    assert value == {"a": math.inf}


def test_lists_become_tuples_and_marks_count_from_one() -> None:
    document = read_document("top:\n  - name: wage\n    codes: [a, b]\n  - second\n")
    assert document.value == {"top": ({"name": "wage", "codes": ("a", "b")}, "second")}
    assert document.mark(("top", 0, "codes", 1)) == Mark(3, 16)
    assert document.mark(("top", 0, "codes"), key=True) == Mark(3, 5)
    assert document.mark(("top",)) == Mark(1, 1)
    assert document.mark(("top", 0, "absent", "deeper")) == Mark(2, 5)
    assert document.name_of(("top", 0, "codes", 1)) == "top[wage].codes[#2]"
    assert document.name_of(("top", 1)) == "top[#2]"
    assert document.name_of(()) == "release file"
    assert document.at(("top", 7)) is None
    assert document.at(("top", "x")) is None


def test_duplicate_keys_are_all_reported_with_the_first_line() -> None:
    faults = _faults("a: 1\nb: {c: 1, c: 2}\na: 3\na: 4\n")
    assert [(reason, line) for reason, line, _ in faults] == [
        (Reason.DUPLICATE_KEY, 2),
        (Reason.DUPLICATE_KEY, 3),
        (Reason.DUPLICATE_KEY, 4),
    ]
    assert faults[1][2] == "`a` again; first on line 1"


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: &x [1]\n",
        "a: !!python/object:os.system x\n",
        "a: !mine x\n",
        "1: a\n",
        "? [a]\n: b\n",
        "true: a\n",
        "a: !!binary aGk=\n",
    ],
)
def test_anchors_aliases_tags_and_odd_keys_are_refused(text: str) -> None:
    assert all(reason is Reason.BAD_YAML for reason, _, _ in _faults(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1, 2\nb: 3\n", 2), ("a: b: c\n", 1), ("a: 1\n\tb: 2\n", 2), ("a: 1\n---\nb: 2\n", 2), ("a: '", 1)],
)
def test_broken_yaml_names_the_place(text: str, line: int) -> None:
    assert _faults(text)[0][:2] == (Reason.BAD_YAML, line)


def test_control_characters_and_deep_nesting_are_faults_not_crashes() -> None:
    assert _faults("a: \x00")[0][0] is Reason.BAD_YAML
    assert _faults("[" * 20_000)[0][0] is Reason.BAD_YAML


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", Reason.BAD_SHAPE),
        (b"# nothing\n", Reason.BAD_SHAPE),
        (b"- a\n", Reason.BAD_SHAPE),
        (b"text", Reason.BAD_SHAPE),
        (b"a: R\xe9union\n", Reason.BAD_ENCODING),
    ],
)
def test_files_that_are_no_release_file(tmp_path: Path, content: bytes, reason: Reason) -> None:
    path = tmp_path / "release.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.reason is reason
    assert caught.value.faults[0].line == 1


def test_unreadable_and_oversized_files(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * (8 * 2**20 + 1))
    for path in (tmp_path / "absent.yaml", tmp_path, large):
        with pytest.raises(ConfigError) as caught:
            load_config(path)
        assert caught.value.reason is Reason.FILE_UNREADABLE


@given(st.text(max_size=200))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_any_text_is_read_or_refused_as_a_config_error(text: str) -> None:
    try:
        document = read_document(text)
    except ConfigError as error:
        assert error.faults
    else:
        assert document.value_marks or document.value is None


_plain = st.recursive(
    st.text(st.characters(codec="ascii", categories=("L", "N", "P", "Zs")), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcdef", min_size=1, max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_plain)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_json_is_read_back(value: object) -> None:
    import json

    assert json.loads(json.dumps(read_document(json.dumps({"a": value})).value)) == {"a": value}


@pytest.mark.parametrize(
    ("text", "line", "came"),
    [
        ("a: 1\n\tb: 2\n", 2, "a tab"),
        ("a:\n\t- b\n", 2, "a tab"),
        ("a: 1\n---\nb: 2\n", 2, "a second document"),
        ('a: {b: "T"\nc: 1\n', 2, "a list or mapping that is not closed before this place"),
        ("a: [b\nc: 1\n", 2, "a list or mapping that is not closed before this place"),
    ],
)
def test_frequent_slips_are_called_what_they_are(text: str, line: int, came: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(text)
    (fault,) = caught.value.faults
    assert (fault.line, fault.came) == (line, came)
    assert fault.fix != "Correct the text at this place."
