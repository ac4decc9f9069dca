"""Wrapping keys from every place, rotated and destroyed, through the command; and no trace of any of them."""

from __future__ import annotations

import base64
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from first_run import FirstRun
from office import Office

KEY = "canary-canary-canary-canary-key!"
KEY_TEXT = base64.urlsafe_b64encode(KEY.encode()).decode()


def spellings(key: bytes) -> list[bytes]:
    """A key as bytes, base64 in both alphabets, with and without padding, and hex."""
    plain, url = base64.b64encode(key), base64.urlsafe_b64encode(key)
    return [key, plain, url, plain.rstrip(b"="), url.rstrip(b"="), key.hex().encode(), key.hex().upper().encode()]


def _unpacked(content: bytes) -> bytes:
    """What a file holds behind base64, as the orchestrator stores the errors of failed flows."""
    try:
        return base64.b64decode(content)
    except ValueError:
        return b""


def traces(key: bytes, *folders: Path, but: frozenset[Path] = frozenset()) -> list[str]:
    """Files that hold a key in any spelling."""
    found = []
    for path in (path for folder in folders for path in folder.rglob("*") if path.is_file() and path not in but):
        content = path.read_bytes()
        content += _unpacked(content)
        found += [str(path)] if any(spelling in content for spelling in spellings(key)) else []
    return found


def ledger(office: Office) -> Path:
    return office.folder / "store" / "restricted" / ".trasgo" / "ledger.db"


def wrapped(office: Office) -> list[bytes]:
    """Every wrapped secret of the ledger."""
    with closing(sqlite3.connect(ledger(office))) as connection:
        return [
            row[0]
            for query in ("SELECT wrapped_digest_key FROM accounts", "SELECT wrapped_root FROM versions")
            for row in connection.execute(query)
        ]


def test_signing_goes_on_under_the_new_wrapping_key(office: Office, first_run: FirstRun) -> None:
    """The signing keys are wrapped under the wrapping key, too: the key id stays, and so does what it signs."""
    first_run.bring(office)
    before = office.trasgo("key", "public", "--json").json["signs_now"]
    answer = office.trasgo("key", "rotate", str(office.config))
    assert answer.exit_code == 0 and "Signing keys: 1, under the new key." in answer.out, answer.text
    assert office.trasgo("key", "public", "--json").json["signs_now"] == before
    office.release["release"]["version"] = "2"
    office.write()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    key = office.folder / "office.pem"
    key.write_text(office.trasgo("key", "public").out)
    for version in ("1", "2"):
        assert office.trasgo("verify", str(office.public.with_name(version)), "--key", str(key)).exit_code == 0


def test_the_key_leaves_no_trace(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Runs that publish, wait, are refused and fail: no spelling of the key in any file, database, log or text."""
    caplog.set_level("DEBUG")
    monkeypatch.setenv("OFFICE_KEY", KEY_TEXT)
    office.release["keys"] = {"env": "OFFICE_KEY"}
    office.release["publish"]["approvals"] = 1
    office.open()
    texts = [office.run("--json").text, office.trasgo("status", str(office.config)).text]
    office.actor = "eva"
    texts.append(office.trasgo("approve", str(office.config), "--yes").text)
    texts.append(office.run("--quiet").text)
    office.release["release"]["version"] = "2"
    office.column("age")["domain"]["upper"] = "40"
    office.column("age")["outside"] = "reject"
    office.column("age")["domain"]["lower"] = "20"
    office.write()
    refused = office.run("--quiet")
    assert refused.exit_code == 3, refused.text
    office.release["release"]["version"] = "3"
    office.write()
    import tasks.version_life

    def fail(*arguments: object) -> bytes:
        raise RuntimeError(KEY, KEY_TEXT)  # what a broken library could say

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.version_life, "commitment", fail)
        failed = office.run("--quiet")
    assert failed.exit_code == 1, failed.text
    monkeypatch.setenv("OFFICE_KEY", KEY_TEXT[:20])
    short = office.run("--quiet")
    assert short.exit_code == 2 and "32 bytes" in short.text, short.text
    monkeypatch.setenv("OFFICE_KEY", base64.urlsafe_b64encode(b"a" * 32).decode())
    equal = office.run("--quiet")
    assert equal.exit_code == 2 and "random bytes" in equal.text, equal.text
    texts += [refused.text, failed.text, short.text, equal.text, *(record.getMessage() for record in caplog.records)]
    texts += [record.exc_text or "" for record in caplog.records]
    said = "\n".join(texts).encode()
    assert not [spelling for spelling in spellings(KEY.encode()) if spelling in said]
    assert not traces(KEY.encode(), office.folder, Path(os.environ["PREFECT_HOME"]))
    planted = office.folder / "planted"  # the search itself can find
    planted.write_text(f"x{KEY.encode().hex()}y")
    assert traces(KEY.encode(), office.folder) == [str(planted)]
    planted.write_bytes(base64.encodebytes(b"a pickle" + KEY.encode() + b"its end"))
    assert traces(KEY.encode(), office.folder) == [str(planted)]


def test_a_key_from_a_secret_block(office: Office) -> None:
    from prefect.blocks.system import Secret

    Secret(value=KEY_TEXT).save("trasgo-test-key", overwrite=True)
    Secret(value="too short").save("trasgo-test-short", overwrite=True)
    office.release["keys"] = {"block": "trasgo-test-key"}
    office.open()
    assert office.run("--quiet").exit_code == 0
    assert not traces(KEY.encode(), office.folder)
    for name, words in (("trasgo-test-short", "32 bytes"), ("trasgo-test-none", "none that can be read")):
        office.release["keys"] = {"block": name}
        office.write()
        answer = office.run("--quiet")
        assert answer.exit_code == 2 and words in answer.text and "too short" not in answer.text, answer.text


def test_a_key_file_others_can_read_is_refused(office: Office) -> None:
    office.open()
    (office.home / "wrapping.key").chmod(0o644)
    answer = office.run("--quiet")
    assert answer.exit_code == 2 and "mode 0644" in answer.text


def test_rotation_wraps_everything_anew_and_the_release_goes_on(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    before, old = wrapped(office), (office.home / "wrapping.key").read_text()
    answer = office.trasgo("key", "rotate", str(office.config), "--reason", "yearly")
    assert answer.exit_code == 0 and "1 digest keys, 1 roots wrapped under the new key" in answer.out, answer.text
    after, new = wrapped(office), (office.home / "wrapping.key").read_text()
    assert old != new and not set(before) & set(after)
    assert (office.home / "wrapping.key.retired-1").read_text() == old
    assert not (office.home / "wrapping.key.new").exists()
    assert (office.home / "wrapping.key").stat().st_mode & 0o777 == 0o600
    assert not [path for secret in before for path in (ledger(office),) if secret in path.read_bytes()]
    assert office.run("--json").json["already_published"] is True
    assert office.trasgo("ledger", "check", str(office.config)).exit_code == 0
    office.release["release"]["version"] = "2"
    office.write()
    assert office.run("--quiet").exit_code == 0
    (office.home / "wrapping.key").write_text(old)
    assert office.run("--quiet").exit_code == 4


@pytest.mark.parametrize("where", ["before the ledger", "before the file", "between the two names"])
def test_an_interrupted_rotation_is_gone_on_with(office: Office, first_run: FirstRun, where: str) -> None:
    import tasks.rotation
    from trasgo_lib.records import Records

    first_run.bring(office)

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    target, name = {
        "before the ledger": (Records, "rewrap"),
        "before the file": (tasks.rotation.os, "link"),
        "between the two names": (Path, "replace"),
    }[where]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, name, crash)
        assert office.trasgo("key", "rotate", str(office.config)).exit_code == 11
    assert (office.home / "wrapping.key").exists() and (office.home / "wrapping.key.new").exists()
    answer = office.trasgo("key", "rotate", str(office.config))
    assert answer.exit_code == 0, answer.text
    assert ("were under it already" in answer.out) == (where != "before the ledger")
    assert not (office.home / "wrapping.key.new").exists()
    assert [path.name for path in office.home.glob("*.retired-*")] == ["wrapping.key.retired-1"]
    assert office.run("--json").json["already_published"] is True


def test_a_rotation_waits_for_runs_and_needs_every_secret(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    from trasgo_lib.records import Records

    before = wrapped(office)
    with Records.open(ledger(office)).lease("people", "9", "elsewhere 1 now"):
        refused = office.trasgo("key", "rotate", str(office.config))
        assert refused.exit_code == 4 and "locked" in refused.text, refused.text
        destroyed = office.trasgo(
            "key", "destroy", "people/9", "--config", str(office.config), "--reason", "x", "--yes"
        )
        assert destroyed.exit_code == 4
    assert wrapped(office) == before


def test_from_one_variable_to_another(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLD_KEY", KEY_TEXT)
    monkeypatch.setenv("NEW_KEY", base64.urlsafe_b64encode(KEY.upper().encode()).decode())
    office.release["keys"] = {"env": "OLD_KEY"}
    office.open()
    assert office.run("--quiet").exit_code == 0
    assert office.trasgo("key", "rotate", str(office.config)).exit_code == 2
    same = office.trasgo("key", "rotate", str(office.config), "--to", "env:OLD_KEY")
    assert same.exit_code == 4 and "the same key" in same.text
    answer = office.trasgo("key", "rotate", str(office.config), "--to", "env:NEW_KEY")
    assert answer.exit_code == 0, answer.text
    assert office.run("--quiet").exit_code == 4
    office.release["keys"] = {"env": "NEW_KEY"}
    office.write()
    assert office.run("--json").json["already_published"] is True


def test_a_destroyed_root_ends_redraws_and_nothing_else(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    config = str(office.config)
    root = wrapped(office)[1]
    asked = office.trasgo("key", "destroy", "people/1", "--config", config, "--reason", "retention is over")
    assert asked.exit_code != 0 and wrapped(office)[1] == root
    arguments = ("key", "destroy", "people/1", "--config", config, "--reason", "retention is over", "--yes")
    answer = office.trasgo(*arguments)
    assert answer.exit_code == 0 and "Destroyed" in answer.out, answer.text
    assert wrapped(office)[1] == b""
    files = [path for path in office.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if root in path.read_bytes()]
    life = office.trasgo("status", config, "--json").json
    assert life["root_destroyed"] is True
    assert [(e["actor"], e["reason"]) for e in life["events"] if e["kind"] == "destroy"] == [
        ("tester", "retention is over")
    ]
    again = office.run("--json")
    assert again.exit_code == 0 and again.json["already_published"] is True, again.text
    assert office.trasgo("ledger", "check", config).exit_code == 0
    assert office.trasgo(*arguments).exit_code == 0  # again changes nothing
    assert office.trasgo("key", "rotate", config).exit_code == 0
    assert wrapped(office)[1] == b""
    from flows.cli.run import _reference
    from tasks.session import open_session

    open_session.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRASGO_HOME", str(office.home))
        session = open_session(_reference(office.config)[0])
    with pytest.raises(Exception, match="tester destroyed on"):
        session.stream("draw", "x")


def test_an_unfinished_version_is_ended_only_by_force(office: Office) -> None:
    office.release["publish"]["approvals"] = 1
    office.open()
    config = str(office.config)
    assert office.run("--quiet").exit_code == 9
    arguments = ("key", "destroy", "people/1", "--config", config, "--reason", "not wanted", "--yes")
    refused = office.trasgo(*arguments)
    assert refused.exit_code == 4 and "--force-unfinished" in refused.text, refused.text
    spent = office.spent()
    assert office.trasgo(*arguments, "--force-unfinished").exit_code == 0
    assert office.trasgo("status", config, "--json").json["state"] == "withdrawn"
    office.actor = "eva"
    assert office.trasgo("approve", config, "--yes").exit_code == 4
    assert office.spent() == spent
    assert office.trasgo("ledger", "check", config).exit_code == 0


def test_rotation_and_destruction_on_a_server(office: Office, postgres_server: Any, postgres_database: str) -> None:
    office.release["ledger"] = {"url": postgres_server.url(postgres_database)}
    office.open()
    config = str(office.config)
    assert office.run("--quiet").exit_code == 0
    answer = office.trasgo("key", "rotate", config)
    assert answer.exit_code == 0, answer.text
    assert office.run("--json").json["already_published"] is True
    destroyed = office.trasgo("key", "destroy", "people/1", "--config", config, "--reason", "over", "--yes")
    assert destroyed.exit_code == 0, destroyed.text
    assert office.trasgo("ledger", "check", config).exit_code == 0
    with postgres_server.connect(postgres_database) as connection:
        assert connection.execute("SELECT length(wrapped_root) FROM versions").fetchone() == (0,)


def test_a_wrong_key_spoils_no_version_and_opens_no_account(office: Office) -> None:
    office.release["publish"]["sign"] = "none"
    office.open()
    path = office.home / "wrapping.key"
    right = path.read_text()
    path.write_text("A" * 42 + "E=\n")
    refused = office.run("--quiet")
    assert refused.exit_code == 4 and "key_unusable" in refused.text, refused.text
    office.release["privacy"]["account"] = "other"
    office.write()
    opened = office.trasgo("ledger", "open", str(office.config), "--epsilon", "9", "--population", "x")
    assert opened.exit_code == 4 and "other accounts" in opened.text, opened.text
    path.write_text(right)
    office.release["privacy"]["account"] = "people"
    office.write()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text


def test_secrets_under_both_keys_are_brought_under_the_new_one(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """An account that an older trasgo opened while a rotation was interrupted."""
    import tasks.rotation

    def crash(*arguments: object) -> None:
        raise KeyboardInterrupt

    office.open()
    with monkeypatch.context() as patch:
        patch.setattr(tasks.rotation.os, "link", crash)
        assert office.trasgo("key", "rotate", str(office.config)).exit_code == 11
    office.release["privacy"]["account"] = "other"
    office.write()
    with monkeypatch.context() as patch:
        patch.setattr(tasks.rotation, "require_key_of", lambda records, key: None)
        opened = office.trasgo("ledger", "open", str(office.config), "--epsilon", "99", "--population", "x")
    assert opened.exit_code == 0, opened.text
    answer = office.trasgo("key", "rotate", str(office.config))
    assert answer.exit_code == 0 and "2 digest keys" in answer.out, answer.text
    assert office.run("--quiet").exit_code == 0
