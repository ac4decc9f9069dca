"""Reported faults of files, where a draft is made of them and a declaration is examined. Ids name rows of the list."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import read_document
from trasgo_lib.drafting import draft_text, read_form
from trasgo_lib.drafting.source_names import examine_source
from trasgo_lib.errors import InputContractError, Reason


def _kinds(folder: Path, content: str | bytes) -> dict[str, str]:
    path = folder / "a.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return {column.name: column.kind for column in read_form(path).columns}


def _examined(folder: Path, content: str | bytes, *columns: str, csv: str = "{}") -> list[str]:
    (folder / "people.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    declared = "".join(f"  - {{name: {column}, role: drop}}\n" for column in columns)
    head = f"format: 1\nsource: {{path: people.csv, format: csv, csv: {csv}}}\ncolumns:\n"
    return [finding.words for finding in examine_source(read_document(head + declared), folder)]


FINE = "source people.csv: has the 2 declared columns and no other"
MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [("Paris", "utf-8"), ("Réunion", "utf-8"), ("Réunion", "latin-1"), ("10 \u20ac", "windows-1252")],
)
def test_b01_a_mark_is_no_part_of_the_first_name_whatever_follows(body: str, encoding: str, tmp_path: Path) -> None:
    """What a draft names must be what the reader finds."""
    content = MARK + f'"age",place\n30,{body}\n31,Paris\n'.encode(encoding)
    assert list(_kinds(tmp_path, content)) == ["age", "place"]
    form = read_form(tmp_path / "a.csv")
    assert form.dialect is not None
    named = form.dialect.encoding
    assert named == ("utf-8" if body == "Paris" else encoding)
    assert "\u00ef" not in draft_text(form, "people")
    assert _examined(tmp_path, content, "age", "place", csv=f"{{encoding: {named}}}") == [FINE]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["01001", "00060", "75001"] * 20, "category"),
        ([f"{row % 90:05d}" for row in range(300)], "category"),
        ([f"{10_000 + row % 90}" for row in range(300)], "number"),
        ([f"{row:06d}" for row in range(300)], "identifier"),
        (["0", "0.5", "-0.25", "10"] * 20, "number"),
    ],
    ids=["postal codes", "many codes", "no leading zero", "row numbers", "zeros of numbers"],
)
def test_b04_digits_with_leading_zeros_are_codes(cells: list[str], kind: str, tmp_path: Path) -> None:
    text = "zip;n\n" + "".join(f"{cell};{row}.5\n" for row, cell in enumerate(cells))
    found = _kinds(tmp_path, text)
    assert found == {"zip": kind, "n": "number"}
    draft = draft_text(read_form(tmp_path / "a.csv"), "people")
    assert ("type: number" in draft.split("name: zip")[1].split("\n\n")[0]) == (kind == "number")


def test_b10_blanks_around_names_are_no_part_of_them(tmp_path: Path) -> None:
    content = "age, workclass\n" + "39, State-gov\n50, ?\n38, Private\n" * 20
    assert list(_kinds(tmp_path, content)) == ["age", "workclass"]
    assert _examined(tmp_path, content, "age", "workclass") == [FINE]


def test_b14_an_empty_column_is_told_and_not_guessed(tmp_path: Path) -> None:
    assert _kinds(tmp_path, "x,d\n" + "1.5,\n2.5,\n" * 20) == {"x": "number", "d": "empty"}


def test_b18_a_header_without_rows_is_not_guessed_from(tmp_path: Path) -> None:
    with pytest.raises(InputContractError) as caught:
        _kinds(tmp_path, "x,sex\n")
    assert caught.value.reason is Reason.NO_HEADER
    assert len(_examined(tmp_path, "", "x", "sex")) == 1
    assert "at least one record" in _examined(tmp_path, "", "x", "sex")[0]


def test_b02_b07_b25_b26_what_is_wrong_with_a_header_is_told_whole_before_a_run(tmp_path: Path) -> None:
    (twice,) = _examined(tmp_path, "a,a,b\n1,2,3\n", "a", "b")
    assert "positions 1 and 2" in twice and "'a'" in twice
    several = _examined(tmp_path, "sex,n,CANARY\n1,2,3\n", "x", "sex", "more")
    assert [words.split(": ")[1] for words in several] == ["x", "more", "position 2", "position 3"]
    (headless,) = _examined(tmp_path, "39,CANARY\n50,CANARY\n", "age", "work")
    assert "a header with the declared names" in headless and "CANARY" not in headless
    (byte,) = _examined(tmp_path, b"age,x\n1,R\xe9union\n", "age", "x")
    assert "offset 9 " in byte and "utf-8" in byte


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n3,4\n", b"PAR2 and more"])
def test_a_file_that_is_no_parquet_file_but_called_so_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(content)
    with pytest.raises(InputContractError) as caught:
        read_form(path)
    assert caught.value.faults[0].required == "a Parquet file, as its name says"


def test_one_declared_column_is_one(tmp_path: Path) -> None:
    assert _examined(tmp_path, "age\n1\n2\n", "age") == ["source people.csv: has the declared column and no other"]
