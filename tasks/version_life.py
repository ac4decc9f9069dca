"""A version on its way to the public: begun, frozen, moved forward, packaged, let through; whatever it is made of.

Releases, answers, models and windows of collections all go this way; what each is made of stands in its own session.
"""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

from tasks.heartbeat import HeldLease, kept_alive, may_be_alive
from tasks.places import VersionPlan, publication_terms
from trasgo_lib.budget import Cost
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.keys import (
    KeyedDigest,
    WrappingKey,
    commitment,
    digest_key_context,
    new_secret,
    root_context,
)
from trasgo_lib.records import Event, Publication, Records, State, VersionRecord
from trasgo_lib.release import release_prefix
from trasgo_lib.storage import ObjectStore

P_co = TypeVar("P_co", bound=VersionPlan, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionLife(Generic[P_co]):
    """One version, with its records, places and keys, opened in this process.

    Args:
        plan: the compiled plan.
        records: ledger and lifecycle.
        public: the public root.
        restricted: the restricted root.
        work: folder for work files, private; removed after publication.
        home: the state folder.
        actor: who runs it, for the records.
        wrapping_key: opens roots and digest keys; secret.
        opened: digest keys by account, once they were asked for; a key never changes, however it is wrapped; secret.
    """

    plan: P_co
    records: Records
    public: ObjectStore
    restricted: ObjectStore
    work: Path
    home: Path
    actor: str
    wrapping_key: WrappingKey
    opened: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def version(self) -> VersionRecord | None:
        """The version's record, or None before its first run."""
        return self.records.version(self.plan.dataset, self.plan.version)

    def begin(self) -> VersionRecord:
        """The version's record; made, with a fresh wrapped root, when there is none.

        Raises:
            ConflictError: the public root holds this version, but the ledger does not know it; or the wrapping key is
                not the one of this ledger, under which nothing could be drawn.
        """
        record = self.version()
        if record is not None:
            return record
        plan = self.plan
        self._require_unpublished()
        self.digest_key()  # a root under another key than the ledger's would spoil the version's name for good
        root = new_secret(os.urandom)
        return self.records.create_version(
            plan.dataset,
            plan.version,
            plan.account,
            self.wrapping_key.wrap(root, root_context(plan.dataset, plan.version), os.urandom),
            commitment(root),
            self.actor,
            now(),
        )

    def digest_key(self) -> bytes:
        """The account's digest key; secret."""
        name = self.plan.account
        if name not in self.opened:
            wrapped = self.records.account(name).wrapped_digest_key
            self.opened[name] = self.wrapping_key.unwrap(wrapped, digest_key_context(name))
        return self.opened[name]

    def freeze(self, input_digest: str) -> None:
        """Fix plan, input and terms of publication with the version.

        Raises:
            ConflictError: something was charged for another plan, input or number of approvals.
        """
        plan = self.plan
        terms = publication_terms(plan)
        self.records.freeze(plan.dataset, plan.version, plan.digest, input_digest, self.actor, now(), terms)

    def publication(self) -> Publication:
        """How far the version is on its way to the public."""
        return self.records.publication(self.plan.dataset, self.plan.version)

    def must_wait(self) -> bool:
        """Whether a checked version is packaged and waits, instead of being published at once."""
        found = self.publication()
        return found.terms.approvals > 0 or found.is_early(self.records.now())

    def package_salt(self) -> str:
        """What the digest of a waiting package is salted with, hex; lies beside the package in the restricted root."""
        digest = KeyedDigest(self.digest_key())
        digest.update(f"salt of the package {self.plan.dataset}/{self.plan.version}".encode())
        return digest.hexdigest()

    def require_superseded(self) -> None:
        """Stop before data is opened when the version that this one is to supersede cannot be superseded by it.

        Raises:
            ConflictError: there is none, it was never published, or another version has superseded it.
        """
        declared = self.plan.config.release.supersedes
        if declared is not None:
            self.records.require_supersedable(self.plan.dataset, declared.version, self.plan.version)

    def require_whole_ledger(self) -> None:
        """Stop before anything else when the ledger has moved, or its record does not hold together.

        Raises:
            StoreError: it has moved, or one fault for each hash, total or cap that does not hold.
        """
        self.records.require_open()
        report = self.records.check_chain()
        if not report.ok:
            raise StoreError(*report.faults)

    def require_stores(self) -> None:
        """Stop before data is opened or anything is charged when a root cannot be written to, or would overwrite.

        Raises:
            StoreError: a root is out of reach, refuses our credentials, or overwrites what is there.
        """
        for store in (self.public, self.restricted):
            store.require_create_once()

    def spent(self) -> Cost:
        """What this version has been charged so far."""
        return self.records.spent_by(self.plan.dataset, self.plan.version)

    def event_of(self, state: State) -> Event:
        """The event by which the version came into a state.

        Raises:
            ConflictError: it has not been there.
        """
        plan = self.plan
        for event in self.records.events(plan.dataset, plan.version):
            if event.kind == "state" and event.state is state:
                return event
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"version {plan.dataset}/{plan.version}",
            required=f"a version that has been {state.value}",
            came="one that has not",
            fix="Run it again from the start; no draw is paid twice.",
        )

    def hold_lease(self) -> AbstractContextManager[HeldLease]:
        """Keep other runs of this version out for as long as the block runs; a thread renews the lease meanwhile.

        Raises:
            ConflictError: another run holds it.
        """
        return hold_lease(self.records, self.plan.dataset, self.plan.version)

    def advance(self, state: str, reason: str, **evidence: str) -> VersionRecord:
        """Move the version forward by one chained event; a state it has passed is passed over."""
        plan = self.plan
        return self.records.transition(plan.dataset, plan.version, state, self.actor, reason, evidence, now())

    def remove_work(self) -> None:
        """Delete every work file."""
        shutil.rmtree(self.work, ignore_errors=False) if self.work.exists() else None

    def _require_unpublished(self) -> None:
        """A ledger that was lost, replaced or is another one must not lead to a second draw of a published version."""
        prefix = release_prefix(self.plan.dataset, self.plan.version)
        if self.public.list(prefix):
            raise ConflictError.of(
                Reason.ALREADY_EXISTS,
                f"version {prefix}",
                required="a version that is new, or that this ledger charged for",
                came="published files that this ledger does not know",
                fix="Restore the ledger it was published from, or publish a new version, charged in full.",
            )


def hold_lease(records: Records, dataset: str, version: str) -> AbstractContextManager[HeldLease]:
    """Keep runs and withdrawals of a version out for as long as the block runs; as ``VersionLife.hold_lease``.

    Args:
        records: ledger and lifecycle.
        dataset: the data set.
        version: its version.

    Raises:
        ConflictError: another one holds it.
    """
    holder = f"{socket.gethostname()} {os.getpid()} {now()}"
    return kept_alive(records.lease(dataset, version, holder, may_be_alive=may_be_alive))


def now() -> str:
    """The present instant, UTC, ISO 8601 to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()
