"""Checking the whole record: every hash, every total, every cap, every step, from the first entry on.

Nothing stored is believed: hashes are recomputed from the documents, costs from the loss events, totals from the
costs, and the columns that queries use are compared with the documents. An edit that rewrites a chain to its end is
only visible against a head kept elsewhere; the report lists the heads for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from trasgo_lib.budget import Cost, Tally
from trasgo_lib.errors import Fault, TrasgoError
from trasgo_lib.records import documents, guards, ledger
from trasgo_lib.records.chain_decisions import broken, check_decision
from trasgo_lib.records.lifecycle import NEXT_STATES
from trasgo_lib.records.model import ChainReport, Entry, Event, Head, State
from trasgo_lib.records.sealing import seal_of
from trasgo_lib.records.tables import ACCOUNTS, ENTRIES, EVENTS, VERSIONS

_Row = sa.Row[Any]


def check(connection: sa.Connection) -> ChainReport:
    """Check everything, inside one snapshot.

    Returns:
        A report with every fault found; it does not raise for them.
    """
    accounts = connection.execute(sa.select(ACCOUNTS).order_by(ACCOUNTS.c.name)).all()
    versions = connection.execute(sa.select(VERSIONS).order_by(VERSIONS.c.dataset, VERSIONS.c.version)).all()
    entries = connection.execute(sa.select(ENTRIES).order_by(ENTRIES.c.account, ENTRIES.c.seq)).all()
    events = connection.execute(sa.select(EVENTS).order_by(EVENTS.c.dataset, EVENTS.c.version, EVENTS.c.seq)).all()
    faults = [
        *_check_database(connection),
        *_check_orphans(accounts, versions, entries, events),
        *(f for row in accounts for f in _check_account(row, [e for e in entries if e.account == row.name], versions)),
        *(f for row in versions for f in _check_version(row, [e for e in events if _of(e, row)])),
    ]
    heads = (
        *(Head(f"account {row.name}", row.seq, row.head) for row in accounts),
        *(Head(f"version {row.dataset}/{row.version}", row.seq, row.head) for row in versions),
    )
    return ChainReport(len(entries), len(events), heads, tuple(faults))


def _check_database(connection: sa.Connection) -> Iterator[Fault]:
    """The pages of a SQLite file; and on both that no guard was taken away or switched off."""
    if connection.dialect.name == "sqlite":
        findings = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all()
        if list(findings) != ["ok"]:
            yield broken("database file", "pages and constraints that hold", "a file that is damaged")
    missing = guards.missing(connection)
    if missing:
        yield broken("database", "every guard in force", f"without {', '.join(sorted(missing))}")


def _check_orphans(
    accounts: Sequence[_Row], versions: Sequence[_Row], entries: Sequence[_Row], events: Sequence[_Row]
) -> Iterator[Fault]:
    names = {row.name for row in accounts}
    lives = {(row.dataset, row.version) for row in versions}
    for name in sorted({row.account for row in entries} - names):
        yield broken(f"account {name}", "the account of its entries", "no such account")
    for dataset, version in sorted({(row.dataset, row.version) for row in events} - lives):
        yield broken(f"version {dataset}/{version}", "the version of its events", "no such version")
    for row in versions:
        if row.account not in names:
            yield broken(f"version {row.dataset}/{row.version}", "an account", "no such account")


def _check_account(row: _Row, rows: Sequence[_Row], versions: Sequence[_Row]) -> Iterator[Fault]:
    where = f"account {row.name}"
    yield from _check_links(where, "entry", row, rows)
    total, opened, tally = Cost.zero(), False, _empty_tally(rows)
    for stored in rows:
        place = f"{where}, entry {stored.seq}"
        try:
            entry = documents.read_entry(stored.document)
            total += entry.cost
            before, tally = tally, _after(tally, entry)
            due = None if before is None or tally is None else tally.total - before.total
            yield from _check_entry(place, entry, stored, total, versions, due)
            opened = opened or entry.kind == "open"
        except TrasgoError:
            yield broken(place, "a document that can be read", "one that cannot")
    yield from _check_sealed(where, row.wrapped_digest_key, _announced(rows))
    try:
        account = ledger.to_account(row)
        if opened and documents.read_terms(rows[0].document) != account.terms:
            yield broken(where, "the terms and the cap it was opened with", "other terms")
        if account.spent != total:
            yield broken(where, f"a total of {total}, the sum of its entries", str(account.spent))
        if not total.fits(account.terms.cap):
            yield broken(where, f"at most the cap: {account.terms.cap}", str(total))
    except TrasgoError:
        yield broken(where, "terms and amounts that can be read", "some that cannot")


def _empty_tally(rows: Sequence[_Row]) -> Tally | None:
    """What the account deducts, from nothing on, under the terms its first entry binds; None when there are none."""
    try:
        terms = documents.read_terms(rows[0].document)
    except (TrasgoError, IndexError):
        return None
    return Tally(terms.governing, terms.max_rows, terms.partitions)


def _after(tally: Tally | None, entry: Entry) -> Tally | None:
    drawn = entry.reservation
    if tally is None or drawn is None:
        return tally
    return replace(tally, max_rows=drawn.max_rows).after(drawn.event, drawn.part)


def _announced(rows: Sequence[_Row]) -> list[str]:
    found = []
    for stored in rows:
        if stored.kind == "rewrap":
            try:
                found.append(str(documents.load(stored.document).get("sealed")))
            except (ValueError, RecursionError):  # named by the check of the entry itself
                continue
    return found


def _check_entry(
    place: str, entry: Entry, stored: _Row, total: Cost, versions: Sequence[_Row], due: Cost | None
) -> Iterator[Fault]:
    drawn = entry.reservation
    amounts = (stored.epsilon, stored.delta, stored.geo, stored.rho)
    columns = (stored.account, stored.seq, stored.kind, stored.prev, *amounts)
    written = (entry.account, entry.seq, entry.kind, entry.prev, *(amount.units for amount in entry.cost.components))
    draw = (None, None, None)
    if drawn is not None:
        draw = (drawn.dataset, drawn.version, documents.identity(drawn))  # type: ignore[assignment]
    if columns != written or (stored.dataset, stored.version, stored.identity) != draw:
        yield broken(place, "columns that repeat the document", "others")
    if documents.canonical(documents.load(entry.document)) != entry.document:
        yield broken(place, "canonical JSON", "another form")
    if entry.spent != total:
        yield broken(place, f"a running total of {total}", str(entry.spent))
    if (entry.kind == "open") != (entry.seq == 1):
        yield broken(place, "an opening, and one only, as the first entry", entry.kind)
    if drawn is None:
        if not entry.cost.is_zero:
            yield broken(place, "an opening that costs nothing", str(entry.cost))
        return
    if due is not None and due != entry.cost:
        yield broken(place, f"the cost of its loss event, {due}", str(entry.cost))
    known = {(row.dataset, row.version, row.account, row.commitment) for row in versions}
    if (drawn.dataset, drawn.version, entry.account, drawn.commitment) not in known:
        yield broken(place, "a version with this account and root", "none")


def _check_version(row: _Row, rows: Sequence[_Row]) -> Iterator[Fault]:
    where = f"version {row.dataset}/{row.version}"
    yield from _check_links(where, "event", row, rows)
    before: State | None = None
    life: list[Event] = []
    for stored in rows:
        place = f"{where}, event {stored.seq}"
        try:
            event = documents.read_event(stored.document)
            yield from _check_event(place, event, stored, before)
            yield from check_decision(place, event, life)
            before = event.state
            life.append(event)
        except TrasgoError:
            yield broken(place, "a document that can be read", "one that cannot")
            continue
        bound = (event.evidence.get("account"), event.evidence.get("commitment"))
        if event.seq == 1 and bound != (row.account, row.commitment):
            yield broken(where, "the account and root it was created with", "others")
    yield from _check_sealed(
        where, row.wrapped_root, [e.evidence.get("sealed", "") for e in life if e.kind in ("rewrap", "destroy")]
    )


def _check_sealed(where: str, wrapped: bytes, announced: Sequence[str]) -> Iterator[Fault]:
    """Wrapped bytes are those that the last record about them announced."""
    if announced and seal_of(wrapped) != announced[-1]:
        yield broken(where, "the wrapped secret that its last record of it announced", "another one")
    if not announced and not wrapped:
        yield broken(where, "a wrapped secret, or the record of its destruction", "neither")


def _check_event(place: str, event: Event, stored: _Row, before: State | None) -> Iterator[Fault]:
    columns = (stored.dataset, stored.version, stored.seq, stored.kind, stored.state, stored.prev)
    written = (event.dataset, event.version, event.seq, event.kind, event.state.value, event.prev)
    if columns != written:
        yield broken(place, "columns that repeat the document", "others")
    if documents.canonical(documents.load(event.document)) != event.document:
        yield broken(place, "canonical JSON", "another form")
    if before is None:
        forward = event.kind == "state" and event.state is State.PLANNED
    elif event.kind != "state":
        forward = event.state is before
    else:
        forward = event.state in NEXT_STATES[before]
    if not forward:
        yield broken(place, "a step forward", f"{event.state.value} after {before.value if before else 'nothing'}")


def _check_links(where: str, noun: str, row: _Row, rows: Sequence[_Row]) -> Iterator[Fault]:
    """Hashes, order and the end of a chain, as its owner has stored them."""
    head = documents.GENESIS
    for place, stored in enumerate(rows, start=1):
        if stored.seq != place:
            yield broken(f"{where}, {noun} {stored.seq}", f"number {place}", f"number {stored.seq}")
        if stored.prev != head:
            yield broken(f"{where}, {noun} {stored.seq}", f"the hash of the {noun} before", "another hash")
        if documents.sha256(stored.document) != stored.hash:
            yield broken(f"{where}, {noun} {stored.seq}", "the hash of its document", "another hash")
        head = stored.hash
    if not rows:
        yield broken(where, f"at least one {noun}", "none")
    if (row.seq, row.head) != (len(rows), head):
        yield broken(where, f"{row.seq} records that end in its head", f"{len(rows)} records")


def _of(event: _Row, version: _Row) -> bool:
    return (event.dataset, event.version) == (version.dataset, version.version)
