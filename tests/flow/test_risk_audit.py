"""The risk audit in a run: restricted only, without effect on anything else, and nothing at all unless asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from office import Office

import tasks.publish
import tasks.risk
import tasks.version_life
import trasgo_lib.keys

RISK = {"quasi_identifiers": ["sex", "region", "wave"], "sensitive": ["age"], "linkage_sample": 200}
NAMES = ("distinct_l", "risk_audit", "quasi_identifiers", "Risk audit", "linkage")


def _office(folder: Path, risk: dict[str, Any] | None = RISK) -> Office:
    folder.mkdir(exist_ok=True)
    office = Office(folder)
    if risk is not None:
        office.release["risk"] = risk
    for name in ("sex", "region"):
        office.column(name)["target"] = {"tvd": "0.4"}
    office.release["loop"] |= {"loss_from": "released", "composition": "chain", "start": "2"}
    office.open()
    return office


@pytest.fixture(scope="module", autouse=True)
def fixed_secrets() -> Iterator[None]:
    """The same secrets in every office, so that their draws can be compared."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (trasgo_lib.keys, tasks.version_life):
            patch.setattr(module, "new_secret", lambda _: bytes(range(32)))
        yield


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Office:
    """An office that has published with an audit; read only."""
    office = _office(tmp_path_factory.mktemp("audited"))
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert not any(name in answer.text for name in NAMES)
    return office


def _document(office: Office) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((office.restricted / "risk_audit.json").read_text(encoding="utf-8"))
    return document


def _data(office: Office) -> dict[str, str]:
    files = (office.public / "data").iterdir()
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_audit_is_in_the_restricted_root_only(audited: Office) -> None:
    document = _document(audited)
    assert (document["format"], document["dataset"], document["version"]) == (1, "people", "1")
    risk = document["risk"]
    assert risk["linkage"]["targets"] == 200 and risk["original"]["classes"]["rows"] == 1200
    assert risk["linkage"]["reason"].startswith("a quasi-identifier is public")
    assert (audited.restricted / "risk_audit.json").stat().st_mode & 0o777 == 0o600
    assert "## Risk audit" in (audited.restricted / "report.md").read_text(encoding="utf-8")
    elsewhere = [audited.folder / "store" / "public", audited.home]
    for path in (path for folder in elsewhere for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        assert not any(name.encode() in content for name in NAMES), path


def test_without_the_key_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks.risk, "audit_risk", None)
    office = _office(tmp_path, None)
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert not (office.restricted / "risk_audit.json").exists()
    assert "Risk audit" not in (office.restricted / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("error", [MemoryError("age 44"), OSError(5, "age 44")], ids=["memory", "disk"])
def test_a_failure_changes_nothing_but_its_own_file(
    audited: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(tasks.risk, "audit_risk", fails)
    office = _office(tmp_path / "office")
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["state"] == "published" and "age 44" not in answer.text
    assert _document(office)["risk"] == {"not_computed": type(error).__name__}
    assert _data(office) == _data(audited)
    assert office.trasgo("verify", str(office.public)).exit_code == 0


def test_a_document_that_cannot_be_stored_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd:
        def to_json(self) -> dict[str, Any]:
            return {"purpose": float("nan")}

    monkeypatch.setattr(tasks.risk, "audit_risk", lambda *_: Odd())
    office = _office(tmp_path / "office")
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert _document(office)["risk"] == {"not_computed": "ValueError"}


def test_a_resumed_run_keeps_the_audit_that_was_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another outcome the second time, as after a MemoryError, would be other bytes under a key written once."""
    office = _office(tmp_path / "office")
    with monkeypatch.context() as patch:
        put = tasks.publish.publish_package

        def stops_before_the_public_root(staged: Any, store: Any, prefix: str) -> None:
            if not store.private:
                raise RuntimeError("stopped")
            put(staged, store, prefix)

        patch.setattr(tasks.publish, "publish_package", stops_before_the_public_root)
        assert office.run("--quiet").exit_code != 0
    before = (office.restricted / "risk_audit.json").read_bytes()
    assert not (office.public / "manifest.json").exists()
    monkeypatch.setattr(tasks.risk, "audit_risk", None)
    answer = office.trasgo("resume", str(office.config), "--quiet")
    assert answer.exit_code == 0, answer.text
    assert (office.restricted / "risk_audit.json").read_bytes() == before


def test_a_held_version_is_audited_too(tmp_path: Path) -> None:
    office = _office(tmp_path / "office")
    office.column("sex")["target"] = {"tvd": "0.00001"}
    office.release["privacy"]["epsilon_total"] = "7"
    office.write()
    assert office.run("--quiet").exit_code == 6
    assert _document(office)["risk"]["linkage"]["rows"] == 1200
    assert not office.public.exists()


def test_an_audit_can_be_declared_after_a_version_was_drawn(audited: Office) -> None:
    """It is in no plan digest: the same version, published without or with it, is a no-op."""
    office = audited
    del office.release["risk"]
    office.write()
    answer = office.run("--json")
    assert answer.exit_code == 0 and answer.json["already_published"] is True
    office.release["risk"] = RISK
    office.write()
