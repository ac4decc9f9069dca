"""Accounts and charges: every loss is reserved here before it is drawn, and never given back.

Each function runs inside one transaction of the caller; writers take their locks first, so what is read here is still
true when the entry is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from trasgo_lib.amounts import Amount, Delta, Epsilon, Geo, Rho
from trasgo_lib.budget import Cost, FixedPartitionEvent, LossEvent, PartitionEvent, RevealEvent, Tally, cost
from trasgo_lib.errors import BudgetError, ConflictError, Fault, Reason
from trasgo_lib.records import documents, lifecycle
from trasgo_lib.records.locking import lock_accounts, lock_name, lock_versions
from trasgo_lib.records.model import Account, AccountTerms, Entry, Reservation, State, VersionRecord
from trasgo_lib.records.tables import ACCOUNTS, ENTRIES

_DRAWS_HAPPEN_IN = frozenset({State.PLANNED, State.VALIDATED, State.DRAWN})
"""Once a version is checked or held its draws are over; asking again for one it has is always answered."""


def open_account(
    connection: sa.Connection, terms: AccountTerms, wrapped_digest_key: bytes, actor: str, at: str
) -> Account:
    """Open an account and write its first entry, which binds the terms.

    Raises:
        ConflictError: an account of this name exists.
    """
    lock_name(connection, "accounts")
    if _row(connection, terms.name) is not None:
        raise ConflictError.of(
            Reason.ALREADY_EXISTS,
            f"account {terms.name}",
            required="a name that is not taken",
            came="an open account",
            fix="Use it, or open one of another name. Its terms and cap never change.",
        )
    connection.execute(
        ACCOUNTS.insert().values(
            name=terms.name,
            population=terms.population,
            unit=terms.unit,
            max_rows=terms.max_rows,
            composition=terms.composition,
            wrapped_digest_key=wrapped_digest_key,
            seq=0,
            head=documents.GENESIS,
            partitions=json.dumps(documents.partitions_to_json(terms.partitions)) if terms.partitions else "",
            **_columns("cap_", terms.cap),
            **_columns("spent_", Cost.zero()),
        )
    )
    _append(connection, documents.opening_entry(terms, actor, at), None)
    return account(connection, terms.name)


def account(connection: sa.Connection, name: str) -> Account:
    """The account as it stands.

    Raises:
        BudgetError: there is none of this name.
    """
    row = _row(connection, name)
    if row is None:
        known = connection.scalars(sa.select(ACCOUNTS.c.name).order_by(ACCOUNTS.c.name)).all()
        raise BudgetError.of(
            Reason.NO_ACCOUNT,
            f"account {name}",
            required="an open account" + (f", such as {', '.join(known)}" if known else ""),
            came="none of this name",
            fix="Open it first: trasgo ledger open",
        )
    return to_account(row)


def accounts(connection: sa.Connection) -> tuple[Account, ...]:
    """Every account, by name."""
    return tuple(to_account(row) for row in connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.name)))


def reserve(connection: sa.Connection, reservations: Sequence[Reservation], at: str) -> tuple[Entry, ...]:
    """Charge draws in their order, or return the entries that already did.

    Raises:
        BudgetError: no such account, nothing to charge, a reveal on top of a level its chain has not paid, or a cap
            would be passed; nothing is written.
        ConflictError: the version is unknown, is charged to another account, has another root or input, is not frozen
            or is past its draws; the account counts units otherwise; the same draw was charged for another loss; or
            the same input was charged to another part, with which it cannot be disjoint.
        AmountError: the cost does not fit an amount.
    """
    lock_accounts(connection, (one.account for one in reservations))
    lock_versions(connection, ((one.dataset, one.version) for one in reservations))
    return tuple(_reserve(connection, one, at) for one in reservations)


def _reserve(connection: sa.Connection, reservation: Reservation, at: str) -> Entry:
    holder = account(connection, reservation.account)
    version = _drawable(connection, reservation)
    if holder.terms.max_rows != reservation.max_rows:
        raise _mismatch(f"max_rows {holder.terms.max_rows}, as the account was opened", str(reservation.max_rows))
    key = documents.identity(reservation)
    stored = connection.scalar(sa.select(ENTRIES.c.document).where(ENTRIES.c.identity == key))
    if stored is not None:
        return _same_charge(documents.read_entry(stored), reservation)
    _check_open_for_draws(version, reservation)
    _check_paid_before(connection, reservation)
    _check_same_part(connection, reservation)
    _check_input_of_one_part(connection, reservation)
    charged = _increase(tally(connection, holder), ((reservation.event, reservation.part),))
    _check_cap(holder, charged)
    entry = documents.charge_entry(reservation, charged, holder.spent + charged, holder.seq + 1, holder.head, at)
    _append(connection, entry, key)
    return entry


def quote(connection: sa.Connection, name: str, events: Iterable[LossEvent], part: tuple[str, str] | None) -> Cost:
    """What an account would deduct for further events; nothing is charged.

    Raises:
        BudgetError: no such account, or an event or part that it does not know.
    """
    return _increase(tally(connection, account(connection, name)), [(event, part) for event in events])


def tally(connection: sa.Connection, holder: Account) -> Tally:
    """What an account has lost so far, by part: read from its entries where it has parts, else its total."""
    terms = holder.terms
    found = Tally(terms.governing, terms.max_rows, terms.partitions)
    if not terms.partitions:
        return Tally(terms.governing, terms.max_rows, (), holder.spent)
    for entry in _read(connection, ENTRIES.c.account == terms.name):
        if entry.reservation is not None:
            found = found.after(entry.reservation.event, entry.reservation.part)
    return found


def to_date(connection: sa.Connection, name: str, seq: int, kept: frozenset[str]) -> Cost:
    """As ``Records.to_date``.

    Raises:
        BudgetError: there is no such account.
    """
    terms = account(connection, name).terms
    found = Tally(terms.governing, terms.max_rows, tuple(one for one in terms.partitions if one.name in kept))
    lost = Cost.zero()
    for entry in _read(connection, sa.and_(ENTRIES.c.account == name, ENTRIES.c.seq <= seq)):
        drawn = entry.reservation
        if drawn is None:
            continue
        event = drawn.event
        if isinstance(event, FixedPartitionEvent) and event.name not in kept:
            event = PartitionEvent(event.name, event.parts)
        found = found.after(event, drawn.part if drawn.part and drawn.part[0] in kept else None)
        lost += cost(event, drawn.max_rows)
    if terms.governing.rule == "basic":
        return found.total
    return Cost(lost.epsilon, lost.delta, lost.geo, found.total.rho)


def _increase(before: Tally, events: Iterable[tuple[LossEvent, tuple[str, str] | None]]) -> Cost:
    after = before
    for event, part in events:
        then = after.after(event, part)
        if (then.everyone, then.parts) == (after.everyone, after.parts):
            raise BudgetError.of(
                Reason.BAD_AMOUNT,
                "loss event",
                required="a loss above zero",
                came=type(event).__name__ + " of none",
                fix="Charge what is drawn.",
            )
        after = then
    return after.total - before.total


def append_rewrap(connection: sa.Connection, holder: Account, sealed: str, actor: str, reason: str, at: str) -> None:
    """Announce an account's digest key wrapped anew; it costs nothing and nothing is charged by it."""
    name = holder.terms.name
    entry = documents.rewrap_entry(name, sealed, actor, reason, holder.spent, holder.seq + 1, holder.head, at)
    _append(connection, entry, None)


def entries(connection: sa.Connection, name: str) -> tuple[Entry, ...]:
    """The ledger of an account, from its opening on.

    Raises:
        BudgetError: there is none of this name.
    """
    account(connection, name)
    return _read(connection, ENTRIES.c.account == name)


def charges_of(connection: sa.Connection, dataset: str, version: str) -> tuple[Entry, ...]:
    """What was charged for one version, in order."""
    return _read(connection, sa.and_(ENTRIES.c.dataset == dataset, ENTRIES.c.version == version))


def to_account(row: sa.Row[Any]) -> Account:
    """The account a stored row stands for."""
    terms = AccountTerms(
        name=row.name,
        population=row.population,
        unit=row.unit,
        max_rows=row.max_rows,
        composition=row.composition,
        cap=Cost(Epsilon(row.cap_epsilon), Delta(row.cap_delta), Geo(row.cap_geo), Rho(row.cap_rho)),
        partitions=documents.partitions_from_json(json.loads(row.partitions)) if row.partitions else (),
    )
    spent = Cost(Epsilon(row.spent_epsilon), Delta(row.spent_delta), Geo(row.spent_geo), Rho(row.spent_rho))
    return Account(terms, spent, row.wrapped_digest_key, row.head, row.seq)


def _row(connection: sa.Connection, name: str) -> sa.Row[Any] | None:
    return connection.execute(sa.select(ACCOUNTS).where(ACCOUNTS.c.name == name)).one_or_none()


def _read(connection: sa.Connection, which: sa.ColumnElement[bool]) -> tuple[Entry, ...]:
    query = sa.select(ENTRIES.c.document).where(which).order_by(ENTRIES.c.account, ENTRIES.c.seq)
    return tuple(documents.read_entry(document) for document in connection.scalars(query))


def _append(connection: sa.Connection, entry: Entry, key: str | None) -> None:
    """Insert the entry; the database itself moves the account's total, length and head."""
    drawn = entry.reservation
    connection.execute(
        ENTRIES.insert().values(
            account=entry.account,
            seq=entry.seq,
            kind=entry.kind,
            dataset=None if drawn is None else drawn.dataset,
            version=None if drawn is None else drawn.version,
            identity=key,
            prev=entry.prev,
            hash=entry.hash,
            document=entry.document,
            **_columns("", entry.cost),
        )
    )


def _columns(prefix: str, amounts: Cost) -> dict[str, int]:
    names = ("epsilon", "delta", "geo", "rho")
    return {prefix + name: amount.units for name, amount in zip(names, amounts.components, strict=True)}


def _drawable(connection: sa.Connection, reservation: Reservation) -> VersionRecord:
    version = lifecycle.version(connection, reservation.dataset, reservation.version)
    if version is None or version.commitment != reservation.commitment:
        raise ConflictError.of(
            Reason.ROOT_LOST,
            f"version {reservation.dataset}/{reservation.version}",
            required="a stored root, and a reservation under its commitment",
            came="no version" if version is None else "another root",
            fix="A lost root is never replaced: publish a new version, charged in full.",
        )
    if version.account != reservation.account:
        raise _mismatch(f"account {version.account}, as the version was created", reservation.account)
    return version


def _same_charge(entry: Entry, reservation: Reservation) -> Entry:
    known = entry.reservation
    if known is None or (known.event, known.part) != (reservation.event, reservation.part):
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"unit {reservation.unit}, attempt {reservation.attempt}",
            required="the loss event and part that were charged for this draw",
            came="another one",
            fix="Publish a new version.",
        )
    return entry


def _check_open_for_draws(version: VersionRecord, reservation: Reservation) -> None:
    where = f"version {version.dataset}/{version.version}"
    if version.input_digest is None:
        raise ConflictError.of(
            Reason.STATE_CONFLICT, where, required="a frozen plan", came="none", fix="Freeze plan and input first."
        )
    if version.input_digest != reservation.input_digest:
        raise ConflictError.of(
            Reason.INPUT_CHANGED,
            where,
            required="the input this version was frozen with",
            came="another input",
            fix="Restore the input, or publish a new version.",
        )
    if version.state not in _DRAWS_HAPPEN_IN:
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            where,
            required="a version that is still being drawn",
            came=f"one that is {version.state.value}",
            fix="Publish a new version.",
        )


def _check_paid_before(connection: sa.Connection, reservation: Reservation) -> None:
    """A reveal pays only what its chain has not paid yet; what it builds on must be in the ledger, not just be said."""
    event = reservation.event
    if not isinstance(event, RevealEvent) or not event.before.units:
        return
    paid = Epsilon(0)
    for entry in charges_of(connection, reservation.dataset, reservation.version):
        known = entry.reservation
        if known is not None and isinstance(known.event, RevealEvent) and _same_chain(known, reservation):
            paid = max(paid, known.event.level)
    if event.before > paid:
        raise BudgetError.of(
            Reason.STATE_CONFLICT,
            f"unit {reservation.unit}, attempt {reservation.attempt}",
            required=f"a level that this chain has paid before, at most {paid.text}",
            came=event.before.text,
            fix="Nothing was charged or drawn; report this.",
        )


def _check_same_part(connection: sa.Connection, reservation: Reservation) -> None:
    """A version's data are of one part, or of all: its charges cannot move between parts."""
    for entry in charges_of(connection, reservation.dataset, reservation.version):
        known = entry.reservation
        if known is not None and known.part != reservation.part:
            raise ConflictError.of(
                Reason.PLAN_CHANGED,
                f"version {reservation.dataset}/{reservation.version}",
                required="the part it was charged for: " + ("none" if known.part is None else " ".join(known.part)),
                came="none" if reservation.part is None else " ".join(reservation.part),
                fix="Restore privacy.partition, or publish a new version, charged in full.",
            )


def _check_input_of_one_part(connection: sa.Connection, reservation: Reservation) -> None:
    """The same rows do not lie in two disjoint parts: charging the larger only would leave their second draw unpaid."""
    if reservation.part is None:
        return
    of, name = reservation.part
    for entry in _read(connection, ENTRIES.c.account == reservation.account):
        known = entry.reservation
        if known is None or known.part is None or known.input_digest != reservation.input_digest:
            continue
        if known.part[0] == of and known.part[1] != name:
            raise ConflictError.of(
                Reason.ACCOUNT_MISMATCH,
                f"part {name} of {of}",
                required=f"data of this part: {known.dataset}/{known.version} was charged for the same input",
                came=f"an input of part {known.part[1]}, from which this part is disjoint",
                fix="Correct source or privacy.partition, or take the partition out and pay in full.",
            )


def _same_chain(known: Reservation, reservation: Reservation) -> bool:
    names = ("account", "commitment", "unit", "chain_digest", "input_digest", "max_rows")
    return all(getattr(known, name) == getattr(reservation, name) for name in names)


def _check_cap(holder: Account, charged: Cost) -> None:
    where = f"account {holder.terms.name}"
    spent, cap, left = holder.spent.components, holder.terms.cap.components, holder.left.components
    over = tuple(
        _over(where, asked, remains, ceiling)
        for asked, used, remains, ceiling in zip(charged.components, spent, left, cap, strict=True)
        if used.units + asked.units > ceiling.units
    )
    if over:
        raise BudgetError(*over)


def _over(where: str, asked: Amount, left: Amount, cap: Amount) -> Fault:
    return Fault(
        reason=Reason.OVER_CAP,
        where=where,
        required=f"{asked.NAME} of at most {left.text}, which is left of the cap {cap.text}",
        came=f"{asked.text} asked",
        fix="Lower epsilon_total, or agree on a new account with those who protect this population.",
    )


def _mismatch(required: str, came: str) -> ConflictError:
    return ConflictError.of(
        Reason.ACCOUNT_MISMATCH, "account", required=required, came=came, fix="Correct privacy.account or privacy.unit."
    )
