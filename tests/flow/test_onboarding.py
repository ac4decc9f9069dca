"""From a data file to a rehearsal, as a new user goes: init, decide, doctor, run --rehearse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from office import Answer, Office
from ruamel.yaml import YAML

from trasgo_lib.analysis import open_release
from trasgo_lib.errors import VerificationError

ANSWERS = Path(__file__).parent / "configs" / "people_answers.yaml"
UNDECIDED = "undecided"


def _decided(draft: Any, answers: Any) -> Any:
    """A draft with its answers: a role takes the place of all that was asked, undecided leaves a key out."""
    if not isinstance(answers, dict) or not isinstance(draft, dict):
        return answers
    if "role" in answers:
        return {"name": draft["name"], **answers}
    merged = {key: _decided(draft.get(key), value) if key in draft else value for key, value in answers.items()}
    kept = {key: value for key, value in draft.items() if key not in merged}
    return {key: value for key, value in {**kept, **merged}.items() if value != UNDECIDED}


def _fill_in(office: Office, draft: str) -> None:
    """Write the release file: the draft, decided."""
    document = YAML(typ="safe").load(draft)
    answers = YAML(typ="safe").load(ANSWERS.read_text(encoding="utf-8"))
    columns = answers.pop("columns")
    office.release = _decided(document, answers)
    office.release["columns"] = [_decided(entry, columns.get(entry["name"], entry)) for entry in document["columns"]]
    office.write()


def _everything(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Office, Answer]:
    """An office that has a decided draft and nothing else: no key, no account, no source; and its rehearsal."""
    office = Office(tmp_path_factory.mktemp("new"))
    draft = office.trasgo("init", str(office.folder / "people.csv"))
    assert draft.exit_code == 0, draft.text
    _fill_in(office, draft.out)
    (office.folder / "people.csv").rename(office.folder / "away.csv")
    return office, office.trasgo("run", "--rehearse", str(office.config), "--json", "--rows", "400")


def _package(office: Office) -> Path:
    return office.folder / "store" / "restricted" / "rehearsals" / "people" / "1" / "package"


def test_a_draft_is_refused_at_every_key_and_the_doctor_is_named(office: Office) -> None:
    draft = office.trasgo("init", str(office.folder / "people.csv"))
    office.config.write_text(draft.out, encoding="utf-8")
    for command in (("plan",), ("run",), ("run", "--rehearse")):
        answer = office.trasgo(*command, str(office.config))
        assert answer.exit_code == 2
        assert answer.err.count("came undecided [undecided]") == draft.out.count(": undecided")
        assert "trasgo doctor" in answer.err
    assert not office.home.exists(), "nothing was started for it"
    found = office.trasgo("doctor", str(office.config))
    assert found.exit_code == 2
    assert "undecided in columns[age]: domain.lower, domain.upper, domain.step" in found.out


def test_a_rehearsal_goes_all_the_way_without_source_key_or_account(rehearsed: tuple[Office, Answer]) -> None:
    office, answer = rehearsed
    assert answer.exit_code == 0, answer.text
    told = answer.json
    assert (told["rehearsal"], told["release"], told["rows"]) == (True, "people/1", 400)
    assert told["evenly_spread"] == ["age", "sex", "region"]
    assert told["folder"] == _package(office).parent.as_uri()
    assert pq.read_table(_package(office) / "data" / "people.parquet").num_rows == 400
    assert set(told["spent"]["units"]) == {"age", "sex", "region"}


def test_it_touches_neither_ledger_nor_key_nor_public_root(rehearsed: tuple[Office, Answer]) -> None:
    office, _ = rehearsed
    store = office.folder / "store"
    assert [path.name for path in store.iterdir()] == ["restricted"]
    assert [path.name for path in (store / "restricted").iterdir()] == ["rehearsals"]
    assert [path.name for path in (store / "restricted" / "rehearsals").iterdir()] == ["people"], "no work is left"
    assert not {name for name in _everything(office.folder) if name.endswith((".key", ".db"))}


def test_everything_of_it_says_what_it_is(rehearsed: tuple[Office, Answer]) -> None:
    office, _ = rehearsed
    package = _package(office)
    for name in ("manifest.json", "statement.json"):
        assert json.loads((package / name).read_text(encoding="utf-8"))["rehearsal"] is True
    for path in (package / "report.md", package.parent / "evidence" / "report.md", package / "statement.json"):
        assert "a rehearsal on made-up rows, not a release" in path.read_text(encoding="utf-8")
    assert "REHEARSAL on made-up rows: " in (package / "ro-crate-metadata.json").read_text(encoding="utf-8")


def test_verify_calls_it_a_rehearsal_and_nobody_can_analyse_it_as_a_release(rehearsed: tuple[Office, Answer]) -> None:
    office, _ = rehearsed
    answer = office.trasgo("verify", str(_package(office)))
    assert answer.exit_code == 8
    assert "A REHEARSAL, not a release; every other check holds" in answer.out
    told = office.trasgo("verify", str(_package(office)), "--json").json
    assert told["rehearsal"] is True and told["passed"] is False
    with pytest.raises(VerificationError):
        open_release(_package(office))


@pytest.mark.parametrize("command", ["run", "resume", "approve", "withdraw", "status", "doctor"])
def test_a_file_that_calls_itself_a_rehearsal_is_never_a_release(office: Office, command: str) -> None:
    office.release["rehearsal"] = True
    office.release["publish"] = {"store": "rehearsals/store"}
    office.write()
    more = ("--reason", "x", "--yes") if command == "withdraw" else ()
    answer = office.trasgo(command, str(office.config), *more)
    assert answer.exit_code == 2, answer.text
    assert "that of a rehearsal on made-up rows" in answer.text
    office.release["publish"] = {"store": "store"}
    office.write()
    assert "a folder below one that is named rehearsals" in office.trasgo(command, str(office.config), *more).text


def test_another_rehearsal_takes_its_place_and_tells_people_what_it_saw(rehearsed: tuple[Office, Answer]) -> None:
    office, _ = rehearsed
    answer = office.trasgo("run", "--rehearse", str(office.config), "--rows", "150", "--quiet")
    assert answer.exit_code == 0, answer.text
    assert "Rehearsed: people/1 on 150 made-up rows. Nothing was charged, nothing is public." in answer.out
    assert "evenly spread over the domain: age, sex, region" in answer.out
    assert json.loads((_package(office) / "manifest.json").read_text(encoding="utf-8"))["rows"] == 150


def test_the_doctor_names_what_a_run_still_needs_and_then_nothing(rehearsed: tuple[Office, Answer]) -> None:
    office, _ = rehearsed
    answer = office.trasgo("doctor", str(office.config))
    assert answer.exit_code == 2
    for words in ("trasgo key init", "account people: not open", "source people.csv: No such file"):
        assert words in answer.out
    (office.folder / "away.csv").rename(office.folder / "people.csv")
    office.open("5")
    assert "its cap (epsilon 5" in office.trasgo("doctor", str(office.config)).out
    office.release["privacy"]["epsilon_total"] = "5"
    office.write()
    answer = office.trasgo("doctor", str(office.config))
    assert answer.exit_code == 0, answer.text
    assert "Nothing must be fixed." in answer.out
    assert office.spent() == "0"
    told = office.trasgo("doctor", str(office.config), "--json").json
    assert told["ok"] is True and told["fix"] == []
    assert {"words", "fix", "line", "column", "weight"} == told["look"][0].keys()


def test_the_doctor_sees_keys_that_others_can_read_and_places_nobody_can_write(office: Office) -> None:
    office.open()
    (office.home / "wrapping.key").chmod(0o644)
    (office.folder / "file").write_text("", encoding="utf-8")
    office.release["publish"] = {"public": "file/public", "restricted": "store/restricted"}
    office.write()
    (office.folder / ".git").mkdir()
    answer = office.trasgo("doctor", str(office.config))
    assert answer.exit_code == 2
    assert "required mode 0600; came mode 0644" in answer.out
    assert "public root: " in answer.out and "cannot be written to" in answer.out
    assert "the source, the restricted root, the ledger, the wrapping key in a git checkout" in answer.out


def test_rows_are_declared_for_rehearsals_only(office: Office) -> None:
    office.write()
    answer = office.trasgo("run", str(office.config), "--rows", "500")
    assert answer.exit_code == 2 and "required --rehearse beside it" in answer.err
    answer = office.trasgo("run", str(office.config), "--rehearse", "--rows", "5")
    assert answer.exit_code == 2 and "required 100 to 10,000,000 rows" in answer.err
