"""Several processes charge one account at once, on both databases: no overspend, no lost entry, no error.

The controls do the same by reading and then writing without a lock, and lose charges: the hammer can hit.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import Cost, GaussianEvent, Partition, PureEvent
from trasgo_lib.errors import BudgetError
from trasgo_lib.records import AccountTerms, Records, Reservation

AT = "2030-01-31T12:00:00+00:00"
LEVELS = ("0.05", "0.1", "0.13")


@dataclass(frozen=True)
class Load:
    """How hard the hammer hits.

    Args:
        processes: how many at once.
        attempts: reservations of each.
        cap: epsilon of the account, far less than all ask for, so that every process is refused in the end.
    """

    processes: int
    attempts: int
    cap: str


SMALL = Load(4, 25, "4")
FULL = Load(8, 200, "60")
LOADS = [pytest.param(SMALL, id="small"), pytest.param(FULL, id="full", marks=pytest.mark.long)]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a ledger that is not there yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/ledger.db"
    else:
        yield request.getfixturevalue("postgres_server").url(request.getfixturevalue("postgres_database"))


def hammer(program: Any, place: str, load: Load) -> list[Any]:
    """Run the program in freshly started processes, which begin together; returns what each one returns."""
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(load.processes), context.Queue()
    workers = [
        context.Process(target=program, args=(place, number, load, gate, answers)) for number in range(load.processes)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=900) for _ in workers]
    for worker in workers:
        worker.join(timeout=300)
    assert [worker.exitcode for worker in workers] == [0] * load.processes
    return found


def charge(place: str, number: int, load: Load, gate: Any, answers: Any) -> None:
    """Open the database (all at once, empty at first), then reserve."""
    granted, errors = [], []
    gate.wait(timeout=600)
    try:
        records = Records.open(place)
        terms = AccountTerms("cps", "US adults", "row", 1, "basic", Cost.of(load.cap))
        with records.lease("cps", "set-up", f"process {number}", may_be_alive=lambda _: False):
            if number == 0:
                records.open_account(terms, b"k", "ana", AT)
                records.create_version("cps", "1", "cps", b"w", "c" * 64, "ana", AT)
                records.freeze("cps", "1", "2" * 64, "1" * 64, "ana", AT)
        gate.wait(timeout=600)
        for attempt in range(load.attempts):
            level = LEVELS[(attempt + number) % len(LEVELS)]
            asked = Reservation(
                account="cps",
                dataset="cps",
                version="1",
                commitment="c" * 64,
                unit=f"unit {number}",
                chain_digest="d" * 64,
                attempt=attempt,
                level=level,
                input_digest="1" * 64,
                event=PureEvent(Epsilon.parse(level)),
            )
            try:
                granted.append(records.reserve(asked, AT).hash)
            except BudgetError:
                continue
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent shows it
        errors.append(repr(error))
    answers.put((granted, errors))


@pytest.mark.parametrize("load", LOADS)
def test_processes_at_once_neither_overspend_nor_lose_an_entry_nor_fail(place: str, load: Load) -> None:
    found = hammer(charge, place, load)
    assert [errors for _, errors in found] == [[]] * load.processes

    records = Records.open(place, create=False)
    entries, account = records.entries("cps")[1:], records.account("cps")
    granted = [digest for hashes, _ in found for digest in hashes]
    assert sorted(granted) == sorted(entry.hash for entry in entries)
    assert len(granted) < load.processes * load.attempts
    assert account.spent == sum((entry.cost for entry in entries), Cost.zero())
    assert account.spent.fits(Cost.of(load.cap))
    # every process went on after its refusals, so not even the smallest request fits any more
    assert account.left.epsilon < Epsilon.parse("0.05")
    assert records.check_chain().ok


def charge_without_the_lock(path: str, number: int, load: Load, gate: Any, answers: Any) -> None:
    """The control on SQLite: read the total, then write it back, as two transactions."""
    granted = 0
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        for attempt in range(load.attempts):
            spent = connection.execute("SELECT spent FROM account").fetchone()[0]
            if attempt == 0:
                gate.wait(timeout=600)  # all have read before the first one writes, so a loss is certain
            connection.execute("UPDATE account SET spent = ?", (spent + 1,))
            granted += 1
    answers.put(granted)


def test_the_control_loses_charges(tmp_path: Path) -> None:
    path = tmp_path / "naive.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE account (spent INTEGER NOT NULL)")
        connection.execute("INSERT INTO account VALUES (0)")
    granted = sum(hammer(charge_without_the_lock, str(path), SMALL))
    with closing(sqlite3.connect(path)) as connection:
        spent = connection.execute("SELECT spent FROM account").fetchone()[0]
    assert granted == SMALL.processes * SMALL.attempts
    assert spent < granted


def charge_naively(place: str, number: int, load: Load, gate: Any, answers: Any) -> None:
    """The control on PostgreSQL: a transaction at READ COMMITTED that reads, judges and updates without FOR UPDATE."""
    granted, cap = 0, int(Epsilon.parse(load.cap).units)
    asked = [Epsilon.parse(LEVELS[(attempt + number) % len(LEVELS)]).units for attempt in range(load.attempts)]
    with psycopg.connect(place.replace("+psycopg", "")) as connection:
        for attempt, units in enumerate(asked):
            with connection.transaction():
                row = connection.execute("SELECT spent FROM account").fetchone()
                spent = 0 if row is None else row[0]
                if attempt == 0:
                    gate.wait(timeout=600)  # all have read before the first one writes
                if spent + units > cap:
                    continue
                connection.execute("UPDATE account SET spent = %s", (spent + units,))
                connection.execute("INSERT INTO granted VALUES (%s)", (units,))
                granted += 1
    answers.put(granted)


@pytest.mark.parametrize("load", LOADS)
def test_the_control_overspends_on_a_server(postgres_server: Any, postgres_database: str, load: Load) -> None:
    """The negative control: what is granted passes the cap though the stored total never does."""
    # so small a cap that the charges all begin with would fill it: the lost updates must show
    tight = Load(load.processes, load.attempts, "0.2" if load is SMALL else load.cap)
    postgres_server.execute(
        "CREATE TABLE account (spent bigint NOT NULL)",
        "INSERT INTO account VALUES (0)",
        "CREATE TABLE granted (units bigint NOT NULL)",
        database=postgres_database,
    )
    hammer(charge_naively, postgres_server.url(postgres_database), tight)
    with postgres_server.connect(postgres_database) as connection:
        granted = connection.execute("SELECT sum(units) FROM granted").fetchone()[0]
        spent = connection.execute("SELECT spent FROM account").fetchone()[0]
    assert granted > Epsilon.parse(tight.cap).units
    assert spent < granted


RHO = Load(2, 40, "0.5")
"""Two processes that ask for 0.8 of a cap of 0.5, each for a part of its own and for everyone in turn."""


def charge_in_rho(place: str, number: int, load: Load, gate: Any, answers: Any) -> None:
    """Reserve concentrated draws of one account in rho, whose parts compose in parallel."""
    granted, errors = [], []
    gate.wait(timeout=120)
    try:
        records = Records.open(place)
        with records.lease("cps", "set-up", f"process {number}", may_be_alive=lambda _: False):
            if number == 0:
                region = Partition("region", ("part 0", "part 1"), 1)
                cap = Cost.of(rho=load.cap)
                terms = AccountTerms("cps", "US adults", "row", 1, "zcdp, delta 0.000001", cap, (region,))
                records.open_account(terms, b"k", "ana", AT)
                for one in ("0", "1", "everyone"):
                    records.create_version("cps", one, "cps", b"w", one[0] * 64, "ana", AT)
                    records.freeze("cps", one, "2" * 64, one[0] * 64, "ana", AT)
        gate.wait(timeout=120)
        for attempt in range(load.attempts):
            own = attempt % 2 == 0
            version = str(number) if own else "everyone"
            asked = Reservation(
                account="cps",
                dataset="cps",
                version=version,
                commitment=version[0] * 64,
                unit=f"unit {number}",
                chain_digest="d" * 64,
                attempt=attempt,
                level="0.01",
                input_digest=version[0] * 64,
                event=GaussianEvent(Rho.parse("0.02"), Delta(1)),
                part=("region", f"part {number}") if own else None,
            )
            try:
                granted.append((own, records.reserve(asked, AT).hash))
            except BudgetError:
                continue
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent shows it
        errors.append(repr(error))
    answers.put((number, granted, errors))


def test_an_account_in_rho_is_not_overspent_by_two_processes(place: str) -> None:
    found = hammer(charge_in_rho, place, RHO)
    assert [errors for _, _, errors in found] == [[], []]
    records = Records.open(place, create=False)
    account = records.account("cps")
    of_part = {number: sum(own for own, _ in granted) for number, granted, _ in found}
    of_all = sum(not own for _, granted, _ in found for own, _ in granted)
    # each grant is 0.02; the account has lost what everyone lost and what the costlier part lost
    assert account.spent == Cost.of(rho=f"{(of_all + max(of_part.values())) * 0.02:.2f}")
    assert account.spent.fits(Cost.of(rho=RHO.cap)) and account.left.rho < Rho.parse("0.02")
    assert sum(of_part.values()) + of_all > 25  # more draws than a sum over both parts would have let pass
    assert records.check_chain().ok
