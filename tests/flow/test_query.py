"""Central queries through the command: answered once, charged once, published, verified, refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from office import Answer, Office

import tasks.publish_central
from flows.scheduled import scheduled_release
from trasgo_lib.errors import StoreError

QUERIES = [
    {"name": "by_sex", "type": "crosstab", "by": ["sex", "region"], "epsilon": "0.5", "max_groups": 1},
    {"name": "mean_age", "type": "mean", "column": "age", "epsilon": "0.5"},
    {"name": "median_age", "type": "median", "column": "age", "epsilon": "0.5"},
]


def _office(folder: Path, **privacy: str) -> Office:
    office = Office(folder)
    columns = []
    for column in office.release["columns"]:
        kept = {key: column[key] for key in ("name", "type", "domain", "outside", "source") if key in column}
        columns.append({"name": column["name"], "role": "drop"} if column.get("role", "noised") != "noised" else kept)
    office.release = {
        "format": 1,
        "release": office.release["release"],
        "source": office.release["source"],
        "privacy": {"epsilon_total": "2", "account": office.release["privacy"]["account"], **privacy},
        "columns": columns,
        "queries": [{k: v for k, v in query.items() if k != "max_groups"} for query in QUERIES],
        "publish": office.release["publish"],
    }
    return office


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office whose first answers were interrupted before they were published, and published by the second run."""
    office = _office(tmp_path_factory.mktemp("query"))
    office.open("2")
    with pytest.MonkeyPatch.context() as patch:

        def unreachable(*_: object) -> None:
            raise StoreError.of("store_refused", "store", required="a store", came="none", fix="Wait.")  # type: ignore[arg-type]

        patch.setattr(tasks.publish_central, "publish_package", unreachable)
        broken = office.trasgo("query", str(office.config), "--quiet")
    assert broken.exit_code == 10, broken.text
    stored = {path.name: path.read_bytes() for path in (office.restricted / "answers").iterdir()}
    assert len(stored) == 3 and not (office.public / "manifest.json").exists()
    assert office.spent() == "1.5"
    again = office.trasgo("query", str(office.config), "--json")
    assert again.exit_code == 0, again.text
    assert {path.name: path.read_bytes() for path in (office.restricted / "answers").iterdir()} == stored
    assert office.spent() == "1.5"
    return office


def test_a_published_version_is_left_as_it_is_and_tells_the_same_answers(answered: Office) -> None:
    told = answered.trasgo("query", str(answered.config), "--json")
    assert told.exit_code == 0 and told.json["already_published"] is True
    assert told.json["spent"]["total"]["epsilon"] == "1.5"
    assert {name: cost["epsilon"] for name, cost in told.json["spent"]["queries"].items()} == {
        "by_sex": "0.5",
        "mean_age": "0.5",
        "median_age": "0.5",
    }
    published = json.loads((answered.public / "data/answers.json").read_text(encoding="utf-8"))
    assert told.json["answers"] == published["queries"]
    assert [query["name"] for query in published["queries"]] == [query["name"] for query in QUERIES]
    assert answered.spent() == "1.5"


def test_the_scheduled_flow_takes_a_statistics_file(answered: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRASGO_HOME", str(answered.home))
    monkeypatch.setenv("TRASGO_ACTOR", "scheduler")
    before = {path: path.read_bytes() for path in answered.public.rglob("*") if path.is_file()}
    assert scheduled_release(str(answered.config), return_state=True).is_completed()
    assert {path: path.read_bytes() for path in answered.public.rglob("*") if path.is_file()} == before
    assert answered.spent() == "1.5"
    status = answered.trasgo("status", str(answered.config), "--json").json
    assert status["state"] == "published" and "scheduler" not in {event["actor"] for event in status["events"]}


def test_the_package_verifies_and_every_file_of_it_matters(answered: Office, tmp_path: Path) -> None:
    assert answered.trasgo("verify", str(answered.public)).exit_code == 0
    files = sorted(path for path in answered.public.rglob("*") if path.is_file())
    assert len(files) == 17
    for path in files:
        copy = tmp_path / path.name
        shutil.copytree(answered.public, copy)
        target = copy / path.relative_to(answered.public)
        target.write_bytes(target.read_bytes().replace(b"1", b"2", 1) if b"1" in target.read_bytes() else b"x")
        assert answered.trasgo("verify", str(copy)).exit_code == 8, path.name


def test_raw_values_stay_out_of_the_public_root(answered: Office) -> None:
    statement = json.loads((answered.public / "statement.json").read_text(encoding="utf-8"))
    assert statement["kind"] == "statistics" and statement["spent"]["epsilon"] == "1.5"
    assert statement["queries"][0]["parts"][0]["sensitivity"]["l1"] == "2"
    assert "trusted curator" in statement["guarantee"]


def test_a_stored_answer_that_is_gone_is_never_drawn_again(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.open("2")
    with pytest.MonkeyPatch.context() as patch:

        def unreachable(*_: object) -> None:
            raise StoreError.of("store_refused", "store", required="a store", came="none", fix="Wait.")  # type: ignore[arg-type]

        patch.setattr(tasks.publish_central, "publish_package", unreachable)
        assert office.trasgo("query", str(office.config), "--quiet").exit_code == 10
    stored = office.restricted / "answers" / "mean_age.json"
    stored.chmod(0o600)
    stored.write_text(json.dumps(json.loads(stored.read_text(encoding="utf-8")) | {"commitment": "0" * 64}))
    foreign = office.trasgo("query", str(office.config), "--quiet")
    assert foreign.exit_code == 4 and "another root" in foreign.text, foreign.text
    stored.unlink()
    gone = office.trasgo("query", str(office.config), "--quiet")
    assert gone.exit_code == 4 and "mean_age" in gone.text, gone.text
    office.release["queries"][0]["epsilon"] = "0.4"
    office.write()
    changed = office.trasgo("query", str(office.config), "--quiet")
    assert changed.exit_code == 4 and "plan" in changed.text


def test_a_depleted_account_refuses_before_data_is_opened(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.open("1.4")
    (tmp_path / "people.csv").unlink()
    refused = office.trasgo("query", str(office.config), "--quiet")
    assert refused.exit_code == 5 and "over_cap" in refused.text, refused.text
    assert office.spent() == "0"


def test_commands_take_the_file_they_are_for(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.open("2")
    run = office.trasgo("run", str(office.config))
    assert run.exit_code == 2 and "trasgo query" in run.text
    for verb in ("forecast", "audit"):
        other = office.trasgo(verb, str(office.config))
        assert other.exit_code == 2 and "trasgo query" in other.text and "mechanism" not in other.text, other.text
    doctor = office.trasgo("doctor", str(office.config))
    assert doctor.exit_code == 0 and "statistics file: no fault, 3 queries" in doctor.out, doctor.text
    office.release["rows"] = 1200
    office.release["queries"][0] |= {"epsilon": "0.01", "suppress_below": "5"}
    office.release["queries"][1]["column"] = "agee"
    office.write()
    wrong = office.trasgo("doctor", str(office.config), "--json")
    assert wrong.exit_code == 2, wrong.text
    (fault,) = [one for one in wrong.json["fix"] if "queries" in one["words"]]
    assert "queries[mean_age].column" in fault["words"] and "agee" in fault["words"]
    assert "agee" in office.config.read_text(encoding="utf-8").splitlines()[fault["line"] - 1]
    office.release["queries"][1]["column"] = "age"
    office.write()
    looked = office.trasgo("doctor", str(office.config), "--json").json["look"]
    found = {one["words"].split(":")[0]: one["line"] for one in looked if one["words"].startswith("query by_sex")}
    lines = office.config.read_text(encoding="utf-8").splitlines()
    assert any("0.01" in lines[one["line"] - 1] for one in looked if "noise of a cell" in one["words"]), looked
    assert any("empty cells can be told" in one["words"] for one in looked) and found
    started = office.trasgo("resume", str(office.config))
    assert started.exit_code == 4 and "trasgo query" in started.text, started.text
    release = Office(tmp_path)
    release.config = tmp_path / "other.yaml"
    release.write()
    asked = release.trasgo("query", str(release.config))
    assert asked.exit_code == 2 and "trasgo run" in asked.text and "loop" not in asked.text
    office.release["queries"][0] = {k: v for k, v in QUERIES[0].items() if k != "max_groups"}
    office.write()
    plan = office.trasgo("plan", str(office.config), "--json")
    assert plan.exit_code == 0 and plan.json["cost"]["epsilon"] == "1.5"
    assert "sensitivity" in office.trasgo("plan", str(office.config)).out


def _waiting(folder: Path, **publish: object) -> Office:
    office = _office(folder)
    office.release["queries"] = office.release["queries"][1:2]
    office.release["publish"] |= publish
    office.open("2")
    answer = office.trasgo("query", str(office.config), "--json")
    assert answer.exit_code == 9, answer.text
    assert (answer.json["state"], answer.json["public"], answer.json["answers"]) == ("checked", None, None)
    return office


def _by(office: Office, name: str, *arguments: str) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(office, "actor", name)
        return office.trasgo(*arguments, str(office.config))


def test_answers_wait_for_four_eyes_are_published_corrected_and_withdrawn(tmp_path: Path) -> None:
    office = _waiting(tmp_path, approvals=1)
    assert not office.public.exists() and office.spent() == "0.5"
    waiting = office.restricted / "waiting"
    assert (waiting / "report.html").exists() and (office.restricted / "report.md").exists()
    refused = _by(office, "tester", "approve", "--yes")
    assert refused.exit_code == 4 and "did not run it" in refused.text
    shown = _by(office, "eva", "approve")
    assert "question  mean_age: The mean of age (years); epsilon 0.5" in shown.text, shown.text
    assert "manifest  sha256" in shown.text and "loop" not in shown.text
    told = office.trasgo("query", str(office.config), "--quiet")
    assert told.exit_code == 9 and "Waiting: people/1" in told.text and "median" not in told.text
    approved = _by(office, "eva", "approve", "--yes")
    assert approved.exit_code == 0 and "trasgo query" in approved.out, approved.text
    before = {path.name: path.read_bytes() for path in waiting.rglob("*") if path.is_file()}
    published = office.trasgo("resume", str(office.config), "--json")
    assert published.exit_code == 0 and published.json["state"] == "published", published.text
    after = {path.name: path.read_bytes() for path in office.public.rglob("*") if path.is_file()}
    assert after == before and office.spent() == "0.5"
    assert office.trasgo("verify", str(office.public)).exit_code == 0

    office.release["release"] |= {
        "version": "2",
        "supersedes": {"version": "1", "reason": "error", "note": "3 rows came late"},
    }
    office.release["publish"]["approvals"] = 0
    office.write()
    corrected = office.trasgo("query", str(office.config), "--json")
    assert corrected.exit_code == 0 and office.spent() == "1", corrected.text
    second = office.public.parent / "2"
    statement = json.loads((second / "statement.json").read_text(encoding="utf-8"))
    assert statement["supersedes"]["note"] == "3 rows came late"
    assert (office.public.parent / "_ERRATA" / "2.json").exists()
    assert office.trasgo("verify", str(second)).exit_code == 0
    withdrawn = office.trasgo("withdraw", str(office.config), "--reason", "wrong file", "--yes")
    assert withdrawn.exit_code == 0 and "report.html" in withdrawn.out, withdrawn.text
    left = {path.name for path in second.rglob("*") if path.is_file()}
    assert not left & {"answers.json", "answers.csv", "report.html", "report.md"} and "withdrawn.json" in left
    gone = office.trasgo("verify", str(second), "--json")
    assert gone.exit_code == 8
    assert {one["name"] for one in gone.json["results"] if not one["passed"]} == {"withdrawn"}, gone.json["results"]
    again = office.trasgo("query", str(office.config), "--json")
    assert (again.json["state"], again.json["answers"], office.spent()) == ("withdrawn", None, "1")


@pytest.mark.long
def test_an_embargo_keeps_answers_back_and_a_missed_one_holds_them(tmp_path: Path) -> None:
    office = _waiting(tmp_path, embargo="2099-12-15T09:30:00 Europe/Madrid", approvals=1)
    office.release["publish"]["embargo"] = "2020-01-02T09:30:00 Europe/Madrid"
    office.write()
    assert office.trasgo("query", str(office.config), "--json").json["awaits"] == "approval_missing"
    status = office.trasgo("status", str(office.config), "--json").json
    assert status["state"] in ("checked", "held") and not office.public.exists()
