"""Who may write what at a time. SQLite has one writer for the whole file; on a server rows and names are locked.

The order is accounts, then versions, each sorted, so that no two writers wait for each other. What a writer reads after
its lock it sees as the writer before it left it: at READ COMMITTED every statement takes its own snapshot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import sqlalchemy as sa


def lock_accounts(connection: sa.Connection, names: Iterable[str]) -> None:
    """Keep other charges to these accounts waiting until the transaction ends: SELECT ... FOR UPDATE on their rows.

    The database's own function does it, so that the role needs no right to update.
    """
    if _has_one_writer(connection):
        return
    for name in sorted(set(names)):
        connection.execute(sa.select(sa.func.trasgo_lock_account(name)))


def lock_versions(connection: sa.Connection, versions: Iterable[tuple[str, str]]) -> None:
    """Keep other steps of these versions waiting until the transaction ends; accounts are locked before."""
    if _has_one_writer(connection):
        return
    for dataset, version in sorted(set(versions)):
        connection.execute(sa.select(sa.func.trasgo_lock_version(dataset, version)))


def lock_name(connection: sa.Connection, name: str) -> None:
    """Keep others who lock the same name waiting: for rows that do not exist yet."""
    if _has_one_writer(connection):
        return
    number = int.from_bytes(hashlib.sha256(f"trasgo {name}".encode()).digest()[:8], "big", signed=True)
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def _has_one_writer(connection: sa.Connection) -> bool:
    return connection.dialect.name == "sqlite"
