"""An exclusive lease on one version, so that two runs of it cannot interleave.

A lease is a courtesy between honest runs: draws are identical whoever makes them and charges count once, so a lease
broken by mistake costs time and nothing else. It ends by the database's clock unless its holder renews it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.records.clock import database_time, later
from trasgo_lib.records.database import Database
from trasgo_lib.records.locking import lock_name
from trasgo_lib.records.tables import LEASES


@dataclass(frozen=True, slots=True)
class Lease:
    """A held lease; made by :func:`lease`.

    Args:
        database: where it is written.
        dataset: data set.
        version: release version.
        holder: who holds it, unique to the run.
        ttl: how long it holds without renewal.
    """

    database: Database
    dataset: str
    version: str
    holder: str
    ttl: timedelta

    def renew(self) -> None:
        """Extend the lease to its ttl from now, by the database's clock.

        Raises:
            ConflictError: another run has taken it over (``LOCKED``); this one must stop.
        """
        with self.database.write() as connection:
            end = later(database_time(connection), self.ttl)
            changed = connection.execute(LEASES.update().where(self._mine()).values(expires_at=end)).rowcount
        if changed != 1:
            raise _locked(self.dataset, self.version, "a lease that was taken over by another run")

    def release(self) -> None:
        """Give the lease back; does nothing when another run has taken it over."""
        with self.database.write(closed=True) as connection:
            connection.execute(LEASES.delete().where(self._mine()))

    def _mine(self) -> sa.ColumnElement[bool]:
        return sa.and_(_version(self.dataset, self.version), LEASES.c.holder == self.holder)


@contextmanager
def lease(
    database: Database,
    dataset: str,
    version: str,
    holder: str,
    ttl: timedelta,
    may_be_alive: Callable[[str], bool],
) -> Iterator[Lease]:
    """Hold a version for as long as the block runs.

    Args:
        database: where it is written.
        dataset: data set.
        version: release version; need not exist yet.
        holder: who takes it: host, process and something unique to the run; public.
        ttl: how long it holds without renewal.
        may_be_alive: judges the text of the present holder; False breaks its lease at once.

    Raises:
        ConflictError: another run holds it (``LOCKED``).
    """
    held = Lease(database, dataset, version, holder, ttl)
    with database.write() as connection:
        lock_name(connection, "leases")
        row = connection.execute(sa.select(LEASES).where(_version(dataset, version))).one_or_none()
        now = database_time(connection)
        if row is not None:
            if row.expires_at > now and may_be_alive(row.holder):
                raise _locked(dataset, version, f"a run that holds it: {row.holder}, since {row.taken_at}")
            connection.execute(LEASES.delete().where(_version(dataset, version)))
        end = later(now, ttl)
        connection.execute(
            LEASES.insert().values(dataset=dataset, version=version, holder=holder, taken_at=now, expires_at=end)
        )
    try:
        yield held
    except BaseException:
        # What went wrong in the block matters more; a lease that stays behind is broken or expires.
        with suppress(StoreError):
            held.release()
        raise
    held.release()


def _version(dataset: str, version: str) -> sa.ColumnElement[bool]:
    return sa.and_(LEASES.c.dataset == dataset, LEASES.c.version == version)


def _locked(dataset: str, version: str, came: str) -> ConflictError:
    return ConflictError.of(
        Reason.LOCKED,
        f"version {dataset}/{version}",
        required="no other run of this version",
        came=came,
        fix="Wait for it to end. If it is gone, its lease ends by itself within two minutes.",
    )
