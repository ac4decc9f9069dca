"""The records: one object over the database, one transaction a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Self

from trasgo_lib.budget import Cost, LossEvent
from trasgo_lib.config import LedgerAddress
from trasgo_lib.records import approving, chain, ledger, lifecycle, sealing
from trasgo_lib.records.clock import database_time
from trasgo_lib.records.database import BUSY_SECONDS, Database, Password
from trasgo_lib.records.lease import Lease, lease
from trasgo_lib.records.locking import lock_versions
from trasgo_lib.records.model import (
    Account,
    AccountTerms,
    ChainReport,
    Entry,
    Event,
    Reservation,
    State,
    VersionRecord,
)
from trasgo_lib.records.publication import NO_TERMS, Publication, PublicationTerms, publication_of
from trasgo_lib.records.relocation import Relocation, relocation_of, require_open

LEASE_TTL = timedelta(seconds=100)
"""How long a lease keeps a version unless it is renewed: a worker that is dead is noticed within two minutes."""


class Records:
    """Ledger and lifecycle in one database; made by :meth:`open`, safe to share between threads.

    Every method can raise :class:`~trasgo_lib.errors.StoreError`: ``DATABASE_UNREACHABLE`` when the database does
    not answer, ``CHAIN_BROKEN`` when what it holds, or a write to it, breaks the record. ``at`` is always the
    caller's now, ISO 8601 with offset.
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(
        cls,
        place: str | Path | LedgerAddress,
        *,
        create: bool = True,
        busy_seconds: float = BUSY_SECONDS,
        password: Password | None = None,
    ) -> Self:
        """Open the records and bring their schema up to date.

        Args:
            place: ``sqlite:///path``, ``postgresql+psycopg://user@host:port/database``, a path, or a parsed address;
                public.
            create: whether an absent file is made (0600, its new folders 0700); readers say False.
            busy_seconds: how long a call waits for another writer, in seconds.
            password: gives the password of a PostgreSQL role when it connects; secret. None leaves it to PGPASSWORD
                and PGPASSFILE.

        Raises:
            ConfigError: a URL that names no database, or holds a password.
            StoreError: the database is absent, unreadable, out of reach, locked, corrupt, or written by a newer
                version; or the role may not make or upgrade its tables.
        """
        return cls(Database.open(place, create=create, busy_seconds=busy_seconds, password=password))

    @property
    def database(self) -> Database:
        """The database itself, for moving a ledger as a whole."""
        return self._database

    @property
    def address(self) -> LedgerAddress:
        """Where the records are."""
        return self._database.address

    @property
    def path(self) -> Path | None:
        """The database file; None on a server."""
        return self._database.path

    def relocation(self) -> Relocation | None:
        """Where this ledger has moved to; None when it is the one to charge."""
        with self._database.read() as connection:
            return relocation_of(connection)

    def require_open(self) -> None:
        """Stop before any work for a ledger that takes no record any more.

        Raises:
            StoreError: it has moved, or its move was not finished (``LEDGER_MOVED``).
        """
        with self._database.read() as connection:
            require_open(connection, self._database.address.shown)

    def open_account(self, terms: AccountTerms, wrapped_digest_key: bytes, actor: str, at: str) -> Account:
        """Open an account; its terms and cap never change.

        Raises:
            ConflictError: one of this name exists.
        """
        with self._database.write() as connection:
            return ledger.open_account(connection, terms, wrapped_digest_key, actor, at)

    def account(self, name: str) -> Account:
        """The account as it stands.

        Raises:
            BudgetError: there is none of this name (``NO_ACCOUNT``).
        """
        with self._database.read() as connection:
            return ledger.account(connection, name)

    def accounts(self) -> tuple[Account, ...]:
        """Every account, by name."""
        with self._database.read() as connection:
            return ledger.accounts(connection)

    def create_version(
        self, dataset: str, version: str, account: str, wrapped_root: bytes, commitment: str, actor: str, at: str
    ) -> VersionRecord:
        """Store a new version with its wrapped root, before anything is charged to it.

        Raises:
            ConflictError: the version or the root exists; a root is never replaced.
            BudgetError: there is no such account.
            ConfigError: an empty argument.
        """
        with self._database.write() as connection:
            return lifecycle.create_version(connection, dataset, version, account, wrapped_root, commitment, actor, at)

    def version(self, dataset: str, version: str) -> VersionRecord | None:
        """The version as it stands, or None."""
        with self._database.read() as connection:
            return lifecycle.version(connection, dataset, version)

    def versions(self) -> tuple[VersionRecord, ...]:
        """Every version, by data set and version."""
        with self._database.read() as connection:
            return lifecycle.versions(connection)

    def freeze(
        self,
        dataset: str,
        version: str,
        plan_digest: str,
        input_digest: str,
        actor: str,
        at: str,
        terms: PublicationTerms = NO_TERMS,
    ) -> VersionRecord:
        """Fix plan, input and terms of publication; from the first charge on only embargo and place can change.

        Raises:
            ConflictError: plan or approvals (``PLAN_CHANGED``) or input (``INPUT_CHANGED``) differ from what was
                charged under.
        """
        with self._database.write() as connection:
            return lifecycle.freeze(connection, dataset, version, plan_digest, input_digest, actor, at, terms)

    def now(self) -> str:
        """Now by the database's clock, which all who share it share: UTC with microseconds."""
        with self._database.read() as connection:
            return database_time(connection)

    def publication(self, dataset: str, version: str) -> Publication:
        """How far a version is on its way to the public; nothing is asked of an unknown one."""
        return publication_of(self.events(dataset, version))

    def record_package(self, dataset: str, version: str, package: str, actor: str, at: str) -> VersionRecord:
        """Put on record which files wait for publication; the same again changes nothing.

        Raises:
            ConflictError: other files wait already, or the version is not checked.
        """
        with self._database.write() as connection:
            return approving.record_package(connection, dataset, version, package, actor, at)

    def approve(
        self, dataset: str, version: str, package: str, actor: str, reason: str, evidence: Mapping[str, str], at: str
    ) -> Publication:
        """Give one person's approval of the packaged files; the last that is needed makes the version approved.

        Raises:
            ConflictError: nothing waits, other files wait, this person ran it or has approved it, or none are needed.
            WaitingError: the embargo has ended without the approvals.
        """
        with self._database.write() as connection:
            return approving.approve(connection, dataset, version, package, actor, reason, dict(evidence), at)

    def hold_when_missed(self, dataset: str, version: str, actor: str, at: str) -> Publication:
        """Hold a packaged version whose embargo ended without its approvals; others are left as they are."""
        with self._database.write() as connection:
            return approving.hold_when_missed(connection, dataset, version, actor, at)

    def require_publishable(self, dataset: str, version: str, package: str | None) -> Publication:
        """Stop before any byte leaves when approvals are missing or the embargo has not ended, or after a withdrawal.

        Raises:
            WaitingError: so it is, by the database's clock.
            ConflictError: the version was withdrawn.
        """
        with self._database.read() as connection:
            return approving.require_publishable(connection, dataset, version, package)

    def require_supersedable(self, dataset: str, old: str, new: str) -> VersionRecord:
        """The version that another one is to supersede.

        Raises:
            ConflictError: there is none, it was never published, or another version has superseded it.
        """
        with self._database.read() as connection:
            return lifecycle.require_supersedable(connection, dataset, old, new)

    def publish(
        self, dataset: str, version: str, evidence: Mapping[str, str], supersedes: str | None, actor: str, at: str
    ) -> VersionRecord:
        """Make a version published and the one it corrects superseded, in one transaction.

        Args:
            dataset: data set.
            version: release version.
            evidence: ``manifest_digest``, and what ties it to a package.
            supersedes: the version of the same data set that it corrects, or None.
            actor: who publishes.
            at: now.

        Raises:
            ConflictError: one of them may not go there from where it is.
            WaitingError: approvals are missing.
        """
        with self._database.write() as connection:
            both = [(dataset, version), *([(dataset, supersedes)] if supersedes else [])]
            lock_versions(connection, both)
            record = lifecycle.transition(
                connection, dataset, version, State.PUBLISHED, actor, "manifest put", evidence, at
            )
            if supersedes is not None:
                lifecycle.supersede(connection, dataset, supersedes, version, actor, at)
            return record

    def rewrap(
        self,
        root: Callable[[VersionRecord], bytes],
        digest_key: Callable[[Account], bytes],
        actor: str,
        reason: str,
        at: str,
    ) -> tuple[int, int]:
        """Store every secret wrapped under another key, all of them or none; says how many accounts and versions.

        Raises:
            ConflictError: a run holds a version, or what the functions raise; nothing is changed then.
        """
        with self._database.write() as connection:
            counts = sealing.rewrap(connection, root, digest_key, actor, reason, at)
        self._database.forget()
        return counts

    def destroy_root(
        self, dataset: str, version: str, actor: str, reason: str, at: str, *, unfinished: bool = False
    ) -> VersionRecord:
        """Overwrite a version's root with nothing, for good.

        Raises:
            ConflictError: a run holds it, or it is not finished and ``unfinished`` is not set.
        """
        with self._database.write() as connection:
            record = sealing.destroy_root(connection, dataset, version, actor, reason, at, unfinished=unfinished)
        self._database.forget()
        return record

    def reserve(self, reservation: Reservation, at: str) -> Entry:
        """Charge one draw before it is made; the same draw again returns the entry that exists.

        Raises:
            BudgetError: a cap would be passed (``OVER_CAP``, one fault a component), there is no such account, or
                there is nothing to charge; nothing is written.
            ConflictError: version, root, input, account or loss event are not those on record.
        """
        with self._database.write() as connection:
            return ledger.reserve(connection, (reservation,), at)[0]

    def reserve_all(self, reservations: Sequence[Reservation], at: str) -> tuple[Entry, ...]:
        """Charge several draws in one transaction: all of them, or none.

        Raises:
            BudgetError: as ``reserve``; nothing is written for any of them.
            ConflictError: as ``reserve``.
        """
        with self._database.write() as connection:
            return ledger.reserve(connection, reservations, at)

    def entries(self, account: str) -> tuple[Entry, ...]:
        """The ledger of an account, from its opening on.

        Raises:
            BudgetError: there is none of this name.
        """
        with self._database.read() as connection:
            return ledger.entries(connection, account)

    def charges_of(self, dataset: str, version: str) -> tuple[Entry, ...]:
        """What was charged for one version, in order; empty for an unknown one."""
        with self._database.read() as connection:
            return ledger.charges_of(connection, dataset, version)

    def spent_by(self, dataset: str, version: str) -> Cost:
        """What the draws of one version have cost so far in epsilon, delta and geo epsilon: basic composition.

        What its account deducted for them can be less: another composition, or parallel parts, may govern that.
        """
        return reduce(Cost.__add__, (entry.loss for entry in self.charges_of(dataset, version)), Cost.zero())

    def quote(self, account: str, events: Iterable[LossEvent], part: tuple[str, str] | None = None) -> Cost:
        """What an account would deduct for further events; nothing is charged.

        Raises:
            BudgetError: no such account, or an event or part that it does not know.
        """
        with self._database.read() as connection:
            return ledger.quote(connection, account, events, part)

    def to_date(self, account: str, seq: int, kept: Iterable[str] = ()) -> Cost:
        """What an account had lost after one of its entries: epsilon, delta and geo epsilon, and rho if it has one.

        Under basic composition that is what it deducted. Under the others it is the basic sum of all its draws, which
        is no less than what any one version of it states, and beside it the rho that was deducted.

        Parts add up, so that the figure holds for whoever lies in several of them or may move, but for partitions in
        ``kept``: those whose public membership is asserted where the figure is told.

        Raises:
            BudgetError: no such account.
        """
        with self._database.read() as connection:
            return ledger.to_date(connection, account, seq, frozenset(kept))

    def transition(
        self,
        dataset: str,
        version: str,
        state: State | str,
        actor: str,
        reason: str,
        evidence: Mapping[str, str],
        at: str,
    ) -> VersionRecord:
        """Move a version forward by one chained event; a state an unfinished version has passed is left as it is.

        Raises:
            ConflictError: the version may not go there from where it is.
            ConfigError: an unknown state, or evidence that is not text; ``published`` needs ``manifest_digest``.
        """
        with self._database.write() as connection:
            return lifecycle.transition(connection, dataset, version, state, actor, reason, evidence, at)

    def events(self, dataset: str, version: str) -> tuple[Event, ...]:
        """The life of a version so far; empty for an unknown one."""
        with self._database.read() as connection:
            return lifecycle.events(connection, dataset, version)

    def lease(
        self,
        dataset: str,
        version: str,
        holder: str,
        ttl: timedelta = LEASE_TTL,
        *,
        may_be_alive: Callable[[str], bool] = lambda holder: True,
    ) -> AbstractContextManager[Lease]:
        """Hold a version exclusively while a ``with`` block runs; the version need not exist yet.

        Args:
            dataset: data set.
            version: release version.
            holder: host, process and something unique to the run; public.
            ttl: how long the lease holds without ``renew``, by the database's clock.
            may_be_alive: judges the present holder's text; False breaks its lease at once.

        Raises:
            ConflictError: another run holds it (``LOCKED``).
        """
        return lease(self._database, dataset, version, holder, ttl, may_be_alive)

    def check_chain(self) -> ChainReport:
        """Recompute every hash, total, cap and step; the report lists what does not hold."""
        with self._database.read() as connection:
            return chain.check(connection)
