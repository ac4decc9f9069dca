"""Chicago pick-ups as a million devices: the published maps, of cells and points, beside the truth; also by Dask."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from collector import Collection

import tasks.collection_session as sessions
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.data.cells import cell_rings
from trasgo_lib.keys import WrappingKey
from trasgo_lib.noise import Keystream
from trasgo_lib.reporting.cell_map import MapCell, draw_cells

WINDOW = "2026-01-05"
DEVICES = 1_000_000
_AT_ONCE = 50_000
_KEY = b"a fixed key of made-up devices.."
POINT = {
    "box": ["41.60", "-88.00", "42.06", "-87.46"],
    "resolution": 7,
    "crs": "EPSG:32616",
    "step_m": "200",
    "geo": {"epsilon": "1.386294", "radius_m": "200"},
    "daily_epsilon": "1.386294",
    "lifetime_epsilon": "13.86294",
}


def _pick_ups(real_data: Path) -> tuple[np.ndarray, np.ndarray]:
    with (real_data / "chicago_taxi_trips.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["pickup_latitude"]]
    return (
        np.array([float(row["pickup_latitude"]) for row in rows]),
        np.array([float(row["pickup_longitude"]) for row in rows]),
    )


def _collect(collection: Collection, slots: np.ndarray, codes: np.ndarray) -> None:
    """Every device's report and point, as a collector records them."""
    session = collection.session
    (version,), point = session.plan.current, session.plan.point
    assert point is not None
    journal = session.journal(WrappingKey(bytes(range(32))))
    log = journal.open(WINDOW)
    for first in range(0, len(slots), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        drawn = version.channel.draw(slots[part], Keystream(_KEY, WINDOW), first)
        files = [journal.put_reports(WINDOW, version.tag, version.channel, drawn)]
        points = point.channel.sample(codes[part], Keystream(_KEY, "points"), first).astype(np.uint32)
        files.append(journal.put_reports(WINDOW, point.tag, point.lattice.shape, points))
        names = range(2 * first, 2 * (first + len(drawn)))
        assert journal.append(WINDOW, log, [], files, names, {})


def _run(collection: Collection) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: date(2026, 2, 1))
        ran = collection.trasgo("collect", "run", str(collection.config), "--window", WINDOW, "--quiet")
    assert ran.exit_code == 0, ran.text


@pytest.mark.long
def test_the_ten_largest_cells_are_found(real_data: Path, tmp_path: Path) -> None:
    """All ten are shown, by 15 errors and more; the ten largest estimates are theirs but for ties within the noise.

    The tenth to thirteenth shares are 1.71, 1.68, 1.68 and 1.65 %, within half an error of their differences (0.12
    points): which of them comes out largest is a matter of the key, and no estimate from these reports could tell.
    """
    collection = Collection(tmp_path, resolutions=[7], point=POINT)
    collection.prepare()
    alphabet, places = collection.version.alphabet, _pick_ups(real_data)
    point = collection.session.plan.point
    assert point is not None
    slots = np.resize(alphabet.encode(*places), DEVICES)
    codes = np.resize(point.domain.encode(*places, outside="clip"), DEVICES)
    truth = np.bincount(slots, minlength=alphabet.slots) / DEVICES
    _collect(collection, slots, codes)
    _run(collection)
    folder = collection.public(WINDOW)
    assert verify_collection(folder).passed
    with (folder / "data" / "heat.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    share = np.array([float(row["share"]) for row in rows])
    error = np.array([float(row["standard_error"]) for row in rows])
    largest = np.argsort(truth[: len(alphabet.cells)])[-10:]
    assert all(rows[slot]["shown"] == "true" and share[slot] > 15 * error[slot] for slot in largest)
    found = np.argsort(share[: len(alphabet.cells)])[-10:]
    tied = 4 * np.sqrt(2) * error[largest].max()
    assert len(set(found) & set(largest)) >= 9 and truth[found].min() > truth[largest].min() - tied
    # 286 slots: the largest of so many normal scores passes 5 once in 6,000 keys; the key is fixed
    assert np.abs((share - truth) / error).max() < 5
    assert not [row["cell"] for row, own in zip(rows, truth, strict=True) if row["shown"] == "true" and own == 0]
    _draw_truth(collection, truth, tmp_path / "truth.svg")
    lattice = point.lattice
    of_points = np.bincount(lattice.places[codes], minlength=lattice.alphabet.slots) / DEVICES
    _points_are_found(folder / "data" / "heat-points.csv", of_points)

    counts = (folder / "data" / "counts.json").read_bytes()
    shutil.rmtree(folder)
    shutil.rmtree(collection.restricted(WINDOW) / "counts")
    collection.file["runner"] = {"dask": {"workers": 2}}
    collection.write()
    _run(collection)
    assert (folder / "data" / "counts.json").read_bytes() == counts, "the same counts on Dask"
    assert json.loads(counts)["versions"][0]["reports"] == DEVICES


def _points_are_found(path: Path, truth: np.ndarray) -> None:
    """The ten largest cells in their order, no empty one, and every figure within its error: 5 of 285 (1 in 6,000)."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    share = np.array([float(row["share"]) for row in rows])
    error = np.array([float(row["standard_error"]) for row in rows])
    largest = np.argsort(truth[:-1])[-10:]
    found = np.argsort(share[:-1])[-10:]
    assert set(found) == set(largest) or truth[found].min() > truth[largest].min() - 4 * error[largest].max()
    assert all(rows[slot]["shown"] == "true" for slot in largest)
    assert not [row["cell"] for row, own in zip(rows, truth, strict=True) if row["shown"] == "true" and own == 0]
    assert np.abs((share - truth) / error).max() < 5
    print(f"points: shown {sum(row['shown'] == 'true' for row in rows)}, mean error {np.abs(share - truth).mean():.2e}")


def _draw_truth(collection: Collection, truth: np.ndarray, path: Path) -> None:
    """The same map of the true shares, for people to hold beside the published one."""
    cells = collection.version.alphabet.cells
    names = collection.version.alphabet.names()
    drawn = [
        MapCell(names[slot], ring, float(truth[slot]) if truth[slot] > 0 else None, names[slot])
        for slot, ring in enumerate(cell_rings(cells))
    ]
    path.write_text(draw_cells(drawn, "The truth, which only this test knows").svg)
