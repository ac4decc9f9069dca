"""Corrections and withdrawals, through the command."""

from __future__ import annotations

import json
from typing import Any

import pytest
from first_run import FirstRun
from office import Office

NOTE = "two rows arrived corrected"


def correct(office: Office, version: str = "2", before: str = "1", **more: Any) -> None:
    """Write the release file of a correction and correct the source."""
    source = office.folder / "people.csv"
    source.write_text(source.read_text().replace(",f,", ",m,", 2))
    supersedes = {"version": before, "reason": "error", "note": NOTE, **more}
    office.release["release"] |= {"version": version, "supersedes": supersedes}
    office.write()


def state(office: Office) -> dict[str, Any]:
    return office.trasgo("status", str(office.config), "--json").json


def test_a_correction_is_drawn_afresh_charged_and_announced(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    first = office.config.with_name("first.yaml")
    first.write_text(office.config.read_text())
    before, spent = {p: p.read_bytes() for p in office.public.rglob("*") if p.is_file()}, office.spent()
    correct(office)
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert float(office.spent()) > float(spent)
    dataset = office.public.parent
    new = dataset / "2"
    statement, manifest = (json.loads((new / name).read_text()) for name in ("statement.json", "manifest.json"))
    assert statement["supersedes"] == {"version": "1", "reason": "error", "note": NOTE}
    assert manifest["supersedes"] == "1"
    assert NOTE in (new / "report.md").read_text()
    erratum = json.loads((dataset / "_ERRATA" / "2.json").read_text())
    assert (erratum["version"], erratum["supersedes"], erratum["reason"], erratum["note"]) == ("2", "1", "error", NOTE)
    assert {p: p.read_bytes() for p in before} == before
    old = office.trasgo("status", str(first), "--json").json
    assert (old["state"], old["superseded_by"]) == ("superseded", "2")
    for folder in (office.public, new):
        assert office.trasgo("verify", str(folder)).exit_code == 0
    again = office.run("--json")
    assert again.json["already_published"] is True and office.trasgo("ledger", "check", str(first)).exit_code == 0
    # nothing is corrected twice by two versions
    correct(office, version="3", before="1")
    refused = office.run("--quiet")
    assert refused.exit_code == 4 and "one that 2 has superseded" in refused.text


@pytest.mark.parametrize(("before", "words"), [("9", "none of this name"), ("2", "another version")])
def test_only_a_published_version_is_superseded(office: Office, before: str, words: str) -> None:
    office.open()
    correct(office, before=before)
    answer = office.run("--quiet")
    assert answer.exit_code in {2, 4} and words in answer.text, answer.text
    office.release["release"].pop("supersedes")
    office.write()
    assert office.spent() == "0"


def test_the_old_one_stands_until_the_new_one_is_public(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    first = office.config.with_name("first.yaml")
    first.write_text(office.config.read_text())
    office.release["publish"]["approvals"] = 1
    correct(office)
    assert office.run("--quiet").exit_code == 9
    errata = office.public.parent / "_ERRATA"
    assert office.trasgo("status", str(first), "--json").json["state"] == "published" and not errata.exists()
    office.actor = "eva"
    shown = office.trasgo("approve", str(office.config), "--yes")
    assert shown.exit_code == 0 and f"corrects  version 1 (error): {NOTE}" in shown.out
    assert office.run("--quiet").exit_code == 0
    assert office.trasgo("status", str(first), "--json").json["state"] == "superseded"
    assert [path.name for path in errata.iterdir()] == ["2.json"]


def test_withdrawn_data_are_gone_and_all_else_stays(office: Office) -> None:
    office.open()
    config = str(office.config)
    assert office.trasgo("withdraw", config, "--reason", "x", "--yes").exit_code == 4
    assert office.run("--quiet").exit_code == 0
    spent, kept = office.spent(), {p.name for p in office.public.iterdir() if p.is_file()}
    assert office.trasgo("withdraw", config, "--reason", "x").exit_code != 0
    assert (office.public / "data" / "people.csv").exists()
    from trasgo_lib.storage import ObjectStore

    with pytest.MonkeyPatch.context() as patch:  # killed after the record, before the files

        def crash(*arguments: object) -> bool:
            raise KeyboardInterrupt

        patch.setattr(ObjectStore, "remove", crash)
        assert (
            office.trasgo("withdraw", config, "--reason", "a column was published by mistake", "--yes").exit_code == 11
        )
    assert (office.public / "data" / "people.csv").exists() and state(office)["state"] == "withdrawn"
    answer = office.trasgo("withdraw", config, "--reason", "said otherwise", "--yes")
    assert answer.exit_code == 0 and "data/people.csv, data/people.parquet" in answer.out, answer.text
    assert not list((office.public / "data").glob("*"))
    assert {p.name for p in office.public.iterdir() if p.is_file()} == kept | {"withdrawn.json"}
    notice = json.loads((office.public / "withdrawn.json").read_text())
    assert notice["reason"] == "a column was published by mistake" and len(notice["removed"]) == 2
    verified = office.trasgo("verify", str(office.public))
    assert verified.exit_code == 8 and "withdrawn on" in verified.text and "1 checks failed" in verified.text
    again = office.run("--quiet")
    assert again.exit_code == 0 and "Withdrawn: people/1" in again.out and office.spent() == spent
    assert office.trasgo("ledger", "check", config).exit_code == 0


def test_another_release_at_that_place_is_not_withdrawn(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    manifest = office.public / "manifest.json"
    before = manifest.read_bytes()
    manifest.write_bytes(before.replace(b"people.csv", b"people.csw", 1))
    refused = office.trasgo("withdraw", str(office.config), "--reason", "x", "--yes")
    assert refused.exit_code == 4 and "digest_mismatch" in refused.text, refused.text
    assert state(office)["state"] == "published" and len(list((office.public / "data").iterdir())) == 2
    assert not (office.public / "withdrawn.json").exists()
    manifest.write_bytes(before)
    assert office.trasgo("withdraw", str(office.config), "--reason", "x", "--yes").exit_code == 0


def test_a_withdrawn_version_can_still_be_corrected(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    assert office.trasgo("withdraw", str(office.config), "--reason", "wrong", "--yes").exit_code == 0
    correct(office)
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert (office.public.parent / "_ERRATA" / "2.json").exists()


def test_errata_is_no_name_of_a_version(office: Office) -> None:
    office.release["release"]["version"] = "_ERRATA"
    office.write()
    assert office.run("--quiet").exit_code == 2
