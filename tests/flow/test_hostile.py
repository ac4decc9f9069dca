"""What a careless or unlucky operator does: odd names, a lost ledger, another working directory, errors."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from office import Office, source_text

import flows.version
import tasks.draw
import tasks.ingest
import tasks.publish

ODD_NAME = "hours [week] :smile: [bold]x"


def _rename_age(office: Office, name: str) -> None:
    office.column("age")["name"] = name
    head, rows = source_text().split("\n", 1)
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([name if field == "age" else field for field in head.split(",")])
    (office.folder / "people.csv").write_text(line.getvalue() + rows)


def test_brackets_and_colons_of_a_name_are_shown_as_they_are(office: Office) -> None:
    _rename_age(office, ODD_NAME)
    office.open()
    answer = office.run()
    assert answer.exit_code == 0, answer.text
    assert ODD_NAME in answer.out and f"reserve: {ODD_NAME} 3" in answer.err
    for verb in (("ledger", "show"), ("plan",)):
        assert ODD_NAME in office.trasgo(*verb, str(office.config)).out
    channels = office.public / "channel.json"
    document = json.loads(channels.read_text())
    document["units"][0]["channel_digest"] = "0" * 64
    channels.chmod(0o644)
    channels.write_text(json.dumps(document))
    answer = office.trasgo("verify", str(office.public))
    assert answer.exit_code == 8 and f"channel digest: {ODD_NAME}" in answer.out


@pytest.mark.parametrize(
    ("error", "exit_code", "name"),
    [(ValueError("CANARY"), 1, "TrasgoError"), (KeyboardInterrupt(), 11, "InterruptedRunError")],
)
def test_under_json_every_end_is_one_object(
    office: Office, monkeypatch: pytest.MonkeyPatch, error: BaseException, exit_code: int, name: str
) -> None:
    office.open()

    def fail(*arguments: object, **names: object) -> None:
        raise error

    monkeypatch.setattr(flows.version, "_execute", fail)
    answer = office.run("--json")
    assert answer.exit_code == answer.json["exit_code"] == exit_code
    assert answer.json["error"] == name and answer.json["faults"]
    assert "CANARY" not in answer.text
    assert office.run().exit_code == exit_code and not office.run().out


def test_sigterm_ends_a_run_as_an_interruption(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.open()
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(flows.version, "_execute", lambda *arguments: signal.raise_signal(signal.SIGTERM))
    answer = office.run("--json")
    assert answer.exit_code == answer.json["exit_code"] == 11
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_ledger_that_lost_a_published_version_draws_it_no_second_time(published: Office, tmp_path: Path) -> None:
    shutil.copytree(published.folder, tmp_path / "copy")
    office = Office(tmp_path / "copy")
    manifest = (office.public / "manifest.json").read_bytes()
    shutil.rmtree(office.folder / "store" / "restricted" / ".trasgo")
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 4 and "already_exists" in answer.err, answer.text
    assert office.spent() == "0"
    assert (office.public / "manifest.json").read_bytes() == manifest


def test_a_manifest_of_other_draws_is_not_taken_for_ones_own(
    office: Office, published: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.open()

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tasks.publish, "publish_package", crash)
        assert office.run("--quiet").exit_code in {1, 11}
    office.public.mkdir(parents=True)
    shutil.copy(published.public / "manifest.json", office.public)
    answer = office.run("--quiet")
    assert answer.exit_code == 4 and "already_exists" in answer.err, answer.text


def test_a_ledger_is_found_from_any_working_directory(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.release["ledger"] = {"url": "sqlite:///records/ledger.db"}
    office.open()
    assert (office.folder / "records" / "ledger.db").is_file()
    elsewhere = office.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("stage", ["draw_codes", "read_source"])
def test_a_full_disk_is_a_store_error_and_can_be_resumed(
    office: Office, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    office.open()

    def fill(*arguments: object, **names: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "CANARY.codes")

    with monkeypatch.context() as patch:
        patch.setattr(tasks.draw if stage == "draw_codes" else tasks.ingest, stage, fill)
        answer = office.run("--json")
    assert answer.exit_code == 10 and answer.json["faults"][0]["came"] == os.strerror(errno.ENOSPC)
    assert "CANARY" not in answer.text
    assert office.run("--quiet").exit_code == 0


@pytest.mark.parametrize("is_held", [False, True])
def test_another_build_finishes_what_a_crash_left_half_published(
    office: Office, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    if is_held:
        office.release["privacy"]["epsilon_total"] = "7"
        office.column("sex")["target"] = {"tvd": "0.0000001"}
    office.open()
    original = tasks.publish.publish_package

    def crash_after(staged: object, store: object, prefix: str) -> None:
        original(staged, store, prefix)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tasks.publish, "publish_package", crash_after)
        assert office.run("--quiet").exit_code in {1, 11}
    spent = office.spent()
    monkeypatch.setattr(tasks.publish, "source_revision", lambda: "0" * 40)
    monkeypatch.setattr(tasks.publish.trasgo_lib, "__version__", "9.9")
    answer = office.run("--quiet")
    assert answer.exit_code == (6 if is_held else 0), answer.text
    assert office.spent() == spent


def test_nothing_is_published_through_a_symbolic_link(office: Office) -> None:
    office.open()
    elsewhere = office.folder / "elsewhere"
    elsewhere.mkdir()
    office.public.parents[1].mkdir(parents=True, exist_ok=True)
    office.public.parent.symlink_to(elsewhere)
    answer = office.run("--quiet")
    assert answer.exit_code == 10 and "symbolic link" in answer.text, answer.text
    assert list(elsewhere.rglob("*")) == []
    office.public.parent.unlink()
    spent = office.spent()
    assert office.run("--quiet").exit_code == 0 and office.spent() == spent
