"""Verification of the files themselves: all there, none besides, every byte as listed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release.answers_file import ANSWERS, ANSWERS_CSV, holds_answers, withdrawable
from trasgo_lib.release.collection_file import CHANNELS, COUNTS, MAP_PAGE, POINT_MAP_PAGE, holds_counts, points_of
from trasgo_lib.release.corrections import WITHDRAWN
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.manifest import ENVELOPE, MANIFEST, SIGNING_KEY, SUMS, read_sums
from trasgo_lib.release.model_file import CARD, MODEL, holds_a_model
from trasgo_lib.release.package import CHANNEL, REPORT, STATEMENT, data_key
from trasgo_lib.release.stored import is_out_of_reach
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
        withdrawn: whether data files, and pages that tell of answers or a model, may be absent, and the notice of it
            present.
    """
    listed = {entry["path"]: entry for entry in manifest["files"]}
    present = {key.removeprefix(f"{prefix}/") if prefix else key for key in store.list(prefix)}
    yield judge("paths listed once", MANIFEST, len(manifest["files"]), len(listed), Reason.SCHEMA_VIOLATION)
    unlisted = {MANIFEST} | ({ENVELOPE} if manifest.get("signature") else set())
    unlisted |= {WITHDRAWN} if withdrawn else set()
    may_be_gone = set(withdrawable(manifest)) if withdrawn else set()
    for path in sorted(present - set(listed) - unlisted):
        yield failed("no other files", path, "only files that the manifest lists", "one more file", Reason.EXTRA_FILE)
    for path in _required(manifest):
        if path not in listed:
            yield failed("complete", path, "a file that every release has", "not in the manifest", Reason.MISSING_FILE)
    for path, entry in sorted(listed.items()):
        if path in may_be_gone and path not in present:
            continue
        yield _verify_bytes(store, f"{prefix}/{path}" if prefix else path, entry, path in present)
    if SUMS in present and SUMS in listed:
        yield _verify_sums(store, f"{prefix}/{SUMS}" if prefix else SUMS, listed)


def _required(manifest: dict[str, Any]) -> tuple[str, ...]:
    """Files that have to be listed; packages from before signatures say nothing of one and have no crate."""
    if holds_answers(manifest):
        signed = (SIGNING_KEY,) if manifest.get("signature") else ()
        return (ANSWERS, ANSWERS_CSV, STATEMENT, REPORT, SUMS, *signed)
    if holds_a_model(manifest):
        return (MODEL, STATEMENT, CARD, SUMS, *((SIGNING_KEY,) if manifest.get("signature") else ()))
    if holds_counts(manifest):
        signed = (SIGNING_KEY,) if manifest.get("signature") else ()
        return (*_maps(manifest), COUNTS, CHANNELS, STATEMENT, REPORT, SUMS, *signed)
    always = (data_key(manifest["dataset"], "parquet"), CHANNEL, STATEMENT, REPORT, SUMS)
    crate = (CRATE,) if "signature" in manifest else ()
    return (*always, *crate, *((SIGNING_KEY,) if manifest.get("signature") else ()))


def _maps(manifest: dict[str, Any]) -> Iterator[str]:
    """Data and page of the map of cells, of points, or of both; which it is follows from the counts."""
    dataset, listed = manifest["dataset"], {entry["path"] for entry in manifest["files"]}
    points = points_of(dataset)
    has_points = data_key(points, "csv") in listed
    pages = {points: POINT_MAP_PAGE} if has_points else {dataset: MAP_PAGE}
    if data_key(dataset, "csv") in listed:
        pages[dataset] = MAP_PAGE
    for name, page in pages.items():
        yield from (data_key(name, "parquet"), data_key(name, "csv"), page)


def _verify_bytes(store: ObjectStore, key: str, entry: dict[str, Any], present: bool) -> VerificationResult:
    path = entry["path"]
    if not present:
        return failed("complete", path, "the file", "no such file", Reason.MISSING_FILE)
    try:
        digest, length = store.digest(key), store.size(key)
    except (TrasgoError, OSError) as error:
        if is_out_of_reach(error, store):
            raise
        return failed("digest", path, "a readable file", "one that cannot be read", Reason.MISSING_FILE)
    if length != entry["bytes"]:
        return failed("digest", path, f"{entry['bytes']} bytes", f"{length} bytes", Reason.DIGEST_MISMATCH)
    return judge("digest", path, entry["sha256"], digest, Reason.DIGEST_MISMATCH)


def _verify_sums(store: ObjectStore, key: str, listed: dict[str, Any]) -> VerificationResult:
    required = "the digests of the manifest"
    try:
        sums = read_sums(store.get(key).decode("utf-8"))
    except ValueError:
        return failed("sums", SUMS, required, "text of another form", Reason.SCHEMA_VIOLATION)
    if sums != {path: entry["sha256"] for path, entry in listed.items() if path != SUMS}:
        return failed("sums", SUMS, required, "others", Reason.DIGEST_MISMATCH)
    return passed("sums", SUMS, required, Reason.DIGEST_MISMATCH)
