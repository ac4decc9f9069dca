"""Small published windows, of cells and of points beside cells, file for file: fixed counts, fixed time, fixed key.

What was published stays readable by ``verify``, and the same counts give the same bytes. While none has been released,
write the answers anew with ``.venv/bin/python tests/golden/test_collection_package.py``; after that, raise the format.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from trasgo_lib.collection import CollectionPlan, ReportCounts, check_health, count_answers, read_collection
from trasgo_lib.collection.concluding import VersionCounts, conclude, split_over_maps
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.point_estimates import PointMap, PointPart, conclude_points
from trasgo_lib.collection.statement import CollectionFacts, plan_digest, show_rule, window_info
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.keys import SigningKey
from trasgo_lib.noise import Keystream
from trasgo_lib.release import Anchors, Signing, StagedPackage

HERE = Path(__file__).parent
NAMES = ("collection", "collection-points")
REPORTS = 40_000


def _points(plan: CollectionPlan) -> PointMap | None:
    """Points of devices that are spread over every 61st cell of the lattice, drawn under a fixed key."""
    if plan.point is None:
        return None
    lattice = plan.point.lattice
    codes = (np.arange(REPORTS, dtype=np.int32) * 61) % lattice.domain.size
    drawn = lattice.channel.sample(codes, Keystream(bytes(range(32)), "golden"))
    part = PointPart(lattice, count_answers(lattice.shape, drawn.astype(np.uint32)))
    return conclude_points(part, split_over_maps(show_rule(plan), len(plan.current), has_points=True)[1])


def _staged(name: str, work: Path) -> StagedPackage:
    _, plan = read_collection(HERE / f"{name}.yaml")
    points = _points(plan)
    rule, _ = split_over_maps(show_rule(plan), len(plan.current), has_points=points is not None)
    parts = []
    for version in plan.versions:
        channel = version.channel
        p, q = float(channel.p), float(channel.q)
        share = np.arange(channel.slots) / np.arange(channel.slots).sum()
        share[-2:] = 0.0, share[-2] + share[-1]
        counts = np.round(REPORTS * (q + share * (p - q))).astype(np.int64)
        if channel.kind == "slot":
            counts[-1] += REPORTS - counts.sum()
        counted = ReportCounts(channel.kind, counts, REPORTS, {})
        parts.append(VersionCounts(version.level, version.alphabet, channel, counted))
    facts = CollectionFacts(
        plan=plan,
        window="2026-01-05",
        parts=parts,
        left_out=[],
        tables=conclude(parts, rule),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created="2026-01-16T06:30:00+00:00",
        library_version="0.1.0",
        commit="unknown",
        info=window_info(plan, "2026-01-05"),
        points=points,
    )
    anchors = Anchors(plan_digest=plan_digest(plan), account=None, sequence=0, head="")
    return stage_collection(facts, work, Signing(SigningKey(bytes(range(32))), anchors))


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_window_verifies(name: str) -> None:
    report = verify_collection(HERE / name)
    assert report.passed, report.failures


@pytest.mark.parametrize("name", NAMES)
def test_the_same_counts_give_the_same_files(name: str, tmp_path: Path) -> None:
    golden, staged = HERE / name, _staged(name, tmp_path)
    stored = {path.relative_to(golden).as_posix() for path in golden.rglob("*") if path.is_file()}
    assert {file.key for file in staged.files} == stored
    # Parquet's bytes are the writer's; what is in it is compared by verify
    apart = {f"data/golden{end}.parquet" for end in ("", "-points")}
    apart |= {"SHA256SUMS", "manifest.json", "manifest.dsse.json"}
    assert not [
        file.key
        for file in staged.files
        if file.key not in apart and file.path.read_bytes() != (golden / file.key).read_bytes()
    ]


def _write() -> None:
    for name in NAMES:
        shutil.rmtree(HERE / name, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work:
            for file in _staged(name, Path(work)).files:
                target = HERE / name / file.key
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.path.read_bytes())


if __name__ == "__main__":
    sys.exit(_write())
