"""Where a ledger has moved to, and what that closes."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.records.tables import RELOCATION


@dataclass(frozen=True, slots=True)
class Relocation:
    """Why a ledger takes no record.

    Args:
        state: ``moved`` (for good), or ``arriving`` (until the old one is closed).
        peer: the other ledger's address, without a password.
        actor: who moved it.
        at: when, ISO 8601 with offset.
    """

    state: str
    peer: str
    actor: str
    at: str


def relocation_of(connection: sa.Connection) -> Relocation | None:
    """What is written about a move; None in a ledger that is open."""
    row = connection.execute(
        sa.select(RELOCATION.c.state, RELOCATION.c.peer, RELOCATION.c.actor, RELOCATION.c.at)
    ).one_or_none()
    return None if row is None else Relocation(row.state, row.peer, row.actor, row.at)


def mark(connection: sa.Connection, state: str, peer: str, actor: str, at: str) -> None:
    """Close a ledger: from the end of this transaction on it takes no record."""
    connection.execute(RELOCATION.insert().values(only_row=1, state=state, peer=peer, actor=actor, at=at))


def reopen(connection: sa.Connection) -> None:
    """Open a ledger that was arriving; the database refuses it for one that has moved."""
    connection.execute(RELOCATION.delete())


def require_open(connection: sa.Connection, name: str) -> None:
    """Stop before a write to a ledger that is closed.

    Raises:
        StoreError: it has moved, or its move is not finished (``LEDGER_MOVED``).
    """
    found = relocation_of(connection)
    if found is None:
        return
    moved = found.state == "moved"
    raise StoreError.of(
        Reason.LEDGER_MOVED,
        f"ledger {name}",
        required="the ledger that is charged today",
        came=f"one that moved to {found.peer} on {found.at[:10]}" if moved else "one whose move was not finished",
        fix=f'Write `ledger: {{url: "{found.peer}"}}` in the release file. This one can be read and checked only.'
        if moved
        else "Run trasgo ledger migrate again; it goes on where it stopped.",
    )
