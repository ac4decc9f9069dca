"""A window whose collection file was corrected more than once, and that not every version published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from collector import Collection, batch, day_of, this_window
from office import Answer

import tasks.collection_session as sessions
from tasks.collection_corrections import CORRECTS, FILE_CORRECTS, require_place
from tasks.collection_life import begin, life_of
from tasks.version_life import VersionLife, now
from trasgo_lib.collection.intake import Submission
from trasgo_lib.errors import ConflictError

DEVICES = 3000


class Chain:
    """A collection of which versions are published in windows; some by the command, some only on record."""

    def __init__(self, folder: Path) -> None:
        self.window, declared = this_window()
        self.collection = Collection(folder, window=declared, show={"least_reports": 100})
        self.collection.prepare()

    @property
    def later(self) -> str:
        """Another window, of which only the records tell."""
        return (day_of(self.window) + timedelta(days=30)).isoformat()

    def write(self, version: str, supersedes: str | None) -> None:
        """Write the file of a version."""
        corrects = {} if supersedes is None else {
            "supersedes": {"version": supersedes, "reason": "error", "note": "Counted again."}
        }  # fmt: skip
        release = {"dataset": "heat", "title": "Made-up devices", "version": version}
        self.collection.file |= {"release": release | corrects}
        self.collection.write()

    def life(self, window: str) -> VersionLife:  # type: ignore[type-arg]
        """A window by the file as it stands."""
        return life_of(self.collection.session, window, "ana")

    def record(self, window: str, *, published: bool = True) -> None:
        """Put a window on record as the flow does, without its files."""
        life, declared = self.life(window), self.collection.session.config.release.supersedes
        begin(life)
        life.freeze("1" * 64)
        for state in ("validated", "drawn"):
            life.advance(state, "by a test")
        own = life.plan.config.release.supersedes
        told = {
            CORRECTS: "" if own is None else own.version,
            FILE_CORRECTS: "" if declared is None else declared.version,
        }
        life.advance("checked", "by a test", **told)
        if published:
            proof = {"manifest_digest": "2" * 64}
            corrected = None if own is None else own.version
            life.records.publish("heat", life.plan.version, proof, corrected, "ana", now())

    def corrects(self, window: str) -> str | None:
        """The version that the file's version of a window takes the place of."""
        found = self.life(window).plan.config.release.supersedes
        return None if found is None else found.version

    def run(self) -> Answer:
        """``trasgo collect run`` after the window has ended."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sessions, "today", lambda: day_of(self.window) + timedelta(days=40))
            config = str(self.collection.config)
            return self.collection.trasgo("collect", "run", config, "--window", self.window, "--quiet")

    def place(self, window: str) -> None:
        """What is asked before a window is counted, and before it is public."""
        require_place(self.collection.session.plan, self.life(window), window)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    """A collection without windows."""
    yield Chain(tmp_path)


def test_a_correction_of_a_correction_that_never_published_the_window(chain: Chain) -> None:
    """Versions 1 and 3 of the window would have stood side by side."""
    collection, window = chain.collection, chain.window
    receiver = collection.session.receiver(sessions.collector_key(collection.home), sessions.today)
    body = batch(collection.version, window, "batch-of-all-devices", range(DEVICES))
    assert receiver.receive([Submission("android", body)])[0].receipt.accepted == DEVICES
    assert chain.run().exit_code == 0
    chain.write("3", "2")
    refused = chain.run()
    assert refused.exit_code == 4 and "say of version 2: nothing" in " ".join(refused.text.split()), refused.text
    public = collection.public(window).parent
    assert [path.name for path in public.iterdir()] == [f"{window}.1"]
    chain.write("2", "1")
    chain.record(chain.later)
    chain.write("3", "2")
    answer = chain.run()
    assert answer.exit_code == 0, answer.text
    manifest = json.loads((public / f"{window}.3" / "manifest.json").read_text(encoding="utf-8"))
    erratum = json.loads((public / "_ERRATA" / f"{window}.3.json").read_text(encoding="utf-8"))
    assert manifest["supersedes"] == erratum["supersedes"] == f"{window}.1"
    assert collection.trasgo("verify", str(public / f"{window}.3")).exit_code == 0
    chain.write("2", "1")
    replaced = chain.run()
    assert replaced.exit_code == 4 and f"that {window}.3 has superseded" in " ".join(replaced.text.split())
    chain.write("2", None)
    beside = chain.run()
    assert beside.exit_code == 4 and f"the window is {window}.3" in " ".join(beside.text.split()), beside.text
    assert {path.name for path in public.iterdir()} == {"_ERRATA", f"{window}.1", f"{window}.3"}


def test_an_unpublished_version_is_passed_over_and_comes_no_more(chain: Chain) -> None:
    """Version 2 of the window failed a check and stays where it is; version 3 takes the place of version 1."""
    window = chain.window
    chain.write("1", None)
    chain.record(window)
    chain.write("2", "1")
    chain.record(window, published=False)
    chain.write("3", "2")
    assert chain.corrects(window) == f"{window}.1"
    chain.record(window)
    assert chain.corrects(window) == f"{window}.1", "what was decided stays"
    chain.write("2", "1")
    with pytest.raises(ConflictError, match=f"{window}.3 has superseded"):
        chain.place(window)


def test_a_version_that_was_new_stays_so_only_while_nothing_comes_between(chain: Chain) -> None:
    """Two runs at once: version 3 was checked as a new one, then version 2 was published."""
    window = chain.window
    chain.write("3", "2")
    chain.record(window, published=False)
    chain.place(window)
    chain.write("2", "1")
    with pytest.raises(ConflictError, match=f"the window is {window}.3"):
        chain.place(window)
    chain.record(window)
    chain.write("3", "2")
    with pytest.raises(ConflictError, match="since"):
        chain.place(window)


def test_a_file_corrected_through_others_publishes_no_window_after_them(chain: Chain) -> None:
    """Version 4 corrects 3, which corrects 2; version 2 is not published beside it, in windows where 3 never was."""
    window, later = chain.window, chain.later
    chain.write("3", "2")
    chain.record(later)
    chain.write("4", "3")
    chain.record(window)
    chain.write("2", None)
    with pytest.raises(ConflictError, match=f"the window is {window}.4"):
        chain.place(window)
    chain.write("5", None)
    chain.place(window)
