"""A small office: one account, one frozen version, and a way to ask for draws; on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, PureEvent
from trasgo_lib.config import PostgresDatabase
from trasgo_lib.records import AccountTerms, Records, Reservation

AT = "2030-01-31T12:00:00+00:00"
TERMS = AccountTerms("cps", "US adults, March 1988", "row", 1, "basic", Cost.of("1", "0.001", "5"))
DRAW = Reservation(
    account="cps",
    dataset="cps1988",
    version="1",
    commitment="c" * 64,
    unit="wage",
    chain_digest="d" * 64,
    attempt=1,
    level="0.25",
    input_digest="1" * 64,
    event=PureEvent(Epsilon.parse("0.25")),
)


@dataclass(frozen=True)
class Office:
    """Records with an open account ``cps`` and the frozen version cps1988/1."""

    records: Records
    at: str = AT
    terms: AccountTerms = TERMS
    draw: Reservation = DRAW
    offices: Any = None  # on a server: who made it

    @property
    def server(self) -> Any:
        """The server, or None."""
        return None if self.offices is None else self.offices.server

    @property
    def path(self) -> Path:
        """The SQLite file."""
        assert self.records.path is not None, "this office has no file"
        return self.records.path

    @property
    def database(self) -> str:
        """The name of the database on the server."""
        assert isinstance(self.records.address, PostgresDatabase)
        return self.records.address.database

    def ask(self, epsilon: str = "0.25", **changes: object) -> Reservation:
        """A reservation of one pure draw."""
        changes.setdefault("event", PureEvent(Epsilon.parse(epsilon)))
        return replace(self.draw, **{"level": epsilon, **changes})  # type: ignore[arg-type]

    def charge(self, epsilon: str = "0.25", **changes: object) -> None:
        """Reserve one pure draw."""
        self.records.reserve(self.ask(epsilon, **changes), self.at)

    def new_version(
        self, version: str, commitment: str, account: str = "cps", input_digest: str = DRAW.input_digest
    ) -> None:
        """Create and freeze another version, of the same data unless their digest says otherwise."""
        self.records.create_version("cps1988", version, account, b"wrapped", commitment, "ana", self.at)
        self.records.freeze("cps1988", version, "2" * 64, input_digest, "ana", self.at)

    def advance(self, *states: str) -> None:
        """Move cps1988/1 through these states."""
        for state in states:
            evidence = {"manifest_digest": "3" * 64} if state == "published" else {}
            self.records.transition("cps1988", "1", state, "ana", "as planned", evidence, self.at)

    def tamper(self, *statements: str, guarded: bool = False) -> None:
        """Run SQL behind the library's back, with triggers and checks out of force unless ``guarded``."""
        if self.server is not None:
            self._tamper_on_server(statements, guarded)
            return
        with closing(sqlite3.connect(self.path)) as connection, connection:
            if not guarded:
                connection.execute("PRAGMA ignore_check_constraints=ON")
                names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
                for (name,) in names:
                    connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement)

    def _tamper_on_server(self, statements: tuple[str, ...], guarded: bool) -> None:
        self.offices.spoilt.add(self.database)
        with self.server.connect(self.database) as connection:
            if not guarded:
                connection.execute("SET session_replication_role = replica")
                checks = connection.execute(
                    "SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'c' "
                    "AND connamespace = 'public'::regnamespace"
                ).fetchall()
                for table, name in checks:
                    connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query finds, behind the library's back."""
        if self.server is not None:
            with self.server.connect(self.database) as connection:
                return list(connection.execute(query).fetchall())
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(query).fetchall()

    def count(self, table: str) -> int:
        """Rows of a table."""
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])

    def everything(self) -> object:
        """All that is stored, to be compared."""
        if self.server is None:
            return self.path.read_bytes()
        tables = ("accounts", "entries", "versions", "events", "leases", "relocation", "alembic_version")
        return [sorted(self.rows(f"SELECT * FROM {table}"), key=repr) for table in tables]

    def vanish(self) -> None:
        """Lose the database."""
        if self.server is None:
            self.path.unlink()
        else:
            self.offices.spoilt.add(self.database)
            self.server.drop(self.database)


def furnish(records: Records) -> Office:
    """Open the account and freeze the version."""
    records.open_account(TERMS, b"wrapped digest key", "ana", AT)
    office = Office(records)
    office.new_version("1", DRAW.commitment)
    return office


def make_busy(office: Office) -> None:
    """Three charges and a publication."""
    for attempt in (1, 2, 3):
        office.charge("0.25", attempt=attempt)
    office.advance("validated", "drawn", "checked", "published")


class SqliteOffices:
    """Offices in files: copies of two databases."""

    def __init__(self, folder: Path) -> None:
        self._idle, self._busy = folder / "idle.db", folder / "busy.db"
        furnish(Records.open(self._idle))
        self._busy.write_bytes(self._idle.read_bytes())
        make_busy(Office(Records.open(self._busy)))

    def new(self, path: Path, busy: bool = False) -> Office:
        """One more office."""
        path.write_bytes((self._busy if busy else self._idle).read_bytes())
        return Office(Records.open(path, busy_seconds=0.2))


class PostgresOffices:
    """Offices on the session's server: copies of two databases, used again after tests that kept to the library.

    A new database takes 50 to 900 ms, as busy as the machine is; putting the rows back a tenth of it.
    """

    _TABLES = ("accounts", "entries", "versions", "events", "leases", "relocation")

    def __init__(self, server: Any) -> None:
        self.server = server
        self.spoilt: set[str] = set()
        self._templates = {False: server.new_database()}
        furnish(Records.open(server.url(self._templates[False])))
        self._templates[True] = server.new_database(self._templates[False])
        make_busy(Office(Records.open(server.url(self._templates[True]))))
        for name in self._templates.values():
            kept = (f"CREATE TABLE kept.{table} AS TABLE public.{table}" for table in self._TABLES)
            server.execute("CREATE SCHEMA kept", *kept, database=name)
        self._free: dict[bool, list[str]] = {False: [], True: []}
        self._used: list[tuple[bool, str]] = []

    def new(self, path: Path, busy: bool = False) -> Office:
        """One more office; the path says nothing here."""
        name = self._free[busy].pop() if self._free[busy] else self.server.new_database(self._templates[busy])
        self._used.append((busy, name))
        return Office(Records.open(self.server.url(name), busy_seconds=0.2), offices=self)

    def clear(self) -> None:
        """Put back what a test changed."""
        while self._used:
            busy, name = self._used.pop()
            if name in self.spoilt:
                self.server.drop(name)
                continue
            rows = [f"DELETE FROM {t}" for t in reversed(self._TABLES)]
            rows += [f"INSERT INTO {t} SELECT * FROM kept.{t}" for t in self._TABLES]
            statement = "; ".join(["BEGIN", "SET LOCAL session_replication_role = replica", *rows, "COMMIT"])
            self.server.execute(statement, database=name)
            self._free[busy].append(name)


@pytest.fixture(scope="session")
def sqlite_offices(tmp_path_factory: pytest.TempPathFactory) -> SqliteOffices:
    """Makes offices in files."""
    return SqliteOffices(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="session")
def all_postgres_offices(postgres_server: Any) -> PostgresOffices:
    """Makes offices on the server, for the whole session."""
    return PostgresOffices(postgres_server)


@pytest.fixture
def postgres_offices(all_postgres_offices: PostgresOffices) -> Iterator[PostgresOffices]:
    """Makes offices on the server, for one test."""
    yield all_postgres_offices
    all_postgres_offices.clear()


@pytest.fixture(params=["sqlite", "postgresql"])
def offices(request: pytest.FixtureRequest) -> Any:
    """Makes offices on either kind of database: every test of this fixture runs on both."""
    return request.getfixturevalue("sqlite_offices" if request.param == "sqlite" else "postgres_offices")


@pytest.fixture
def new_office(offices: Any, tmp_path: Path) -> Callable[[str], Office]:
    """Makes offices that share nothing."""
    return lambda name: offices.new(tmp_path / name)


@pytest.fixture
def office(offices: Any, tmp_path: Path) -> Office:
    """One office."""
    return offices.new(tmp_path / "ledger.db")


@pytest.fixture
def busy(offices: Any, tmp_path: Path) -> Office:
    """An office with three charges and a published version."""
    return offices.new(tmp_path / "ledger.db", busy=True)
