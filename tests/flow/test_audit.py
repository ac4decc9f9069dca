"""``trasgo audit``: a published version is redrawn and compared; what differs, drifted or ended is named."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from desk import Desk, date, number, point, public
from office import Answer, Office

import tasks.audit
from tasks.session import Session
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import Entry
from trasgo_lib.release import read_envelope


def audit(office: Office, *more: str) -> Answer:
    return office.trasgo("audit", str(office.config), *more)


def failed(answer: Answer) -> set[tuple[str, str]]:
    return {(result["name"], result["subject"]) for result in answer.json["results"] if not result["passed"]}


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-wal", "-shm", ".db"))
    }


@pytest.fixture
def copy(published: Office, tmp_path: Path) -> Office:
    """A copy of the published office, to be spoilt."""
    shutil.copytree(published.folder, tmp_path / "copy")
    return Office(tmp_path / "copy")


def test_a_sound_version_is_redrawn_to_the_byte_and_nothing_is_charged(published: Office) -> None:
    before, spent = tree(published.folder), published.spent()
    answer = audit(published, "--json")
    assert answer.exit_code == 0, answer.text
    report = answer.json
    assert report["passed"] and report["redrawn"] and report["bytes_compared"]
    assert report["signature"]["signer_checked"]
    names = {result["name"] for result in report["results"]}
    assert {
        "signature",
        "manifest on record",
        "ledger anchor",
        "redrawn codes",
        "redrawn rows",
        "redrawn bytes",
    } <= names
    assert {result["subject"] for result in report["results"] if result["name"] == "redrawn codes"} == {
        "age",
        "sex",
        "region",
    }
    assert tree(published.folder) == before and published.spent() == spent
    events = published.trasgo("ledger", "check", str(published.config), "--json").json["events"]
    assert audit(published).exit_code == 0
    assert published.trasgo("ledger", "check", str(published.config), "--json").json["events"] == events


def test_it_says_so_in_words(published: Office) -> None:
    answer = audit(published)
    assert "holds" in answer.out and "the same codes, the same rows" in answer.out
    assert "Nothing was charged and nothing was published." in answer.out


def test_no_keyed_digest_leaves_in_the_report(published: Office) -> None:
    with sqlite3.connect(published.folder / "store/restricted/.trasgo/ledger.db") as database:
        texts = [row[0] for row in database.execute("select document from events")]
    evidence = [json.loads(text)["evidence"] for text in texts]
    keyed = {value for one in evidence for name, value in one.items() if "codes of" in name or name == "input_digest"}
    assert len(keyed) == 4
    text = audit(published, "--json").text
    assert not [digest for digest in keyed if digest in text]


def test_the_anchor_is_the_ledger_after_the_last_charge(published: Office) -> None:
    predicate = read_envelope((published.public / "manifest.dsse.json").read_bytes()).statement()["predicate"]
    shown = published.trasgo("ledger", "show", str(published.config), "--json").json
    assert predicate["account"] == {"name": "people", "sequence": shown["entries"][-1]["seq"], "head": shown["head"]}
    assert predicate["previous"] is None


def test_it_loads_no_orchestrator(published: Office) -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom flows.cli import main\n"
        f"sys.argv = ['trasgo', 'audit', {str(published.config)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "assert 'prefect' not in sys.modules and 'great_expectations' not in sys.modules\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {"TRASGO_HOME": str(published.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_changed_source_is_named(copy: Office) -> None:
    source = copy.folder / "people.csv"
    sealed = copy.folder / "sealed.csv"
    shutil.copyfile(source, sealed)
    source.write_text(source.read_text().replace("north", "south", 1))
    answer = audit(copy, "--json")
    assert answer.exit_code == 4
    assert answer.json["faults"][0]["reason"] == "input_changed"
    assert "people.csv" in answer.json["faults"][0]["where"]
    answer = audit(copy, "--source", str(sealed), "--json")
    assert answer.exit_code == 0, answer.text


def test_a_changed_plan_is_named_with_what_drifted(copy: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    copy.column("age")["epsilon"] = "2"
    copy.write()
    monkeypatch.setattr(tasks.audit.trasgo_lib, "__version__", "9.9")
    answer = audit(copy, "--json")
    assert answer.exit_code == 4
    assert answer.json["faults"][0]["reason"] == "plan_changed"
    assert "library_version: 0.1.0 then, 9.9 now" in answer.json["faults"][0]["came"]


def test_an_altered_published_row_is_named(copy: Office) -> None:
    path = copy.public / "data/people.parquet"
    table = pq.read_table(path)
    ages = table["age"].to_pylist()
    ages[7] = 18 if ages[7] != 18 else 19
    pq.write_table(table.set_column(0, "age", pa.array(ages, pa.int64())), path)
    answer = audit(copy, "--json")
    assert answer.exit_code == 8
    assert ("redrawn rows", "data/people.parquet") in failed(answer)
    assert ("digest", "data/people.parquet") in failed(answer)
    path.unlink()
    answer = audit(copy, "--json")
    assert answer.exit_code == 8 and ("redrawn rows", "data/people.parquet") in failed(answer)
    (copy.public / "manifest.json").unlink()
    answer = audit(copy, "--json")
    assert answer.exit_code == 8 and ("manifest", "manifest.json") in failed(answer)


def test_a_forged_release_that_verifies_is_found_by_the_redraw(copy: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: noise under another root looks as good, and only the redraw can tell."""
    stream = Session.stream

    def other(self: Session, purpose: str, *parts: Any) -> Any:
        return stream(self, f"{purpose} of another", *parts)

    monkeypatch.setattr(Session, "stream", other)
    answer = audit(copy, "--json")
    assert answer.exit_code == 8
    expected = {("redrawn codes", unit) for unit in ("age", "sex", "region")}
    assert expected <= failed(answer)
    assert ("redrawn rows", "data/people.parquet") in failed(answer)


def test_another_writer_is_named_and_bytes_are_left_out(copy: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    now = tasks.audit.made_with

    def later(version: str, commit: str) -> dict[str, str]:
        return {**now(version, commit), "pyarrow": "99.0"}

    monkeypatch.setattr(tasks.audit, "made_with", later)
    answer = audit(copy, "--json")
    assert answer.exit_code == 0, answer.text
    assert not answer.json["bytes_compared"] and answer.json["redrawn"]
    assert {entry["name"] for entry in answer.json["drift"]} == {"pyarrow"}
    assert any("their writer drifted (pyarrow:" in sentence for sentence in answer.json["in_words"])
    assert "redrawn rows" in {result["name"] for result in answer.json["results"]}
    assert "redrawn bytes" not in {result["name"] for result in answer.json["results"]}


def test_without_the_root_it_says_that_redraws_have_ended(copy: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(self: Session, purpose: str, *parts: Any) -> Any:
        raise ConflictError.of(Reason.ROOT_LOST, "root", required="one", came="none", fix="None.")

    monkeypatch.setattr(Session, "stream", gone)
    answer = audit(copy)
    assert answer.exit_code == 4, answer.text
    assert "redraws of this version have ended" in answer.out
    assert "as far as it can still be checked" in answer.out
    answer = audit(copy, "--json")
    assert answer.json["passed"] and not answer.json["redrawn"]
    assert "ledger anchor" in {result["name"] for result in answer.json["results"]}


def test_what_was_never_published_is_not_audited(office: Office) -> None:
    office.open()
    answer = audit(office, "--json")
    assert answer.exit_code == 4 and answer.json["faults"][0]["reason"] == "state_conflict"


def test_no_private_file_is_left(published: Office) -> None:
    assert audit(published, "--json").exit_code == 0
    folder = published.folder / "store" / "restricted" / ".trasgo" / "audit"
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def second(copy: Office) -> Iterator[Office]:
    """The copy with a second version published."""
    copy.release["release"]["version"] = "2"
    copy.write()
    assert copy.run("--quiet").exit_code == 0
    yield copy


def test_the_next_version_names_the_manifest_of_the_one_before(second: Office, published: Office) -> None:
    import hashlib

    public = second.public.with_name("2")
    predicate = read_envelope((public / "manifest.dsse.json").read_bytes()).statement()["predicate"]
    digest = hashlib.sha256((published.public / "manifest.json").read_bytes()).hexdigest()
    assert predicate["previous"] == {"version": "1", "manifest_sha256": digest}
    answer = audit(second, "--json")
    assert answer.exit_code == 0, answer.text
    assert "previous version" in {result["name"] for result in answer.json["results"]}


def test_points_dates_and_missing_values_are_redrawn_in_source_order(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.open_account(geo_per_km="100")
    columns = [point("place"), date("day", mechanism="gaussian"), number("n", "0", "9", missing="code", epsilon="2"), public("w")]
    desk.declare("mixed", columns)
    rows = [
        f"40.{500 + row % 400},-73.{700 + row % 250},{1 + row % 28}/03/2017,{row % 10 if row % 7 else ''},w{row}"
        for row in range(300)
    ]
    desk.bring("lat,lon,day,n,w\n" + "\n".join(rows) + "\n")
    answer = desk.run("--quiet")
    assert answer.exit_code == 0, answer.text
    answer = audit(desk, "--json")
    assert answer.exit_code == 0, answer.text
    redrawn = {result["subject"] for result in answer.json["results"] if result["name"] == "redrawn codes"}
    assert redrawn == {"place", "day", "n"}


def test_a_statement_anchored_elsewhere_is_named(copy: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that was replaced by a longer or another one no longer ends where the release says it did."""
    entries = tasks.audit.own_entries

    def elsewhere(session: Session) -> list[Entry]:
        *before, last = entries(session)
        return [*before, replace(last, hash="0" * 64)]

    monkeypatch.setattr(tasks.audit, "own_entries", elsewhere)
    answer = audit(copy, "--json")
    assert answer.exit_code == 8 and ("ledger anchor", "manifest.dsse.json") in failed(answer)


def test_a_version_from_before_codes_were_recorded_is_compared_by_its_rows(
    copy: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.audit.recorded_codes", lambda session: {})
    answer = audit(copy, "--json")
    assert answer.exit_code == 0, answer.text
    names = {result["name"] for result in answer.json["results"]}
    assert "redrawn codes" not in names and {"redrawn rows", "redrawn bytes"} <= names


def test_the_wrong_wrapping_key_is_exit_4(copy: Office) -> None:
    (copy.home / "wrapping.key").unlink()
    assert copy.trasgo("key", "init").exit_code == 0
    answer = audit(copy, "--json")
    assert answer.exit_code == 4 and answer.json["faults"][0]["reason"] == "key_unusable"
