"""SIGKILL at points of a statistics run, and two runs at once: charged once, and the answers are those first stored.

The noise of answers is not keyed, so a run is held against itself: what was stored when it was killed is what is
published when it is resumed. The standard tier covers two points on SQLite, ``make test-long`` all of them on both
databases.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from killed import QUERY_POINTS
from sites import Places, Site

QUERIES = [
    {"name": "by_sex", "type": "crosstab", "by": ["sex", "region"], "epsilon": "0.5"},
    {"name": "mean_age", "type": "mean", "column": "age", "epsilon": "0.5"},
    {"name": "median_age", "type": "median", "column": "age", "epsilon": "0.5"},
]
STORED = {
    "after reserve": set(),
    "between reserve and store": None,
    "in the middle of several": None,
    "between store and commit": {"by_sex", "mean_age", "median_age"},
    "between two uploads": {"by_sex", "mean_age", "median_age"},
    "after the manifest": {"by_sex", "mean_age", "median_age"},
}
"""Answers that are stored at a point; None where the order of two threads decides."""

CASES = [
    pytest.param(
        database,
        point,
        marks=()
        if database == "sqlite" and point in ("between reserve and store", "in the middle of several")
        else pytest.mark.long,
    )
    for database in ("sqlite", "postgresql")
    for point in STORED
]


def _asking(places: Places, database: str) -> Site:
    office = places.office(database, "folder")
    columns = []
    for column in office.release["columns"]:
        kept = {key: column[key] for key in ("name", "type", "domain", "outside") if key in column}
        columns.append({"name": column["name"], "role": "drop"} if "role" in column else kept)
    office.release |= {"columns": columns, "queries": QUERIES}
    office.release["privacy"] = {"epsilon_total": "2", "account": "people"}
    office.release.pop("loop")
    office.write()
    return office


def _stored(office: Site) -> dict[str, bytes]:
    folder = office.folder / "closed" / "people" / "1" / "answers"
    return {path.stem: path.read_bytes() for path in folder.glob("*.json")}


def _charged(office: Site) -> list[str]:
    return [unit for unit, *_ in office.charges()]


def _require_published(office: Site, stored: dict[str, bytes]) -> None:
    """Charged once, nothing stored has changed, and the public answers are made of exactly that."""
    assert _charged(office) == [str(query["name"]) for query in QUERIES] and office.spent() == "1.5"
    now = _stored(office)
    assert set(now) == {str(query["name"]) for query in QUERIES}
    assert stored.items() <= now.items()
    public = office.folder / "public" / "people" / "1"
    answers = json.loads((public / "data" / "answers.json").read_text(encoding="utf-8"))
    drawn = json.loads(now["by_sex"])["parts"]["rows"]
    assert [str(cell["noisy"]) for cell in answers["queries"][0]["cells"]] == drawn
    assert office.trasgo("verify", str(public)).exit_code == 0


@pytest.mark.parametrize(("database", "point"), CASES)
def test_a_killed_run_is_resumed_to_the_answers_that_were_stored(places: Places, database: str, point: str) -> None:
    assert set(STORED) == set(QUERY_POINTS) - {"never"}
    office = _asking(places, database)
    office.run_killed(point, "query")
    stored = _stored(office)
    assert STORED[point] is None or set(stored) == STORED[point]
    assert len(stored) < 3 or STORED[point] is not None
    assert _charged(office) == [str(query["name"]) for query in QUERIES], "charged before any answer was drawn"
    resumed = office.trasgo("resume", str(office.config), "--json")
    assert resumed.exit_code == 0, resumed.text
    _require_published(office, stored)


@pytest.mark.long
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_two_runs_at_once_are_charged_once_and_tell_the_same_answers(places: Places, database: str) -> None:
    """One of them can be told that the other works; then it finds the version published."""
    office = _asking(places, database)
    runs = [office.started("never", "query") for _ in range(2)]
    for run in runs:
        run.join(timeout=300)
    codes = sorted(-1 if run.exitcode is None else run.exitcode for run in runs)
    assert codes[0] == 0 and codes[1] in (0, 4), (office.folder / "killed.log").read_text()
    stored = _stored(office)
    again = office.trasgo("query", str(office.config), "--json")
    assert again.json["already_published"] is True, again.text
    _require_published(office, stored)
    assert Path(office.folder / "public" / "people" / "1" / "report.html").exists()
