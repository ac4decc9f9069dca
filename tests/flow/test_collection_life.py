"""Four eyes, embargo, correction and withdrawal of a window: the same path as a release, and nothing charged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from collector import Collection, batch, day_of, this_window
from office import Answer

import flows.collecting
import tasks.collection
import tasks.collection_session as sessions
from trasgo_lib.collection.intake import Submission
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.errors import ConflictError

DEVICES = 3000
EMBARGO = "2090-01-15T11:00:00 Europe/Madrid"
NOTE = "Two client groups were counted in another time zone."


def _run(collection: Collection, window: str, *arguments: str) -> Answer:
    """``trasgo collect run`` after the window has ended."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: day_of(window) + timedelta(days=40))
        run = ("collect", "run", str(collection.config), "--window", window, "--quiet")
        return collection.trasgo(*run, *arguments)


def _scheduled(collection: Collection, window: str) -> Any:
    """The state in which the scheduled flow ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: day_of(window) + timedelta(days=40))
        patch.setenv("TRASGO_HOME", str(collection.home))
        patch.setenv("TRASGO_ACTOR", "scheduler")
        return flows.collecting.scheduled_collection(str(collection.config), return_state=True)


def _as(collection: Collection, actor: str, command: str, window: str, *arguments: str) -> Answer:
    before, collection.actor = collection.actor, actor
    try:
        return collection.trasgo(command, str(collection.config), "--window", window, *arguments)
    finally:
        collection.actor = before


@dataclass
class Life:
    """One window that went the whole way: what each step said, and what was public after it."""

    collection: Collection
    window: str
    said: dict[str, Answer] = field(default_factory=dict)
    public: dict[str, list[str]] = field(default_factory=dict)
    scheduled: Any = None

    def note(self, step: str, answer: Answer) -> Answer:
        """Keep what a step said."""
        root = self.collection.folder / "store" / "public"
        self.said[step] = answer
        self.public[step] = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return answer

    def write(self, release: dict[str, object], publish: dict[str, object]) -> None:
        """Write the file anew."""
        kept = {"dataset": "heat", "title": "Made-up devices"}
        self.collection.file |= {"release": kept | release, "publish": {"store": "store"} | publish}
        self.collection.write()

    def folder(self, version: str) -> Path:
        """Public files of a version."""
        return self.collection.folder / "store" / "public" / "heat" / f"{self.window}.{version}"


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    window, declared = this_window()
    collection = Collection(tmp_path_factory.mktemp("life"), window=declared, show={"least_reports": 100})
    collection.prepare()
    one = Life(collection, window)
    one.write({"version": "1"}, {"approvals": 2, "service_accounts": ["robot"]})
    receiver = collection.session.receiver(sessions.collector_key(collection.home), sessions.today)
    body = batch(collection.version, window, "batch-of-all-devices", range(DEVICES))
    assert receiver.receive([Submission("android", body)])[0].receipt.accepted == DEVICES
    _four_eyes(one)
    _correction(one)
    one.note("withdrawn", _as(collection, "eva", "withdraw", window, "--yes", "--reason", "A cell of few people."))
    one.note("after withdrawal", _run(collection, window))
    one.note("verified after withdrawal", collection.trasgo("verify", str(one.folder("2"))))
    one.note("status at the end", _as(collection, "eva", "status", window, "--json"))
    one.note("ledger", collection.trasgo("ledger", "check", str(collection.config), "--json"))
    one.note("account", collection.trasgo("ledger", "show", str(collection.config), "--json"))
    _another_length(one)
    _replaced(one)
    yield one


def _four_eyes(one: Life) -> None:
    collection, window = one.collection, one.window
    one.note("packaged", _run(collection, window))
    one.note("status", _as(collection, "eva", "status", window))
    one.note("runner", _as(collection, "Ana", "approve", window, "--yes"))
    one.note("robot", _as(collection, "robot", "approve", window, "--yes"))
    one.note("first", _as(collection, "eva", "approve", window, "--yes"))
    one.note("too few", _run(collection, window))
    one.scheduled = _scheduled(collection, window)
    one.note("second", _as(collection, "leo", "approve", window, "--yes"))
    one.note("published", _run(collection, window))
    (one.folder("1") / "data" / "heat.csv").unlink()
    one.note("restored", _run(collection, window, "--json"))


def _correction(one: Life) -> None:
    correction: dict[str, Any] = {"version": "2", "supersedes": {"version": "1", "reason": "error", "note": NOTE}}
    one.write(correction, {"embargo": EMBARGO})
    one.note("embargo", _run(one.collection, one.window))
    one.write(correction | {"supersedes": correction["supersedes"] | {"note": "Nothing to see."}}, {})
    one.note("other words", _run(one.collection, one.window))
    one.write({"version": "2"}, {})
    one.note("no correction", _run(one.collection, one.window))
    one.write(correction, {})
    one.note("corrected", _run(one.collection, one.window, "--json"))


def _another_length(one: Life) -> None:
    """The same reports as those of a shorter window that begins on the same day; the file is put back afterwards."""
    kept = dict(one.collection.file)
    one.collection.file |= {"window": kept["window"] | {"days": 20}, "release": kept["release"] | {"version": "3"}}
    one.collection.file["release"].pop("supersedes")
    one.collection.write()
    one.note("another length", _run(one.collection, one.window))
    one.collection.file = kept
    one.collection.write()


def _replaced(one: Life) -> None:
    """A file that corrects another one comes first; then the other one is run for the same window."""
    kept = dict(one.collection.file)
    one.write({"version": "5", "supersedes": {"version": "4", "reason": "revision", "note": "Fewer cells."}}, {})
    one.note("replaces", _run(one.collection, one.window))
    one.write({"version": "4"}, {})
    one.note("replaced", _run(one.collection, one.window))
    one.collection.file = kept
    one.collection.write()


def test_a_file_that_was_replaced_publishes_no_window_beside_its_correction(life: Life) -> None:
    assert life.said["replaces"].exit_code == 0, life.said["replaces"].text
    assert life.said["replaced"].exit_code == 4, life.said["replaced"].text
    assert f"the window is {life.window}.5" in life.said["replaced"].text.replace("\n", " ")
    assert life.public["replaced"] == life.public["replaces"]


def test_reports_of_one_length_are_not_published_as_those_of_another(life: Life) -> None:
    assert life.said["another length"].exit_code == 4, life.said["another length"].text
    assert "when a window had 30" in life.said["another length"].text
    assert life.public["another length"] == life.public["withdrawn"]


def test_nothing_is_public_before_two_others_have_looked(life: Life) -> None:
    for step in ("packaged", "status", "runner", "robot", "first", "too few", "second"):
        assert life.public[step] == [], step
    assert life.said["packaged"].exit_code == 9 and "Packaged: heat/" in life.said["packaged"].out
    assert "approval_missing" in life.said["packaged"].text
    assert "2 approvals by different people" in life.said["status"].out
    assert "cannot approve: ana, robot" in life.said["status"].out
    assert life.said["too few"].exit_code == 9 and "came 1 (eva)" in life.said["too few"].text


@pytest.mark.parametrize(("step", "why"), [("runner", "who did"), ("robot", "service account")])
def test_who_ran_it_and_programs_cannot_approve(life: Life, step: str, why: str) -> None:
    assert life.said[step].exit_code == 4 and why in life.said[step].text


def test_who_approves_is_shown_what_devices_paid_and_what_is_shown(life: Life) -> None:
    shown = life.said["first"].out
    for words in (
        "epsilon 2.000000 a report", "answer as declared", "no account is charged", "cells of resolution 5",
        "waiting/map.html", "data/heat.csv",
    ):  # fmt: skip
        assert words in shown, words
    assert "1 more needed" in shown
    assert f"Publish it: trasgo collect run {life.collection.config} --window {life.window}" in (
        life.said["second"].out.replace("\n", " ").replace("  ", " ")
    )


def test_what_was_approved_is_published_and_verifies(life: Life) -> None:
    assert life.said["published"].exit_code == 0 and "Published: heat/" in life.said["published"].out
    waiting = life.collection.restricted(life.window) / "waiting"
    published = {path.name: path.read_bytes() for path in life.folder("1").rglob("*") if path.is_file()}
    assert published == {path.name: path.read_bytes() for path in waiting.rglob("*") if path.is_file()}
    assert verify_collection(life.folder("1")).passed


def test_a_lost_file_of_what_was_approved_comes_back(life: Life) -> None:
    assert life.said["restored"].exit_code == 0 and life.said["restored"].json["already_published"] is False
    assert life.public["restored"] == life.public["published"]


def test_a_schedule_that_finds_a_window_waiting_completes_and_says_so(life: Life) -> None:
    """An alert on failed runs means something then."""
    assert (life.scheduled.name, life.scheduled.is_completed()) == ("Waiting", True)
    assert life.scheduled.message == "approval_missing"


def test_an_embargo_keeps_a_correction_back_until_it_ends(life: Life) -> None:
    assert life.said["embargo"].exit_code == 9 and "embargo" in life.said["embargo"].text
    assert life.public["embargo"] == life.public["published"]
    assert life.said["corrected"].exit_code == 0 and life.said["corrected"].json["state"] == "published"


@pytest.mark.parametrize("step", ["other words", "no correction"])
def test_what_a_packaged_window_says_of_the_one_it_corrects_stays(life: Life, step: str) -> None:
    """Else the erratum would have words that nobody approved, or the earlier window would stay beside this one."""
    assert life.said[step].exit_code == 4 and "plan_changed" in life.said[step].text
    assert life.public[step] == life.public["published"]


def test_a_correction_supersedes_and_costs_devices_nothing(life: Life) -> None:
    statement = json.loads((life.folder("2") / "statement.json").read_text(encoding="utf-8"))
    earlier = f"{life.window}.1"
    assert statement["supersedes"] == {"version": earlier, "reason": "error", "note": NOTE}
    manifest = json.loads((life.folder("2") / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["supersedes"] == earlier
    erratum = json.loads((life.folder("2").parent / "_ERRATA" / f"{life.window}.2.json").read_text(encoding="utf-8"))
    assert erratum["supersedes"] == earlier and "adds nothing to what they spent" in erratum["in_words"]
    assert "charged" not in erratum["in_words"]
    report = life.collection.folder / "store" / "restricted" / "heat" / f"{life.window}.2" / "waiting" / "report.md"
    assert f"Takes the place of version {earlier} (error): {NOTE}" in report.read_text(encoding="utf-8")


def test_a_withdrawal_takes_every_estimate_back_and_no_run_brings_it_again(life: Life) -> None:
    assert life.said["withdrawn"].exit_code == 0, life.said["withdrawn"].text
    left = {path.relative_to(life.folder("2")).as_posix() for path in life.folder("2").rglob("*") if path.is_file()}
    assert {"withdrawn.json", "manifest.json", "statement.json", "channels.json"} <= left
    assert not [name for name in left if name.startswith(("data/", "map")) or name == "report.md"]
    assert life.said["after withdrawal"].exit_code == 0 and "Already withdrawn" in life.said["after withdrawal"].out
    assert life.public["after withdrawal"] == life.public["withdrawn"]
    verified = life.said["verified after withdrawal"]
    assert verified.exit_code == 8 and "1 checks failed" in verified.out and "few people" in verified.out


def test_the_record_is_whole_and_charges_nothing(life: Life) -> None:
    assert life.said["ledger"].exit_code == 0 and life.said["ledger"].json["ok"] is True, life.said["ledger"].text
    account = life.said["account"].json
    assert account["account"] == "devices of heat" and account["entries"] == []
    assert account["spent"]["epsilon"] == "0" and account["cap"]["epsilon"] == "52"
    assert "each device keeps its own budget" in account["population"]
    events = [(one["kind"], one["state"]) for one in life.said["status at the end"].json["events"]]
    assert events[:2] == [("state", "planned"), ("freeze", "planned")] and events[-1] == ("state", "withdrawn")
    assert ("package", "checked") in events


def test_a_correction_of_windows_that_were_never_begun_publishes_them_as_new(life: Life) -> None:
    """A file corrects the windows that its earlier version began; the next week is no correction of anything."""
    from tasks.collection_corrections import corrected
    from tasks.collection_life import window_plan
    from tasks.places import open_records

    plan = life.collection.session.plan
    other = (day_of(life.window) + timedelta(days=30)).isoformat()
    records = open_records(window_plan(plan, life.collection.config, other, None), create=False)
    assert corrected(plan, other, records) is None
    found = corrected(plan, life.window, records)
    assert found is not None and found.version == f"{life.window}.1"


def test_a_counter_with_another_alphabet_stops(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    """The alphabet file of another machine may be an older one; its reports would all be of unknown versions."""
    kept = dict(life.collection.file)
    ref = sessions.CollectionRef(str(life.collection.config), "", str(life.collection.home), life.window, "ana")
    counts = life.collection.folder / "store" / "restricted" / "heat" / f"{life.window}.2" / "counts" / "000000.json"
    content = counts.read_bytes()
    counts.unlink()
    life.collection.file = kept | {"resolutions": [6]}
    life.collection.write()
    monkeypatch.setattr(tasks.collection, "collection_of", lambda _: life.collection.session)
    with pytest.raises(ConflictError):
        tasks.collection.count_reports.fn(ref, 0)
    life.collection.file = kept
    life.collection.write()
    tasks.collection.count_reports.fn(ref, 0)
    assert counts.read_bytes() == content


def test_an_embargo_that_ends_while_a_run_packages_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the run would end without an error and without a publication."""
    packages = iter([None, "digest"])
    life = MagicMock()
    life.publication.side_effect = lambda: SimpleNamespace(package=next(packages))
    steps: list[str] = []
    for name in ("require_over", "require_place", "require_signing_key", "_outcome", "CollectionRef"):
        monkeypatch.setattr(flows.collecting, name, MagicMock())
    monkeypatch.setattr(flows.collecting, "life_of", lambda *_: life)
    monkeypatch.setattr(flows.collecting, "_is_over", lambda *_: False)
    monkeypatch.setattr(flows.collecting, "_execute", lambda *_: steps.append("packaged"))
    monkeypatch.setattr(flows.collecting, "_go_on_waiting", lambda *_: steps.append("went on"))
    flows.collecting.run_window("", MagicMock(), "2026-01-05", "ana")
    assert steps == ["packaged", "went on"]


def test_a_key_can_be_rotated_by_the_collection_file(life: Life) -> None:
    rotated = life.collection.trasgo("key", "rotate", str(life.collection.config))
    assert rotated.exit_code == 0 and "devices of heat: 1 digest keys, 3 roots" in rotated.out, rotated.text
    assert _run(life.collection, life.window).exit_code == 0
