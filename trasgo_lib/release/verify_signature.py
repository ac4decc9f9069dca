"""Verification of the signature: the envelope holds, it is about exactly these files, and a known key made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.errors import Reason, TrasgoError, VerificationError
from trasgo_lib.keys import PublicKey, known_ids
from trasgo_lib.release import documents
from trasgo_lib.release.collection_file import holds_counts
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.envelope import Envelope, read_envelope, subjects
from trasgo_lib.release.manifest import ENVELOPE, MANIFEST, SIGNING_KEY, SUMS
from trasgo_lib.release.stored import is_out_of_reach
from trasgo_lib.release.verification import SignatureState, VerificationResult, failed, judge, passed
from trasgo_lib.storage import ObjectStore

_SIGNER = "signer"


def verify_signature(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], keys: tuple[PublicKey, ...]
) -> Iterator[VerificationResult]:
    """Check the signed envelope of a release against its files.

    Args:
        store: where the release stands.
        prefix: its prefix; empty when the store's root is the release.
        manifest: the parsed manifest.
        keys: public keys that the reader trusts; without any, only the key in the package is at hand.
    """
    signature = manifest.get("signature")
    if not signature:
        yield _verify_spelling(store, prefix, manifest)
        if keys:
            required, came = f"a signature by {known_ids(keys)}", "a release that is not signed"
            yield failed(_SIGNER, MANIFEST, required, came, Reason.SIGNATURE_WRONG)
        return
    key_id = signature["key_id"]
    inside = _packaged_key(store, prefix)
    came = "no usable public key" if inside is None else inside.key_id
    yield judge("signing key", SIGNING_KEY, key_id, came, Reason.SIGNATURE_WRONG)
    trusted = next((key for key in keys if key.key_id == key_id), None)
    if keys:
        required = f"one of the given keys: {known_ids(keys)}"
        came = key_id if trusted is None else "one of them"
        yield VerificationResult(_SIGNER, MANIFEST, trusted is not None, required, came, Reason.SIGNATURE_WRONG)
    try:
        envelope = read_envelope(store.get(_key(prefix, ENVELOPE)))
        statement = envelope.statement()
    except VerificationError as error:
        fault = error.faults[0]
        yield failed("envelope", ENVELOPE, fault.required, fault.came, fault.reason)
        return
    except TrasgoError as error:
        if is_out_of_reach(error, store):
            raise
        yield failed("complete", ENVELOPE, "the signed envelope", "no such file", Reason.MISSING_FILE)
        return
    yield passed("envelope", ENVELOPE, "canonical JSON, byte for byte", Reason.SCHEMA_VIOLATION)
    yield judge("signed with", ENVELOPE, key_id, envelope.key_id, Reason.SIGNATURE_WRONG)
    yield _verify_made_by(envelope, inside if trusted is None else trusted)
    yield from _verify_statement(store, prefix, manifest, statement)


def _verify_spelling(store: ObjectStore, prefix: str, manifest: dict[str, Any]) -> VerificationResult:
    """Where no signed statement names the manifest's digest, its very bytes are asked for."""
    stored = store.get(_key(prefix, MANIFEST))
    required = "the manifest as it is written, byte for byte"
    if stored == documents.dump(manifest, "manifest"):
        return passed("spelling", MANIFEST, required, Reason.SCHEMA_VIOLATION)
    return failed("spelling", MANIFEST, required, "another spelling", Reason.SCHEMA_VIOLATION)


def _packaged_key(store: ObjectStore, prefix: str) -> PublicKey | None:
    try:
        return PublicKey.from_pem(store.get(_key(prefix, SIGNING_KEY)), where=SIGNING_KEY)
    except TrasgoError as error:
        if is_out_of_reach(error, store):
            raise
        return None


def _verify_made_by(envelope: Envelope, key: PublicKey | None) -> VerificationResult:
    required = "a signature over the signed statement" + ("" if key is None else f" by the key {key.key_id}")
    if key is not None and envelope.signed_by(key):
        return passed("signature", ENVELOPE, required, Reason.SIGNATURE_WRONG)
    came = "no key to check it with" if key is None else "one that does not hold"
    return failed("signature", ENVELOPE, required, came, Reason.SIGNATURE_WRONG)


def _verify_statement(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    predicate = statement["predicate"]
    named = (predicate["release"]["dataset"], predicate["release"]["version"])
    release = (manifest["dataset"], manifest["version"])
    yield judge("signed release", ENVELOPE, release, named, Reason.SIGNATURE_WRONG)
    for key in ("created", "supersedes"):
        yield judge(f"signed {key}", ENVELOPE, manifest[key], predicate[key], Reason.SIGNATURE_WRONG)
    if (predicate["account"] is None) != holds_counts(manifest):
        required = "an account that was charged; for a collection none, since its devices paid"
        yield failed("signed account", ENVELOPE, required, "the other", Reason.SIGNATURE_WRONG)
    key_id = manifest["signature"]["key_id"]
    yield judge("signed key", ENVELOPE, key_id, predicate["key_id"], Reason.SIGNATURE_WRONG)
    listed = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    listed[MANIFEST] = store.digest(_key(prefix, MANIFEST))
    signed = {entry["name"]: entry["digest"]["sha256"] for entry in statement["subject"]}
    for path in sorted(listed.keys() | signed.keys()):
        required, came = listed.get(path, "no such file in the manifest"), signed.get(path, "not signed")
        yield judge("signed file", path, required, came, Reason.SIGNATURE_WRONG)
    yield judge("signed in order", ENVELOPE, subjects(signed), statement["subject"], Reason.SCHEMA_VIOLATION)


def signature_state(
    manifest: dict[str, Any], keys: tuple[PublicKey, ...], results: tuple[VerificationResult, ...]
) -> SignatureState:
    """What a verification found out about who signed.

    Args:
        manifest: the parsed manifest.
        keys: public keys that the reader brought.
        results: every check that was made.
    """
    signature = manifest.get("signature")
    made = {result.name: result.passed for result in results if result.name in (_SIGNER, "signature")}
    checked = bool(keys) and made.get(_SIGNER, False) and made.get("signature", False)
    return SignatureState(signature["key_id"] if signature else None, checked)


def verify_crate(store: ObjectStore, prefix: str, manifest: dict[str, Any]) -> Iterator[VerificationResult]:
    """Hold the digests of the research metadata against the manifest's.

    Args:
        store: where the release stands.
        prefix: its prefix; empty when the store's root is the release.
        manifest: the parsed manifest.
    """
    listed = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    if CRATE not in listed:
        return
    try:
        graph = documents.parse(store.get(_key(prefix, CRATE)), "crate")["@graph"]
    except TrasgoError as error:
        if is_out_of_reach(error, store):
            raise
        fault = error.faults[0]
        yield failed("schema", CRATE, fault.required, fault.came, fault.reason)
        return
    stated = {entry["@id"]: entry["sha256"] for entry in graph if "sha256" in entry}
    described = {path: digest for path, digest in listed.items() if path not in (CRATE, SUMS)}
    yield judge("described files", CRATE, described, stated, Reason.DIGEST_MISMATCH)


def _key(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path
