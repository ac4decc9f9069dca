"""Verification of a published release, offline, from its public files: files, signature, channels, claims, data."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from trasgo_lib.errors import Reason, TrasgoError, VerificationError
from trasgo_lib.keys import PublicKey
from trasgo_lib.release import documents
from trasgo_lib.release.answers_file import ANSWERS, holds_answers
from trasgo_lib.release.collection_file import COUNTS, holds_counts
from trasgo_lib.release.corrections import WITHDRAWN
from trasgo_lib.release.manifest import MANIFEST
from trasgo_lib.release.model_file import MODEL, holds_a_model
from trasgo_lib.release.package import CHANNEL, STATEMENT
from trasgo_lib.release.stored import is_out_of_reach
from trasgo_lib.release.verification import (
    SignatureState,
    VerificationReport,
    VerificationResult,
    failed,
    judge,
    passed,
)
from trasgo_lib.release.verify_answers import verify_answers
from trasgo_lib.release.verify_claims import suffix_of, verify_channels, verify_statement
from trasgo_lib.release.verify_data import verify_data
from trasgo_lib.release.verify_files import verify_files
from trasgo_lib.release.verify_metadata import (
    Published,
    verify_answers_metadata,
    verify_metadata,
    verify_model_metadata,
)
from trasgo_lib.release.verify_model import verify_model
from trasgo_lib.release.verify_signature import signature_state, verify_crate, verify_signature
from trasgo_lib.release.verify_stated import verify_stated
from trasgo_lib.storage import ObjectStore, open_store

Judge = Callable[[ObjectStore, str, dict[str, Any]], Iterator[VerificationResult]]
"""Checks of a product whose room lies above this one: store, prefix and manifest to results."""

REHEARSED = "no rehearsal"
"""Name of the check that made-up rows fail."""


def verify_release(
    location: str | Path | ObjectStore,
    prefix: str = "",
    keys: Sequence[PublicKey] = (),
    collections: Judge | None = None,
) -> VerificationReport:
    """Check a release from its public files alone.

    Args:
        location: folder or URI of the release, or of a root that holds it, or an open store.
        prefix: where the release stands below that location; empty when the location is the release.
        keys: public keys of which one must have signed it. Without any, the signature is held against the key in the
            package, which shows that nothing changed since it was signed, but not who signed.
        collections: judges what a collection holds, ``trasgo_lib.collection.verify.verify_counts``; without it a
            collection does not pass.

    Returns:
        Every check that was made. Nothing raises because of what the files hold; call ``require`` on the report to turn
        failures into an error.

    Raises:
        StoreError: the location does not exist or does not answer.
        ConfigError: the location is of a kind that cannot be opened.
    """
    store = location if isinstance(location, ObjectStore) else open_store(location, create=False)
    inside = prefix.strip("/")
    found: dict[str, dict[str, Any]] = {}
    results = tuple(_verify(store, inside, tuple(keys), found, collections))
    state = signature_state(found["manifest"], tuple(keys), results) if "manifest" in found else SignatureState()
    return VerificationReport(store.uri(inside), results, state)


def _verify(
    store: ObjectStore,
    prefix: str,
    keys: tuple[PublicKey, ...],
    found: dict[str, dict[str, Any]],
    collections: Judge | None,
) -> Iterator[VerificationResult]:
    if not store.exists(_key(prefix, MANIFEST)):
        required = "a manifest: a folder without it is not a release"
        yield failed("manifest", MANIFEST, required, "no such file", Reason.MISSING_FILE)
        return
    yield _read(store, prefix, MANIFEST, "manifest", found)
    if "manifest" in found and holds_counts(found["manifest"]):
        yield from _verify_collection(store, prefix, keys, found["manifest"], collections)
        return
    is_statistics = "manifest" in found and holds_answers(found["manifest"])
    told = (ANSWERS, "answers", "answers_statement") if is_statistics else (CHANNEL, "channel", "statement")
    is_model = "manifest" in found and holds_a_model(found["manifest"])
    told = (MODEL, "model", "model_statement") if is_model else told
    if not ((is_statistics or is_model) and store.exists(_key(prefix, WITHDRAWN))):
        # answers or a model that were withdrawn are gone; what withdrawing left is judged below
        yield _read(store, prefix, told[0], told[1], found)
    yield _read(store, prefix, STATEMENT, told[2], found)
    if "manifest" not in found:
        return
    withdrawn = yield from _verify_withdrawal(store, prefix, found["manifest"])
    yield from verify_files(store, prefix, found["manifest"], withdrawn=withdrawn)
    yield from verify_signature(store, prefix, found["manifest"], keys)
    if len(found) < len(("manifest", "channel", "statement")):
        return
    if is_statistics:
        manifest, statement = found["manifest"], found["answers_statement"]
        yield from verify_crate(store, prefix, manifest)
        yield from verify_answers(store, prefix, manifest, found["answers"], statement)
        yield from verify_answers_metadata(store, prefix, Published(manifest, {}, statement))
        return
    if is_model:
        manifest, statement = found["manifest"], found["model_statement"]
        yield from verify_crate(store, prefix, manifest)
        yield from verify_model(store, prefix, manifest, found["model"], statement)
        yield from verify_model_metadata(store, prefix, Published(manifest, {}, statement))
        return
    manifest, channel_file, statement = found["manifest"], found["channel"], found["statement"]
    yield from _verify_real(manifest, statement)
    yield from verify_crate(store, prefix, manifest)
    yield from _verify_names(manifest, channel_file, statement)
    yield from verify_channels(channel_file, suffix_of(statement))
    yield from verify_statement(statement, channel_file)
    yield from verify_stated(statement, suffix_of(statement))
    yield from verify_metadata(store, prefix, Published(manifest, channel_file, statement))
    if not withdrawn:
        yield from verify_data(store, prefix, manifest, statement, channel_file)


def _verify_collection(
    store: ObjectStore, prefix: str, keys: tuple[PublicKey, ...], manifest: dict[str, Any], judges: Judge | None
) -> Iterator[VerificationResult]:
    withdrawn = yield from _verify_withdrawal(store, prefix, manifest)
    yield from verify_files(store, prefix, manifest, withdrawn=withdrawn)
    yield from verify_signature(store, prefix, manifest, keys)
    yield from verify_crate(store, prefix, manifest)
    if withdrawn:
        return  # counts and estimates are gone, and with them what would be judged
    if judges is None:
        required = "counts that were judged: trasgo_lib.collection.verify.verify_collection"
        yield failed("counts", COUNTS, required, "counts that were not", Reason.SCHEMA_VIOLATION)
        return
    yield from judges(store, prefix, manifest)


def _verify_real(manifest: dict[str, Any], statement: dict[str, Any]) -> Iterator[VerificationResult]:
    """A rehearsal may hold in every other check: it is still made of made-up rows and no release."""
    required = "a release of real rows"
    if manifest.get("rehearsal") or statement.get("rehearsal"):
        came = "a rehearsal on made-up rows, not a release"
        yield failed(REHEARSED, manifest["version"], required, came, Reason.REHEARSAL)
    else:
        yield passed(REHEARSED, manifest["version"], required, Reason.REHEARSAL)


def _verify_withdrawal(
    store: ObjectStore, prefix: str, manifest: dict[str, Any]
) -> Generator[VerificationResult, None, bool]:
    """Say that a version was withdrawn, when it was: it is then not a release to be used, whatever else holds."""
    if not store.exists(_key(prefix, WITHDRAWN)):
        return False
    found: dict[str, dict[str, Any]] = {}
    result = _read(store, prefix, WITHDRAWN, "withdrawn", found)
    if not result.passed:
        yield result
        return False
    notice = found["withdrawn"]
    named = (notice["dataset"], notice["version"])
    yield judge("same release", WITHDRAWN, (manifest["dataset"], manifest["version"]), named, Reason.SCHEMA_VIOLATION)
    came = f"withdrawn on {notice['withdrawn'][:10]}: {notice['reason']}"
    yield failed("withdrawn", named[1], "a version that stands", came, Reason.WITHDRAWN)
    return True


def _read(
    store: ObjectStore, prefix: str, path: str, schema: str, found: dict[str, dict[str, Any]]
) -> VerificationResult:
    required = f"strict JSON of {schema}.schema.json"
    try:
        found[schema] = documents.parse(store.get(_key(prefix, path)), schema)
    except VerificationError as error:
        fault = error.faults[0]
        return failed("schema", path, fault.required, fault.came, fault.reason)
    except TrasgoError as error:
        if is_out_of_reach(error, store):
            raise
        return failed("schema", path, required, str(error.reason), Reason.MISSING_FILE)
    return passed("schema", path, required, Reason.SCHEMA_VIOLATION)


def _verify_names(
    manifest: dict[str, Any], channel_file: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    release = (manifest["dataset"], manifest["version"])
    for path, document in ((CHANNEL, channel_file), (STATEMENT, statement)):
        named = (document["dataset"], document["version"])
        yield judge("same release", path, release, named, Reason.SCHEMA_VIOLATION)
    corrected = (statement.get("supersedes") or {}).get("version")
    yield judge("same superseded version", STATEMENT, manifest["supersedes"], corrected, Reason.SCHEMA_VIOLATION)
    for key in ("created", "library_version", "commit"):
        yield judge(f"same {key}", STATEMENT, manifest[key], statement[key], Reason.SCHEMA_VIOLATION)


def _key(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path
