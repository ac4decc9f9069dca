"""Wrapped secrets in the records: wrapped anew under another key, or destroyed; never changed otherwise.

A chained record announces the nonce and the tag of the new bytes and the database lets exactly those in. What was
wrapped under the old key is overwritten and stands in no record.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import ledger, lifecycle
from trasgo_lib.records.clock import database_time
from trasgo_lib.records.locking import lock_accounts, lock_name, lock_versions
from trasgo_lib.records.model import Account, State, VersionRecord
from trasgo_lib.records.tables import ACCOUNTS, LEASES, VERSIONS

_HEAD_BYTES, _TAG_BYTES = 13, 16
_OVER = (State.PUBLISHED, State.SUPERSEDED, State.WITHDRAWN)


def seal_of(wrapped: bytes) -> str:
    """What a record says of wrapped bytes: format and nonce, and the tag; hex. What is sealed cannot be had from it."""
    return (wrapped[:_HEAD_BYTES] + wrapped[-_TAG_BYTES:]).hex() if wrapped else ""


def rewrap(
    connection: sa.Connection,
    root: Callable[[VersionRecord], bytes],
    digest_key: Callable[[Account], bytes],
    actor: str,
    reason: str,
    at: str,
) -> tuple[int, int]:
    """Store every secret anew, in this one transaction.

    Args:
        connection: inside a write transaction.
        root: gives a version's root wrapped under the new key, of the same length.
        digest_key: gives an account's digest key wrapped under the new key, of the same length.
        actor: who does it.
        reason: why, in words.
        at: now.

    Returns:
        How many accounts and versions were wrapped anew; destroyed roots are passed over.

    Raises:
        ConflictError: a run holds a version; or what the functions raise. Nothing is changed then.
    """
    # names first: no account, version or lease is made meanwhile
    for name in ("leases", "accounts", "versions"):
        lock_name(connection, name)
    require_no_lease(connection)
    accounts = ledger.accounts(connection)
    lock_accounts(connection, (account.terms.name for account in accounts))
    lives = lifecycle.versions(connection)
    lock_versions(connection, ((record.dataset, record.version) for record in lives))
    # what waited for a charge may have moved on
    for account in ledger.accounts(connection):
        wrapped = digest_key(account)
        ledger.append_rewrap(connection, account, seal_of(wrapped), actor, reason, at)
        here = ACCOUNTS.c.name == account.terms.name
        connection.execute(ACCOUNTS.update().where(here).values(wrapped_digest_key=wrapped))
    count = 0
    for record in lifecycle.versions(connection):
        if not record.wrapped_root:
            continue
        wrapped, count = root(record), count + 1
        _store_root(connection, record, "rewrap", wrapped, actor, reason, at)
    return len(accounts), count


def destroy_root(
    connection: sa.Connection, dataset: str, version_name: str, actor: str, reason: str, at: str, *, unfinished: bool
) -> VersionRecord:
    """Overwrite a version's root with nothing: no draw of it can be made again, and none can be proved.

    Args:
        connection: inside a write transaction.
        dataset: data set.
        version_name: release version.
        actor: who does it.
        reason: why, in words.
        at: now.
        unfinished: whether a version that was never published may be ended by this.

    Raises:
        ConflictError: a run holds it, it is not finished, or there is no such version.
    """
    lock_name(connection, "leases")
    require_no_lease(connection, dataset, version_name)
    lock_versions(connection, [(dataset, version_name)])
    record = lifecycle.known(connection, dataset, version_name)
    if not record.wrapped_root:
        return record
    if record.state not in _OVER and not unfinished:
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"version {dataset}/{version_name}",
            required="a version that is published, superseded or withdrawn",
            came=f"one that is {record.state.value}: without its root it can never be finished",
            fix="To end it for good, what it spent stays spent: --force-unfinished",
        )
    _store_root(connection, record, "destroy", b"", actor, reason, at)
    if record.state not in _OVER:
        proof = {"sealed": ""}
        why = "its root was destroyed before it was finished"
        lifecycle.transition(connection, dataset, version_name, State.WITHDRAWN, actor, why, proof, at)
    return lifecycle.known(connection, dataset, version_name)


def require_no_lease(connection: sa.Connection, dataset: str | None = None, version_name: str | None = None) -> None:
    """Stop when a run holds this version, or any.

    Raises:
        ConflictError: one does (``LOCKED``).
    """
    query = sa.select(LEASES.c.dataset, LEASES.c.version, LEASES.c.holder)
    query = query.where(LEASES.c.expires_at > database_time(connection))
    if dataset is not None:
        query = query.where(LEASES.c.dataset == dataset, LEASES.c.version == version_name)
    held = connection.execute(query).first()
    if held is not None:
        raise ConflictError.of(
            Reason.LOCKED,
            f"version {held.dataset}/{held.version}",
            required="no run meanwhile",
            came=f"a run that holds it: {held.holder}",
            fix="Wait for it to end; the lease of a run that is gone ends by itself within two minutes.",
        )


def _store_root(
    connection: sa.Connection, record: VersionRecord, kind: str, wrapped: bytes, actor: str, reason: str, at: str
) -> None:
    lifecycle.append(connection, record, kind, record.state, actor, reason, {"sealed": seal_of(wrapped)}, at)
    here = sa.and_(VERSIONS.c.dataset == record.dataset, VERSIONS.c.version == record.version)
    connection.execute(VERSIONS.update().where(here).values(wrapped_root=wrapped))
