"""The database behind the records, SQLite or PostgreSQL: opening, transactions, errors.

Every connection is opened for one transaction and closed, so nothing is shared between threads or inherited by a forked
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol, Self

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from trasgo_lib.config import LedgerAddress, PostgresDatabase, SqliteFile, ledger_address
from trasgo_lib.errors import StoreError
from trasgo_lib.records import migrate, relocation
from trasgo_lib.records.locking import lock_name
from trasgo_lib.records.sqlite import SqliteBackend

BUSY_SECONDS = 60.0
"""SQLite's wait for the lock is unfair (4.6 s at the worst of 1600 contended writes), so this is far above it."""

Password = Callable[[], str | None]


class Backend(Protocol):
    """What differs between the two kinds of database."""

    @property
    def address(self) -> LedgerAddress:
        """Where it is."""

    @property
    def driver_error(self) -> type[Exception]:
        """What its driver raises where SQLAlchemy does not stand between."""

    def engines(self) -> tuple[sa.Engine, sa.Engine]:
        """One engine that reads and one that writes."""

    def opening(self, *, create: bool) -> AbstractContextManager[None]:
        """What stands around the opening."""

    def check(self, reader: sa.Engine) -> None:
        """Look whether it can hold records."""

    def failure(self, error: Exception, *, writing: bool) -> StoreError:
        """What a driver's error means."""

    def forget(self, writer: sa.Engine) -> None:
        """Take overwritten bytes out of its files."""


class Database:
    """A records database at the newest revision; made by :meth:`open`."""

    __slots__ = ("_backend", "_reader", "_writer")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._reader, self._writer = backend.engines()

    @classmethod
    def open(
        cls,
        place: str | Path | LedgerAddress,
        *,
        create: bool = True,
        busy_seconds: float = BUSY_SECONDS,
        password: Password | None = None,
    ) -> Self:
        """Open a database, make an absent SQLite file, and bring it to the newest revision.

        Args:
            place: its address, URL or path; public.
            create: whether an absent SQLite file is made.
            busy_seconds: how long a transaction waits for another writer, in seconds.
            password: gives the password of a PostgreSQL role; secret.

        Raises:
            ConfigError: a URL that names no database, or holds a password.
            StoreError: the database is absent, out of reach, locked, corrupt or too new.
        """
        database = cls.unprepared(place, busy_seconds=busy_seconds, password=password)
        with database._backend.opening(create=create):
            database._prepare()
        return database

    @classmethod
    def unprepared(
        cls,
        place: str | Path | LedgerAddress,
        *,
        busy_seconds: float = BUSY_SECONDS,
        password: Password | None = None,
    ) -> Self:
        """A database as it is, whatever its revision; nothing is connected yet."""
        address = ledger_address(place) if isinstance(place, str | Path) else place
        if isinstance(address, PostgresDatabase):
            # late: the driver takes 0.1 s to import, which offices with a file need not wait for
            from trasgo_lib.records.postgresql import PostgresBackend

            return cls(PostgresBackend(address, busy_seconds, password))
        return cls(SqliteBackend(address, busy_seconds))

    @property
    def address(self) -> LedgerAddress:
        """Where it is."""
        return self._backend.address

    @property
    def path(self) -> Path | None:
        """The database file; None on a server."""
        return self.address.path if isinstance(self.address, SqliteFile) else None

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A read transaction: one consistent snapshot, which blocks no writer."""
        with self._translated(writing=False), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, closed: bool = False) -> Iterator[sa.Connection]:
        """A write transaction; an exception rolls it back.

        On SQLite it is alone from its first statement on, on a server from its lock on.

        Args:
            closed: whether it may write to a ledger that has moved; only moving itself may.

        Raises:
            StoreError: the ledger has moved (``LEDGER_MOVED``).
        """
        with self._translated(writing=True), self._writer.begin() as connection:
            if not closed:
                relocation.require_open(connection, self.address.shown)
            yield connection

    def forget(self) -> None:
        """After a secret was overwritten: take its old bytes out of the database's own files, as far as it can be done.

        A server keeps them until the table is vacuumed; backups and replicas are beyond reach.
        """
        with self._translated(writing=True):
            self._backend.forget(self._writer)

    def revision(self) -> str | None:
        """The revision it is at; None for an empty one. Changes nothing."""
        with self.read() as connection:
            return migrate.current_revision(connection)

    def require_usable(self) -> None:
        """Look whether it answers and can hold records; changes no record.

        Raises:
            StoreError: it cannot.
        """
        with self._translated(writing=False):
            self._backend.check(self._reader)

    def _prepare(self) -> None:
        self.require_usable()
        if self.revision() == migrate.HEAD_REVISION:
            return
        with self.write(closed=True) as connection:
            lock_name(connection, "schema")
            migrate.upgrade(connection)

    @contextmanager
    def _translated(self, *, writing: bool) -> Iterator[None]:
        """Turn what the driver raises into ours, without its text: that can hold statement parameters."""
        try:
            yield
        except (SQLAlchemyError, self._backend.driver_error) as error:
            raise self._backend.failure(error, writing=writing) from None
