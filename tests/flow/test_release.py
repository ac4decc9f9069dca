"""The whole release, through the command: publish, no-op, held, refused, resumed."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from office import Office, source_text

import tasks.publish
from trasgo_lib.errors import StoreError


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_release_is_complete_and_verifies(published: Office) -> None:
    files = set(_digests(published.public))
    assert files == {
        "data/people.parquet",
        "data/people.csv",
        "channel.json",
        "statement.json",
        "report.md",
        "report.html",
        "codelists/sex.csv",
        "codelists/region.csv",
        "codebook.md",
        "ddi.xml",
        "csvw.json",
        "datapackage.json",
        "dcat.jsonld",
        "dp_statement.json",
        "dp_statement.md",
        "HOWTO_ANALYSE.md",
        "signing-key.pem",
        "ro-crate-metadata.json",
        "SHA256SUMS",
        "manifest.dsse.json",
        "manifest.json",
    }
    answer = published.trasgo("verify", str(published.public), "--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["passed"] is True and len(answer.json["results"]) > 20


def test_the_table_has_the_declared_columns_in_order_and_every_row(published: Office) -> None:
    table = pq.read_table(published.public / "data/people.parquet")
    assert table.column_names == ["age", "sex", "region", "wave"]
    assert table.num_rows == 1200
    assert [str(field.type) for field in table.schema] == ["int64", "string", "string", "string"]
    assert set(table["sex"].to_pylist()) == {"f", "m"}
    assert min(table["age"].to_pylist()) >= 18 and max(table["age"].to_pylist()) <= 78
    assert pyarrow.csv.read_csv(published.public / "data/people.csv").num_rows == 1200


def test_row_order_is_shuffled_but_public_values_stay_those_of_the_source(published: Office) -> None:
    source = [line.split(",")[3] for line in source_text().splitlines()[1:]]
    released = pq.read_table(published.public / "data/people.parquet")["wave"].to_pylist()
    assert released != source
    assert sorted(released) == sorted(source)


def test_a_second_run_says_so_and_spends_nothing(published: Office) -> None:
    before, spent = _digests(published.public), published.spent()
    answer = published.run("--json")
    assert answer.exit_code == 0
    assert answer.json["already_published"] is True
    assert answer.json["state"] == "published"
    assert _digests(published.public) == before
    assert published.spent() == spent == answer.json["spent"]["total"]


def test_the_json_answer_has_the_promised_keys_and_no_raw_loss(published: Office) -> None:
    answer = published.run("--json").json
    assert {
        "release",
        "state",
        "public",
        "restricted",
        "already_published",
        "spent",
        "rounds",
        "losses",
        "reason",
    } <= set(answer)
    assert answer["spent"]["units"]["age"] == "3"
    assert all(loss["estimate"] is None and loss["met"] is True for loss in answer["losses"].values())
    assert answer["reason"] == "met"


def test_public_files_hold_no_raw_loss_and_no_input_digest(published: Office) -> None:
    losses = json.loads((published.restricted / "losses.json").read_text())
    provenance = json.loads((published.restricted / "provenance.json").read_text())["provenance"]
    public = b"".join(path.read_bytes() for path in published.public.rglob("*") if path.is_file())
    for entry in losses["rounds"]:
        if entry["loss"]:
            assert repr(entry["loss"]).encode() not in public
    assert provenance["input_hmac"].encode() not in public
    assert str(published.ran_in).encode() not in public
    assert b"tester" not in public


def test_work_files_are_gone_and_restricted_files_are_private(published: Office) -> None:
    state = published.folder / "store" / "restricted" / ".trasgo"
    assert not [path for path in (state / "work").rglob("*") if path.is_file()]
    for path in (published.folder / "store" / "restricted").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_ledger_adds_up_and_checks(published: Office) -> None:
    answer = published.trasgo("ledger", "check", str(published.config), "--json")
    assert answer.exit_code == 0 and answer.json["ok"] is True
    shown = published.trasgo("ledger", "show", str(published.config), "--json").json
    statement = json.loads((published.public / "statement.json").read_text())
    total = sum(float(entry["cost"]["epsilon"]) for entry in shown["entries"])
    assert total == float(shown["spent"]["epsilon"]) == float(statement["epsilon_realised_draws_only"])


def test_resume_refuses_to_start_and_a_missing_account_costs_nothing(office: Office) -> None:
    office.open()
    answer = office.trasgo("resume", str(office.config))
    assert answer.exit_code == 4 and "nothing_to_resume" in answer.text
    office.release["privacy"]["account"] = "nobody"
    office.write()
    answer = office.run()
    assert answer.exit_code == 5 and "no_account" in answer.text


def test_targets_not_met_hold_the_version_and_freeze_the_plan(office: Office) -> None:
    office.release["privacy"]["epsilon_total"] = "7"
    office.column("sex")["target"] = {"tvd": "0.0000001"}
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 6, answer.text
    assert "target_not_met" in answer.text and not office.public.exists()
    spent = office.spent()
    assert office.run("--json").json["state"] == "held"
    assert office.run().exit_code == 6 and office.spent() == spent

    changes = {
        "mechanism": lambda: office.column("age").update(mechanism="gaussian"),
        "bounds": lambda: office.column("age")["domain"].update(upper="88"),
        "ladder": lambda: office.release["loop"].update(ratio="1.6"),
        "missing policy": lambda: office.column("sex").update(missing="code"),
        "total": lambda: office.release["privacy"].update(epsilon_total="9"),
    }
    for name, change in changes.items():
        kept = json.dumps(office.release)
        change()
        office.write()
        answer = office.run()
        assert answer.exit_code == 4 and "plan_changed" in answer.text, (name, answer.text)
        assert office.spent() == spent
        office.release = json.loads(kept)

    office.release["release"]["version"] = "2"
    office.column("sex")["target"] = {"tvd": "0.2"}
    office.write()
    assert office.run("--quiet").exit_code == 0
    assert float(office.spent()) > float(spent)


def test_on_unmet_publish_publishes_and_says_what_is_not_met(office: Office) -> None:
    office.release["loop"]["on_unmet"] = "publish"
    office.release["privacy"]["epsilon_total"] = "6"
    office.column("sex")["target"] = {"tvd": "0.0000001"}
    office.open()
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["state"] == "published"
    assert answer.json["losses"]["sex"]["met"] is False


def test_over_the_cap_nothing_is_drawn(office: Office) -> None:
    office.open(epsilon="4.999999")
    answer = office.run("--quiet")
    assert answer.exit_code == 5 and "over_cap" in answer.text
    assert office.spent() == "0"
    assert not office.public.exists()


def test_a_changed_input_under_a_published_version_is_refused(published: Office, tmp_path: Path) -> None:
    shutil.copytree(published.folder, tmp_path / "copy")
    office = Office(tmp_path / "copy")
    source = office.folder / "people.csv"
    source.write_text(source.read_text().replace("18,", "19,", 1))
    answer = office.run()
    assert answer.exit_code == 4 and "input_changed" in answer.text


def test_a_lost_root_is_refused_and_never_made_anew(office: Office) -> None:
    office.release["privacy"]["epsilon_total"] = "7"
    office.column("sex")["target"] = {"tvd": "0.0000001"}
    office.open()
    assert office.run("--quiet").exit_code == 6
    spent = office.spent()
    key = office.home / "wrapping.key"
    key.unlink()
    assert office.run().exit_code == 2
    assert office.trasgo("key", "init").exit_code == 0
    answer = office.run()
    assert answer.exit_code == 4, answer.text
    assert office.spent() == spent


@pytest.mark.parametrize("stage", ["_put_evidence", "publish_package", "stage_package"])
def test_a_crash_while_publishing_resumes_with_the_same_bytes_and_no_second_charge(
    office: Office, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    office.open()

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tasks.publish, stage, crash)
        assert office.run("--quiet").exit_code in {1, 11}
    spent = office.spent()
    assert not (office.public / "manifest.json").exists()
    assert office.trasgo("resume", str(office.config), "--quiet").exit_code == 0
    assert office.spent() == spent
    assert office.trasgo("verify", str(office.public)).exit_code == 0


def test_an_upload_that_fails_once_is_retried_with_the_same_bytes(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B79, B82: a storage error in the middle of publication."""
    office.open()
    original = tasks.publish.publish_package
    failures = iter([True])

    def flaky(staged: object, store: object, prefix: str) -> object:
        if next(failures, False):
            raise StoreError()
        return original(staged, store, prefix)  # type: ignore[arg-type]

    monkeypatch.setattr(tasks.publish, "publish_package", flaky)
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["spent"]["total"] == office.spent()
    assert office.trasgo("verify", str(office.public)).exit_code == 0
