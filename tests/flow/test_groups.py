"""A group of columns, from the release file to a published release that verifies."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from office import Office

from tasks.session import open_session

GROUP = ["region", "age", "sex"]
AGE = {
    "name": "age",
    "type": "number",
    "domain": {"lower": "18", "upper": "78", "step": "1", "unit": "years"},
    "noise_bins": 4,
    "outside": "clip",
}
SEX = {"name": "sex", "type": "category", "domain": {"codes": ["f", "m"]}, "missing": "code"}
REGION = {
    "name": "region",
    "type": "category",
    "domain": {
        "hierarchy": {"half": {"cold": ["north", "east"], "warm": ["south", "west"]}},
        "level": "half",
    },
}


def _group(office: Office, composition: str, **level: Any) -> None:
    """The office's release with three columns in one group, one of them with missing values."""
    office.release["columns"] = [AGE, {"name": "wave", "role": "public"}, SEX, REGION, {"name": "note", "role": "drop"}]
    office.release["groups"] = [{"name": "person", "columns": GROUP, "mechanism": "kary_randomized_response", **level}]
    office.release["loop"] |= {"composition": composition}
    people = office.folder / "people.csv"
    lines = people.read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines[1:]]
    for place, row in enumerate(rows):
        row[1] = "" if place % 10 == 0 else row[1]
    people.write_text("\n".join([lines[0], *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")


@pytest.fixture(scope="module", params=["sequential", "chain"])
def grouped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office that has published a release with a group; read only."""
    office = Office(tmp_path_factory.mktemp(f"groups-{request.param}"))
    _group(office, request.param, target={"tvd": "0.06"}, start="2")
    # every rung of the ladder fits, so the fresh noise of a run cannot decide whether the target is met
    office.release["privacy"]["epsilon_total"] = "60"
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    return office


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_a_group_is_published_in_release_order_and_verifies(grouped: Office) -> None:
    table = pq.read_table(grouped.public / "data/people.parquet")
    assert table.column_names == ["age", "wave", "sex", "region"]
    assert [str(field.type) for field in table.schema] == ["int64", "string", "string", "string"]
    assert [field.nullable for field in table.schema] == [False, True, True, False]
    # representatives of 4 bins of 18..78: the middle codes of 16, 15, 15 and 15 values
    assert set(table["age"].to_pylist()) == {25, 41, 56, 71}
    assert set(table["region"].to_pylist()) == {"cold", "warm"}
    assert set(table["sex"].to_pylist()) == {"f", "m", None}
    answer = grouped.trasgo("verify", str(grouped.public), "--json")
    assert answer.exit_code == 0, answer.text
    names = {(result["name"], result["subject"]) for result in answer.json["results"]}
    assert {("margin", name) for name in GROUP} <= names


def test_a_group_is_one_unit_with_one_budget(grouped: Office) -> None:
    statement, channels = _json(grouped.public / "statement.json"), _json(grouped.public / "channel.json")
    (unit,) = statement["units"]
    (channel,) = channels["units"]
    assert (unit["name"], unit["target"]["met"], channel["inputs"]) == ("person", True, 2 * 4 * 3)
    assert unit["epsilon_charged_draws_only"] == statement["epsilon_realised_draws_only"] == grouped.spent()
    assert [margin["column"] for margin in channel["margins"]] == GROUP
    assert [margin["places"] for margin in channel["margins"]] == [2, 4, 3]
    assert [margin["missing"]["policy"] for margin in channel["margins"]] == ["error", "error", "code"]
    levels = [draw.get("epsilon_draws_only", draw.get("level_draws_only")) for draw in unit["draws"]]
    whole = sum(float(level) for level in levels) if statement["composition"] == "sequential" else float(levels[-1])
    assert float(unit["epsilon_charged_draws_only"]) == pytest.approx(whole)


def test_losses_of_a_group_are_those_of_its_columns(grouped: Office) -> None:
    losses = _json(grouped.restricted / "losses.json")
    columns = {column["name"]: column for column in losses["losses"]["columns"]}
    assert set(columns) == set(GROUP) and {column["unit"] for column in columns.values()} == {"person"}
    assert max(column["tvd"] for column in columns.values()) <= 0.06
    report = (grouped.public / "report.md").read_text(encoding="utf-8")
    assert "24 combinations" in report and "combination kept with probability" in report


def test_a_second_run_of_a_group_changes_nothing(grouped: Office) -> None:
    spent = grouped.spent()
    assert grouped.run("--json").json["already_published"] is True
    assert grouped.spent() == spent


def test_an_edited_margin_fails_verification(grouped: Office, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(grouped.public, copy)
    channels = _json(copy / "channel.json")
    channels["units"][0]["margins"][1]["other"] = "1"
    (copy / "channel.json").write_text(json.dumps(channels), encoding="utf-8")
    answer = grouped.trasgo("verify", str(copy), "--json")
    assert answer.exit_code == 8
    failed = [(result["name"], result["subject"]) for result in answer.json["results"] if not result["passed"]]
    assert ("margin", "age") in failed


def test_the_plan_of_a_group_explains_it(office: Office) -> None:
    _group(office, "chain", epsilon="3")
    office.write()
    answer = office.trasgo("plan", str(office.config))
    open_session.cache_clear()
    assert answer.exit_code == 0, answer.text
    text = " ".join(answer.out.split())
    assert "person: group of region, age, sex, kary_randomized_response" in text
    assert "24 combinations of region: 2 codes: cold, warm; 4 codes of the file are coarsened to them" in text
    assert "in 4 bins of which each is released as its middle value" in text
    assert "sex: missing is one more code" in text and "age: a value outside the range moves" in text


def test_a_group_runs_on_losses_of_its_released_codes(office: Office) -> None:
    _group(office, "chain", target={"tvd": "0.4"}, start="3")
    office.release["loop"] |= {"loss_from": "released"}
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    statement = _json(office.public / "statement.json")
    assert statement["guarantee_covers_selection"] is True and statement["units"][0]["target"]["met"] is True
    assert office.trasgo("verify", str(office.public), "--json").exit_code == 0


@pytest.fixture(scope="module")
def correlated(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office that has published a group under a correlation target, judged from released codes; read only."""
    office = Office(tmp_path_factory.mktemp("groups-correlated"))
    lines = ["age,sex,region,wave,note"]
    for row in range(12_000):
        age = 18 + (row * 37 + row // 7) % 60
        sex = "f" if (age > 48) ^ (row % 5 == 0) else "m"
        region = ("north", "east", "south", "west")[2 * ((age > 40) ^ (row % 7 == 0)) + row % 2]
        lines.append(f"{age},{sex},{region},2026-{1 + row % 4},n{row}")
    (office.folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _group(office, "chain", target={"correlation_loss": "25"}, start="2")
    office.release["loop"] |= {"loss_from": "released"}
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    return office


def test_a_group_meets_a_correlation_target_from_its_released_codes(correlated: Office) -> None:
    statement = _json(correlated.public / "statement.json")
    assert statement["guarantee_covers_selection"] is True
    (unit,) = statement["units"]
    assert unit["target"]["met"] is True and float(unit["loss"]["high"]) <= 25
    levels = [float(draw["level"]) for draw in unit["draws"]]
    assert len(levels) > 1 and levels == sorted(levels)
    assert correlated.trasgo("verify", str(correlated.public), "--json").exit_code == 0


def test_estimated_correlation_losses_of_a_group_stand_beside_the_truth(correlated: Office) -> None:
    losses = _json(correlated.restricted / "losses.json")
    found = {column["name"]: column["correlation_loss"] for column in losses["estimates"]["columns"]}
    for column in losses["losses"]["columns"]:
        estimate = found[column["name"]]
        # 95 % intervals and fresh noise: four half widths away is a fault (false alarm below 1e-10)
        slack = 1.5 * (estimate["high"] - estimate["low"])
        assert estimate["low"] - slack <= column["correlation_loss"] <= estimate["high"] + slack
    report = (correlated.restricted / "report.md").read_text(encoding="utf-8")
    row = r"\| {} \| correlation.{{0,2}}loss \| [\d.]+ \| [\d.]+ to [\d.]+ \| [\d.]+ \|"
    assert all(re.search(row.format(name), report) for name in GROUP)


def test_an_audit_redraws_a_group_and_its_chain(grouped: Office) -> None:
    answer = grouped.trasgo("audit", str(grouped.config), "--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["redrawn"] and answer.json["bytes_compared"]
    redrawn = {result["subject"] for result in answer.json["results"] if result["name"] == "redrawn codes"}
    assert "person" in redrawn
