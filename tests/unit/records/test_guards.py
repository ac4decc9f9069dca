"""What the database itself refuses, whoever writes to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.records import ledger


@pytest.fixture
def offices(sqlite_offices: Any) -> Any:
    """Offices in files only: this module is about SQLite."""
    return sqlite_offices


_ENTRY = (
    "INTO entries (account, seq, kind, epsilon, delta, geo, prev, hash, document) "
    "SELECT name, seq + 1, 'charge', {epsilon}, {delta}, {geo}, head, 'x', '{{}}' FROM accounts"
)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET document = document",
        "UPDATE OR REPLACE entries SET epsilon = 0",
        "UPDATE OR IGNORE entries SET seq = 7 WHERE seq = 2",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries",
        "INSERT OR IGNORE INTO entries SELECT * FROM entries",
        "UPDATE events SET state = 'published'",
        "DELETE FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "DELETE FROM accounts",
        "DELETE FROM versions",
        "UPDATE accounts SET spent_epsilon = 0",
        "UPDATE accounts SET cap_epsilon = cap_epsilon + 1",
        "UPDATE accounts SET cap_rho = cap_rho + 1",
        "UPDATE accounts SET partitions = '[]'",
        "UPDATE accounts SET composition = 'zcdp, delta 0.1'",
        "UPDATE accounts SET seq = seq + 1",
        "UPDATE accounts SET seq = seq + 1, head = 'x', spent_epsilon = 0",
        "UPDATE accounts SET wrapped_digest_key = x'00'",
        "UPDATE versions SET wrapped_root = x'00'",
        "UPDATE versions SET seq = seq - 1",
        "INSERT OR REPLACE INTO accounts SELECT name, population, unit, max_rows, composition, cap_epsilon, cap_delta, "
        "cap_geo, wrapped_digest_key, 0, printf('%064d', 0), 0, 0, 0, cap_rho, 0, partitions FROM accounts",
        "INSERT OR REPLACE INTO versions SELECT dataset, version, account, commitment, x'00', 0, printf('%064d', 0) "
        "FROM versions",
        "INSERT OR REPLACE INTO versions SELECT dataset, '2', account, commitment, x'00', 0, printf('%064d', 0) "
        "FROM versions",
        "INSERT INTO accounts SELECT 'b', population, unit, max_rows, composition, cap_epsilon, cap_delta, cap_geo, "
        "wrapped_digest_key, seq, head, 0, 0, 0, cap_rho, 0, partitions FROM accounts",
        "INSERT INTO accounts SELECT 'b', population, unit, max_rows, composition, cap_epsilon, cap_delta, cap_geo, "
        "wrapped_digest_key, 0, printf('%064d', 0), 1, 0, 0, cap_rho, 0, partitions FROM accounts",
        "INSERT " + _ENTRY.format(epsilon="-1", delta="0", geo="0"),
        "INSERT " + _ENTRY.format(epsilon="0", delta="0", geo="0, 1").replace("geo,", "geo, rho,"),
        "INSERT OR IGNORE " + _ENTRY.format(epsilon="0", delta="0", geo="0, 1").replace("geo,", "geo, rho,"),
        "INSERT " + _ENTRY.format(epsilon="'0.1'", delta="0", geo="0"),
        "INSERT " + _ENTRY.format(epsilon="1", delta="0", geo="0").replace("seq + 1", "seq + 2"),
        "INSERT " + _ENTRY.format(epsilon="1", delta="0", geo="0").replace(", head,", ", 'y',"),
    ],
)
def test_history_cannot_be_rewritten(office: Any, statement: str) -> None:
    office.charge("0.25")
    before = office.records.check_chain()
    with pytest.raises(sqlite3.IntegrityError):
        office.tamper(statement, guarded=True)
    assert office.records.check_chain() == before
    assert before.ok


@pytest.mark.parametrize("policy", ["", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ROLLBACK "])
@pytest.mark.parametrize("over", [(1_000_001, 0, 0), (0, 10**12 + 1, 0), (0, 0, 5_000_001)])
def test_no_statement_overspends(office: Any, policy: str, over: tuple[int, int, int]) -> None:
    epsilon, delta, geo = over
    with pytest.raises(sqlite3.IntegrityError, match="over the cap"):
        office.tamper("INSERT " + policy + _ENTRY.format(epsilon=epsilon, delta=delta, geo=geo), guarded=True)
    assert office.count("entries") == 1


def test_the_last_unit_below_the_cap_is_accepted(office: Any) -> None:
    """The control: the same statement within the cap goes through, and the total moves with it."""
    office.tamper("INSERT " + _ENTRY.format(epsilon=1_000_000, delta=10**12, geo=5_000_000), guarded=True)
    account = office.records.account("cps")
    assert account.spent == office.terms.cap


def test_the_check_on_the_account_holds_without_the_triggers(office: Any) -> None:
    with closing(sqlite3.connect(office.path)) as connection, connection:
        connection.execute("DROP TRIGGER accounts_move_with_entries")
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute("UPDATE accounts SET spent_epsilon = cap_epsilon + 1")


def test_a_library_that_forgot_to_check_the_cap_is_stopped_by_the_database(
    office: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_check_cap", lambda holder, charged: None)
    office.charge("0.75")
    with pytest.raises(StoreError, match="SQLITE_CONSTRAINT") as caught:
        office.charge("0.5", attempt=2)
    assert caught.value.reason is Reason.CHAIN_BROKEN
    assert office.records.check_chain().ok
