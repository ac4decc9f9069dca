"""Collections of noised points for tests: a lattice over a city, and counts of points that were really drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from collecting import plan
from keyed import ROOT, places

from trasgo_lib.collection import CollectionPlan, count_answers
from trasgo_lib.collection.point_estimates import PointPart
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.noise import Keystream

POINT: dict[str, Any] = {
    "box": ["41.5", "-88.2", "42.2", "-87.3"],
    "resolution": 6,
    "crs": "EPSG:32616",
    "step_m": "400",
    "geo": {"epsilon": "1.386", "radius_m": "400"},
    "daily_epsilon": "1.386",
    "lifetime_epsilon": "13.86",
}


def pointed(folder: Path, **changes: Any) -> CollectionPlan:
    """A collection of points beside cells."""
    return plan(folder, **({"point": POINT} | changes))


def lattice_of(found: CollectionPlan) -> PointLattice:
    """Its lattice."""
    assert found.point is not None
    return found.point.lattice


def devices_at(lattice: PointLattice, shares: np.ndarray, devices: int, *label: str | int) -> np.ndarray:
    """Lattice cells of devices: H3 slots by their shares, and anywhere in them: int32[devices]."""
    order = np.argsort(lattice.places, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(lattice.places, minlength=len(shares)))])
    slot = places(shares, devices, "slots", *label)
    within = Keystream(ROOT, "within", *label).words(0, devices) * 2.0**-64
    return order[starts[slot] + (within * (starts[slot + 1] - starts[slot])).astype(np.int64)].astype(np.int32)


def drawn(lattice: PointLattice, codes: np.ndarray, *label: str | int) -> PointPart:
    """The counts of these devices' noised points."""
    noised = lattice.channel.sample(codes, Keystream(ROOT, "points", *label))
    return PointPart(lattice, count_answers(lattice.shape, noised.astype(np.uint32)))


def truth_of(lattice: PointLattice, codes: np.ndarray) -> np.ndarray:
    """True shares of the H3 slots: float64[slots]."""
    return np.bincount(lattice.places[codes], minlength=lattice.alphabet.slots) / len(codes)
