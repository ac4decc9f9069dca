"""Reported faults of sources and budgets, where central queries meet them. Ids name the rows of the list of reports."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Iterator

import pyarrow as pa
import pytest
from desk import Column, Desk, category, drop, number, places_with

import trasgo_lib.statistics.answering as answering

CANARY, NUMBER = "canary7719004", "7719004"
ASKED = [{"name": "mean", "type": "mean", "column": "x", "epsilon": "0.5"}]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("queries"))
    desk.open_account(epsilon="2")
    yield desk
    shutil.rmtree(desk.folder, ignore_errors=True)


def _x() -> Column:
    return number("x", "0", "60")


def _sex() -> Column:
    return category("sex", ["M", "F"])


CASES: dict[str, tuple[str | pa.Table, list[Column], list[tuple[str, str]]]] = {
    "B13 B20 B22 a sentinel and a text among numbers": (
        f"x\n10\n{NUMBER}\n{CANARY}\n",
        [_x()],
        [("out_of_domain", "x: required"), ("wrong_type", "x: required")],
    ),
    "B18 a header and no rows": ("x,sex\n", [_x(), _sex()], [("no_rows", "source.path source.csv: ")]),
    "B19 B29 a gap, NaN and no number": (
        pa.table({"x": pa.array([1.0, None, float("nan"), float("inf")])}),
        [_x()],
        [("null_value", "x: required"), ("non_finite", "x: required")],
    ),
    "B28 B37 codes that are not declared": (
        f"x,sex\n1,M\n2,m\n3,{CANARY}\n",
        [_x(), _sex()],
        [("out_of_domain", "sex: required")],
    ),
    "B25 B44 a column that no one declared, and one that is absent": (
        f"x,salary\n1,{NUMBER}\n",
        [_x(), drop("n")],
        [("missing_column", "n: required"), ("extra_column", "position 2: required")],
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n.startswith(("B13", "B19")) else pytest.mark.long) for n in CASES]
)
def test_a_faulty_source_gets_no_answer_and_costs_nothing(
    name: str, desk: Desk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B20, B81: and nothing of its cells is anywhere afterwards."""

    def never(*arguments: object, **names: object) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(answering, "_draw", never)
    caplog.set_level(logging.DEBUG)
    content, columns, faults = CASES[name]
    dataset, spent = f"asked{list(CASES).index(name)}", desk.spent()
    desk.ask(dataset, json.loads(json.dumps(columns)), ASKED)
    desk.bring(content)
    answer = desk.trasgo("query", str(desk.config))
    assert answer.exit_code == 3, answer.text
    # at level DEBUG Prefect's handler tells them once more, one line a fault
    told = re.findall(r"^([^:\n]*: )required .*\[([a-z_]+)\]", answer.err, re.MULTILINE)
    found = {(reason, place) for place, reason in told}
    assert len(found) == len(faults), found
    for reason, words in faults:
        assert any(
            kind == reason and place.startswith(words.removesuffix("required").rstrip()) for kind, place in found
        )
    assert desk.spent() == spent
    assert not desk.published(dataset).exists()
    for needle in (CANARY, NUMBER):
        assert not places_with(needle, desk, answer, caplog)


def test_b69_b75_the_same_people_asked_again_are_charged_again_until_the_cap(desk: Desk) -> None:
    """The same rows and question at 0.75 under a cap of 2: other noise, 1.5 together, and no third time."""
    desk.bring("x\n" + "10\n20\n60\n" * 40)
    numbers = []
    for version in ("1", "2", "3"):
        asked = {"name": "total", "type": "sum", "column": "x", "epsilon": "0.75"}
        desk.ask("again", [_x()], [asked], version)
        answer = desk.trasgo("query", str(desk.config), "--json")
        assert answer.exit_code == (5 if version == "3" else 0), answer.text
        assert desk.spent() == ("0.75", "1.5", "1.5")[int(version) - 1]
        if version != "3":
            numbers.append(answer.json["answers"][0]["cells"][0]["value"])
            assert answer.json["spent"]["total"]["epsilon"] == "0.75"
    assert len(numbers) == 2 and not desk.published("again", "3").exists()
    assert "over_cap" in answer.text
