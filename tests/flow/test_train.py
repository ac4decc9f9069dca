"""Training through the command: killed, resumed with the same weights, charged once, published, verified, refused."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from office import Answer, Office
from trained import training_file

import tasks.publish_central
import tasks.train
from trasgo_lib.errors import StoreError
from trasgo_lib.training import open_model
from trasgo_lib.training.fitting import fit

CANARY = "7391846275"


def _office(folder: Path) -> Office:
    office = Office(folder)
    rest = [{"name": name, "role": "drop"} for name in ("wave", "note")]
    document = training_file(steps=40, learning_rate="4")
    columns = [*document["columns"], *rest]
    office.release = document | {"columns": columns}
    return office


def _open(office: Office, epsilon: str) -> None:
    office.open(epsilon, delta="1e-4")


def _train(office: Office, *arguments: str) -> Answer:
    return office.trasgo("train", str(office.config), *arguments)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Office, dict[str, Any]]:
    """An office whose training was ended before it was stored, then before it was published; and its weights."""
    office = _office(tmp_path_factory.mktemp("train"))
    _open(office, "4")
    first: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:

        def lost(*arguments: Any, **named: Any) -> Any:
            first.update(fit(*arguments, **named).to_json())
            raise StoreError.of("store_refused", "store", required="a store", came="none", fix="Wait.")  # type: ignore[arg-type]

        patch.setattr(tasks.train, "fit", lost)
        broken = _train(office, "--quiet")
    assert broken.exit_code == 10, broken.text
    assert not (office.restricted / "model.json").exists()
    assert office.spent() == first.setdefault("spent", office.spent())
    with pytest.MonkeyPatch.context() as patch:

        def unreachable(*_: object) -> None:
            raise StoreError.of("store_refused", "store", required="a store", came="none", fix="Wait.")  # type: ignore[arg-type]

        patch.setattr(tasks.publish_central, "publish_package", unreachable)
        assert _train(office, "--quiet").exit_code == 10
    drawn = tmp_path_factory.mktemp("drawn")
    shutil.copytree(office.folder, drawn, dirs_exist_ok=True)
    stored = json.loads((office.restricted / "model.json").read_text(encoding="utf-8"))
    assert stored["weights"] == first["weights"]
    assert not (office.public / "manifest.json").exists()
    told = _train(office, "--json")
    assert told.exit_code == 0, told.text
    return office, {
        "told": told.json,
        "weights": first["weights"],
        "spent": first["spent"],
        "stored": stored,
        "drawn": drawn,
    }


def test_a_killed_training_is_charged_once_and_gives_the_same_weights(trained: tuple[Office, dict[str, Any]]) -> None:
    office, found = trained
    published = json.loads((office.public / "data/model.json").read_text(encoding="utf-8"))
    assert published["layers"] == found["weights"]
    assert published["accuracy"]["right"] == found["stored"]["measured"]["right"]
    assert office.spent() == found["spent"] == found["told"]["spent"]["total"]["epsilon"]
    assert found["told"]["already_published"] is False and found["told"]["accuracy"] == published["accuracy"]
    assert set(found["told"]["spent"]["charges"]) == {"model", "noise table", "accuracy"}


def test_a_published_version_is_left_as_it_is(trained: tuple[Office, dict[str, Any]]) -> None:
    office, found = trained
    again = _train(office, "--quiet")
    assert again.exit_code == 0 and "Nothing was drawn, nothing was spent" in again.out
    assert office.spent() == found["spent"]
    status = office.trasgo("status", str(office.config))
    assert status.exit_code == 0 and "published" in status.out
    shown = office.trasgo("ledger", "show", str(office.config))
    assert "noise table" in shown.out and office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def test_the_package_verifies_and_every_file_of_it_matters(
    trained: tuple[Office, dict[str, Any]], tmp_path: Path
) -> None:
    office, _ = trained
    answer = office.trasgo("verify", str(office.public), "--key", str(office.public / "signing-key.pem"))
    assert answer.exit_code == 0, answer.text
    files = sorted(path for path in office.public.rglob("*") if path.is_file())
    assert len(files) == 14
    for path in files:
        copy = tmp_path / path.name
        shutil.copytree(office.public, copy)
        target = copy / path.relative_to(office.public)
        target.write_bytes(target.read_bytes().replace(b"1", b"2", 1) if b"1" in target.read_bytes() else b"x")
        assert office.trasgo("verify", str(copy)).exit_code == 8, path.name
    assert open_model(office.public).predict({"age": [20], "region": ["west"]}).tolist()[0] in ("f", "m")


def test_another_plan_and_a_lost_model_are_refused(trained: tuple[Office, dict[str, Any]], tmp_path: Path) -> None:
    copy = _office(tmp_path)
    copy.release = json.loads(json.dumps(trained[0].release))
    shutil.copytree(trained[0].folder, tmp_path, dirs_exist_ok=True)
    copy.release["model"]["learning_rate"] = "5"
    copy.write()
    changed = _train(copy, "--quiet")
    assert changed.exit_code == 4 and "plan" in changed.text, changed.text


def test_a_model_that_is_gone_or_changed_after_it_was_drawn_is_never_trained_again(
    trained: tuple[Office, dict[str, Any]],
) -> None:
    office = _office(trained[1]["drawn"])
    office.write()
    stored, spent = office.restricted / "model.json", office.spent()
    before = stored.read_bytes()
    stored.unlink()
    gone = _train(office, "--quiet")
    assert gone.exit_code == 4 and "the model that was drawn once" in gone.text and "none" in gone.text, gone.text
    assert not stored.exists() and not (office.public / "manifest.json").exists()
    other = json.loads(before)
    other["measured"]["right"] += 1
    stored.write_text(json.dumps(other, sort_keys=True), encoding="utf-8")
    changed = _train(office, "--quiet")
    assert changed.exit_code == 4 and "another model than was recorded" in changed.text, changed.text
    assert office.spent() == spent and not (office.public / "manifest.json").exists()


def _by(office: Office, name: str, *arguments: str) -> Answer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(office, "actor", name)
        return office.trasgo(*arguments, str(office.config))


def test_a_model_waits_for_four_eyes_is_published_corrected_and_withdrawn(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.release["publish"]["approvals"] = 1
    _open(office, "6")
    waits = _train(office, "--json")
    assert waits.exit_code == 9, waits.text
    told = {name: waits.json[name] for name in ("state", "public", "awaits", "accuracy")}
    assert told == {"state": "checked", "public": None, "awaits": "approval_missing", "accuracy": None}
    spent, waiting = office.spent(), office.restricted / "waiting"
    assert not office.public.exists() and (waiting / "model_card.md").exists()
    evidence = {name: (office.restricted / name).read_text(encoding="utf-8") for name in ("ledger.json", "report.md")}
    assert "noise table" in evidence["ledger.json"] and "noise table" in evidence["report.md"]
    assert json.loads((office.restricted / "provenance.json").read_text(encoding="utf-8"))["provenance"]["plan_digest"]
    refused = _by(office, "tester", "approve", "--yes")
    assert refused.exit_code == 4 and "did not run it" in refused.text
    shown = _by(office, "eva", "approve")
    assert "model     logistic_regression of sex from age, region; 40 steps" in shown.text, shown.text
    assert "charged   accuracy: epsilon 0.5" in shown.text and "holds     6 weights and an accuracy" in shown.text
    again = _train(office, "--quiet")
    assert again.exit_code == 9 and "Waiting: people/1" in again.text and "accuracy" not in again.text
    approved = _by(office, "eva", "approve", "--yes")
    assert approved.exit_code == 0 and "trasgo train" in approved.out, approved.text
    before = {path.name: path.read_bytes() for path in waiting.rglob("*") if path.is_file()}
    published = office.trasgo("resume", str(office.config), "--json")
    assert published.exit_code == 0 and published.json["state"] == "published", published.text
    after = {path.name: path.read_bytes() for path in office.public.rglob("*") if path.is_file()}
    assert after == before and office.spent() == spent
    assert office.trasgo("verify", str(office.public)).exit_code == 0

    correction = {"version": "2", "supersedes": {"version": "1", "reason": "error", "note": "3 rows came late"}}
    office.release["release"] |= correction
    office.release["publish"]["approvals"] = 0
    office.write()
    corrected = _train(office, "--json")
    assert corrected.exit_code == 0, corrected.text
    assert float(office.spent()) == pytest.approx(2 * float(spent))
    second = office.public.parent / "2"
    statement = json.loads((second / "statement.json").read_text(encoding="utf-8"))
    assert statement["supersedes"]["note"] == "3 rows came late"
    assert (office.public.parent / "_ERRATA" / "2.json").exists()
    assert office.trasgo("verify", str(second)).exit_code == 0
    withdrawn = office.trasgo("withdraw", str(office.config), "--reason", "wrong file", "--yes")
    assert withdrawn.exit_code == 0 and "model.json" in withdrawn.out, withdrawn.text
    left = {path.name for path in second.rglob("*") if path.is_file()}
    assert not left & {"model.json", "model_card.md", "report.html"}
    assert {"withdrawn.json", "statement.json", "dp_statement.json"} <= left
    gone = office.trasgo("verify", str(second), "--json")
    assert gone.exit_code == 8
    assert {one["name"] for one in gone.json["results"] if not one["passed"]} == {"withdrawn"}, gone.json["results"]
    over = _train(office, "--json")
    assert (over.json["state"], over.json["accuracy"]) == ("withdrawn", None), over.text
    assert _train(office, "--quiet").out.startswith("Withdrawn: people/2")
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def test_an_embargo_keeps_a_model_back_and_publishes_what_waited(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.release["publish"]["embargo"] = "2099-12-16T09:30:00 Europe/Madrid"
    _open(office, "4")
    waits = _train(office, "--json")
    assert waits.exit_code == 9, waits.text
    told = {name: waits.json[name] for name in ("state", "public", "awaits", "accuracy")}
    assert told == {"state": "checked", "public": None, "awaits": "embargo", "accuracy": None}
    spent, waiting = office.spent(), office.restricted / "waiting"
    before = {path.relative_to(waiting): path.read_bytes() for path in waiting.rglob("*") if path.is_file()}
    assert not office.public.exists() and Path("report.html") in before and Path("dp_statement.json") in before
    assert _by(office, "eva", "approve", "--yes").exit_code == 4, "it waits for its hour, not for people"
    assert _train(office, "--quiet").exit_code == 9 and not office.public.exists()
    office.release["publish"]["embargo"] = "2020-01-02T09:30:00 Europe/Madrid"
    office.write()
    published = _train(office, "--json")
    assert published.exit_code == 0 and published.json["state"] == "published", published.text
    after = {path.relative_to(office.public): path.read_bytes() for path in office.public.rglob("*") if path.is_file()}
    assert after == before and office.spent() == spent
    assert office.trasgo("verify", str(office.public)).exit_code == 0


def test_a_depleted_account_refuses_before_data_is_opened(tmp_path: Path) -> None:
    office = _office(tmp_path)
    _open(office, "2.4")
    (tmp_path / "people.csv").unlink()
    refused = _train(office, "--quiet")
    assert refused.exit_code == 5 and "over_cap" in refused.text, refused.text
    assert office.spent() == "0"


def test_a_wrong_public_file_is_named_before_anything_is_paid(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.release["evaluation"] = {"public_file": "public.csv"}
    header = "age,sex,region,wave,note\n"
    (tmp_path / "public.csv").write_text(f"{header}20,f,west,2026-1,n\n30,x,west,2026-1,n\n", encoding="utf-8")
    _open(office, "4")
    wrong = _train(office, "--quiet")
    assert wrong.exit_code == 3 and "evaluation.public_file, sex" in wrong.text, wrong.text
    assert office.spent() == "0"
    (tmp_path / "public.csv").write_text(f"{header}20,f,west,2026-1,n\n30,m,west,2026-1,n\n", encoding="utf-8")
    right = _train(office, "--json")
    assert right.exit_code == 0 and right.json["accuracy"]["rows"] == 2, right.text
    assert office.trasgo("verify", str(office.public)).exit_code == 0


def test_commands_take_the_file_they_are_for(tmp_path: Path) -> None:
    office = _office(tmp_path)
    office.write()
    ran = office.run()
    assert ran.exit_code == 2 and "trasgo train" in ran.text
    asked = office.trasgo("query", str(office.config))
    assert asked.exit_code == 2 and "trasgo train" in asked.text and "trasgo run" not in asked.text
    resumed = office.trasgo("resume", str(office.config))
    assert resumed.exit_code != 0 and "trasgo query" not in resumed.text and "trasgo run" not in resumed.text
    planned = office.trasgo("plan", str(office.config), "--json")
    assert planned.exit_code == 0 and planned.json["training"]["parameters"] == 6
    del office.release["model"]
    office.write()
    trained = _train(office)
    assert trained.exit_code == 2 and "with `model`" in trained.text


def test_a_marked_value_of_a_training_appears_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The training breaks while it holds a marked row: no log, state, error or file shows it."""
    caplog.set_level(logging.DEBUG)
    office = _office(tmp_path)
    text = (tmp_path / "people.csv").read_text(encoding="utf-8")
    (tmp_path / "people.csv").write_text(text.replace("\n18,", f"\n{CANARY},", 1), encoding="utf-8")
    _open(office, "4")
    with pytest.MonkeyPatch.context() as patch:

        def broken(*arguments: Any, **named: Any) -> Any:
            raise ValueError(f"row {CANARY} of {arguments!r} cannot be used")

        patch.setattr(tasks.train, "fit", broken)
        answer = _train(office)
    assert answer.exit_code == 1, answer.text
    folders = (tmp_path, Path(os.environ["PREFECT_HOME"]))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.name != "people.csv"]
    assert not [path for path in files if CANARY.encode() in path.read_bytes()]
    assert CANARY not in answer.text
    assert not [record for record in caplog.records if CANARY in record.getMessage() + (record.exc_text or "")]
