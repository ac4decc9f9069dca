"""Staging, publishing create-once with the manifest last, and the restricted evidence."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.checks import CheckReport, CheckResult
from trasgo_lib.errors import CheckFailedError, ConflictError, Reason, StoreError, VerificationError
from trasgo_lib.release import (
    MANIFEST,
    Evidence,
    StagedPackage,
    compare_staged,
    publish_package,
    release_prefix,
    stage_package,
    stage_restricted,
)
from trasgo_lib.release.documents import SCHEMAS, parse
from trasgo_lib.release.manifest import read_sums, staged_file
from trasgo_lib.reporting import RestrictedFacts, RoundFacts
from trasgo_lib.storage import open_store

KEYS = [
    "data/demo.parquet",
    "data/demo.csv",
    "channel.json",
    "statement.json",
    "report.md",
    "report.html",
    "ro-crate-metadata.json",
    "SHA256SUMS",
    "manifest.json",
]


def test_every_file_is_staged_and_the_manifest_is_last(made: Any) -> None:
    assert [file.key for file in made.package.files] == KEYS
    for file in made.package.files:
        content = file.path.read_bytes()
        assert (file.sha256, file.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    assert made.package.file("channel.json").path == made.work / "channel.json"
    with pytest.raises(KeyError):
        made.package.file("absent")


def test_the_manifest_lists_every_other_file(made: Any) -> None:
    manifest = parse((made.work / MANIFEST).read_bytes(), "manifest")
    assert {entry["path"] for entry in manifest["files"]} == set(KEYS) - {MANIFEST}
    assert (manifest["rows"], manifest["supersedes"], manifest["created"]) == (500, None, "2026-11-30T09:00:00Z")
    assert manifest["columns"][:3] == ["wage", "note", "rate"]
    for entry in manifest["files"]:
        assert made.package.file(entry["path"]).sha256 == entry["sha256"]


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum on this machine")
def test_sums_are_what_sha256sum_reads(made: Any) -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=made.work, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(KEYS) - 2


@pytest.mark.parametrize("text", ["abc  x\n", "0" * 64 + " x\n", ("0" * 64 + "  x\n") * 2, "0" * 64 + "  \n"])
def test_sums_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="digest"):
        read_sums(text)


def test_staging_again_gives_the_same_bytes(made: Any) -> None:
    before = {file.key: file.path.read_bytes() for file in made.package.files}
    columns = json.loads(before[MANIFEST])["columns"]
    again = stage_package(made.facts, made.package.files[:2], columns, made.work)
    assert again == made.package
    assert {file.key: file.path.read_bytes() for file in again.files} == before


def test_a_failed_check_stops_the_package(made: Any, tmp_path: Path) -> None:
    failed = CheckResult("between", "wage", False, "1 failing of 500 released rows", "between 0 and 2000")
    for report in (made.facts.checks.with_results([failed]), CheckReport(())):
        facts = dataclasses.replace(made.facts, checks=report)
        with pytest.raises(CheckFailedError):
            stage_package(facts, made.package.files[:2], ["wage"], tmp_path)
    assert list(tmp_path.iterdir()) == []


def _copied(made: Any, folder: Path) -> StagedPackage:
    files = []
    for file in made.package.files:
        path = folder / file.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.path.read_bytes())
        files.append(dataclasses.replace(file, path=path))
    return StagedPackage(tuple(files))


def test_publishing_twice_changes_nothing(made: Any) -> None:
    store = open_store("memory:")
    prefix = release_prefix("demo", "1")
    keys = publish_package(made.package, store, prefix)
    assert keys == tuple(f"demo/1/{key}" for key in KEYS)
    first = {key: store.get(key) for key in store.list()}
    assert publish_package(made.package, store, prefix) == keys
    assert {key: store.get(key) for key in store.list()} == first


def test_other_bytes_under_a_key_stop_before_the_manifest(made: Any) -> None:
    store = open_store("memory:")
    store.put_once("demo/1/report.md", b"something else")
    with pytest.raises(ConflictError):
        publish_package(made.package, store, "demo/1")
    assert not store.exists("demo/1/manifest.json")
    assert store.get("demo/1/report.md") == b"something else"


def test_a_staged_file_that_changed_is_not_published(made: Any, tmp_path: Path) -> None:
    package = _copied(made, tmp_path)
    package.file("statement.json").path.write_text("{}")
    store = open_store("memory:")
    with pytest.raises(CheckFailedError) as caught:
        publish_package(package, store, "demo/1")
    assert caught.value.reason is Reason.DIGEST_MISMATCH
    assert not store.exists("demo/1/manifest.json")
    package.file("data/demo.csv").path.unlink()
    with pytest.raises(CheckFailedError):
        stage_package(made.facts, package.files[:2], ["wage"], tmp_path)


def test_a_put_that_stores_other_bytes_is_noticed(made: Any) -> None:
    class Lossy:
        def put_once(self, key: str, path: Path) -> str:
            return "0" * 64

    with pytest.raises(CheckFailedError):
        publish_package(made.package, Lossy(), "demo/1")  # type: ignore[arg-type]


def test_a_failing_store_leaves_no_release(made: Any) -> None:
    # B82: the second of the objects is refused; there is no manifest, hence no release, and a rerun completes it
    class Failing:
        def __init__(self) -> None:
            self.store = open_store("memory:")
            self.puts = 0

        def put_once(self, key: str, path: Path) -> str:
            self.puts += 1
            if self.puts == 2:
                raise StoreError.of(Reason.STORE_UNREACHABLE, key, required="a store", came="none", fix="Run again.")
            return self.store.put_once(key, path)

    store = Failing()
    with pytest.raises(StoreError):
        publish_package(made.package, store, "demo/1")  # type: ignore[arg-type]
    assert store.store.list() == ("demo/1/data/demo.parquet",)
    publish_package(made.package, store, "demo/1")  # type: ignore[arg-type]
    assert store.store.exists("demo/1/manifest.json")


def test_a_manifest_before_the_end_is_refused(made: Any) -> None:
    files = made.package.files
    with pytest.raises(ValueError, match="last"):
        publish_package(StagedPackage((files[-1], *files[:-1])), open_store("memory:"), "demo/1")


def test_comparison_needs_both_files(made: Any) -> None:
    assert compare_staged(made.package.files[:1]) == ()
    (result,) = compare_staged(made.package.files[:2])
    assert result.passed


def evidence(made: Any, **changes: Any) -> Evidence:
    facts = RestrictedFacts(
        plan=made.plan,
        state="published",
        reason="met",
        rounds=(
            RoundFacts(1, "wage", Epsilon.parse("1"), 71.5, False),
            RoundFacts(2, "wage", Epsilon.parse("1.25"), None, True),
        ),
        input_report={"rows": 500, "columns": [{"name": "wage", "missing": 3, "clipped": 17}]},
        losses={"overall": 39.25, "columns": [{"name": "wage", "tvd": 0.5, "kl": None}]},
        shortfalls=(("wage", "correlation_loss 71.5 against 40"),),
    )
    return Evidence(
        facts=dataclasses.replace(facts, **changes),
        checks=made.facts.checks,
        provenance={"plan_digest": made.plan.digest, "host": "somewhere", "input_digest": "ab" * 32},
        ledger=[{"seq": 1, "kind": "draw"}],
    )


def test_restricted_files_are_private_and_valid(made: Any, tmp_path: Path) -> None:
    package = stage_restricted(evidence(made), tmp_path)
    names = ["input_report", "losses", "checks", "provenance", "ledger"]
    assert [file.key for file in package.files] == [f"{name}.json" for name in names] + ["report.md", "report.html"]
    assert set(names) < set(SCHEMAS)
    for name in names:
        file = package.file(f"{name}.json")
        assert file.path.stat().st_mode & 0o777 == 0o600
        document = parse(file.path.read_bytes(), name)
        assert (document["format"], document["dataset"], document["version"]) == (1, "demo", "1")
    losses = parse(package.file("losses.json").path.read_bytes(), "losses")
    assert losses["rounds"][0] == {"round": 1, "unit": "wage", "level": "1", "loss": 71.5, "met": False} | {
        "interval": None
    }
    assert losses["losses"]["columns"][0]["kl"] is None
    assert "17" in package.file("report.md").path.read_text()


def test_restricted_files_publish_like_any_other(made: Any, tmp_path: Path) -> None:
    store = open_store(tmp_path / "restricted", private=True)
    publish_package(stage_restricted(evidence(made), tmp_path / "work"), store, "demo/1")
    assert store.exists("demo/1/losses.json")
    assert (tmp_path / "restricted" / "demo" / "1" / "losses.json").stat().st_mode & 0o777 == 0o600


def test_losses_that_are_not_numbers_are_refused(made: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        stage_restricted(evidence(made, losses={"kl": float("inf")}), tmp_path)


def test_restricted_documents_satisfy_their_schemas(made: Any, tmp_path: Path) -> None:
    with pytest.raises(VerificationError):
        stage_restricted(evidence(made, reason=""), tmp_path)


def test_a_staged_file_is_described_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 3_000_000)
    assert staged_file("x", path).bytes == 3_000_000
    assert staged_file("x", path).sha256 == hashlib.sha256(b"a" * 3_000_000).hexdigest()
