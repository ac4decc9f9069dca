"""A window of a collection from the service to its published map; published again for nothing; no leak."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from browser import browser, look_at
from collector import COLLECTION, Collection, Service, batch, day_of, pseudonym, send, this_window

import tasks.collection_session as sessions
from tasks.collection import count_files
from tasks.collection_closing import take_inbox
from tasks.collection_session import CollectionRef
from trasgo_lib.collection.intake import Journal, Submission
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.keys import WrappingKey

DEVICES = 6000


def _where(devices: range, cells: int) -> np.ndarray:
    """Half of all devices in the first cell, a quarter in the second, the rest evenly spread."""
    return np.array([(0, 0, 1, 2 + number // 4 % (cells - 2))[number % 4] for number in devices])


class Published:
    """A window that came through the service and an inbox, and was published."""

    def __init__(self, folder: Path) -> None:
        self.window, declared = this_window()
        collector = COLLECTION["collector"] | {"inbox": "inbox"}
        accepted = [{"mechanism": "kary_randomized_response", "epsilon": "1"}]
        self.collection = Collection(folder, window=declared, collector=collector, accepted=accepted)
        self.token = self.collection.prepare()
        current, older = (version for version in self.collection.session.plan.versions)
        cells = len(current.alphabet.cells)
        service = Service.start(self.collection)
        self.replies = []
        for number, first in enumerate(range(0, 3000, 500)):
            devices = range(first, first + 500)
            body = batch(current, self.window, f"batch-{number:016d}", devices, _where(devices, cells))
            self.replies.append(send(service.port, body, self.token))
        self.replies.append(send(service.port, b"{", self.token))
        self.replies.append(send(service.port, body.replace(current.tag.alphabet.encode(), b"f" * 32), self.token))
        self.code, self.said = service.stop()
        inbox = folder / "inbox" / self.window
        inbox.mkdir(parents=True)
        lines = []
        for number, first in enumerate(range(3000, DEVICES, 1000)):
            devices = range(first, first + 1000)
            version = older if first >= DEVICES - 1000 else current
            lines.append(batch(version, self.window, f"line-{number:016d}", devices, _where(devices, cells)))
        (inbox / "batches.ndjson").write_bytes(b"\n".join([*lines, lines[0], b"no batch"]))
        self.over = day_of(self.window) + timedelta(days=33)
        self.answer = self.run()

    def run(self, *arguments: str):  # type: ignore[no-untyped-def]
        """``trasgo collect run`` after the window has ended."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sessions, "today", lambda: self.over)
            run = ("collect", "run", str(self.collection.config), "--window", self.window)
            return self.collection.trasgo(*run, *arguments)

    @property
    def folder(self) -> Path:
        """Its public files."""
        return self.collection.public(self.window)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    yield Published(tmp_path_factory.mktemp("collection"))


def test_the_window_is_published_with_counts_by_reason(published: Published) -> None:
    assert published.answer.exit_code == 0, published.answer.text
    assert published.replies[:6] == [(200, {"accepted": 500, "refused": {}, "replayed": False})] * 6
    assert published.replies[6:] == [(400, {"reason": "bad_batch"}), (409, {"reason": "unknown_alphabet"})]
    assert published.code == 0 and "taken: 3000; refused: bad_batch 1, unknown_alphabet 500" in published.said
    assert f"reports  {DEVICES:,}" in published.answer.out and "bad_batch 2" in published.answer.out
    report = json.loads((published.collection.restricted(published.window) / "collection_report.json").read_text())
    assert report["refused"] == {"bad_batch": 2, "unknown_alphabet": 500}, "also what came after the last entry"
    assert report["batches"] == 9 and all(check["passed"] for check in report["health"])


def test_versions_are_estimated_apart_and_combined_with_stated_weights(published: Published) -> None:
    statement = json.loads((published.folder / "statement.json").read_text(encoding="utf-8"))
    one, other = statement["versions"]
    assert (one["reports"], other["reports"], statement["reports"]) == (5000, 1000, DEVICES)
    assert one["weight"] > other["weight"] > 0 and one["weight"] + other["weight"] == pytest.approx(1, abs=1e-8)
    assert (one["epsilon_per_report"], other["epsilon_per_report"]) == ("2.000000", "1.000000")
    assert "No account is charged" in statement["ledger"] and statement["device"]["lifetime_epsilon"] == "52"
    table = pq.read_table(published.folder / "data" / "heat.parquet").to_pylist()
    assert [row["shown"] for row in table[:2]] == [True, True]
    assert abs(table[0]["share"] - 0.5) < 5 * table[0]["standard_error"]
    assert {row["cell"] for row in table[-2:]} == {"nobody", "other"} and not any(row["shown"] for row in table[-2:])
    assert sum(row["share_on_map"] for row in table) == pytest.approx(1, abs=1e-6)


def test_again_is_free_and_changes_nothing(published: Published) -> None:
    before = {path: path.read_bytes() for path in published.folder.rglob("*") if path.is_file()}
    again = published.run("--json")
    assert again.exit_code == 0 and again.json["already_published"] is True, again.text
    shutil.rmtree(published.folder)
    lost = published.run("--quiet")  # the public root was lost: the same bytes come from the same counts
    assert lost.exit_code == 0, lost.text
    assert {path: path.read_bytes() for path in published.folder.rglob("*") if path.is_file()} == before


def test_a_changed_file_does_not_pass_for_the_published_one(published: Published) -> None:
    file = published.collection.file
    published.collection.file = file | {"show": {"level": "0.2"}}
    published.collection.write()
    try:
        changed = published.run()
    finally:
        published.collection.file = file
        published.collection.write()
    assert changed.exit_code == 4 and "plan_changed" in changed.text, changed.text


def test_the_package_verifies_and_every_file_of_it_matters(published: Published, tmp_path: Path) -> None:
    assert verify_collection(published.folder).passed
    assert published.collection.trasgo("verify", str(published.folder)).exit_code == 0
    files = sorted(path for path in published.folder.rglob("*") if path.is_file())
    assert len(files) == 19
    for path in files:
        copy = tmp_path / path.name
        shutil.copytree(published.folder, copy)
        target = copy / path.relative_to(published.folder)
        content = target.read_bytes()
        target.write_bytes(content.replace(b"1", b"2", 1) if b"1" in content else content + b"x")
        assert published.collection.trasgo("verify", str(copy)).exit_code == 8, path.name
        shutil.rmtree(copy)


def test_no_pseudonym_token_key_or_place_is_left_anywhere(
    published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = published.collection.folder
    key = (folder / "home" / "collector.key").read_text().strip()
    assert WrappingKey.from_text(key)
    needles = [published.token, key, pseudonym(0), pseudonym(DEVICES - 1), "batch-0000000000000000"]
    kept = ("collector.key", "batches.ndjson")  # the key's own file, and what clients put into the inbox
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in kept]
    files += [path for path in Path(os.environ["PREFECT_HOME"]).rglob("*") if path.is_file()]
    assert len(files) > 30
    for path in files:
        content = path.read_bytes()
        assert not [needle for needle in needles if needle.encode() in content], path
    told = published.answer.text + published.said + caplog.text
    assert not [needle for needle in needles if needle in told]
    assert not list((folder / "store" / "restricted").rglob("secret")), "the window's secret goes with its end"


def test_the_map_asks_for_nothing_and_fits_a_phone(published: Published, tmp_path: Path) -> None:
    with browser() as opened:
        look = look_at(opened, published.folder / "map.html", tmp_path)
        tab = opened.new_page()
        tab.goto((published.folder / "map.html").as_uri())
        first = tab.inner_text("#told")
        tab.focus("#map path.chosen")
        for way in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
            tab.keyboard.press(way)
        moved = tab.inner_text("#told")
        tab.keyboard.press("+")
        view = tab.get_attribute("#map svg", "viewBox")
        tab.focus("tr[id^=row-]")
        tab.keyboard.press("Enter")
        assert tab.inner_text("#told") == first
        tab.close()
    assert look.requests == [] and look.faults == []
    assert look.overflow == {390: 0, 1200: 0} and look.headings[0] == 1
    assert moved != "" and view is not None and not view.startswith("0 0 1000 ")


def test_an_open_window_and_one_that_is_none_are_refused(published: Published, tmp_path: Path) -> None:
    collection = published.collection
    still = collection.trasgo("collect", "run", str(collection.config), "--window", published.window)
    assert still.exit_code == 4 and "still takes reports" in still.text
    none = collection.trasgo("collect", "run", str(collection.config), "--window", "2020-01-01")
    assert none.exit_code == 4 and "first day of a window" in none.text


def test_the_service_needs_its_key_and_its_tokens(tmp_path: Path) -> None:
    collection = Collection(tmp_path)
    first = collection.trasgo("collect", "serve", str(collection.config))
    assert first.exit_code == 2 and "trasgo collect token" in first.text
    assert collection.trasgo("collect", "token", "android").exit_code == 0
    second = collection.trasgo("collect", "serve", str(collection.config))
    assert second.exit_code == 2 and "trasgo collect key" in second.text
    assert collection.trasgo("collect", "key").exit_code == 0
    assert collection.trasgo("collect", "key").exit_code == 4, "never over an existing one"
    for name in ("collector.key", "collector-tokens.json"):
        assert (collection.home / name).stat().st_mode & 0o077 == 0


def test_a_window_is_not_closed_over_batches_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, declared = this_window()
    collection = Collection(tmp_path, window=declared, collector={"inbox": "inbox"})
    collection.prepare()
    inbox = tmp_path / "inbox" / window
    inbox.mkdir(parents=True)
    lines = [
        batch(collection.version, window, f"line-{number:016d}", range(number, number + 1)) for number in range(70)
    ]
    (inbox / "batches.ndjson").write_bytes(b"\n".join(lines))
    ref = CollectionRef(str(collection.config), "", str(collection.home), window, "ana")

    def unreachable(*_: object) -> None:
        raise StoreError.of(Reason.STORE_UNREACHABLE, "store", required="an answer", came="none", fix="Wait.")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", unreachable)
        with pytest.raises(StoreError, match="not closed"):
            take_inbox(collection.session, ref)
    take_inbox(collection.session, ref)
    take_inbox(collection.session, ref)
    log = collection.session.journal().read(window)
    assert (log.accepted, log.entries, log.closed) == (70, 2, False)


def test_a_file_that_is_not_as_it_was_taken_is_not_counted(tmp_path: Path) -> None:
    window, declared = this_window()
    collection = Collection(tmp_path, window=declared)
    session, version = collection.session, collection.version
    assert version.channel.kind == "slot"
    answers = np.zeros(3, dtype=np.uint32)
    file = session.journal().put_reports(window, version.tag, version.channel, answers)
    counted, unknown = count_files(session, window, [file])
    assert counted[version.tag].reports == 3 and not unknown
    wrong = [replace(file, reports=4), replace(file, channel="0" * 32), file]
    for one, of in zip(wrong, (window, window, "2020-01-06"), strict=True):
        with pytest.raises(StoreError, match="acknowledged"):
            count_files(session, of, [one])


def test_clients_that_answer_otherwise_hold_the_window(tmp_path: Path) -> None:
    """Unary clients with epsilon 1.5 instead of 2: the health check stops, exit 7; nothing is published."""
    window, declared = this_window()
    collection = Collection(tmp_path, window=declared, show={"least_reports": 100})
    collection.prepare()
    other = Collection(tmp_path / "other" if (tmp_path / "other").mkdir() is None else tmp_path, window=declared)
    other.file["channel"] = {"mechanism": "optimised_unary_encoding", "epsilon": "1"}
    other.write()
    collection.file["channel"] = {"mechanism": "optimised_unary_encoding", "epsilon": "2"}
    collection.write()
    wrong, right = other.version, collection.version
    body = json.loads(batch(wrong, window, "batch-of-wrong-clients", range(4000)))
    body["channel_version"] = right.tag.channel
    receiver = collection.session.receiver(sessions.collector_key(collection.home), sessions.today)
    assert receiver.receive([Submission("android", json.dumps(body).encode())])[0].receipt.accepted == 4000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: day_of(window) + timedelta(days=40))
        held = collection.trasgo("collect", "run", str(collection.config), "--window", window, "--quiet")
    assert held.exit_code == 7 and "set_bits" in held.text, held.text
    assert not collection.public(window).exists()
