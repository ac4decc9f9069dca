"""Moving a ledger from a SQLite file to a PostgreSQL server, so that at no moment two of them can be charged.

Three transactions, the old ledger's write lock held through all of them:

1. the new one takes what it lacks, is compared with the old one, and is marked as arriving: it takes no charge yet;
2. the old one is closed for good by a tombstone that names the new one;
3. the new one is opened.

A crash between any two leaves at most one ledger open, and the same command goes on where it stopped. Nothing is
believed on the way: the new database's own triggers count totals and heads anew from the entries, and both records are
checked whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from trasgo_lib.budget import Cost
from trasgo_lib.config import PostgresDatabase, SqliteFile
from trasgo_lib.errors import ConfigError, ConflictError, Reason, StoreError
from trasgo_lib.records import chain, documents, ledger, migrate
from trasgo_lib.records.database import Database
from trasgo_lib.records.locking import lock_name
from trasgo_lib.records.model import Head
from trasgo_lib.records.records import Records
from trasgo_lib.records.relocation import Relocation, mark, relocation_of, reopen
from trasgo_lib.records.sealing import require_no_lease
from trasgo_lib.records.tables import ACCOUNTS, ENTRIES, EVENTS, VERSIONS

_COUNTED = (ACCOUNTS, ENTRIES, VERSIONS, EVENTS)
_AT_ONCE = 500
"""Rows a statement: few enough that memory stays small, many enough that the way to the server does not matter."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a ledger holds, as far as two of them are compared.

    Args:
        counts: rows by table.
        heads: the end of every chain, accounts first.
        spent: what each account has spent.
    """

    counts: Mapping[str, int]
    heads: tuple[Head, ...]
    spent: Mapping[str, Cost]


@dataclass(frozen=True, slots=True)
class Transfer:
    """What a move does, or would do.

    Args:
        contents: what the old ledger holds.
        present: rows by table that the new one holds already, from a move that was interrupted.
        finished: whether the move was finished before.
    """

    contents: Contents
    present: Mapping[str, int]
    finished: bool


def plan_transfer(source: Records, target: Database) -> Transfer:
    """Look what a move would do; changes nothing in either.

    Raises:
        ConfigError: not from a SQLite file to a server.
        ConflictError: a run holds a version, or the new ledger holds something else.
        StoreError: one of them is out of reach or broken, or the old one has moved elsewhere.
    """
    _require_kinds(source.database, target)
    with source.database.read() as old:
        return _look(old, source.database, target)


def transfer(source: Records, target: Database, actor: str, at: str) -> Transfer:
    """Move a ledger: copy, compare, close the old one, open the new one.

    Args:
        source: the old ledger, a SQLite file.
        target: the new one, on a server; empty, or left by a move that was interrupted.
        actor: who moves it.
        at: now, ISO 8601 with offset.

    Raises:
        ConfigError: not from a SQLite file to a server, or a time without offset.
        ConflictError: a run holds a version, or the new ledger holds something else.
        StoreError: one of them is out of reach or broken, or the old one has moved elsewhere.
    """
    _require_kinds(source.database, target)
    documents.check_instant(at)
    with source.database.write(closed=True) as old:
        found = _look(old, source.database, target)
        if found.finished:
            return found
        if _is_open(old):
            _receive(old, source.database, target, actor, at)
            mark(old, "moved", target.address.url, actor, at)
    # The old one is closed for good before the new one opens; a crash here is mended by the same command.
    with target.write(closed=True) as new:
        reopen(new)
    return found


def _look(old: sa.Connection, source: Database, target: Database) -> Transfer:
    report = chain.check(old)
    if not report.ok:
        raise StoreError(*report.faults)
    moved = relocation_of(old)
    if moved is not None and moved.peer != target.address.url:
        raise _elsewhere(source, moved)
    require_no_lease(old)
    contents = contents_of(old)
    target.require_usable()
    revision = target.revision()
    if revision is None:
        return Transfer(contents, dict.fromkeys(contents.counts, 0), finished=False)
    if revision != migrate.HEAD_REVISION:
        raise _not_empty(target, "tables of another version of trasgo")
    with target.read() as new:
        present = contents_of(new)
        _require_prefix(old, new, source, target, is_moved=moved is not None)
        arriving = relocation_of(new) is not None
    return Transfer(contents, present.counts, finished=moved is not None and not arriving)


def contents_of(connection: sa.Connection) -> Contents:
    """Counts, heads and totals of a ledger, in an order that both kinds of database share."""
    counts = {
        table.name: int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0) for table in _COUNTED
    }
    accounts = ledger.accounts(connection)
    versions = connection.execute(sa.select(VERSIONS).order_by(VERSIONS.c.dataset, VERSIONS.c.version)).all()
    heads = (
        *(Head(f"account {account.terms.name}", account.seq, account.head) for account in accounts),
        *(Head(f"version {row.dataset}/{row.version}", row.seq, row.head) for row in versions),
    )
    return Contents(counts, heads, {account.terms.name: account.spent for account in accounts})


def _receive(old: sa.Connection, source: Database, target: Database, actor: str, at: str) -> None:
    """Copy what the new ledger lacks and compare, in one transaction of the new one."""
    with target.write(closed=True) as new:
        lock_name(new, "schema")
        migrate.upgrade(new)
        reopen(new)  # where an interrupted move left its mark; the old ledger may have been charged since
        _require_prefix(old, new, source, target, is_moved=False)
        # charges last: a plan that was fixed anew before its first charge must find none yet
        for table, owner in ((ACCOUNTS, True), (VERSIONS, True), (EVENTS, False), (ENTRIES, False)):
            _copy(old, new, table, starts_empty=owner)
        report = chain.check(new)
        if not report.ok:
            raise StoreError(*report.faults)
        if contents_of(new) != contents_of(old) or _rows(new) != _rows(old):
            raise StoreError.of(
                Reason.CHAIN_BROKEN,
                f"database {target.address.shown}",
                required="the same counts, heads, totals and rows as the old ledger",
                came="others",
                fix="Nothing was moved and the old ledger is open. Report this.",
            )
        mark(new, "arriving", source.address.url, actor, at)


def _copy(old: sa.Connection, new: sa.Connection, table: sa.Table, *, starts_empty: bool) -> None:
    """Insert the rows that are not there yet, in the order of their chains; the new database counts them itself."""
    keys = list(table.primary_key.columns)
    known = {tuple(row) for row in new.execute(sa.select(*keys))}
    waiting: list[dict[str, Any]] = []
    for row in old.execute(sa.select(table).order_by(*keys)).mappings():
        if tuple(row[key.name] for key in keys) in known:
            continue
        values = dict(row)
        if starts_empty:
            values |= {"seq": 0, "head": documents.GENESIS}
            values |= {name: 0 for name in values if name.startswith("spent_")}
        waiting.append(values)
        if len(waiting) == _AT_ONCE:
            new.execute(table.insert(), waiting)
            waiting = []
    if waiting:
        new.execute(table.insert(), waiting)


def _rows(connection: sa.Connection) -> list[list[tuple[Any, ...]]]:
    """Every row that is moved, wrapped keys included, in the order of their names."""
    return [
        [tuple(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key.columns))]
        for table in _COUNTED
    ]


def _require_prefix(
    old: sa.Connection, new: sa.Connection, source: Database, target: Database, *, is_moved: bool
) -> None:
    """Refuse a new ledger with records of its own; after the move it may have grown."""
    there = relocation_of(new)
    if there is not None and (there.state != "arriving" or there.peer != source.address.url):
        raise _not_empty(target, "a ledger that is moving itself, or another one that is arriving")
    longer, shorter = (new, old) if is_moved else (old, new)
    for table in (ENTRIES, EVENTS):
        held = set(longer.scalars(sa.select(table.c.hash)))
        if not held.issuperset(shorter.scalars(sa.select(table.c.hash))):
            raise _not_empty(target, "records that the old one does not have")


def _require_kinds(source: Database, target: Database) -> None:
    if isinstance(source.address, SqliteFile) and isinstance(target.address, PostgresDatabase):
        return
    raise ConfigError.of(
        Reason.BAD_PARAMETER,
        "--to",
        required="a move from a SQLite file to a PostgreSQL server",
        came="another one",
        fix="Write --to postgresql+psycopg://user@host:port/database; between servers use pg_dump and pg_restore.",
    )


def _is_open(connection: sa.Connection) -> bool:
    return relocation_of(connection) is None


def _elsewhere(source: Database, moved: Relocation) -> StoreError:
    return StoreError.of(
        Reason.LEDGER_MOVED,
        f"ledger {source.address.shown}",
        required="a ledger that is open, or that moved to this database",
        came=f"one that moved to {moved.peer} on {moved.at[:10]}",
        fix="Use that one.",
    )


def _not_empty(target: Database, came: str) -> ConflictError:
    return ConflictError.of(
        Reason.ALREADY_EXISTS,
        f"database {target.address.shown}",
        required="an empty database, or the same ledger from a move that was interrupted",
        came=came,
        fix="Name a new database; a ledger is never merged into another one.",
    )
