"""SIGKILL at six points of a run, on both databases and both stores: a resumed run equals one that was not killed.

Data, channel, statement and every other public file are the same bytes, the spend is recorded once, and whenever a
reader looks there is a whole release or none. The standard tier covers every point once, and twice where it lies in
the database or in the store: on SQLite and folders, and on PostgreSQL and S3. ``make test-long`` takes every point on
every other pair.
"""

from __future__ import annotations

import threading
import time

import pytest
from killed import POINTS
from sites import Places, Site

from trasgo_lib.errors import StoreError
from trasgo_lib.release import verify_release

RELEASE = "people/1"
LOCAL, REMOTE = ("sqlite", "folder"), ("postgresql", "s3")
STANDARD = (
    (*REMOTE, "after reserve"),
    (*LOCAL, "in a draw"),
    (*LOCAL, "before a commit"),
    (*REMOTE, "before a commit"),
    (*LOCAL, "between two uploads"),
    (*REMOTE, "between two uploads"),
    (*REMOTE, "before the manifest"),
    (*LOCAL, "after the manifest"),
)
CROSS = tuple(
    (database, store, point)
    for database in ("sqlite", "postgresql")
    for store in ("folder", "s3")
    for point in POINTS
    if (database, store, point) not in STANDARD
)


class Onlooker(threading.Thread):
    """A reader that looks at the public root all the time: a manifest is there only together with all it lists."""

    def __init__(self, office: Site) -> None:
        super().__init__(daemon=True)
        self._office, self._over = office, threading.Event()
        self.looks = self.manifests = 0
        self.torn: list[str] = []

    def look(self) -> None:
        """One look."""
        try:
            store = self._office.reader()
            seen = store.exists(f"{RELEASE}/manifest.json")
        except StoreError:
            return  # a root that is not made yet
        self.looks += 1
        if seen and not self.manifests:
            self.manifests += 1
            self.torn += [str(result) for result in verify_release(store, RELEASE).failures]

    def run(self) -> None:
        """Look until told to end."""
        while not self._over.is_set():
            self.look()
            time.sleep(0.02)

    def end(self) -> None:
        """Look a last time."""
        self._over.set()
        self.join()
        self.look()


def _require_same_after_a_kill(places: Places, database: str, store: str, point: str) -> None:
    files, charges = places.whole()
    office = places.office(database, store)
    onlooker = Onlooker(office)
    onlooker.start()
    office.run_killed(point)
    present = set(office.files()) if point not in _NOTHING_PUBLIC else set()
    is_public = f"{RELEASE}/manifest.json" in present
    assert is_public == (point == "after the manifest")
    assert is_public or point in _NOTHING_PUBLIC or not verify_release(office.reader(), RELEASE).passed
    assert len(present) == {"between two uploads": 1, "before the manifest": len(files) - 1}.get(
        point, len(files) if is_public else 0
    )
    charged = office.charges()
    assert charged and charged == charges[: len(charged)]

    answer = office.trasgo("resume", str(office.config), "--json")
    onlooker.end()
    assert answer.exit_code == 0, answer.text
    assert onlooker.looks > 2 and onlooker.manifests == 1 and not onlooker.torn
    resumed = office.files()
    assert resumed.keys() == files.keys()
    assert [key for key in files if resumed[key] != files[key]] == []
    assert office.charges() == charges, "every charge once, in the same place of the chain"
    assert answer.json["spent"]["total"] == office.spent()
    again = office.run("--json")
    assert again.json["already_published"] is True and office.charges() == charges


_NOTHING_PUBLIC = ("after reserve", "in a draw", "before a commit")


def test_every_point_is_in_the_standard_tier() -> None:
    assert {point for _, _, point in STANDARD} == set(POINTS)


@pytest.mark.parametrize(("database", "store", "point"), STANDARD)
def test_a_killed_run_is_resumed_to_the_same_bytes(places: Places, database: str, store: str, point: str) -> None:
    _require_same_after_a_kill(places, database, store, point)


@pytest.mark.long
@pytest.mark.parametrize(("database", "store", "point"), CROSS)
def test_the_other_pairs_too(places: Places, database: str, store: str, point: str) -> None:
    _require_same_after_a_kill(places, database, store, point)


def test_another_root_gives_other_bytes(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: what is compared does depend on the draws."""
    import tasks.version_life

    monkeypatch.setattr(tasks.version_life, "new_secret", lambda random: bytes(32))
    files, _ = places.whole()
    office = places.office("sqlite", "folder")
    assert office.run("--quiet").exit_code == 0
    assert office.files()[f"{RELEASE}/data/people.csv"] != files[f"{RELEASE}/data/people.csv"]
