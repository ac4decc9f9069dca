"""A small published package, file for file: fixed key, fixed time, the real sampler and the real writers.

What was published stays readable by ``verify``, and the same codes give the same bytes. A difference here is a break
of a stored format: while none has been released, write the answers anew with
``.venv/bin/python tests/golden/test_release_package.py``; after that, raise the format instead.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.budget import Cost
from trasgo_lib.checks import check_batches, expected_table
from trasgo_lib.config import load_config
from trasgo_lib.data import PrivateCodes, PublicValues, ReleasedCodes, ReleasedTable, write_batch, write_values
from trasgo_lib.keys import SigningKey
from trasgo_lib.mechanisms import draw_codes
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.release import (
    Anchors,
    PublishedBefore,
    Signing,
    StagedFile,
    compare_staged,
    public_types,
    read_parquet_batches,
    stage_data,
    stage_package,
    verify_release,
)
from trasgo_lib.release.manifest import staged_file
from trasgo_lib.reporting import ReleaseFacts, UnitOutcome

GOLDEN = Path(__file__).with_name("release")
UNSIGNED = Path(__file__).with_name("release_unsigned")
"""The package as it was written before releases were signed; never written anew."""
RELEASE_FILE = Path(__file__).with_name("release.yaml")
ROOT, DIGEST_KEY = bytes(range(32)), bytes(range(32, 64))
ROWS = 200
DATA = ("data/golden.parquet", "data/golden.csv")
TEXTS = (
    "channel.json",
    "statement.json",
    "report.md",
    "report.html",
    "signing-key.pem",
    "ro-crate-metadata.json",
    "SHA256SUMS",
    "manifest.dsse.json",
    "manifest.json",
)
SIGNING_KEY = SigningKey(bytes(range(64, 96)))


def _released(plan: ReleasePlan, work: Path) -> ReleasedTable:
    """Every domain in strides, the missing code among them, sent through the last drawn level."""
    units: list[ReleasedCodes] = []
    for unit in plan.units:
        size = unit.domain.size + (unit.missing == "code")
        codes = ((np.arange(ROWS) * 7919 + 3) % size).astype(np.int32)
        private = PrivateCodes(unit.name, (write_batch(work / "private", unit.name, 0, codes, DIGEST_KEY),), "0" * 64)
        stream = Keystream(ROOT, "golden", unit.name)
        units.append(draw_codes(unit.channel(_levels(unit)[-1]), private, stream, work / "released", DIGEST_KEY))
    texts = pa.array([None if row % 9 == 0 else f"00{row}" for row in range(ROWS)], pa.string())
    public = PublicValues("note", (write_values(work / "released", "note", 0, texts, DIGEST_KEY),), "0" * 64)
    return ReleasedTable(ROWS, tuple(units), (public,))


def _levels(unit):  # type: ignore[no-untyped-def]
    return unit.rungs[: 2 if unit.target else 1]


def stage(work: Path, stored: Path | None = None) -> dict[str, Path]:
    """Stage the package; with ``stored``, its text files describe those data files instead of new ones.

    Parquet's bytes are those of the Arrow that wrote them, so a test of our own formats does not ask for them.
    """
    plan = compile_plan(load_config(RELEASE_FILE))
    table = _released(plan, work)
    data = stage_data(table, plan, work)
    expected = expected_table(plan, ROWS, public_types(table))
    report = check_batches(expected, read_parquet_batches(work / DATA[0])).with_results(compare_staged(data))
    outcomes = tuple(UnitOutcome(unit.name, _levels(unit), True if unit.target else None) for unit in plan.units)
    facts = ReleaseFacts(plan, ROWS, outcomes, Cost.zero(), report, "2030-01-31T12:00:00+00:00", "0.1.0", "0123abc")
    facts = replace(facts, account_to_date=facts.realised)
    described: tuple[StagedFile, ...] = data
    if stored is not None:
        described = tuple(staged_file(key, stored / key) for key in DATA)
    anchors = Anchors(plan.digest, plan.account, 9, "ab" * 32, PublishedBefore("0", "cd" * 32))
    columns = [column.name for column in expected.columns]
    package = stage_package(facts, described, columns, work, Signing(SIGNING_KEY, anchors))
    return {file.key: file.path for file in package.files}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    work = tmp_path_factory.mktemp("golden")
    staged = stage(work, GOLDEN)
    return {**staged, **{key: work / key for key in DATA}}


def test_the_stored_package_verifies() -> None:
    report = verify_release(GOLDEN, keys=[SIGNING_KEY.public])
    assert report.signature.signer_checked
    assert report.passed, [result for result in report.results if not result.passed]
    assert len(report.results) > 30
    units = json.loads((GOLDEN / "channel.json").read_text(encoding="utf-8"))["units"]
    assert {unit["mechanism"] for unit in units} == {
        "laplace",
        "gaussian",
        "exponential",
        "randomized_response",
        "kary_randomized_response",
        "planar_laplace",
    }


def test_a_package_from_before_signatures_still_verifies_as_unsigned() -> None:
    report = verify_release(UNSIGNED)
    assert report.passed, report.failures
    assert report.signature.key_id is None and "not signed" in report.signature.in_words
    assert not verify_release(UNSIGNED, keys=[SIGNING_KEY.public]).passed


@pytest.mark.parametrize("key", ["channel.json", "statement.json", "data/golden.csv", "manifest.json"])
def test_a_changed_byte_of_the_older_package_is_found(key: str, tmp_path: Path) -> None:
    """Negative control."""
    shutil.copytree(UNSIGNED, tmp_path / "copy")
    content = bytearray((tmp_path / "copy" / key).read_bytes())
    content[content.rindex(b"1")] ^= 1
    (tmp_path / "copy" / key).write_bytes(bytes(content))
    assert not verify_release(tmp_path / "copy").passed


@pytest.mark.parametrize("key", TEXTS)
def test_the_same_release_is_written_as_it_always_was(key: str, fresh: dict[str, Path]) -> None:
    assert fresh[key].read_bytes() == (GOLDEN / key).read_bytes()


def test_the_same_key_gives_the_same_rows(fresh: dict[str, Path]) -> None:
    parquet, text = DATA
    assert fresh[text].read_bytes() == (GOLDEN / text).read_bytes()
    assert pq.read_table(fresh[parquet]).equals(pq.read_table(GOLDEN / parquet))


@pytest.mark.parametrize("key", [key for key in (*DATA, *TEXTS) if not key.startswith("report.")])
def test_a_changed_byte_of_the_stored_package_is_found(key: str, tmp_path: Path) -> None:
    """Negative control."""
    copy = tmp_path / "copy"
    shutil.copytree(GOLDEN, copy)
    content = bytearray((copy / key).read_bytes())
    place = content.rindex(b"1") if key.endswith(".json") else len(content) // 2
    content[place] ^= 1
    (copy / key).write_bytes(bytes(content))
    assert not verify_release(copy).passed


def _write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        staged = stage(Path(folder))
        shutil.rmtree(GOLDEN, ignore_errors=True)
        for key, path in staged.items():
            (GOLDEN / key).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, GOLDEN / key)


if __name__ == "__main__":
    sys.exit(_write())
