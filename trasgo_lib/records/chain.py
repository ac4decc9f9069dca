"""Checking the whole record: every hash, every total, every cap, every step, from the first entry on.

Nothing stored is believed: hashes are recomputed from the documents, costs from the loss events, totals from the
costs, and the columns that queries use are compared with the documents. An edit that rewrites a chain to its end is
only visible against a head kept elsewhere; the report lists the heads for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from trasgo_lib.budget import Cost, cost
from trasgo_lib.errors import Fault, Reason, TrasgoError
from trasgo_lib.records import documents, guards, ledger
from trasgo_lib.records.lifecycle import NEXT_STATES
from trasgo_lib.records.model import ChainReport, Entry, Event, Head, State
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
            yield _fault("database file", "pages and constraints that hold", "a file that is damaged")
    missing = guards.missing(connection)
    if missing:
        yield _fault("database", "every guard in force", f"without {', '.join(sorted(missing))}")


def _check_orphans(
    accounts: Sequence[_Row], versions: Sequence[_Row], entries: Sequence[_Row], events: Sequence[_Row]
) -> Iterator[Fault]:
    names = {row.name for row in accounts}
    lives = {(row.dataset, row.version) for row in versions}
    for name in sorted({row.account for row in entries} - names):
        yield _fault(f"account {name}", "the account of its entries", "no such account")
    for dataset, version in sorted({(row.dataset, row.version) for row in events} - lives):
        yield _fault(f"version {dataset}/{version}", "the version of its events", "no such version")
    for row in versions:
        if row.account not in names:
            yield _fault(f"version {row.dataset}/{row.version}", "an account", "no such account")


def _check_account(row: _Row, rows: Sequence[_Row], versions: Sequence[_Row]) -> Iterator[Fault]:
    where = f"account {row.name}"
    yield from _check_links(where, "entry", row, rows)
    total, opened = Cost.zero(), False
    for stored in rows:
        place = f"{where}, entry {stored.seq}"
        try:
            entry = documents.read_entry(stored.document)
            total += entry.cost
            yield from _check_entry(place, entry, stored, total, versions)
            opened = opened or entry.kind == "open"
        except TrasgoError:
            yield _fault(place, "a document that can be read", "one that cannot")
    try:
        account = ledger.to_account(row)
        if opened and documents.read_terms(rows[0].document) != account.terms:
            yield _fault(where, "the terms and the cap it was opened with", "other terms")
        if account.spent != total:
            yield _fault(where, f"a total of {total}, the sum of its entries", str(account.spent))
        if not total.fits(account.terms.cap):
            yield _fault(where, f"at most the cap: {account.terms.cap}", str(total))
    except TrasgoError:
        yield _fault(where, "terms and amounts that can be read", "some that cannot")


def _check_entry(place: str, entry: Entry, stored: _Row, total: Cost, versions: Sequence[_Row]) -> Iterator[Fault]:
    drawn = entry.reservation
    columns = (stored.account, stored.seq, stored.kind, stored.prev, stored.epsilon, stored.delta, stored.geo)
    written = (entry.account, entry.seq, entry.kind, entry.prev, *(amount.units for amount in entry.cost.components))
    draw = (None, None, None)
    if drawn is not None:
        draw = (drawn.dataset, drawn.version, documents.identity(drawn))  # type: ignore[assignment]
    if columns != written or (stored.dataset, stored.version, stored.identity) != draw:
        yield _fault(place, "columns that repeat the document", "others")
    if documents.canonical(documents.load(entry.document)) != entry.document:
        yield _fault(place, "canonical JSON", "another form")
    if entry.spent != total:
        yield _fault(place, f"a running total of {total}", str(entry.spent))
    if (entry.kind == "open") != (entry.seq == 1):
        yield _fault(place, "an opening, and one only, as the first entry", entry.kind)
    if drawn is None:
        if not entry.cost.is_zero:
            yield _fault(place, "an opening that costs nothing", str(entry.cost))
        return
    if cost(drawn.event, drawn.max_rows) != entry.cost:
        yield _fault(place, f"the cost of its loss event, {cost(drawn.event, drawn.max_rows)}", str(entry.cost))
    known = {(row.dataset, row.version, row.account, row.commitment) for row in versions}
    if (drawn.dataset, drawn.version, entry.account, drawn.commitment) not in known:
        yield _fault(place, "a version with this account and root", "none")


def _check_version(row: _Row, rows: Sequence[_Row]) -> Iterator[Fault]:
    where = f"version {row.dataset}/{row.version}"
    yield from _check_links(where, "event", row, rows)
    before: State | None = None
    for stored in rows:
        place = f"{where}, event {stored.seq}"
        try:
            event = documents.read_event(stored.document)
            yield from _check_event(place, event, stored, before)
            before = event.state
        except TrasgoError:
            yield _fault(place, "a document that can be read", "one that cannot")
            continue
        bound = (event.evidence.get("account"), event.evidence.get("commitment"))
        if event.seq == 1 and bound != (row.account, row.commitment):
            yield _fault(where, "the account and root it was created with", "others")


def _check_event(place: str, event: Event, stored: _Row, before: State | None) -> Iterator[Fault]:
    columns = (stored.dataset, stored.version, stored.seq, stored.kind, stored.state, stored.prev)
    written = (event.dataset, event.version, event.seq, event.kind, event.state.value, event.prev)
    if columns != written:
        yield _fault(place, "columns that repeat the document", "others")
    if documents.canonical(documents.load(event.document)) != event.document:
        yield _fault(place, "canonical JSON", "another form")
    if before is None:
        forward = event.kind == "state" and event.state is State.PLANNED
    elif event.kind == "freeze":
        forward = event.state is before
    else:
        forward = event.state in NEXT_STATES[before]
    if not forward:
        yield _fault(place, "a step forward", f"{event.state.value} after {before.value if before else 'nothing'}")


def _check_links(where: str, noun: str, row: _Row, rows: Sequence[_Row]) -> Iterator[Fault]:
    """Hashes, order and the end of a chain, as its owner has stored them."""
    head = documents.GENESIS
    for place, stored in enumerate(rows, start=1):
        if stored.seq != place:
            yield _fault(f"{where}, {noun} {stored.seq}", f"number {place}", f"number {stored.seq}")
        if stored.prev != head:
            yield _fault(f"{where}, {noun} {stored.seq}", f"the hash of the {noun} before", "another hash")
        if documents.sha256(stored.document) != stored.hash:
            yield _fault(f"{where}, {noun} {stored.seq}", "the hash of its document", "another hash")
        head = stored.hash
    if not rows:
        yield _fault(where, f"at least one {noun}", "none")
    if (row.seq, row.head) != (len(rows), head):
        yield _fault(where, f"{row.seq} records that end in its head", f"{len(rows)} records")


def _of(event: _Row, version: _Row) -> bool:
    return (event.dataset, event.version) == (version.dataset, version.version)


def _fault(where: str, required: str, came: str) -> Fault:
    return Fault(
        reason=Reason.CHAIN_BROKEN,
        where=where,
        required=required,
        came=came,
        fix="Restore the database from a backup and draw nothing until then.",
    )
