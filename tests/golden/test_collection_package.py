"""A small published window, file for file: fixed counts, fixed time, fixed key.

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

from trasgo_lib.collection import ReportCounts, check_health, read_collection
from trasgo_lib.collection.concluding import VersionCounts, conclude
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.statement import CollectionFacts, plan_digest, show_rule, window_info
from trasgo_lib.collection.verify import verify_collection
from trasgo_lib.keys import SigningKey
from trasgo_lib.release import Anchors, Signing, StagedPackage

GOLDEN = Path(__file__).with_name("collection")
FILE = Path(__file__).with_name("collection.yaml")
REPORTS = 40_000


def _staged(work: Path) -> StagedPackage:
    _, plan = read_collection(FILE)
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
        tables=conclude(parts, show_rule(plan)),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created="2026-01-16T06:30:00+00:00",
        library_version="0.1.0",
        commit="unknown",
        info=window_info(plan, "2026-01-05"),
    )
    anchors = Anchors(plan_digest=plan_digest(plan), account=None, sequence=0, head="")
    return stage_collection(facts, work, Signing(SigningKey(bytes(range(32))), anchors))


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> StagedPackage:
    return _staged(tmp_path_factory.mktemp("golden"))


def test_the_stored_window_verifies() -> None:
    report = verify_collection(GOLDEN)
    assert report.passed, report.failures


def test_the_same_counts_give_the_same_files(staged: StagedPackage) -> None:
    stored = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    assert {file.key for file in staged.files} == stored
    # Parquet's bytes are the writer's; what is in it is compared by verify
    apart = {"data/golden.parquet", "SHA256SUMS", "manifest.json", "manifest.dsse.json"}
    assert not [
        file.key
        for file in staged.files
        if file.key not in apart and file.path.read_bytes() != (GOLDEN / file.key).read_bytes()
    ]


def _write() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        for file in _staged(Path(work)).files:
            target = GOLDEN / file.key
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.path.read_bytes())


if __name__ == "__main__":
    sys.exit(_write())
