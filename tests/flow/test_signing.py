"""Signing keys through the command: made, told, renewed; a run signs or does not start; a crash changes no byte."""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path

import pytest
from office import Office

import tasks.publish
from trasgo_lib.keys import SigningKeys, WrappingKey


def public_key(office: Office, name: str = "office.pem", *more: str) -> Path:
    answer = office.trasgo("key", "public", *more)
    assert answer.exit_code == 0, answer.text
    path = office.folder / name
    path.write_text(answer.out)
    return path


def test_a_release_verifies_with_what_key_public_prints(published: Office, tmp_path: Path) -> None:
    key = public_key(published)
    copy = Path(shutil.copytree(published.public, tmp_path / "elsewhere"))
    answer = published.trasgo("verify", str(copy), "--key", str(key))
    assert answer.exit_code == 0, answer.text
    key_id = published.trasgo("key", "public", "--json").json["signs_now"]
    assert f"Signed by the given key {key_id}" in answer.out
    answer = published.trasgo("verify", str(copy))
    assert answer.exit_code == 0 and "Who signed was not checked" in answer.out and key_id in answer.out


def test_the_seed_stands_nowhere_in_clear(published: Office) -> None:
    wrapping = WrappingKey.from_file(published.home / "wrapping.key")
    seed = SigningKeys.from_file(published.home / "signing.key").key(wrapping).seed
    forms = (seed, seed.hex().encode(), base64.b64encode(seed), base64.urlsafe_b64encode(seed))
    folders = (published.folder, Path(os.environ["PREFECT_HOME"]))
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert not [path for path in files if any(form in path.read_bytes() for form in forms)]


def test_the_variable_names_the_key_too(published: Office, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRASGO_SIGNING_PUBLIC_KEY", str(public_key(published)))
    assert published.trasgo("verify", str(published.public), "--json").json["signature"]["signer_checked"] is True
    monkeypatch.setenv("TRASGO_SIGNING_PUBLIC_KEY", str(tmp_path / "absent"))
    assert published.trasgo("verify", str(published.public)).exit_code == 2


def test_the_key_of_another_office_is_exit_8(published: Office, office: Office) -> None:
    assert office.trasgo("key", "init").exit_code == 0
    answer = published.trasgo("verify", str(published.public), "--key", str(public_key(office)))
    assert answer.exit_code == 8 and "FAILED signer" in answer.out


def test_without_a_signing_key_nothing_is_drawn(office: Office) -> None:
    office.open()
    (office.home / "signing.key").unlink()
    answer = office.run("--json")
    assert answer.exit_code == 2 and answer.json["faults"][0]["reason"] == "key_unusable"
    assert "trasgo key init --if-absent" in answer.json["faults"][0]["fix"]
    assert office.spent() == "0"
    assert office.trasgo("key", "init", "--if-absent").exit_code == 0
    assert (office.home / "signing.key").stat().st_mode & 0o777 == 0o600


def test_sign_none_publishes_unsigned_and_says_so(office: Office) -> None:
    office.release["publish"]["sign"] = "none"
    office.open()
    (office.home / "signing.key").unlink()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert not (office.public / "manifest.dsse.json").exists()
    assert json.loads((office.public / "manifest.json").read_text())["signature"] is None
    answer = office.trasgo("verify", str(office.public))
    assert answer.exit_code == 0 and "not signed" in answer.out
    assert office.trasgo("audit", str(office.config)).exit_code == 0


def test_a_renewed_key_signs_from_then_on_and_the_old_one_still_verifies(published: Office, tmp_path: Path) -> None:
    office = Office(Path(shutil.copytree(published.folder, tmp_path / "copy")))
    old = public_key(office, "old.pem")
    assert office.trasgo("key", "renew-signing").exit_code == 0
    new, ring = public_key(office, "new.pem"), public_key(office, "ring.pem", "--all")
    assert old.read_text() != new.read_text()
    assert ring.read_text() == old.read_text() + new.read_text()
    for key, code in ((old, 0), (ring, 0), (new, 8)):
        assert office.trasgo("verify", str(office.public), "--key", str(key)).exit_code == code
    assert office.trasgo("audit", str(office.config)).exit_code == 0


def test_a_publication_goes_on_with_the_key_it_was_begun_with(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.open()
    original = tasks.publish.publish_package

    def crash_before_the_manifest(staged: object, store: object, prefix: str) -> object:
        if str(store.uri()).endswith("public"):  # type: ignore[attr-defined]
            staged = type(staged)(staged.files[:-1])  # type: ignore[attr-defined, call-arg]
            original(staged, store, prefix)  # type: ignore[arg-type]
            raise KeyboardInterrupt
        return original(staged, store, prefix)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(tasks.publish, "publish_package", crash_before_the_manifest)
        assert office.run("--quiet").exit_code in {1, 11}
    envelope = (office.public / "manifest.dsse.json").read_bytes()
    assert not (office.public / "manifest.json").exists()
    old = public_key(office)
    assert office.trasgo("key", "renew-signing").exit_code == 0
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert (office.public / "manifest.dsse.json").read_bytes() == envelope
    assert office.trasgo("verify", str(office.public), "--key", str(old)).exit_code == 0


def test_a_wrapping_key_in_a_variable_needs_no_file(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    assert office.trasgo("key", "init").exit_code == 0
    text = (office.home / "wrapping.key").read_text().strip()
    (office.home / "wrapping.key").unlink()
    (office.home / "signing.key").unlink()
    monkeypatch.setenv("TRASGO_WRAPPING_KEY", text)
    assert office.trasgo("key", "init").exit_code == 0
    assert not (office.home / "wrapping.key").exists() and (office.home / "signing.key").exists()
    monkeypatch.setenv("TRASGO_SIGNING_KEY_FILE", str(office.folder / "elsewhere.key"))
    assert office.trasgo("key", "public").exit_code == 2
    assert office.trasgo("key", "init").exit_code == 0
    assert (office.folder / "elsewhere.key").exists()


def test_a_signing_key_is_never_replaced_by_init(office: Office) -> None:
    assert office.trasgo("key", "init").exit_code == 0
    before = (office.home / "signing.key").read_bytes()
    (office.home / "wrapping.key").unlink()
    answer = office.trasgo("key", "init")
    assert answer.exit_code == 0 and "another wrapping key" in answer.err
    assert (office.home / "signing.key").read_bytes() == before
