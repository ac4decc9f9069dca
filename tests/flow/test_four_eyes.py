"""Four eyes and embargoes, through the command."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from office import Office


def waiting_office(office: Office, **publish: Any) -> Office:
    """An office whose version waits."""
    office.release["publish"] |= publish
    office.open()
    answer = office.run("--json")
    assert answer.exit_code == 9, answer.text
    assert (answer.json["state"], answer.json["public"]) == ("checked", None)
    return office


@pytest.fixture(scope="module")
def awaiting(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Office]:
    """Gives the office whose version waits for so many approvals, put back to where it began to wait.

    It cannot be copied to another place: the public root is on record with the version.
    """
    folder = tmp_path_factory.mktemp("waiting")

    def put_back(approvals: int) -> Office:
        place, kept = folder / f"{approvals}", folder / f"{approvals} as it was"
        if not kept.exists():
            place.mkdir()
            waiting_office(Office(place), approvals=approvals, service_accounts=["scheduler"])
            shutil.copytree(place, kept)
        shutil.rmtree(place)
        shutil.copytree(kept, place)
        office = Office(place)
        office.release["publish"] |= {"approvals": approvals, "service_accounts": ["scheduler"]}
        return office

    return put_back


def by(office: Office, name: str, *arguments: str) -> Any:
    """The command as another person."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(office, "actor", name)
        return office.trasgo(*arguments)


def public_files(office: Office) -> list[str]:
    return [str(path) for path in (office.folder / "store" / "public").rglob("*") if path.is_file()]


def status(office: Office) -> dict[str, Any]:
    answer = office.trasgo("status", str(office.config), "--json")
    assert answer.exit_code == 0, answer.text
    return answer.json


def events(office: Office) -> list[tuple[str, str, str]]:
    return [(event["kind"], event["state"], event["actor"]) for event in status(office)["events"]]


def test_two_people_approve_and_a_second_flow_publishes(awaiting: Callable[[int], Office]) -> None:
    office = awaiting(2)
    config = str(office.config)
    assert public_files(office) == []
    spent = office.spent()
    again = office.run("--json")
    assert (again.exit_code, again.json["awaits"], office.spent()) == (9, "approval_missing", spent)
    text = office.run("--quiet").text
    assert "Waiting: people/1" in text and "2 approvals by different people" in text

    for name, words in (("tester", "did not run it"), ("scheduler", "a service account")):
        refused = by(office, name, "approve", config, "--yes")
        assert refused.exit_code == 4 and words in refused.text, refused.text
    shown = by(office, "eva", "approve", config)
    assert shown.exit_code != 0 and "manifest  sha256" in shown.text and "target    sex" in shown.text
    first = by(office, "eva", "approve", config, "--yes", "--reason", "all targets are met")
    assert first.exit_code == 0 and "1 more needed" in first.out, first.text
    twice = by(office, "eva", "approve", config, "--yes")
    assert twice.exit_code == 4 and "a second one by eva" in twice.text
    assert office.run("--quiet").exit_code == 9 and public_files(office) == []

    second = by(office, "leo", "approve", config, "--yes", "--json")
    assert second.exit_code == 0, second.text
    assert [one["actor"] for one in second.json["approvals"]["given"]] == ["eva", "leo"]
    assert second.json["state"] == "approved"
    third = by(office, "mia", "approve", config, "--yes")
    assert third.exit_code == 4 and "all it needs" in third.text

    published = office.run("--json")
    assert published.exit_code == 0 and published.json["state"] == "published", published.text
    assert office.spent() == spent and published.json["already_published"] is False
    assert office.trasgo("verify", str(office.public)).exit_code == 0
    assert office.trasgo("ledger", "check", config).exit_code == 0
    assert office.run("--json").json["already_published"] is True
    assert not (office.folder / "store" / "restricted" / ".trasgo" / "work" / "people" / "1").exists()
    kinds = [kind for kind, _, _ in events(office)]
    assert kinds == ["state", "freeze", "state", "state", "state", "package", "approval", "approval", "state", "state"]


@pytest.mark.parametrize("what", ["manifest.json", "data/people.csv", "extra.txt"])
def test_changed_files_are_neither_approved_nor_published(awaiting: Callable[[int], Office], what: str) -> None:
    office = awaiting(1)
    folder, config = office.restricted / "waiting", str(office.config)
    place = folder / what
    before = place.read_bytes() if place.exists() else None
    place.write_bytes((before or b"") + b" ")
    refused = by(office, "eva", "approve", config, "--yes")
    assert refused.exit_code in {4, 8}, refused.text
    if before is None:
        place.unlink()
    else:
        place.write_bytes(before)
    assert by(office, "eva", "approve", config, "--yes").exit_code == 0
    place.write_bytes((before or b"") + b" ")
    answer = office.run("--quiet")
    assert answer.exit_code in {4, 8} and public_files(office) == [], answer.text


def test_what_was_fixed_cannot_be_lowered_and_another_plan_is_refused(awaiting: Callable[[int], Office]) -> None:
    office = awaiting(2)
    for approvals in (0, 1):
        office.release["publish"]["approvals"] = approvals
        office.write()
        answer = office.run("--quiet")
        assert answer.exit_code == 4 and "approvals" in answer.text, answer.text
        assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 4
    office.release["publish"]["approvals"] = 2
    office.column("age")["epsilon"] = "2"
    office.write()
    assert office.run("--quiet").exit_code == 4
    assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 4
    assert public_files(office) == []


def test_a_changed_input_is_refused_while_it_waits(awaiting: Callable[[int], Office]) -> None:
    office = awaiting(1)
    assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 0
    source = office.folder / "people.csv"
    source.write_text(source.read_text().replace(",f,", ",m,", 1))
    answer = office.run("--quiet")
    assert answer.exit_code == 4 and public_files(office) == []


def test_an_embargo_keeps_it_back_and_a_new_date_voids_approvals(office: Office) -> None:
    waiting_office(office, approvals=1, embargo="2099-12-15T09:30:00 Europe/Madrid")
    config = str(office.config)
    assert by(office, "eva", "approve", config, "--yes").exit_code == 0
    answer = office.run("--json")
    assert (answer.exit_code, answer.json["awaits"], answer.json["state"]) == (9, "embargo", "approved")
    assert "2099-12-15T09:30:00+01:00 Europe/Madrid" in office.run("--quiet").text
    assert public_files(office) == []
    office.release["publish"]["embargo"] = "2099-12-16T09:30:00 Europe/Madrid"
    office.write()
    assert by(office, "leo", "approve", config, "--yes").exit_code == 4  # not on record yet
    assert office.run("--json").json["awaits"] == "approval_missing"
    assert status(office)["approvals"]["given"] == []
    assert by(office, "leo", "approve", config, "--yes").exit_code == 0
    office.release["publish"]["embargo"] = "2020-01-02T09:30:00 Europe/Madrid"
    office.write()
    late = office.run("--json")  # the new date is over already and nobody approved it
    assert (late.exit_code, late.json["awaits"]) == (9, "approval_missing")
    assert public_files(office) == []


def test_a_missed_embargo_holds_and_is_never_made_good_by_a_late_approval(office: Office) -> None:
    waiting_office(office, approvals=2, embargo="2020-01-02T09:30:00 Europe/Madrid")
    config = str(office.config)
    late = by(office, "eva", "approve", config, "--yes")
    assert late.exit_code == 9 and "that time is over" in late.text, late.text
    assert (status(office)["state"], status(office)["embargo_missed"]) == ("held", True)
    assert office.run("--json").exit_code == 9
    office.release["publish"]["embargo"] = "2099-12-16T09:30:00 Europe/Madrid"
    office.write()
    assert office.run("--json").exit_code == 9
    for name in ("eva", "leo"):
        assert by(office, name, "approve", config, "--yes").exit_code == 0
    assert status(office)["state"] == "approved" and public_files(office) == []
    assert office.trasgo("ledger", "check", config).exit_code == 0


def test_without_approvals_an_embargo_alone_waits_and_then_publishes(office: Office) -> None:
    waiting_office(office, embargo="2099-12-16T09:30:00 Europe/Madrid")
    assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 4
    office.release["publish"]["embargo"] = "2020-01-02T09:30:00 Europe/Madrid"
    office.write()
    answer = office.run("--json")
    assert answer.exit_code == 0 and answer.json["state"] == "published", answer.text
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def ledger(office: Office) -> Path:
    return office.folder / "store" / "restricted" / ".trasgo" / "ledger.db"


def test_an_approval_that_was_swapped_or_removed_is_found(awaiting: Callable[[int], Office]) -> None:
    office = awaiting(1)
    assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 0
    whole = ledger(office).read_bytes()
    for statement, words in (
        ("UPDATE events SET document = replace(document, '\"eva\"', '\"leo\"') WHERE kind = 'approval'", "event 7"),
        ("DELETE FROM events WHERE kind = 'approval'", "1 approvals by different people before it; came 0: nobody"),
    ):
        with closing(sqlite3.connect(ledger(office))) as connection, connection:
            guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in guards:
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute(statement)
            for _, sql in guards:
                connection.execute(sql)
        checked = office.trasgo("ledger", "check", str(office.config))
        assert checked.exit_code == 10 and words in checked.text, checked.text
        assert office.run("--quiet").exit_code == 10 and public_files(office) == []
        for path in ledger(office).parent.glob("ledger.db-*"):
            path.unlink()
        ledger(office).write_bytes(whole)


def test_a_crash_between_two_files_is_gone_on_with(awaiting: Callable[[int], Office]) -> None:
    office = awaiting(1)
    assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 0
    from trasgo_lib.storage import ObjectStore

    put, count = ObjectStore.put_once, iter(range(99))

    def crash(self: ObjectStore, key: str, data: Any) -> str:
        if next(count) == 3:
            raise KeyboardInterrupt
        return put(self, key, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ObjectStore, "put_once", crash)
        assert office.run("--quiet").exit_code in {1, 11}
    assert public_files(office) and not (office.public / "manifest.json").exists()
    answer = office.trasgo("resume", str(office.config), "--json")
    assert answer.exit_code == 0 and answer.json["state"] == "published", answer.text
    waiting = {p.name: p.read_bytes() for p in (office.restricted / "waiting").rglob("*") if p.is_file()}
    assert {p.name: p.read_bytes() for p in office.public.rglob("*") if p.is_file()} == waiting


def test_four_eyes_with_the_ledger_on_a_server(office: Office, postgres_server: Any, postgres_database: str) -> None:
    office.release["ledger"] = {"url": postgres_server.url(postgres_database)}
    waiting_office(office, approvals=2)
    for name in ("eva", "leo"):
        answer = by(office, name, "approve", str(office.config), "--yes")
        assert answer.exit_code == 0, answer.text
    answer = office.run("--json")
    assert answer.exit_code == 0 and json.loads(answer.out)["state"] == "published", answer.text
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def test_nobody_approves(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without any name is not a person."""
    office.open()
    for name in ("USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    answer = by(office, " ", "approve", str(office.config), "--yes")
    assert answer.exit_code == 2 and "TRASGO_ACTOR" in answer.text, answer.text


@pytest.mark.parametrize("where", ["package on record", "work removed", "publication on record"])
def test_a_crash_before_the_record_is_gone_on_with(office: Office, where: str) -> None:
    """Interrupted just before each step of the record: the same bytes, one charge, nothing public too early."""
    from tasks.session import Session
    from trasgo_lib.records import Records

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    target, name = {
        "package on record": (Records, "record_package"),
        "work removed": (Session, "remove_work"),
        "publication on record": (Records, "publish"),
    }[where]
    office.release["publish"]["approvals"] = 1
    office.open()
    if where == "publication on record":
        assert office.run("--quiet").exit_code == 9
        assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 0
    folder = office.restricted / "waiting"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, name, crash)
        assert office.run("--quiet").exit_code in {1, 11}
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    spent = office.spent()
    assert before and (where == "publication on record") == (office.public / "manifest.json").exists()
    answer = office.trasgo("resume", str(office.config), "--json")
    if where != "publication on record":
        assert answer.exit_code == 9, answer.text
        assert by(office, "eva", "approve", str(office.config), "--yes").exit_code == 0
        answer = office.trasgo("resume", str(office.config), "--json")
    assert answer.exit_code == 0 and answer.json["state"] == "published", answer.text
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert office.spent() == spent
    assert not (office.folder / "store" / "restricted" / ".trasgo" / "work" / "people" / "1").exists()
    assert office.trasgo("verify", str(office.public)).exit_code == 0
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0


def test_a_version_that_waits_moves_with_its_ledger(
    awaiting: Callable[[int], Office], postgres_server: Any, postgres_database: str
) -> None:
    office = awaiting(2)
    config, url = str(office.config), postgres_server.url(postgres_database)
    assert by(office, "eva", "approve", config, "--yes").exit_code == 0
    moved = office.trasgo("ledger", "migrate", config, "--to", url)
    assert moved.exit_code == 0, moved.text
    assert by(office, "leo", "approve", config, "--yes").exit_code == 10
    assert office.run("--quiet").exit_code == 10 and public_files(office) == []
    office.release["ledger"] = {"url": url}
    office.write()
    assert by(office, "EVA", "approve", config, "--yes").exit_code == 4
    assert by(office, "leo", "approve", config, "--yes").exit_code == 0
    assert office.run("--json").exit_code == 0
    assert office.trasgo("verify", str(office.public)).exit_code == 0
