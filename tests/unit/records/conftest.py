"""A small office: one account, one frozen version, and a way to ask for draws."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, PureEvent
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
    path: Path
    at: str = AT
    terms: AccountTerms = TERMS
    draw: Reservation = DRAW

    def ask(self, epsilon: str = "0.25", **changes: object) -> Reservation:
        """A reservation of one pure draw."""
        changes.setdefault("event", PureEvent(Epsilon.parse(epsilon)))
        return replace(self.draw, **{"level": epsilon, **changes})  # type: ignore[arg-type]

    def charge(self, epsilon: str = "0.25", **changes: object) -> None:
        """Reserve one pure draw."""
        self.records.reserve(self.ask(epsilon, **changes), self.at)

    def new_version(self, version: str, commitment: str, account: str = "cps") -> None:
        """Create and freeze another version of the same data."""
        self.records.create_version("cps1988", version, account, b"wrapped", commitment, "ana", self.at)
        self.records.freeze("cps1988", version, "2" * 64, "1" * 64, "ana", self.at)

    def advance(self, *states: str) -> None:
        """Move cps1988/1 through these states."""
        for state in states:
            evidence = {"manifest_digest": "3" * 64} if state == "published" else {}
            self.records.transition("cps1988", "1", state, "ana", "as planned", evidence, self.at)

    def tamper(self, *statements: str, guarded: bool = False) -> None:
        """Run SQL behind the library's back, with the triggers dropped unless ``guarded``."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            if not guarded:
                connection.execute("PRAGMA ignore_check_constraints=ON")
                names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
                for (name,) in names:
                    connection.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                connection.execute(statement)

    def count(self, table: str) -> int:
        """Rows of a table."""
        with closing(sqlite3.connect(self.path)) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the office in it, copied for every test."""
    path = tmp_path_factory.mktemp("records") / "ledger.db"
    records = Records.open(path)
    records.open_account(TERMS, b"wrapped digest key", "ana", AT)
    Office(records, path).new_version("1", DRAW.commitment)
    return path


@pytest.fixture(scope="session")
def busy_template(template: Path) -> Path:
    """The same after three charges and a publication."""
    path = template.with_name("busy.db")
    path.write_bytes(template.read_bytes())
    office = Office(Records.open(path), path)
    for attempt in (1, 2, 3):
        office.charge("0.25", attempt=attempt)
    office.advance("validated", "drawn", "checked", "published")
    return path


@pytest.fixture
def new_office(template: Path, tmp_path: Path) -> Callable[[str], Office]:
    """Makes offices that share nothing."""
    return lambda name: _copy(template, tmp_path / name)


@pytest.fixture
def office(template: Path, tmp_path: Path) -> Office:
    """One office."""
    return _copy(template, tmp_path / "ledger.db")


@pytest.fixture
def busy(busy_template: Path, tmp_path: Path) -> Office:
    """An office with three charges and a published version."""
    return _copy(busy_template, tmp_path / "ledger.db")


def _copy(template: Path, path: Path) -> Office:
    path.write_bytes(template.read_bytes())
    return Office(Records.open(path, busy_seconds=0.2), path)
