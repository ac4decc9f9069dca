"""Reported faults of budgets, where central queries meet them. Ids name the rows of the list of reports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from desk import Column, Desk, number


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(tmp_path_factory.mktemp("queries"))
    desk.open_account(epsilon="2")
    yield desk
    shutil.rmtree(desk.folder, ignore_errors=True)


def _x() -> Column:
    return number("x", "0", "60")


def test_b69_b75_the_same_people_asked_again_are_charged_again_until_the_cap(desk: Desk) -> None:
    """The same rows and question at 0.75 under a cap of 2: 1.5 together, and no third time."""
    desk.bring("x\n" + "10\n20\n60\n" * 40)
    for version in ("1", "2", "3"):
        asked = {"name": "total", "type": "sum", "column": "x", "epsilon": "0.75"}
        desk.ask("again", [_x()], [asked], version)
        answer = desk.trasgo("query", str(desk.config), "--json")
        assert answer.exit_code == (5 if version == "3" else 0), answer.text
        assert desk.spent() == ("0.75", "1.5", "1.5")[int(version) - 1]
        if version != "3":
            assert answer.json["spent"]["total"]["epsilon"] == "0.75"
    assert not desk.published("again", "3").exists()
    assert "over_cap" in answer.text
