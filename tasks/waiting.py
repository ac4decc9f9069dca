"""Packages that wait in the restricted root, and their way to the public: byte for byte what was approved."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prefect import task

from tasks.places import VersionPlan
from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.session import RunRef, open_session
from tasks.version_life import VersionLife, now
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import State, package_digest, waiting_of
from trasgo_lib.release import (
    MANIFEST,
    StagedPackage,
    VerificationReport,
    erratum_bytes,
    erratum_key,
    publish_package,
    release_prefix,
    verify_release,
)
from trasgo_lib.release.corrections import CHARGED_AGAIN
from trasgo_lib.release.verification import VerificationResult
from trasgo_lib.storage import ObjectStore

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class WaitingPackage:
    """What waits in the restricted root.

    Args:
        prefix: where its files are.
        salt: what its digest is salted with.
        manifest: its manifest.
        manifest_digest: SHA-256 of it.
    """

    prefix: str
    salt: str
    manifest: dict[str, Any]
    manifest_digest: str

    @property
    def digest(self) -> str:
        """The salted digest, as it stands in the record."""
        return package_digest(self.salt, self.manifest_digest)


def put_waiting(session: VersionLife[VersionPlan], staged: StagedPackage) -> None:
    """Put a package into the restricted root and on record.

    Raises:
        ConflictError: another package waits already.
    """
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    publish_package(staged, session.restricted, _folder(prefix))
    salt, manifest = session.package_salt(), staged.file(MANIFEST).sha256
    digest = package_digest(salt, manifest)
    note = {"format": 1, "salt": salt, "manifest_sha256": manifest, "package": digest}
    session.restricted.put_once(_note(prefix), f"{json.dumps(note, indent=2)}\n".encode())
    session.records.record_package(plan.dataset, plan.version, digest, session.actor, now())


def read_waiting(restricted: ObjectStore, dataset: str, version: str) -> WaitingPackage:
    """The package that waits for a version.

    Raises:
        StoreError: there is none, or the store is out of reach.
        ConflictError: the note beside it cannot be read or is of another manifest.
    """
    prefix = release_prefix(dataset, version)
    manifest = restricted.get(f"{_folder(prefix)}/{MANIFEST}")
    digest = hashlib.sha256(manifest).hexdigest()
    try:
        note = json.loads(restricted.get(_note(prefix)))
        found = WaitingPackage(_folder(prefix), str(note["salt"]), json.loads(manifest), digest)
        same = (note["manifest_sha256"], note["package"]) == (digest, found.digest)
    except (ValueError, KeyError, TypeError):
        same = False
    if not same:
        raise changed(prefix)
    return found


@task(name="publish waiting", **IDEMPOTENT_IO)
@at_boundary
def publish_waiting(ref: RunRef) -> None:
    """Bring the approved files to the public root, manifest last; again changes nothing.

    Raises:
        WaitingError: approvals are missing, or the embargo has not ended, by the database's clock.
        ConflictError: the files are not those that were packaged, or the public root holds others.
        VerificationError: what waits does not verify.
    """
    bring_waiting(open_session(ref))


def may_be_published(session: VersionLife[VersionPlan]) -> bool:
    """A packaged version: record changed terms, and hold it when its embargo was missed.

    Returns:
        Whether it can go to the public root now.

    Raises:
        ConflictError: another number of approvals than it was packaged for.
    """
    plan, record = session.plan, session.begin()
    session.freeze(record.input_digest or "")
    found = session.records.hold_when_missed(plan.dataset, plan.version, session.actor, now())
    session.remove_work()
    return waiting_of(record, found, session.records.now()) is None


def bring_waiting(session: VersionLife[VersionPlan], price: str = CHARGED_AGAIN) -> None:
    """Bring the approved files of a version to the public root, manifest last; again changes nothing.

    Args:
        session: the version.
        price: what a correction cost, in words.

    Raises:
        WaitingError: approvals are missing, or the embargo has not ended, by the database's clock.
        ConflictError: the files are not those that were packaged, or the public root holds others.
        VerificationError: what waits does not verify.
    """
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    waiting = read_waiting(session.restricted, plan.dataset, plan.version)
    session.records.require_publishable(plan.dataset, plan.version, waiting.digest)
    session.require_superseded()
    verified(session.restricted, waiting.prefix).require()
    listed = {entry["path"]: entry["sha256"] for entry in waiting.manifest["files"]}
    manifest = f"{waiting.prefix}/{MANIFEST}"
    for key in session.restricted.list(waiting.prefix):
        if key != manifest:
            name = key.removeprefix(f"{waiting.prefix}/")
            _copy(session, key, f"{prefix}/{name}", listed.get(name) or session.restricted.digest(key))
    content = session.restricted.get(manifest)
    if hashlib.sha256(content).hexdigest() != waiting.manifest_digest:
        raise changed(prefix)
    session.public.put_once(f"{prefix}/{MANIFEST}", content)
    announce(session, {"package": waiting.digest, "package_salt": waiting.salt}, price)
    session.remove_work()
    _LOGGER.info("publish: %s, as approved", prefix)


def verified(store: ObjectStore, prefix: str) -> VerificationReport:
    """Every check of a package, whatever it holds."""
    return verify_release(store, prefix, collections=_counts)


def _counts(store: ObjectStore, prefix: str, manifest: dict[str, Any]) -> Iterator[VerificationResult]:
    # late: only who publishes a collection waits for H3
    from trasgo_lib.collection.verify import verify_counts

    return verify_counts(store, prefix, manifest)


def _copy(session: VersionLife[VersionPlan], key: str, to: str, wanted: str) -> None:
    """One file to the public root; what arrives must be what was listed."""
    content = session.restricted.local_path(key) or session.restricted.get(key)
    if session.public.put_once(to, content) != wanted:
        raise changed(to)


def announce(session: VersionLife[VersionPlan], evidence: Mapping[str, str], price: str = CHARGED_AGAIN) -> None:
    """After the manifest: the erratum of a correction, then the record; both versions move in one transaction.

    Args:
        session: the version.
        evidence: what ties it to a package that waited.
        price: what a correction cost, in words.
    """
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    digest = session.public.digest(f"{prefix}/{MANIFEST}")
    declared = plan.config.release.supersedes
    superseded = None if declared is None else declared.version
    if superseded is not None:
        before = session.records.require_supersedable(plan.dataset, superseded, plan.version)
        made = session.event_of(State.CHECKED).at
        erratum = erratum_bytes(plan, made, digest, before.manifest_digest or "", price)
        session.public.put_once(erratum_key(plan.dataset, plan.version), erratum)
    if session.begin().manifest_digest == digest:
        return  # on record already; the public root was restored
    proof = {"manifest_digest": digest, **evidence}
    session.records.publish(plan.dataset, plan.version, proof, superseded, session.actor, now())


def changed(prefix: str) -> ConflictError:
    """What waits is not what was packaged."""
    return ConflictError.of(
        Reason.DIGEST_MISMATCH,
        f"waiting package of {prefix}",
        required="the files that were packaged and put on record",
        came="other ones",
        fix="Somebody changed the restricted root. Nothing more is published; find out who, and restore the files.",
    )


def _folder(prefix: str) -> str:
    return f"{prefix}/waiting"


def _note(prefix: str) -> str:
    return f"{prefix}/waiting.json"
