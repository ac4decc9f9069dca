"""What a task opens from a reference: plan, records, stores and keys of one run.

Between tasks travels a :class:`RunRef` of public text; each process opens the rest for itself and keeps it, so keys
never travel and a worker on another machine compiles the plan once.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

from tasks.affordable import part_of, require_first_round, require_same_terms
from tasks.heartbeat import HeldLease, kept_alive, may_be_alive
from tasks.places import open_records, publication_terms, work_folder, wrapping_key
from tasks.stores import open_root, remove_below
from trasgo_lib.budget import Cost
from trasgo_lib.data import source_digest, stage_prefix
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.keys import (
    KeyedDigest,
    WrappingKey,
    commitment,
    digest_key_context,
    new_secret,
    root_context,
)
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.records import Event, Publication, Records, Reservation, State, VersionRecord
from trasgo_lib.release import release_prefix
from trasgo_lib.statistics import StatisticsPlan
from trasgo_lib.storage import ObjectStore
from trasgo_lib.training import TrainingPlan, read_product, verb_of

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class RunRef:
    """The public facts from which every task opens the run.

    Args:
        config: absolute path of the release file.
        config_digest: SHA-256 of its text, hex; another text under the same path is refused.
        home: the state folder.
        actor: who runs it, for the ledger.
    """

    config: str
    config_digest: str
    home: str
    actor: str


@dataclass(frozen=True, slots=True)
class Session:
    """One run, opened in this process.

    Args:
        ref: what it was opened from.
        plan: the compiled plan.
        records: ledger and lifecycle.
        public: the public root.
        restricted: the restricted root.
        work: folder for work files, private; removed after publication.
        wrapping_key: opens roots and digest keys; secret.
        opened: digest keys by account, once they were asked for; a key never changes, however it is wrapped; secret.
        statistics: the queries of a statistics file, whose source and places are ``plan``; None for other files.
        training: the model of a training file, likewise; None for other files.
    """

    ref: RunRef
    plan: ReleasePlan
    records: Records
    public: ObjectStore
    restricted: ObjectStore
    work: Path
    wrapping_key: WrappingKey
    opened: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    statistics: StatisticsPlan | None = None
    training: TrainingPlan | None = None

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
            self.ref.actor,
            now(),
        )

    def digest_key(self) -> bytes:
        """The account's digest key; secret."""
        name = self.plan.account
        if name not in self.opened:
            wrapped = self.records.account(name).wrapped_digest_key
            self.opened[name] = self.wrapping_key.unwrap(wrapped, digest_key_context(name))
        return self.opened[name]

    def streams(self, purpose: str) -> Callable[..., Keystream]:
        """Gives the keystreams of one purpose of this version, after one look at the ledger; secret.

        Args:
            purpose: ``draw``, ``permute``, ``probe``, ``stage``, ``risk``, ``audit`` or ``train``.

        Returns:
            A function of chain digest, level, attempt and keyed input digest, as the purpose needs. It holds the root:
            it is for one draw, so that a root that was destroyed ends the draws.

        Raises:
            ConflictError: the version's root is gone or is not the one that was charged for.
        """
        root = self._root(self.begin())
        return partial(Keystream, root, self.plan.dataset, self.plan.version, purpose)

    def stream(self, purpose: str, *parts: str | int) -> Keystream:
        """One keystream; as ``streams``."""
        return self.streams(purpose)(*parts)

    def freeze(self, input_digest: str) -> None:
        """Fix plan, input and terms of publication with the version.

        Raises:
            ConflictError: something was charged for another plan, input or number of approvals.
        """
        plan = self.plan
        terms = publication_terms(plan)
        self.records.freeze(plan.dataset, plan.version, plan.digest, input_digest, self.ref.actor, now(), terms)

    def require_same_plan(self) -> None:
        """Stop before data is opened when the version was charged for another plan.

        Raises:
            ConflictError: exit 4; nothing was read or drawn.
        """
        record = self.version()
        if record is None or record.plan_digest in (None, self.plan.digest) or self.spent().is_zero:
            return
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"version {record.dataset}/{record.version}",
            required="the plan this version was charged for",
            came="another plan: mechanism, domain, ladder, target, policy or total differ",
            fix="Restore the release file, or publish a new version, charged in full.",
        )

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

    def require_account(self) -> None:
        """Stop before data is opened when the account is absent, counts other units, or cannot pay for a first round.

        Raises:
            BudgetError: no such account, too little is left, or a draw that it does not take.
            ConflictError: it was opened for another unit, or without the part that the file names.
        """
        account = self.records.account(self.plan.account)
        require_same_terms(account, self.plan)
        # a version that was charged before has paid for its first round already; ``reserve`` judges the rest
        if self.spent().is_zero:
            require_first_round(self.records, account, self.plan, self.statistics or self.training)

    @property
    def verb(self) -> str:
        """The command that makes this version."""
        return verb_of(self.statistics, self.training)

    @property
    def part(self) -> tuple[str, str] | None:
        """The declared partition and part that this version's data are of; None when they are of all units."""
        return part_of(self.plan)

    def account_to_date(self) -> Cost:
        """The account up to this version's last charge: later charges of other versions must not change its files.

        Parts of the account are parallel where this version's statement says that units keep them, and only there.
        """
        plan = self.plan
        own = self.records.charges_of(plan.dataset, plan.version)
        asked = () if self.statistics is None else self.statistics.charges
        kept = [charge.membership.name for charge in asked if charge.membership is not None]
        kept += [self.part[0]] if self.part is not None else []
        return self.records.to_date(plan.account, own[-1].seq, kept)

    def source_digest(self) -> str:
        """Keyed digest of the source file as it is now, hex; private.

        Raises:
            InputContractError: the file cannot be read.
        """
        return source_digest(self.plan.source_path, self.digest_key())

    def reserve(self, reservations: Sequence[Reservation]) -> None:
        """Charge draws, all of them or none.

        Raises:
            BudgetError: a cap would be passed.
            ConflictError: the version was charged otherwise.
        """
        self.records.reserve_all(reservations, now())

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
        holder = f"{socket.gethostname()} {os.getpid()} {now()}"
        return kept_alive(self.records.lease(self.plan.dataset, self.plan.version, holder, may_be_alive=may_be_alive))

    def advance(self, state: str, reason: str, **evidence: str) -> VersionRecord:
        """Move the version forward by one chained event; a state it has passed is passed over."""
        plan = self.plan
        return self.records.transition(plan.dataset, plan.version, state, self.ref.actor, reason, evidence, now())

    @property
    def stage_prefix(self) -> str:
        """Where stage objects of this version stand below the restricted root; public."""
        return stage_prefix(self.plan.dataset, self.plan.version)

    def remove_work(self) -> None:
        """Delete every work file, and what workers without a shared disk were given."""
        shutil.rmtree(self.work, ignore_errors=False) if self.work.exists() else None
        if self.restricted.root is None:
            try:
                remove_below(self.restricted, self.stage_prefix)
            except StoreError:
                # what is left is sealed; the version is as far as it goes, and must not fail for it
                _LOGGER.warning("stage objects below %s could not be removed", self.restricted.uri(self.stage_prefix))

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

    def _root(self, record: VersionRecord) -> bytes:
        where = f"root of {record.dataset}/{record.version}"
        if not record.wrapped_root:
            raise self._destroyed(where)
        try:
            root = self.wrapping_key.unwrap(record.wrapped_root, root_context(record.dataset, record.version))
        except ConflictError:
            root = None
        if root is None or commitment(root) != record.commitment:
            raise ConflictError.of(
                Reason.ROOT_LOST,
                where,
                required="the root that this version was charged for",
                came="none that the wrapping key opens",
                fix="Restore the wrapping key, or publish a new version, charged in full. A root is never made anew.",
            )
        return root

    def _destroyed(self, where: str) -> ConflictError:
        life = self.records.events(self.plan.dataset, self.plan.version)
        event = next(event for event in reversed(life) if event.kind == "destroy")
        return ConflictError.of(
            Reason.ROOT_LOST,
            where,
            required="the root that this version was charged for",
            came=f"one that {event.actor} destroyed on {event.at[:10]}",
            fix="Nothing of this version can be drawn again. Publish a new version, charged in full.",
        )

    def __repr__(self) -> str:
        return f"Session({self.plan.dataset}/{self.plan.version})"


def now() -> str:
    """The present instant, UTC, ISO 8601 to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


@lru_cache(maxsize=4)
def open_session(ref: RunRef) -> Session:
    """Open a run from its reference; kept for the life of the process.

    Raises:
        ConfigError: the release file or the key is wrong.
        ConflictError: the release file is no longer the one the run began with.
        StoreError: a root or the database cannot be reached.
    """
    product = read_product(Path(ref.config))
    plan = product.base
    if product.loaded.text_digest != ref.config_digest:
        required, fix = "the text this run began with", "Start the run again."
        raise ConflictError.of(Reason.PLAN_CHANGED, "release file", required=required, came="another text", fix=fix)
    return Session(
        ref=ref,
        plan=plan,
        records=open_records(plan),
        public=open_root(plan.public_root, plan.config.publish.public_s3),
        restricted=open_root(plan.restricted_root, plan.config.publish.restricted_s3, private=True),
        work=work_folder(plan, Path(ref.home)),
        wrapping_key=wrapping_key(plan, Path(ref.home)),
        statistics=product.statistics,
        training=product.training,
    )
