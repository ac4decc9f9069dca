"""Verification of the files themselves: all there, none besides, every byte as listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release.corrections import WITHDRAWN
from trasgo_lib.release.manifest import MANIFEST, SUMS, read_sums
from trasgo_lib.release.package import CHANNEL, REPORT, STATEMENT, data_key
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed
from trasgo_lib.storage import ObjectStore


def verify_files(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], *, withdrawn: bool = False
) -> Iterator[VerificationResult]:
    """Check completeness and every digest.

    Args:
        store: where the release stands.
        prefix: its prefix; empty when the store's root is the release.
        manifest: the parsed manifest.
        withdrawn: whether data files may be absent, and the notice of it present.
    """
    listed = {entry["path"]: entry for entry in manifest["files"]}
    present = {key.removeprefix(f"{prefix}/") if prefix else key for key in store.list(prefix)}
    yield judge("paths listed once", MANIFEST, len(manifest["files"]), len(listed), Reason.SCHEMA_VIOLATION)
    for path in sorted(present - set(listed) - {MANIFEST} - ({WITHDRAWN} if withdrawn else set())):
        yield failed("no other files", path, "only files that the manifest lists", "one more file", Reason.EXTRA_FILE)
    for path in _required(manifest["dataset"]):
        if path not in listed:
            yield failed("complete", path, "a file that every release has", "not in the manifest", Reason.MISSING_FILE)
    for path, entry in sorted(listed.items()):
        if withdrawn and path.startswith("data/") and path not in present:
            continue
        yield _verify_bytes(store, f"{prefix}/{path}" if prefix else path, entry, path in present)
    if SUMS in present and SUMS in listed:
        yield _verify_sums(store, f"{prefix}/{SUMS}" if prefix else SUMS, listed)


def _required(dataset: str) -> tuple[str, ...]:
    return (data_key(dataset, "parquet"), CHANNEL, STATEMENT, REPORT, SUMS)


def _verify_bytes(store: ObjectStore, key: str, entry: dict[str, Any], present: bool) -> VerificationResult:
    path = entry["path"]
    if not present:
        return failed("complete", path, "the file", "no such file", Reason.MISSING_FILE)
    try:
        digest, length = store.digest(key), _length(store, key)
    except (TrasgoError, OSError):
        return failed("digest", path, "a readable file", "one that cannot be read", Reason.MISSING_FILE)
    if length != entry["bytes"]:
        return failed("digest", path, f"{entry['bytes']} bytes", f"{length} bytes", Reason.DIGEST_MISMATCH)
    return judge("digest", path, entry["sha256"], digest, Reason.DIGEST_MISMATCH)


def _length(store: ObjectStore, key: str) -> int:
    local = store.local_path(key)
    return len(store.get(key)) if local is None else local.stat().st_size


def _verify_sums(store: ObjectStore, key: str, listed: dict[str, Any]) -> VerificationResult:
    required = "the digests of the manifest"
    try:
        sums = read_sums(store.get(key).decode("utf-8"))
    except ValueError:
        return failed("sums", SUMS, required, "text of another form", Reason.SCHEMA_VIOLATION)
    if sums != {path: entry["sha256"] for path, entry in listed.items() if path != SUMS}:
        return failed("sums", SUMS, required, "others", Reason.DIGEST_MISMATCH)
    return passed("sums", SUMS, required, Reason.DIGEST_MISMATCH)
