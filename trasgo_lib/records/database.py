"""The database behind the records: one SQLite file, its modes, its transactions, its errors.

Every writer takes the write lock at once (``BEGIN IMMEDIATE``): with a plain ``BEGIN`` two transactions that read
before they write fail with "database is locked" however long they would wait. Every connection is opened for one
transaction and closed, so nothing is shared between threads or inherited by a forked process.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from trasgo_lib.errors import ConfigError, Reason, StoreError
from trasgo_lib.records import migrate
from trasgo_lib.storage import flush, make_folder, set_mode

BUSY_SECONDS = 60.0
"""SQLite's wait for the lock is unfair (4.6 s at the worst of 1600 contended writes), so this is far above it."""

_FILE_MODE = 0o600
_PRAGMAS = (
    "synchronous=FULL",  # a committed charge survives a power loss
    "foreign_keys=ON",
    "recursive_triggers=ON",  # without it INSERT OR REPLACE deletes a row and no delete trigger sees it
)


class Database:
    """A records database at the newest revision; made by :meth:`open`."""

    __slots__ = ("_path", "_reader", "_writer")

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self._path = path
        self._reader = _engine(path, busy_seconds)
        self._writer = self._reader.execution_options(trasgo_writes=True)

    @classmethod
    def open(cls, url: str | Path, *, create: bool = True, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open a database, make it when it is absent, and bring it to the newest revision.

        Args:
            url: ``sqlite:///path`` or the path of the file; public.
            create: whether an absent file is made.
            busy_seconds: how long a transaction waits for another writer, in seconds.

        Raises:
            ConfigError: another kind of database (not built yet) or a URL without a file.
            StoreError: the file is absent (with ``create=False``), unreadable, locked, corrupt or too new.
        """
        path = sqlite_path(url)
        try:
            if create:
                make_folder(path.parent)
            with _folder_lock(path.parent):
                _fix_files(path, create=create)
                database = cls(path, busy_seconds)
                database._prepare()
        except FileNotFoundError:
            raise _unreachable(path.name, "no such file", "Check the path; trasgo ledger open makes one.") from None
        except OSError as error:
            raise _unreachable(path.name, error.strerror or "an error", "Check the folder and its mode.") from None
        return database

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A read transaction: one consistent snapshot, which blocks no writer."""
        with self._translated(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A write transaction, alone from its first statement on; an exception rolls it back."""
        with self._translated(), self._writer.begin() as connection:
            yield connection

    def _prepare(self) -> None:
        with self._translated():
            # Outside any transaction; persistent, so an existing database answers "wal" and nothing changes.
            with self._reader.connect() as connection:
                raw = connection.connection.driver_connection
                mode = None if raw is None else raw.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise _unreachable(self._path.name, "no write-ahead log on this disk", "Keep it on a local disk.")
        with self.read() as connection:
            if migrate.current_revision(connection) == migrate.HEAD_REVISION:
                return
        with self.write() as connection:
            migrate.upgrade(connection)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what the driver raises into ours, without its text: that can hold statement parameters."""
        try:
            yield
        except IntegrityError as error:
            raise StoreError.of(
                Reason.CHAIN_BROKEN,
                f"database {self._path.name}",
                required="a write that extends the record",
                came=f"a write its guards refuse ({_name(error)}); nothing was written",
                fix="Run: trasgo ledger check",
            ) from None
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise _unreachable(
                self._path.name,
                _name(error),
                "Check that the file is on a local disk, whole, writable, and not held by another program.",
            ) from None


def sqlite_path(url: str | Path, base: Path | None = None) -> Path:
    """The absolute path of the SQLite file that a URL names.

    Args:
        url: ``sqlite:///relative``, ``sqlite:////absolute``, or a path; public. It can carry a password when it names
            another kind of database, so no error shows it.
        base: folder at which a relative path starts; the working directory when None.

    Raises:
        ConfigError: PostgreSQL (not built yet), an unknown kind, or no file.
    """
    start = Path.cwd() if base is None else base.absolute()
    if isinstance(url, Path) or "://" not in url:
        return start / url
    try:
        parsed = sa.make_url(url)
    except ArgumentError:
        raise _bad_url(Reason.BAD_SHAPE, "text that is not a URL") from None
    kind = parsed.get_backend_name()
    if kind == "postgresql":
        raise _bad_url(Reason.NOT_BUILT_YET, "a postgresql URL")
    if kind != "sqlite":
        raise _bad_url(Reason.UNKNOWN_NAME, f"a {kind} URL")
    if parsed.database in (None, "", ":memory:") or parsed.query or parsed.host:
        raise _bad_url(Reason.BAD_SHAPE, "a sqlite URL that names no file, or more than a file")
    return start / str(parsed.database)


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


def _name(error: Exception) -> str:
    """SQLite's own name of the condition, such as SQLITE_BUSY; else the class name."""
    cause = getattr(error, "orig", None) or error
    return str(getattr(cause, "sqlite_errorname", type(cause).__name__))


def _unreachable(name: str, came: str, fix: str) -> StoreError:
    return StoreError.of(
        Reason.DATABASE_UNREACHABLE, f"database {name}", required="a database that answers", came=came, fix=fix
    )


def _bad_url(reason: Reason, came: str) -> ConfigError:
    return ConfigError.of(
        reason, "ledger.url", required="sqlite:///path of a file", came=came, fix="Use SQLite on a local disk."
    )
