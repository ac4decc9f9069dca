"""Records in one SQLite file: its modes, its engine, its errors.

Every writer takes the write lock at once (``BEGIN IMMEDIATE``): with a plain ``BEGIN`` two transactions that read
before they write fail with "database is locked" however long they would wait.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from trasgo_lib.config import SqliteFile
from trasgo_lib.errors import StoreError
from trasgo_lib.records.failures import broken_guard, condition, unreachable
from trasgo_lib.storage import flush, make_folder, set_mode

_FILE_MODE = 0o600
_PRAGMAS = (
    "synchronous=FULL",  # a committed charge survives a power loss
    "foreign_keys=ON",
    "secure_delete=ON",  # bytes of a destroyed root are overwritten, not only unlinked
    "recursive_triggers=ON",  # without it INSERT OR REPLACE deletes a row and no delete trigger sees it
)


@dataclass(frozen=True, slots=True)
class SqliteBackend:
    """How records are kept in a SQLite file.

    Args:
        address: the file.
        busy_seconds: how long a transaction waits for another writer, in seconds.
    """

    address: SqliteFile
    busy_seconds: float

    @property
    def driver_error(self) -> type[Exception]:
        """What the driver raises where SQLAlchemy does not stand between."""
        return sqlite3.Error

    def engines(self) -> tuple[sa.Engine, sa.Engine]:
        """One engine that reads and one that writes."""
        reader = _engine(self.address.path, self.busy_seconds)
        return reader, reader.execution_options(trasgo_writes=True)

    @contextmanager
    def opening(self, *, create: bool) -> Iterator[None]:
        """Have the file there, private, and let one opener at a time make or migrate it.

        Raises:
            StoreError: it is absent (with ``create=False``) or out of reach.
        """
        path = self.address.path
        try:
            if create:
                make_folder(path.parent)
            with _folder_lock(path.parent):
                _fix_files(path, create=create)
                yield
        except FileNotFoundError:
            raise unreachable(path.name, "no such file", "Check the path; trasgo ledger open makes one.") from None
        except OSError as error:
            raise unreachable(path.name, error.strerror or "an error", "Check the folder and its mode.") from None

    def check(self, reader: sa.Engine) -> None:
        """Switch the file to a write-ahead log.

        Raises:
            StoreError: its disk allows none.
        """
        # Outside any transaction; persistent, so an existing database answers "wal" and nothing changes.
        with reader.connect() as connection:
            raw = connection.connection.driver_connection
            mode = None if raw is None else raw.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise unreachable(self.address.shown, "no write-ahead log on this disk", "Keep it on a local disk.")

    def forget(self, writer: sa.Engine) -> None:
        """Empty the write-ahead log, which holds pages as they were before."""
        with writer.connect() as connection:
            raw = connection.connection.driver_connection
            if raw is not None:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def failure(self, error: Exception, *, writing: bool) -> StoreError:
        """What a driver's error means; its text is withheld, since it can hold statement parameters."""
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, sqlite3.IntegrityError):
            return broken_guard(self.address.shown, condition(error))
        return unreachable(
            self.address.shown,
            condition(error),
            "Check that the file is on a local disk, whole, writable, and not held by another program.",
        )


def _engine(path: Path, busy_seconds: float) -> sa.Engine:
    # mode=rw: a database that vanished is an error, never a new and empty one.
    address = f"{path.as_uri()}?mode=rw"
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, timeout=busy_seconds),
        poolclass=sa.pool.NullPool,
        hide_parameters=True,
    )

    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # the driver must not begin transactions of its own
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")

    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("trasgo_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    sa.event.listen(engine, "connect", configure)
    sa.event.listen(engine, "begin", begin)
    return engine


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Let one opener at a time make or migrate a database; switching to WAL does not wait its turn by itself.

    A lock on the folder, not on the database: closing any descriptor of that file would drop the locks SQLite holds
    on it in this process.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _fix_files(path: Path, *, create: bool) -> None:
    """Make the file with mode 0600 before SQLite would; its WAL and shared-memory files take the same mode."""
    if create and not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE))
        flush(path.parent)
    if not path.is_file():
        raise FileNotFoundError(2, "No such file")
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        try:
            set_mode(file, _FILE_MODE)
        except FileNotFoundError:
            continue
