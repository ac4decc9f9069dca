"""What the records hold, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from trasgo_lib.budget import Composition, Cost, LossEvent, Partition, cost
from trasgo_lib.errors import ConfigError, Fault, Reason

_LARGEST_COUNT = 2**53 - 1
"""Whole numbers stand as JSON numbers in hashed documents, and RFC 8785 is exact up to here."""


class State(StrEnum):
    """The life of a version, in order; it only moves forward."""

    PLANNED = "planned"
    VALIDATED = "validated"
    DRAWN = "drawn"
    CHECKED = "checked"
    HELD = "held"
    APPROVED = "approved"
    PUBLISHED = "published"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class AccountTerms:
    """What an account is bound to at opening; never changed.

    Args:
        name: the account.
        population: whose records it protects, in words; two accounts over the same people add up.
        unit: the privacy unit: ``row``, or the name of the column that identifies it.
        max_rows: most rows of one unit, at least 1.
        composition: how charges add: ``basic``, ``zcdp, delta D``, or ``renyi of order A, delta D``.
        cap: ceiling per component; an entry that would pass one is refused. Under zCDP and Renyi it is a rho, and a
            geo epsilon for points.
        partitions: disjoint parts of the units, whose charges compose in parallel.

    Raises:
        ConfigError: for an empty text, a count out of range, another composition rule, a cap of zero, a delta cap of
            one or more, a cap in what the composition does not count, or a partition twice.
    """

    name: str
    population: str
    unit: str
    max_rows: int
    composition: str
    cap: Cost
    partitions: tuple[Partition, ...] = ()

    def __post_init__(self) -> None:
        _check_texts("account", self, ("name", "population", "unit"))
        _check_count("max_rows", self.max_rows, 1)
        if self.cap.is_zero or self.cap.delta.fraction >= 1:
            raise _bad("cap", "some epsilon, rho or geo epsilon, and a delta below 1", str(self.cap))
        is_basic = self.governing.rule == "basic"
        if (is_basic and self.cap.rho.units) or (not is_basic and (self.cap.epsilon.units or self.cap.delta.units)):
            required = "epsilon and delta" if is_basic else "rho"
            raise _bad("cap", f"a cap in {required}, which {self.composition} counts", str(self.cap))
        names = [partition.name for partition in self.partitions]
        if len(set(names)) != len(names):
            raise _bad("partition", "each partition once", ", ".join(names))

    @property
    def governing(self) -> Composition:
        """How charges add, and what an event costs."""
        return Composition.parse(self.composition)

    def partition(self, name: str) -> Partition | None:
        """The declared partition of that name, or None."""
        return next((partition for partition in self.partitions if partition.name == name), None)

    def in_words(self, amounts: Cost) -> str:
        """Amounts of this account, for people."""
        return self.governing.in_words(amounts)


@dataclass(frozen=True, slots=True)
class Account:
    """An account as it stands.

    Args:
        terms: what it is bound to.
        spent: sum of its entries.
        wrapped_digest_key: the account digest key, wrapped.
        head: hash of its last entry.
        seq: number of its entries.
    """

    terms: AccountTerms
    spent: Cost
    wrapped_digest_key: bytes
    head: str
    seq: int

    @property
    def left(self) -> Cost:
        """What may still be charged, per component."""
        return self.spent.left(self.terms.cap)

    def __repr__(self) -> str:
        return f"Account(name={self.terms.name!r}, spent={self.spent}, seq={self.seq})"


@dataclass(frozen=True, slots=True)
class Reservation:
    """One draw that is about to happen; all but ``account``, ``event`` and ``max_rows`` identify it.

    Args:
        account: who is charged.
        dataset: data set.
        version: release version.
        commitment: commitment to the version's root.
        unit: noise unit (column or group).
        chain_digest: digest of everything that fixes the unit's draws.
        attempt: number of the draw of this unit, from 0 or 1 on.
        level: the level drawn, decimal text.
        input_digest: keyed digest of the input; restricted.
        event: the loss event to charge: the increment.
        max_rows: most rows of one privacy unit; must be the account's.
        part: declared partition and part, when the data hold that part's units only.

    Raises:
        ConfigError: for an empty text or a count out of range.
    """

    account: str
    dataset: str
    version: str
    commitment: str
    unit: str
    chain_digest: str
    attempt: int
    level: str
    input_digest: str
    event: LossEvent
    max_rows: int = 1
    part: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        _check_texts(
            "reservation",
            self,
            ("account", "dataset", "version", "commitment", "unit", "chain_digest", "level", "input_digest"),
        )
        _check_count("attempt", self.attempt, 0)
        _check_count("max_rows", self.max_rows, 1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of an account's ledger.

    Args:
        account: whose ledger.
        seq: its place, from 1.
        kind: ``open`` (the first: binds the terms), ``charge``, or ``rewrap`` (its digest key under another key).
        reservation: what was charged for; None for the others.
        cost: what this entry adds to what the account deducts; for a part, the increase of the costliest parts.
        spent: the account's total after it.
        at: when, ISO 8601 with offset.
        prev: hash of the entry before; 64 zeros for the first.
        hash: SHA-256 of ``document``, hex.
        document: the canonical JSON that was hashed.
    """

    account: str
    seq: int
    kind: Literal["open", "charge", "rewrap"]
    reservation: Reservation | None
    cost: Cost
    spent: Cost
    at: str
    prev: str
    hash: str
    document: str

    @property
    def loss(self) -> Cost:
        """What the draw itself costs a unit in epsilon, delta and geo epsilon, whatever the account deducts for it."""
        drawn = self.reservation
        return Cost.zero() if drawn is None else cost(drawn.event, drawn.max_rows)


@dataclass(frozen=True, slots=True)
class Event:
    """One step in the life of a version.

    Args:
        dataset: data set.
        version: release version.
        seq: its place, from 1.
        kind: ``state`` (a transition); the state stays after ``freeze`` (plan, input and terms are fixed), ``package``
            (files wait), ``approval``, ``rewrap`` and ``destroy`` (of its root).
        state: the state after it.
        actor: who did it.
        reason: why, in words.
        evidence: digests and numbers that support it, as text.
        at: when, ISO 8601 with offset.
        prev: hash of the event before; 64 zeros for the first.
        hash: SHA-256 of ``document``, hex.
        document: the canonical JSON that was hashed.
    """

    dataset: str
    version: str
    seq: int
    kind: Literal["state", "freeze", "package", "approval", "rewrap", "destroy"]
    state: State
    actor: str
    reason: str
    evidence: Mapping[str, str]
    at: str
    prev: str
    hash: str
    document: str


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A version as it stands.

    Args:
        dataset: data set.
        version: release version.
        account: the account it is charged to.
        wrapped_root: its root, wrapped; empty once it is destroyed.
        commitment: commitment to the root.
        state: where it is in its life.
        passed: every state it has been in.
        plan_digest: digest of the frozen plan, or None.
        input_digest: keyed digest of the frozen input, or None; restricted.
        manifest_digest: digest of the published manifest, or None.
        head: hash of its last event.
        seq: number of its events.
    """

    dataset: str
    version: str
    account: str
    wrapped_root: bytes
    commitment: str
    state: State
    passed: frozenset[State]
    plan_digest: str | None
    input_digest: str | None
    manifest_digest: str | None
    head: str
    seq: int

    def __repr__(self) -> str:
        return f"VersionRecord({self.dataset!r}, {self.version!r}, state={self.state.value!r}, seq={self.seq})"


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: what a signed manifest anchors.

    Args:
        chain: ``account NAME`` or ``version DATASET/VERSION``.
        seq: number of its records.
        hash: hash of the last one.
    """

    chain: str
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What ``ledger check`` found.

    Args:
        entries: ledger entries read.
        events: lifecycle events read.
        heads: end of every chain.
        faults: everything that does not hold, in the order found.
    """

    entries: int
    events: int
    heads: tuple[Head, ...]
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether every chain, total and cap holds."""
        return not self.faults


def _check_texts(where: str, record: object, names: tuple[str, ...]) -> None:
    for name in names:
        text = getattr(record, name)
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise _bad(f"{where}.{name}", "printable text", "nothing" if text == "" else "something else")


def _check_count(where: str, count: object, least: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= _LARGEST_COUNT:
        raise _bad(where, f"a whole number from {least} on", repr(count)[:50])


def _bad(where: str, required: str, came: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, where, required=required, came=came, fix="Correct it.")
