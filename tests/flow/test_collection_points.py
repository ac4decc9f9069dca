"""Noised points from the service to their published map: taken and counted as reports are, beside them and alone."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import browser, look_at
from collector import Collection, Service, batch, day_of, pseudonym, send, this_window

import tasks.collection_session as sessions
from tasks.collection_session import CollectionSession
from trasgo_lib.collection.intake import Submission
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.noise import Keystream

DEVICES = 4000
POINT: dict[str, Any] = {
    "box": ["41.5", "-88.2", "42.2", "-87.3"],
    "resolution": 6,
    "crs": "EPSG:32616",
    "step_m": "400",
    "geo": {"epsilon": "1.386", "radius_m": "400"},
    "daily_epsilon": "1.386",
    "lifetime_epsilon": "13.86",
}
PUBLISH = {"store": "store", "approvals": 1}
PLACES = {"latitude": np.array([41.88, 41.75, 41.95]), "longitude": np.array([-87.63, -87.70, -87.70])}


def lattice_of(session: CollectionSession) -> PointLattice:
    assert session.plan.point is not None
    return session.plan.point.lattice


def point_batch(lattice: PointLattice, window: str, name: str, devices: range) -> bytes:
    """A batch of points of these devices, half of them at the first place, noised under a fixed key."""
    where = np.array([(0, 0, 1, 2)[number % 4] for number in devices])
    codes = lattice.domain.encode(PLACES["latitude"][where], PLACES["longitude"][where], outside="clip")
    drawn = lattice.channel.sample(codes, Keystream(b"made-up devices of a test, fixed", "points"), devices.start)
    document = {
        "format": 1,
        "batch": name,
        "alphabet_version": lattice.tag.alphabet,
        "channel_version": lattice.tag.channel,
        "window": window,
        "pseudonyms": [pseudonym(10**6 + device) for device in devices],
        "slots": drawn.tolist(),
    }
    return json.dumps(document).encode()


class Published:
    """A window whose points came through the service and an inbox, beside reports of cells or alone."""

    def __init__(self, folder: Path, *, alone: bool) -> None:
        self.window, declared = this_window()
        without = {"channel": None, "device": None} if alone else {}
        collector = {"batches_per_second": 100000, "burst": 100000, "inbox": "inbox"}
        self.alone, self.collection = (
            alone,
            Collection(folder, window=declared, point=POINT, collector=collector, publish=PUBLISH, **without),
        )
        self.collection.file = {name: value for name, value in self.collection.file.items() if value is not None}
        self.collection.write()
        self.token, session = self.collection.prepare(), self.collection.session
        self.lattice = lattice_of(session)
        service, self.replies = Service.start(self.collection), []
        for first in range(0, DEVICES // 2, 500):
            devices = range(first, first + 500)
            bodies = [point_batch(self.lattice, self.window, f"points-{first:016d}", devices)]
            if not alone:
                bodies.append(batch(self.collection.version, self.window, f"reports-{first:016d}", devices))
            self.replies += [send(service.port, body, self.token) for body in bodies]
        again = point_batch(self.lattice, self.window, "points-once-again", range(500))
        wrong = again.replace(b"once-again", b"of-another").replace(self.lattice.tag.channel.encode(), b"f" * 32)
        self.refused = [send(service.port, body, self.token) for body in (again, wrong)]
        self.code, self.said = service.stop()
        inbox = folder / "inbox" / self.window
        inbox.mkdir(parents=True)
        rest = range(DEVICES // 2, DEVICES)
        lines = [point_batch(self.lattice, self.window, "points-from-a-file", rest)]
        (inbox / "batches.ndjson").write_bytes(b"\n".join(lines))
        self.waits = self.run("--quiet")
        self.approved = self.approve()
        self.answer = self.run()

    def approve(self):  # type: ignore[no-untyped-def]
        """``trasgo approve`` by somebody else."""
        self.collection.actor = "bea"
        approve = ("approve", str(self.collection.config), "--window", self.window, "--yes", "--reason", "I looked.")
        answer = self.collection.trasgo(*approve)
        self.collection.actor = "ana"
        return answer

    def run(self, *arguments: str):  # type: ignore[no-untyped-def]
        """``trasgo collect run`` after the window has ended."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sessions, "today", lambda: day_of(self.window) + timedelta(days=33))
            run = ("collect", "run", str(self.collection.config), "--window", self.window)
            return self.collection.trasgo(*run, *arguments)

    @property
    def folder(self) -> Path:
        return self.collection.public(self.window)


@pytest.fixture(scope="module", params=["beside cells", "alone"])
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    yield Published(tmp_path_factory.mktemp("points"), alone=request.param == "alone")


def test_points_are_taken_as_reports_are(published: Published) -> None:
    assert published.answer.exit_code == 0, published.answer.text
    assert set(map(json.dumps, published.replies)) == {
        json.dumps((200, {"accepted": 500, "refused": {}, "replayed": False}))
    }
    assert published.refused == [
        (200, {"accepted": 0, "refused": {"duplicate_device": 500}, "replayed": False}),
        (409, {"reason": "unknown_channel"}),
    ]
    report = json.loads((published.collection.restricted(published.window) / "collection_report.json").read_text())
    assert report["unknown_versions"] == [] and report["refused"]["duplicate_device"] == 500
    assert "least_share" in {check["name"] for check in report["health"]}


def test_who_approves_and_who_publishes_is_told_of_points(published: Published) -> None:
    assert published.waits.exit_code == 9, published.waits.text
    assert published.approved.exit_code == 0, published.approved.text
    said = published.approved.text
    assert "epsilon 1.386000 a point at 400 m, 4000 points" in said
    assert "epsilon 13.86 at 400 m of its points for ever" in said
    assert "of points, 3 cells of resolution 6" in said
    pages = {page: f"/{page}" in said.split("estimates to be read")[1] for page in ("map.html", "map-points.html")}
    assert pages == {"map.html": not published.alone, "map-points.html": True}
    assert ("of a device for ever" in said) is not published.alone
    ledger = (published.collection.folder / "store" / "restricted" / ".trasgo" / "ledger.db").read_bytes()
    reports = "" if published.alone else "2000 reports; shown: 5 cells of resolution 5; "
    assert f'"{reports}4000 points; shown: 3 cells of resolution 6"'.encode() in ledger, (
        "what was looked at is recorded"
    )
    assert re.search(r"points +4,000\n +shown +3 cells of resolution 6", published.answer.text)
    told = published.run("--json", "--quiet").json
    assert (told["points"], told["points_shown"]) == (DEVICES, {"6": 3})
    assert told["reports"] == (0 if published.alone else DEVICES // 2)


def test_the_map_shows_where_devices_were(published: Published) -> None:
    statement = json.loads((published.folder / "statement.json").read_bytes())
    assert statement["point"]["estimates"]["reports"] == DEVICES
    assert statement["reports"] == (0 if published.alone else DEVICES // 2)
    rows = (published.folder / "data" / "heat-points.csv").read_text(encoding="utf-8").splitlines()[1:]
    told = {row.split(",")[1]: [float(figure) for figure in row.split(",")[2:-1]] for row in rows}
    names = published.lattice.alphabet.names()
    codes = published.lattice.domain.encode(PLACES["latitude"], PLACES["longitude"], outside="clip")
    for slot, share in zip(published.lattice.places[codes].tolist(), (0.5, 0.25, 0.25), strict=True):
        found, error, *_ = told[names[slot]]
        assert abs(found - share) < 4.5 * error
    assert sum(row.endswith("true") for row in rows) == 3


def test_the_account_is_that_of_cells_and_points(published: Published) -> None:
    shown = published.collection.trasgo("ledger", "show", str(published.collection.config), "--json")
    assert shown.exit_code == 0, shown.text
    assert shown.json["cap"]["geo"] == "34.65", "13.86 at 400 m is 34.65 a kilometre"
    assert shown.json["cap"]["epsilon"] == ("0" if published.alone else "52")


def test_it_verifies_and_comes_again_as_it_was(published: Published) -> None:
    assert verify_collection(published.folder).passed
    assert published.collection.trasgo("verify", str(published.folder)).exit_code == 0
    before = {path: path.read_bytes() for path in published.folder.rglob("*") if path.is_file()}
    shutil.rmtree(published.folder)
    assert published.run("--quiet").exit_code == 0
    assert {path: path.read_bytes() for path in published.folder.rglob("*") if path.is_file()} == before


def test_no_pseudonym_of_a_point_is_left(published: Published) -> None:
    needle = pseudonym(10**6).encode()
    files = [path for path in published.collection.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if path.name != "batches.ndjson" and needle in path.read_bytes()]


def test_the_map_asks_for_nothing_and_fits_a_phone(published: Published, tmp_path: Path) -> None:
    with browser() as opened:
        look = look_at(opened, published.folder / "map-points.html", tmp_path)
    assert look.requests == [] and look.faults == []
    assert look.overflow == {390: 0, 1200: 0} and look.headings[0] == 1


def test_a_withdrawal_takes_the_map_of_points_back(published: Published) -> None:
    config = str(published.collection.config)
    gone = published.collection.trasgo(
        "withdraw", config, "--window", published.window, "--yes", "--reason", "Points were sent twice."
    )
    assert gone.exit_code == 0, gone.text
    left = {path.name for path in published.folder.rglob("*") if path.is_file()}
    assert not {name for name in left if name.startswith("map") or "points" in name}
    assert (published.folder / "statement.json").exists()
    assert [one.name for one in verify_collection(published.folder).failures] == ["withdrawn"]


def test_too_few_points_leave_the_cells_to_be_published(tmp_path: Path) -> None:
    window, declared = this_window()
    collection = Collection(tmp_path, window=declared, point=POINT)
    collection.prepare()
    session = collection.session
    receiver = session.receiver(sessions.collector_key(collection.home), sessions.today)
    bodies = [
        batch(collection.version, window, "reports-of-devices", range(2000)),
        point_batch(lattice_of(session), window, "points-of-devices", range(999)),
    ]
    assert [one.receipt.accepted for one in receiver.receive([Submission("android", body) for body in bodies])] == [
        2000,
        999,
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: day_of(window) + timedelta(days=40))
        done = collection.trasgo("collect", "run", str(collection.config), "--window", window, "--quiet")
    assert done.exit_code == 0, done.text
    statement = json.loads((collection.public(window) / "statement.json").read_bytes())
    assert statement["point"]["estimates"] is None and statement["reports"] == 2000
    report = json.loads((collection.restricted(window) / "collection_report.json").read_text())
    assert [one["reports"] for one in report["left_out"]] == [999]


def test_the_caps_of_an_account_are_never_passed_by_a_later_file(tmp_path: Path) -> None:
    """What a device spends at most was told when the account was opened; less may be asked later, more may not."""
    _, declared = this_window()
    collection = Collection(tmp_path, window=declared)
    collection.prepare()
    opening = ("ledger", "open", str(collection.config), "--population", "devices of a test")
    assert collection.trasgo(*opening).exit_code == 0
    fewer, more, points = (
        {"device": {"daily_epsilon": "2", "lifetime_epsilon": "50"}},
        {"device": {"daily_epsilon": "2", "lifetime_epsilon": "54"}},
        {"point": POINT},
    )
    first = dict(collection.file)
    for changes, code in ((fewer, 0), (more, 4), (points, 4)):
        collection.file = {**first, **changes}
        collection.write()
        answer = collection.trasgo(*opening)
        assert answer.exit_code == code, answer.text
        assert ("over_cap" in answer.text) is (code == 4), answer.text
