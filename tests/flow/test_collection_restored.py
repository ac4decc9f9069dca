"""Lost public files of a window come back byte for byte; what was withdrawn stays away, whoever runs meanwhile."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from collector import Collection, batch, day_of, this_window
from first_run import FirstRun
from office import Answer, Office

import tasks.collection
import tasks.collection_session as sessions
from tasks.collection_life import life_of_ref
from tasks.wholeness import lost_files
from trasgo_lib.collection.intake import Submission
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import State
from trasgo_lib.release import ENVELOPE, MANIFEST, SIGNING_KEY, erratum_key
from trasgo_lib.storage import ObjectStore, open_store

DEVICES = 3000
CSV = "data/heat.csv"


class Window:
    """A published window whose public files can be lost."""

    def __init__(self, folder: Path) -> None:
        self.window, declared = this_window()
        self.collection = Collection(folder, window=declared, show={"least_reports": 100})
        self.collection.prepare()
        session = self.collection.session
        receiver = session.receiver(sessions.collector_key(self.collection.home), sessions.today)
        body = batch(self.collection.version, self.window, "batch-of-all-devices", range(DEVICES))
        assert receiver.receive([Submission("android", body)])[0].receipt.accepted == DEVICES
        answer = self.run()
        assert answer.exit_code == 0, answer.text
        self.folder = self.collection.public(self.window)
        self.published = self.files()

    def run(self, *arguments: str) -> Answer:
        """``trasgo collect run`` after the window has ended."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sessions, "today", lambda: day_of(self.window) + timedelta(days=40))
            return self.collection.trasgo(
                "collect", "run", str(self.collection.config), "--window", self.window, *arguments
            )

    def withdraw(self) -> Answer:
        """``trasgo withdraw``."""
        config = str(self.collection.config)
        return self.collection.trasgo("withdraw", config, "--window", self.window, "--yes", "--reason", "A few people.")

    def files(self) -> dict[str, bytes]:
        """Public files."""
        return {
            path.relative_to(self.folder).as_posix(): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file()
        }

    @property
    def ref(self) -> sessions.CollectionRef:
        """What tasks are given."""
        digest = hashlib.sha256(self.collection.config.read_bytes()).hexdigest()
        return sessions.CollectionRef(
            str(self.collection.config), digest, str(self.collection.home), self.window, "ana"
        )

    @property
    def counts(self) -> list[str]:
        """Keys of its counts."""
        return [f"heat/{self.window}.1/counts/000000.json"]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """A published window; every test leaves it whole, and the last one withdraws it."""
    yield Window(tmp_path_factory.mktemp("restored"))


def test_one_lost_file_comes_back_as_it_was(one: Window) -> None:
    """Before, only the manifest was looked at, and the window was called published without its table."""
    (one.folder / CSV).unlink()
    answer = one.run("--json")
    assert answer.exit_code == 0 and answer.json["already_published"] is False, answer.text
    assert one.files() == one.published
    assert one.run("--json").json["already_published"] is True


def test_a_lost_signature_comes_back_under_the_key_it_was_made_with(one: Window) -> None:
    """The office signs with another key by now; what was published was signed with the one before."""
    assert one.collection.trasgo("key", "renew-signing").exit_code == 0
    for name in (SIGNING_KEY, ENVELOPE):
        (one.folder / name).unlink()
    answer = one.run("--quiet")
    assert answer.exit_code == 0, answer.text
    assert one.files() == one.published


def test_a_file_of_another_length_is_told_and_not_overwritten(one: Window) -> None:
    (one.folder / CSV).write_bytes(one.published[CSV][:-7])
    answer = one.run("--quiet")
    assert answer.exit_code == 4 and "already_exists" in answer.text, answer.text
    assert (one.folder / CSV).read_bytes() == one.published[CSV][:-7]
    (one.folder / CSV).write_bytes(one.published[CSV])


def test_another_manifest_does_not_pass_for_the_published_one(one: Window) -> None:
    manifest = one.folder / MANIFEST
    for content in (one.published[MANIFEST].replace(b"heat.csv", b"heat.csw", 1), b"{"):
        manifest.write_bytes(content)
        (one.folder / SIGNING_KEY).unlink(missing_ok=True)
        answer = one.run("--quiet")
        assert answer.exit_code == 4 and manifest.read_bytes() == content, answer.text
    (one.folder / SIGNING_KEY).write_bytes(one.published[SIGNING_KEY])
    manifest.write_bytes(one.published[MANIFEST])


def test_who_withdraws_waits_for_a_run_and_a_run_puts_nothing_after_a_withdrawal(one: Window) -> None:
    """A run that found a lost file, and goes on after the window was withdrawn, would put the file again."""
    sessions.collection_of.cache_clear()
    life = life_of_ref(one.ref)
    with life.hold_lease():
        refused = one.withdraw()
        assert refused.exit_code == 4 and "locked" in refused.text, refused.text
        record = life.version()
        assert record is not None and record.state is State.PUBLISHED and one.files() == one.published
    (one.folder / CSV).unlink()
    tasks.collection.publish_collection.fn(one.ref, one.counts)
    assert one.files() == one.published, "the control: what stands is put again"
    assert one.withdraw().exit_code == 0
    left = one.files()
    assert CSV not in left and "withdrawn.json" in left
    with pytest.raises(ConflictError) as caught:
        tasks.collection.publish_collection.fn(one.ref, one.counts)
    assert caught.value.reason is Reason.WITHDRAWN
    assert one.files() == left
    assert "Already withdrawn" in one.run("--quiet").out and one.files() == left


@pytest.fixture
def life() -> Any:
    """A published version of two files, in memory."""
    public = open_store("memory:")
    manifest: dict[str, Any] = {
        "files": [{"path": "data/a.csv", "bytes": 3}, {"path": "statement.json", "bytes": 2}],
        "signature": {"path": ENVELOPE},
        "supersedes": "0",
    }
    content = json.dumps(manifest).encode()
    stored = {"a/1/data/a.csv": b"1,2", "a/1/statement.json": b"{}", f"a/1/{ENVELOPE}": b"signed"}
    for key, data in (stored | {f"a/1/{MANIFEST}": content, erratum_key("a", "1"): b"words"}).items():
        public.put_once(key, data)
    record = SimpleNamespace(state=State.PUBLISHED, manifest_digest=hashlib.sha256(content).hexdigest())
    return SimpleNamespace(
        plan=SimpleNamespace(dataset="a", version="1"), public=public, record=record, version=lambda: record
    )


@pytest.mark.parametrize(
    "path", ["data/a.csv", "statement.json", ENVELOPE, MANIFEST, "../_ERRATA/1.json"], ids=lambda path: path[-12:]
)
def test_every_file_of_a_version_is_missed(life: Any, path: str) -> None:
    assert lost_files(life) == ()
    key = erratum_key("a", "1") if path.startswith("..") else f"a/1/{path}"
    life.public.remove(key)
    assert lost_files(life) == ((key,) if path.startswith("..") else (path,))
    life.record.state = State.WITHDRAWN
    assert lost_files(life) == ()


def test_a_file_of_another_length_counts_as_lost_and_is_not_read(life: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    life.public.remove("a/1/data/a.csv")
    life.public.put_once("a/1/data/a.csv", b"1,2,3")
    monkeypatch.setattr(ObjectStore, "digest", None)
    assert lost_files(life) == ("data/a.csv",)


def test_a_release_with_a_lost_file_is_not_called_published(office: Office, first_run: FirstRun) -> None:
    first_run.bring(office)
    assert office.run("--quiet").exit_code == 0
    table = office.public / "data" / "people.csv"
    content = table.read_bytes()
    table.unlink()
    answer = office.run("--quiet")
    assert answer.exit_code == 10 and "data/people.csv" in answer.text and "from a copy" in answer.text, answer.text
    table.write_bytes(content)
    assert office.run("--quiet").exit_code == 0
