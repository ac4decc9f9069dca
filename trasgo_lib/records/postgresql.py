"""Records on a PostgreSQL server: its engine, its settings, its errors.

Writers run at READ COMMITTED and lock the rows of their account and version first (``locking``); readers run at
REPEATABLE READ, READ ONLY, so that what they see is one snapshot. Measured with 8 processes x 200 reservations:
SERIALIZABLE needed 3038 retries for the same work and was no faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import sqlalchemy as sa

from trasgo_lib.config import PostgresDatabase
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.records.failures import broken_guard, condition, unreachable

_CONNECTION: dict[str, Any] = {
    "connect_timeout": 10,
    "application_name": "trasgo",
    # a peer that vanished is noticed in about a minute, also in the middle of a statement
    "keepalives": 1,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
    "client_encoding": "utf8",
}
"""What every connection asks for; options of the URL go first."""

_REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("password authentication failed", "a wrong password", "Correct PGPASSWORD, PGPASSFILE or the declared source."),
    (
        "no password supplied",
        "no password, and the server asks for one",
        "Set PGPASSWORD or PGPASSFILE, or write `password_env: NAME` below `ledger`.",
    ),
    ("no pg_hba.conf entry", "a server that lets this role or host not in", "Allow it in the server's pg_hba.conf."),
    ("does not exist", "no such database or role", "Create it, as the runbook says; check the name."),
    ("too many", "a server with no free connection", "Run again later, or raise max_connections."),
    ("remaining connection slots", "a server with no free connection", "Run again later, or raise max_connections."),
    ("certificate", "a certificate that does not hold", "Correct sslrootcert, or the host in the URL."),
    ("SSL", "no encryption as the URL asks for", "Correct sslmode in the URL, or the server's settings."),
    ("starting up", "a server that is still starting", "Run again in a moment."),
    ("shutting down", "a server that is shutting down", "Run again when it is back."),
    ("Connection refused", "nobody who listens there", "Start the server; check host and port of the URL."),
    ("timeout", "no answer in time", "Check host, port and firewall, then run again."),
)
"""Words of libpq, which gives no code when it cannot connect; the first that fits. Its text itself is never shown."""

_SETTINGS = (
    "SET LOCAL lock_timeout = {milliseconds}; "
    # a client that hangs in the middle of a transaction must not keep the account for good
    "SET LOCAL idle_in_transaction_session_timeout = 60000; "
    # a committed charge survives a power loss, whatever the role's settings say
    "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"
)


@dataclass(frozen=True, slots=True)
class PostgresBackend:
    """How records are kept on a server.

    Args:
        address: the database.
        busy_seconds: how long a transaction waits for another's lock, in seconds.
        password: gives the role's password, or None to leave it to libpq (PGPASSWORD, PGPASSFILE); secret.
    """

    address: PostgresDatabase
    busy_seconds: float
    password: Callable[[], str | None] | None = field(default=None, repr=False)

    @property
    def driver_error(self) -> type[Exception]:
        """What the driver raises where SQLAlchemy does not stand between."""
        return psycopg.Error

    def engines(self) -> tuple[sa.Engine, sa.Engine]:
        """One engine that reads and one that writes."""
        # The engine's own URL is empty: what it shows about itself can hold neither host nor role nor password.
        engine = sa.create_engine(
            "postgresql+psycopg://", creator=self._connect, poolclass=sa.pool.NullPool, hide_parameters=True
        )
        settings = _SETTINGS.format(milliseconds=max(1, int(self.busy_seconds * 1000)))

        def begin(connection: sa.Connection) -> None:
            if connection.get_execution_options().get("trasgo_writes", False):
                connection.exec_driver_sql(settings)

        sa.event.listen(engine, "begin", begin)
        reader = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        writer = engine.execution_options(isolation_level="READ COMMITTED", trasgo_writes=True)
        return reader, writer

    @contextmanager
    def opening(self, *, create: bool) -> Iterator[None]:
        """Nothing to prepare: the database itself is made by its administrator."""
        yield

    def check(self, reader: sa.Engine) -> None:
        """Look whether the server can hold records.

        Raises:
            StoreError: it does not keep text as UTF-8, in whose byte order names are listed.
        """
        with reader.begin() as connection:
            encoding = connection.scalar(sa.text("SELECT current_setting('server_encoding')"))
        if encoding != "UTF8":
            raise unreachable(
                self.address.shown, f"the encoding {encoding}", "Create the database with ENCODING 'UTF8'."
            )

    def forget(self, writer: sa.Engine) -> None:
        """Vacuum the tables that hold wrapped secrets; their old rows can be read on disk until then."""
        with self._connect() as connection:
            connection.autocommit = True  # VACUUM runs in no transaction
            connection.execute("VACUUM versions, accounts")

    def failure(self, error: Exception, *, writing: bool) -> StoreError:
        """What a driver's error means; its text is withheld, since it can hold parameters and addresses."""
        name, cause = self.address.shown, getattr(error, "orig", None) or error
        if isinstance(cause, psycopg.IntegrityError):
            return broken_guard(name, condition(error))
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            return _not_allowed(name)
        if isinstance(cause, psycopg.errors.LockNotAvailable):
            return unreachable(name, f"another writer that holds the record ({condition(error)})", "Run again.")
        if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction):
            return unreachable(name, "a server that takes no writes", "Name the primary server, not a standby.")
        if isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and _is_lost(cause):
            return _lost(name, writing=writing)
        return unreachable(name, condition(error), "Ask the server's log what it means, then run again.")

    def _connect(self) -> psycopg.Connection[Any]:
        address = self.address
        place = {"host": address.host, "port": address.port, "user": address.user, "dbname": address.database}
        options: dict[str, Any] = {**_CONNECTION, **{key: value for key, value in place.items() if value is not None}}
        options.update(address.options)
        secret = None if self.password is None else self.password()
        if secret is not None:
            options["password"] = secret
        try:
            return psycopg.connect(**options)
        except psycopg.Error as error:
            said = str(error)
        came, fix = next(
            ((came, fix) for word, came, fix in _REFUSALS if word in said),
            ("a server that cannot be reached or refuses", "Check host, port, role and database of the URL."),
        )
        raise unreachable(address.shown, came, f"{fix} Nothing was charged.") from None


def _is_lost(cause: Exception) -> bool:
    """Whether the connection itself is gone: no code at all, or one of the classes 08 and 57P."""
    code = getattr(cause, "sqlstate", None)
    return code is None or str(code).startswith(("08", "57P")) or code == "25P03"


def _lost(name: str, *, writing: bool) -> StoreError:
    fix = "Run again."
    if writing:
        fix = "Run again: what was asked for may or may not be recorded; a draw that is recorded is not charged twice."
    return unreachable(name, "a connection that was lost on the way", fix)


def _not_allowed(name: str) -> StoreError:
    return StoreError.of(
        Reason.DATABASE_UNREACHABLE,
        f"database {name}",
        required="a role with the right to do this",
        came="one without it",
        fix="Tables are made and upgraded, accounts opened and ledgers moved by the owner's role; runs need the grants "
        "of the runbook. Set PGUSER, or the user in the URL.",
    )
