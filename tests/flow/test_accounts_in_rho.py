"""Accounts in rho and accounts with parts through the command: opened, charged, shown, and refused with exit 5 or 4."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from office import Office, source_text

COLUMNS = {"age", "sex", "region"}


def _queries(folder: Path, *queries: dict[str, Any], **more: Any) -> Office:
    office = Office(folder)
    columns = []
    for column in office.release["columns"]:
        kept = {key: column[key] for key in ("name", "type", "domain", "outside", "source") if key in column}
        is_noised = column.get("role", "noised") == "noised"
        columns.append(kept if is_noised else {"name": column["name"], "role": "drop"})
    account = office.release["privacy"]["account"]
    office.release = {
        "format": 1,
        "release": office.release["release"],
        "source": office.release["source"],
        "privacy": {"epsilon_total": "20", "delta_total": "0.0001", "account": account},
        "columns": columns,
        "rows": 300,
        "queries": [dict(query) for query in queries],
        "publish": office.release["publish"],
        **more,
    }
    return office


def _open(office: Office, *caps: str) -> Any:
    office.write()
    assert office.trasgo("key", "init", "--if-absent").exit_code == 0
    return office.trasgo("ledger", "open", str(office.config), "--population", "made-up people", *caps)


def _counts(*rhos: str) -> list[dict[str, Any]]:
    return [
        {"name": f"q{n}", "type": "histogram", "column": "region", "rho": rho, "delta": "1e-6"}
        for n, rho in enumerate(rhos)
    ]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office whose account of rho 0.3 was spent on three queries of two parts and all rows."""
    south = {"of": "side", "part": "south"}
    first, second, third = _counts("0.1", "0.2", "0.1")
    declared = [
        {
            "name": "side",
            "column": "sex",
            "parts": [{"name": "south", "codes": ["f"]}, {"name": "north", "codes": ["m"]}],
        }
    ]
    office = _queries(
        tmp_path_factory.mktemp("rho"),
        {**first, "part": south},
        {**second, "part": {**south, "part": "north"}},
        third,
        partitions=declared,
    )
    opened = _open(office, "--rho", "0.4", "--delta", "0.000001")
    assert opened.exit_code == 0 and "rho 0.4; epsilon" in opened.out, opened.text
    told = office.trasgo("query", str(office.config), "--json")
    assert told.exit_code == 0, told.text
    return office


def test_answers_of_parts_are_charged_in_rho_and_verify(answered: Office) -> None:
    shown = answered.trasgo("ledger", "show", str(answered.config), "--json").json
    assert (shown["composition"], shown["spent"]["rho"], shown["left"]) == (
        "zcdp, delta 0.000001",
        "0.4",
        {"epsilon": "0", "delta": "0", "geo": "0"},
    )
    assert [entry["unit"] for entry in shown["entries"]] == ["partition side", "q2"]
    assert shown["compositions"]["governs"] == "zcdp" and shown["compositions"]["rho"] == "0.4"
    assert answered.trasgo("verify", str(answered.public)).exit_code == 0
    statement = json.loads((answered.public / "statement.json").read_text(encoding="utf-8"))
    assert statement["account_to_date"]["rho"] == "0.4"
    assert float(statement["account_to_date"]["epsilon"]) == float(statement["spent"]["epsilon"]) > 5


def test_the_terminal_shows_what_governs(answered: Office) -> None:
    shown = answered.trasgo("ledger", "show", str(answered.config))
    assert shown.exit_code == 0 and "governs  zCDP" in shown.out, shown.text
    assert "spent rho 0.4" in shown.out and "left  rho 0" in shown.out
    assert answered.trasgo("ledger", "check", str(answered.config)).exit_code == 0


def test_a_depleted_account_refuses_queries_and_releases(answered: Office) -> None:
    before = answered.release
    try:
        answered.release = {**before, "release": {**before["release"], "version": "2"}}
        answered.write()
        refused = answered.trasgo("query", str(answered.config))
        assert refused.exit_code == 5 and "over_cap" in refused.text, refused.text
        fresh = Office(answered.folder)
        answered.release = {**fresh.release, "release": {**fresh.release["release"], "version": "3"}}
        answered.write()
        refused = answered.run()
        assert refused.exit_code == 5 and "over_cap" in refused.text, refused.text
    finally:
        answered.release = before
        answered.write()
    assert answered.trasgo("query", str(answered.config)).exit_code == 0  # published: left as it is


@pytest.mark.parametrize(
    ("caps", "says"),
    [
        (("--rho", "1"), "--delta beside --rho"),
        (("--rho", "1", "--delta", "0.1", "--epsilon", "1"), "--epsilon, or --rho"),
        (("--epsilon", "1", "--renyi-order", "8"), "--rho with --renyi-order"),
        (("--rho", "1", "--delta", "0.1", "--renyi-order", "1"), "order from 2"),
        ((), "some epsilon, rho or geo epsilon"),
        (("--epsilon", "1", "--partition", "region=north"), "at least two parts"),
    ],
)
def test_an_account_is_opened_in_one_composition_or_not_at_all(
    tmp_path: Path, caps: tuple[str, ...], says: str
) -> None:
    office = _queries(tmp_path, *_counts("0.1"))
    refused = _open(office, *caps)
    assert refused.exit_code == 2 and says in " ".join(refused.text.split()), refused.text


def test_a_version_of_a_part_that_the_account_did_not_declare_is_refused(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.release["privacy"]["partition"] = {"of": "area", "part": "north", "parts_per_unit": 1}
    assert _open(office, "--epsilon", "9", "--partition", "area=south,east").exit_code == 0
    refused = office.run()
    assert refused.exit_code == 4 and "account_mismatch" in refused.text, refused.text
    assert "area (parts_per_unit 1): south, east" in " ".join(refused.text.split())


def test_a_unit_in_two_parts_of_public_membership_stops_the_run_before_anything_is_charged(tmp_path: Path) -> None:
    """The larger part is charged: people with rows in both would lose the sum."""
    parts = [{"name": "north", "codes": ["north"]}, {"name": "south", "codes": ["south", "east", "west"]}]
    office = _queries(
        tmp_path,
        {"name": "q", "type": "count", "part": {"of": "area", "part": "north"}, "epsilon": "1"},
        partitions=[{"name": "area", "column": "region", "membership": "public", "parts": parts}],
    )
    office.release["privacy"]["unit"] = {"column": "note", "max_rows": 2}
    office.column("note")["role"] = "unit"
    lines = source_text().splitlines()
    pairs = [f"{line.rpartition(',')[0]},n{row // 2}" for row, line in enumerate(lines[1:])]
    (tmp_path / "people.csv").write_text("\n".join([lines[0], *pairs]) + "\n", encoding="utf-8")
    assert _open(office, "--epsilon", "9", "--partition", "area=north,south").exit_code == 0
    refused = office.trasgo("query", str(office.config))
    assert refused.exit_code == 3 and "at most 1 part of area" in " ".join(refused.text.split()), refused.text
    assert office.trasgo("ledger", "show", str(office.config), "--json").json["entries"] == []


def test_releases_of_two_declared_parts_cost_the_larger(tmp_path: Path) -> None:
    """B73 through the command: two regions, one account, and the statement that says so."""
    office = Office(tmp_path)
    for name in ("sex", "region"):
        office.column(name).update(epsilon="1.5")
        office.column(name).pop("target")
    office.release["loop"] = {}
    opened = _open(office, "--epsilon", "9", "--partition", "area=north,south")
    assert opened.exit_code == 0, opened.text
    spent = []
    for version, part in (("1", "north"), ("2", "south")):
        office.release["release"]["version"] = version
        office.release["privacy"]["partition"] = {"of": "area", "part": part, "parts_per_unit": 1}
        office.write()
        if version == "2":
            refused = office.run("--quiet")
            assert refused.exit_code == 4 and "same input" in refused.text, "the north's rows, released as the south's"
            (office.folder / "people.csv").write_text(source_text(260), encoding="utf-8")
        done = office.run("--quiet")
        assert done.exit_code == 0, done.text
        spent.append(office.spent())
    assert spent == ["6", "6"]
    package = office.public.parent / "2"
    assert office.trasgo("verify", str(package)).exit_code == 0
    words = json.loads((package / "statement.json").read_text(encoding="utf-8"))["account_to_date"]["in_words"]
    assert "part south of the partition area" in words and "not protected" in words
    shown = office.trasgo("ledger", "show", str(office.config))
    assert "parts one after another" in shown.out and "area: north, south" in shown.out
