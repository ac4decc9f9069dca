"""Drafts: what they take from a file, what never gets into them, and files that nobody would call a survey."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.config import documented_keys, read_document, undecided_faults
from trasgo_lib.drafting import dataset_name, draft_text, read_form
from trasgo_lib.drafting.draft_texts import COLUMNS
from trasgo_lib.drafting.prefix import PREFIX_BYTES
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.mechanisms import MECHANISMS
from trasgo_lib.plan import read_plan


def _draft(path: Path, header: bool | None = None) -> str:
    return draft_text(read_form(path, header=header), "people")


def _kinds(path: Path) -> dict[str, str]:
    return {column.name: column.kind for column in read_form(path).columns}


def _entries(text: str) -> dict[str, dict[str, object]]:
    value = read_document(text).value
    assert isinstance(value, dict)
    columns = value["columns"]
    assert isinstance(columns, tuple)
    return {str(entry["name"]): entry for entry in columns if isinstance(entry, dict)}


def _survey(rows: int = 200) -> str:
    lines = ["person_id;age;region;income;born;lat;lon;note"]
    for row in range(rows):
        age, region = 18 + row * 7 % 60, ("CANARY_north", "CANARY_south")[row % 2]
        lines.append(
            f"{71_000 + row * 3};{age};{region};{31_337 + row},25;{1 + row % 28:02}/03/1961;47,{row:03};8,{row:03};"
            f"CANARY words of a person who wrote {row} of them here"
        )
    return "\n".join(lines) + "\n"


def test_nothing_of_a_cell_and_no_number_of_the_data_is_in_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(_survey(), encoding="utf-8")
    other = tmp_path / "other" / "people.csv"
    other.parent.mkdir()
    rows = [
        f"{5 + row};{90 - row % 70};b{row % 3};{row},5;0{1 + row % 9}.11.1999;1,{row:03};2,{row:03};other words {row}"
        for row in range(900)
    ]
    other.write_text(_survey(0) + "\n".join(rows) + "\n", encoding="utf-8")
    draft = _draft(path)
    cells = {cell for line in _survey().splitlines()[1:] for cell in line.split(";")}
    assert not [cell for cell in cells if len(cell) > 2 and cell in draft]
    assert "CANARY" not in draft
    # names, types and form are the same, every value and the number of rows are not: none of them can show
    assert _draft(other).replace(str(other), str(path)) == draft


def test_types_dialect_and_names_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"\xef\xbb\xbf" + _survey().encode())
    form = read_form(path)
    assert form.dialect is not None and form.has_header
    assert (form.dialect.encoding, form.dialect.delimiter, form.dialect.decimal) == ("utf-8", ";", ",")
    assert _kinds(path) == {
        "person_id": "identifier",
        "age": "number",
        "region": "category",
        "income": "number",
        "born": "date",
        "lat": "number",
        "lon": "number",
        "note": "identifier",
    }
    entries = _entries(_draft(path))
    assert entries["place"]["columns"] == {"latitude": "lat", "longitude": "lon"}
    assert entries["person_id"]["role"] == "drop"


@pytest.mark.parametrize(
    ("latitude", "longitude", "name"),
    [
        ("Latitud", "Longitud", "place"),
        ("casa_lat", "casa_long", "casa"),
        ("Latitudine", "Longitudine", "place"),
        ("Breitengrad", "Längengrad", "place"),
        ("wohn_breite", "wohn_länge", "wohn"),
    ],
)
def test_a_point_is_seen_in_languages_of_europe(latitude: str, longitude: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "places.csv"
    rows = "".join(f"40,{418 + row};-3,{773 + row}\n" for row in range(50))
    path.write_text(f"{latitude};{longitude}\n{rows}", encoding="utf-8")
    assert _entries(_draft(path))[name]["columns"] == {"latitude": latitude, "longitude": longitude}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"H{row // 2:05d}" for row in range(100)], "identifier"),  # two people a household
        ([f"{row // 3:04d}" for row in range(120)], "identifier"),
        ([str(1000 + row // 2) for row in range(100)], "identifier"),
        ([f"2026-{1 + row // 10:02d}" for row in range(120)], "category"),  # sorted, but few
        ([str(18 + row // 20) for row in range(1000)], "number"),  # ages in order
        ([f"{(row * 7919) % 100:02d}" for row in range(200)], "category"),  # codes in no order
    ],
)
def test_numbers_of_households_are_identifiers(cells: list[str], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "homes.csv"
    path.write_text("casa;x\n" + "".join(f"{cell};{place % 7}\n" for place, cell in enumerate(cells)), encoding="utf-8")
    assert _kinds(path)["casa"] == kind


def test_every_privacy_decision_is_undecided_and_refused_as_such(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(_survey(), encoding="utf-8")
    draft = tmp_path / "release.yaml"
    draft.write_text(_draft(path), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_plan(draft)
    assert {fault.reason for fault in caught.value.faults} == {Reason.UNDECIDED}, "a draft has no other fault"
    left = {fault.where for fault in undecided_faults(read_document(draft.read_text(encoding="utf-8")))}
    keys = ("epsilon_total", "geo_total", "account", "unit")
    assert {f"privacy.{key}" for key in keys} <= left
    assert {f"columns[age].{key}" for key in ("domain.lower", "domain.upper", "domain.step", "outside")} <= left
    assert {f"columns[region].{key}" for key in ("domain.codes", "missing", "mechanism", "target")} <= left
    assert {f"columns[place].{key}" for key in ("domain.box", "domain.crs", "geo.epsilon", "geo.radius_m")} <= left
    assert {"columns[born].format", "source.csv.missing", "publish.store"} <= left


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("stadt,alter\nKöln,30\nBonn,40\n".encode("latin-1"), "latin-1"),
        ("preis,alter\n€,30\n“x”,40\n".encode("windows-1252"), "windows-1252"),
        ("stadt,alter\nKöln,30\nBonn,40\n".encode("utf-16"), "utf-16"),
        ("stadt,alter\nKöln,30\nBonn,40\n".encode(), "utf-8"),
    ],
)
def test_encodings_are_named(tmp_path: Path, content: bytes, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    form = read_form(path)
    assert form.dialect is not None and form.dialect.encoding == encoding
    assert [column.name for column in form.columns][1] == "alter"


def test_thousands_marks_and_quotes_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('name\tpay\n"a\tb"\t1.234,50\nc\t"12,00"\n', encoding="utf-8")
    form = read_form(path)
    assert form.dialect is not None
    assert (form.dialect.delimiter, form.dialect.decimal, form.dialect.thousands) == ("\t", ",", ".")
    assert [column.kind for column in form.columns] == ["category", "number"]


def test_a_row_of_text_never_passes_for_names(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Anna Muster,north\nBea Beispiel,south\n", encoding="utf-8")
    with pytest.raises(InputContractError) as caught:
        read_form(path)
    assert caught.value.reason is Reason.NO_HEADER
    assert "Anna" not in str(caught.value)
    assert "Anna" not in _draft(path, header=False)
    assert [column.name for column in read_form(path, header=True).columns] == ["Anna Muster", "north"]


def test_columns_without_a_name_do_not_repeat_one(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("12345,678\n11,22\n13,24\n", encoding="utf-8")
    draft = _draft(path, header=False)
    assert "again" not in draft and "- name: column_2" in draft


def test_what_comes_again_or_stands_for_nothing_or_is_long_is_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for first in ("refused,north", "NA,east", f"age,{'x' * 65}"):
        path.write_text(f"{first}\n5,south\n7,north\n8,south\n", encoding="utf-8")
        with pytest.raises(InputContractError):
            read_form(path)


def test_a_file_without_header_is_numbered(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("39,State-gov,1.5\n50,Private,2.5\n" * 40, encoding="utf-8")
    draft = _draft(path)
    assert "header: false" in draft and "State-gov" not in draft
    assert list(_entries(draft)) == ["column_1", "column_2", "column_3"]


def test_names_that_cannot_be_names_and_names_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a/b,age,age,,"x\ny",no\n1,2,3,4,5,6\n7,8,9,1,2,3\n', encoding="utf-8")
    draft = _draft(path)
    entries = _entries(draft)
    assert list(entries) == ["column_1", "age", "column_3", "column_4", "column_5", "no"]
    assert (entries["column_1"]["source"], entries["column_5"]["source"]) == ("a/b", "x\ny")
    assert "# Position 3: age again." in draft
    assert not {"source"} & entries["column_4"].keys()


def test_two_thousand_columns_of_a_wide_file(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = ",".join(f"v{place}" for place in range(2_000))
    path.write_text(names + "\n" + (",".join(["7"] * 2_000) + "\n") * 400, encoding="utf-8")
    assert path.stat().st_size > PREFIX_BYTES, "the file goes on after what is read"
    assert len(_entries(_draft(path))) == 2_000


def test_only_the_start_of_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("wb") as stream:
        stream.write(b"age,region\n" + b"31,north\n" * (PREFIX_BYTES // 9 + 10))
        stream.write(b"\x00\xff not text at all")
    assert _kinds(path) == {"age": "category", "region": "category"}


def _pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "came"),
    [
        (lambda path: None, "No such file"),
        (lambda path: path.mkdir(), "a folder"),
        (_pipe, "a pipe or a device"),
        (lambda path: path.write_bytes(b""), "nothing in it"),
        (lambda path: path.write_bytes(b"\n \n"), "nothing in it"),
        (lambda path: path.write_bytes(b"PK\x03\x04 whatever"), "a zip file or a spreadsheet"),
        (lambda path: path.write_bytes(bytes(range(256)) * 8), "bytes that are no text"),
        (lambda path: path.write_bytes(b"PAR1 and nothing more"), "a part of one"),
        (lambda path: path.write_bytes(b"x" * (PREFIX_BYTES + 5)), "a longer one"),
        (lambda path: path.write_bytes(b'a,b\n1,"' + b"x" * (PREFIX_BYTES + 5)), "may be either"),
        (lambda path: path.write_bytes("a,b\n1,2".encode("utf-16")[:-1]), "other bytes"),
    ],
    ids=["absent", "folder", "pipe", "empty", "blank", "zip", "binary", "cut", "one-line", "open-quote", "cut-utf-16"],
)
def test_what_is_no_table_is_refused_in_words(tmp_path: Path, make: Callable[[Path], object], came: str) -> None:
    path = tmp_path / "data.csv"
    make(path)
    with pytest.raises(InputContractError) as caught:
        read_form(path)
    assert came in caught.value.faults[0].came


def test_one_column_and_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age\n31\n32\n", encoding="utf-8")
    assert list(_entries(_draft(path))) == ["age"]
    if os.geteuid():
        path.chmod(0)
        with pytest.raises(InputContractError):
            read_form(path)


def test_a_parquet_schema_is_enough(tmp_path: Path) -> None:
    table = pa.table(
        {
            "person_id": pa.array([1, 2]),
            "age": pa.array([31_337.5, 2.0]),
            "region": pa.array(["CANARY", "x"]).dictionary_encode(),
            "born": pa.array([0, 1], type=pa.date32()),
            "is_in": pa.array([True, False]),
            "many": pa.array([[1], [2]]),
        }
    )
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    assert list(_kinds(path).values()) == ["identifier", "number", "category", "date", "category", "other"]
    draft = _draft(path)
    assert "format: parquet" in draft and "csv:" not in draft
    assert "CANARY" not in draft and "31337" not in draft


@pytest.mark.parametrize(
    "file",
    [
        "cps1988.csv",
        "uci_adult_train.csv",
        "chicago_taxi_trips.csv",
        "nsfg2002_pregnancies.csv",
        "household_survey_semicolon.csv",
    ],
)
def test_real_files_give_drafts_with_nothing_but_decisions_left(real_data: Path, tmp_path: Path, file: str) -> None:
    draft = tmp_path / "release.yaml"
    draft.write_text(_draft(real_data / file), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_plan(draft)
    assert {fault.reason for fault in caught.value.faults} == {Reason.UNDECIDED}


def test_the_comments_name_every_mechanism_and_no_other_key() -> None:
    assert not [name for name in MECHANISMS if name not in COLUMNS]
    explained = set(re.findall(r"^#   (\w+)  +", COLUMNS, flags=re.MULTILINE)) - {"step", "ordered"}
    assert {f"columns[].{key}" for key in explained} <= documented_keys()


def test_names_of_data_sets() -> None:
    assert dataset_name(None, Path("My Survey (2019).csv")) == "my-survey-2019"
    assert dataset_name("cps", Path("x.csv")) == "cps"
    for wrong in ("Ä", "", "-a", "a" * 64):
        with pytest.raises(ConfigError):
            dataset_name(wrong, Path("x.csv"))
