"""Several processes charge one account at once: no overspend, no lost entry, no error.

The control does the same by reading and then writing without the lock, and loses charges: the hammer can hit.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, PureEvent
from trasgo_lib.errors import BudgetError
from trasgo_lib.records import AccountTerms, Records, Reservation

AT = "2030-01-31T12:00:00+00:00"
PROCESSES = 4
ATTEMPTS = 25
LEVELS = ("0.05", "0.1", "0.13")
CAP = "4"  # 100 attempts ask for 9.3, so every process is refused in the end


def hammer(program: Any, path: Path) -> list[Any]:
    """Run the program in freshly started processes, which begin together; returns what each one returns."""
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(PROCESSES), context.Queue()
    workers = [context.Process(target=program, args=(path, number, gate, answers)) for number in range(PROCESSES)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0] * PROCESSES
    return found


def charge(path: Path, number: int, gate: Any, answers: Any) -> None:
    """Open the database (all at once, absent at first), then reserve."""
    granted, errors = [], []
    gate.wait(timeout=60)
    try:
        records = Records.open(path)
        terms = AccountTerms("cps", "US adults", "row", 1, "basic", Cost.of(CAP))
        with records.lease("cps", "set-up", f"process {number}", AT, may_be_alive=lambda _: False):
            if number == 0:
                records.open_account(terms, b"k", "ana", AT)
                records.create_version("cps", "1", "cps", b"w", "c" * 64, "ana", AT)
                records.freeze("cps", "1", "2" * 64, "1" * 64, "ana", AT)
        gate.wait(timeout=60)
        for attempt in range(ATTEMPTS):
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


def charge_without_the_lock(path: Path, number: int, gate: Any, answers: Any) -> None:
    """The control: read the total, then write it back, as two transactions."""
    granted = 0
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        for attempt in range(ATTEMPTS):
            spent = connection.execute("SELECT spent FROM account").fetchone()[0]
            if attempt == 0:
                gate.wait(timeout=60)  # all have read before the first one writes, so a loss is certain
            connection.execute("UPDATE account SET spent = ?", (spent + 1,))
            granted += 1
    answers.put(granted)


def test_four_processes_neither_overspend_nor_lose_an_entry_nor_fail(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    found = hammer(charge, path)
    assert [errors for _, errors in found] == [[]] * PROCESSES

    records = Records.open(path, create=False)
    entries, account = records.entries("cps")[1:], records.account("cps")
    granted = [digest for hashes, _ in found for digest in hashes]
    assert sorted(granted) == sorted(entry.hash for entry in entries)
    assert len(granted) < PROCESSES * ATTEMPTS
    assert account.spent == sum((entry.cost for entry in entries), Cost.zero())
    assert account.spent.fits(Cost.of(CAP))
    # every process went on after its refusals, so not even the smallest request fits any more
    assert account.left.epsilon < Epsilon.parse("0.05")
    assert records.check_chain().ok


def test_the_control_loses_charges(tmp_path: Path) -> None:
    path = tmp_path / "naive.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE account (spent INTEGER NOT NULL)")
        connection.execute("INSERT INTO account VALUES (0)")
    granted = sum(hammer(charge_without_the_lock, path))
    with closing(sqlite3.connect(path)) as connection:
        spent = connection.execute("SELECT spent FROM account").fetchone()[0]
    assert granted == PROCESSES * ATTEMPTS
    assert spent < granted
