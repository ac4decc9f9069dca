"""Reported faults of sources, through the command: refused before any draw, with column, reason and count, no value.

Ids name the rows of the list of public reports. Where the list allows an error or a declared policy, the error is
here and the policy in ``test_cases_published``.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from desk import Column, Desk, category, date, drop, number, places_with, point, public

CANARY = "QZ7719canary"
NUMBER = "771900417355"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("refused"))
    desk.open_account(geo_per_km="100")
    yield desk
    shutil.rmtree(desk.folder, ignore_errors=True)


@dataclass(frozen=True)
class Refused:
    """A source, its declaration, and what the command says: reason, place, rows for each fault."""

    content: str | bytes | pa.Table
    columns: list[Column]
    faults: list[tuple[str, str, int | None]]
    hidden: tuple[str, ...] = (CANARY, NUMBER)
    says: tuple[str, ...] = ()
    csv: dict[str, Any] = field(default_factory=dict)


SEX = category("sex", ["M", "F"])
X = number("x", "0", "60")

CASES = {
    "B02 a byte that is no utf-8": Refused(
        f"muni,x\nR\xe9union{CANARY},3\n".encode("latin-1"),
        [public("muni"), X],
        [("bad_encoding", "source.path source.csv", None)],
        says=("offset 8 ", "source.csv.encoding", "latin-1"),
    ),
    "B03 an undeclared thousands mark": Refused(
        "x;y\n1,5;2\n771.900,50;3\n",
        [number("x", "0", "200000", "0.5"), public("y")],
        [("wrong_type", "x", 1)],
        hidden=("771.900",),
        csv={"delimiter": ";", "decimal": ","},
    ),
    "B06 one cell of 1,000,001 is another type": Refused(
        "n,x\n" + "".join(f"{row},1\n" for row in range(300_000)) + f"9,{CANARY}\n",
        [drop("n"), X],
        [("wrong_type", "x", 1)],
    ),
    "B07 duplicate header": Refused(
        f"a,a,b\n{CANARY},2,3\n",
        [public("a"), number("b", "0", "9")],
        [("duplicate_column", "positions 1 and 2", None)],
        says=("'a'",),
    ),
    "B11 dates that do not match": Refused(
        "d\n12/01/2017\n17/71/9004\n2017-71-90\n", [date("d")], [("wrong_type", "d", 2)], hidden=("17/71/9004",)
    ),
    "B13 an undeclared sentinel": Refused(
        f"x\n10\n20\n{NUMBER}\n-{NUMBER}\n", [X], [("out_of_domain", "x", 2)], says=("x: ",)
    ),
    "B14 an empty column": Refused(
        f"x,d,n\n1,,{CANARY}\n2,,b\n3,,c\n",
        [X, number("d", "0", "9"), drop("n")],
        [("no_values", "d", 3)],
        says=("'d' has no values",),
    ),
    "B18 a header and no rows": Refused("x,sex\n", [X, SEX], [("no_rows", "source.path source.csv", None)]),
    "B19 nulls in a set and in a range": Refused(
        "x,sex\n1,\n,\n,M\n", [X, SEX], [("null_value", "x", 2), ("null_value", "sex", 2)]
    ),
    "B20 B22 B23 T06 mixed cells of a number": Refused(
        f"x\n{CANARY}\n46\n", [X], [("wrong_type", "x", 1)], says=("(1 rows)",)
    ),
    "B22 B23 T06 mixed cells of a category": Refused(f"sex\n{CANARY}\nM\n46\n", [SEX], [("out_of_domain", "sex", 2)]),
    "B24 a day that differs from the declared ones": Refused(
        f"d,n\n01/01/2017,{CANARY}\n01/01/2018,\n", [date("d"), drop("n")], [("out_of_domain", "d", 1)]
    ),
    "B25 columns missing and extra": Refused(
        f"sex,n,other\nM,{CANARY},{NUMBER}\n",
        [X, SEX, drop("n"), public("more")],
        [("missing_column", "x", None), ("missing_column", "more", None), ("extra_column", "position 3", None)],
        says=("'other'",),
    ),
    "B26 no header": Refused(
        f"{NUMBER},{CANARY}\n50,M\n", [X, SEX], [("no_header", "columns", None)], says=("header: false",)
    ),
    "B28 B37 case variants and unknown codes": Refused(
        f"sex\nM\nF\nm\n{CANARY}\n", [SEX], [("out_of_domain", "sex", 2)]
    ),
    "B29 B86 NaN written out": Refused("x\n1\nNaN\n3\n", [X], [("non_finite", "x", 1)]),
    "B29 B86 an empty cell": Refused("x,n\n1,a\n,b\n3,c\n", [X, drop("n")], [("null_value", "x", 1)]),
    "B30 infinite values, clipping or not": Refused(
        "x,y\ninf,inf\n-inf,1\n1,-Infinity\n",
        [X, number("y", "0", "60", outside="clip", missing="code")],
        [("non_finite", "x", 2), ("non_finite", "y", 2)],
    ),
    "B44 a column absent from the release file": Refused(
        f"x,salary\n1,{NUMBER}\n", [X], [("extra_column", "position 2", None)], says=("'salary'", "role: drop")
    ),
    "B49 latitude and longitude swapped": Refused(
        "lat,lon\n40.7,-74.0\n-74.0077190041,40.7\n40.7,-73.9\n",
        [point("home")],
        [("out_of_domain", "home", 1)],
        hidden=("-74.0077190041",),
    ),
    "B50 a longitude beyond the globe": Refused(
        f"lat,lon\n40.7,-74.0\n40.7,{NUMBER}\n", [point("home", outside="clip")], [("out_of_domain", "home", 1)]
    ),
    "B53 half a pair of coordinates": Refused(
        "lat,lon\n40.7,-74.0\n,-73.97719004\n40.7719004,\n",
        [point("home")],
        [("null_value", "home", 2)],
        hidden=("-73.97719004", "40.7719004"),
    ),
    "B15 B19 a Parquet integer with a gap": Refused(
        pa.table({"x": pa.array([1, 2, None], pa.int64())}), [X], [("null_value", "x", 1)]
    ),
    "B16 B37 a dictionary level that is not declared": Refused(
        pa.table({"sex": pa.array(["M", CANARY, "M", CANARY]).dictionary_encode()}),
        [SEX],
        [("out_of_domain", "sex", 2)],
    ),
    "B17 B29 B86 NaN in Parquet": Refused(
        pa.table({"x": pa.array([1.0, float("nan"), 3.0])}), [X], [("non_finite", "x", 1)]
    ),
    "B30 infinite values in Parquet": Refused(
        pa.table({"x": pa.array([float("inf"), float("-inf"), 1.0])}), [X], [("non_finite", "x", 2)]
    ),
    "T06 numbers stored as text": Refused(pa.table({"x": pa.array(["1", "2", CANARY])}), [X], [("wrong_type", "x", 3)]),
    "B18 a Parquet file without rows": Refused(
        pa.table({"x": pa.array([], pa.int64())}), [X], [("no_rows", "source.path source.parquet", None)]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_faulty_source_is_refused_before_any_draw(
    name: str, desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tasks.draw

    def never(*arguments: object, **names: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(tasks.draw, "draw_codes", never)
    caplog.set_level(logging.DEBUG)
    case, dataset = CASES[name], f"case{list(CASES).index(name)}"
    desk.declare(dataset, case.columns, **case.csv)
    desk.bring(case.content)
    answer = desk.run()
    assert answer.exit_code == 3, answer.text
    for reason, where, rows in case.faults:
        count = "" if rows is None else f"({rows} rows) "
        lines = [line for line in answer.err.splitlines() if line.startswith(f"{where}: ") and f"[{reason}]" in line]
        assert len(lines) == 1 and f"{count}[{reason}]" in lines[0], answer.err
    assert answer.err.count(" required ") == len(case.faults), answer.err
    assert all(words in answer.err for words in case.says), answer.err
    assert "{column}" not in answer.text and "{name}" not in answer.text, "T11: a placeholder left as it is"
    assert desk.spent() == "0"
    assert not desk.published(dataset).exists()
    for needle in case.hidden:
        assert not places_with(needle, desk, answer, caplog)


def test_the_search_finds_a_cell_that_is_there(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Negative control, with a name of its own, since Prefect's database keeps it for the tests that follow."""
    name = CANARY.replace("canary", "control")
    desk.declare("control", [X])
    desk.bring(f"x,{name}\n1,2\n")
    answer = desk.run()
    assert answer.exit_code == 3
    assert "terminal" in places_with(name, desk, answer, caplog), "a name of the header may be shown"
