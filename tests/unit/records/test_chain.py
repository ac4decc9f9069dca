"""The check of the whole record finds every edit that a person with the file could make."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
import rfc8785

from trasgo_lib.records import Records

BIG = "9" * 64


def found(office: Any) -> str:
    report = office.records.check_chain()
    assert not report.ok
    assert all(fault.reason == "chain_broken" and fault.rows is None for fault in report.faults)
    return "\n".join(str(fault) for fault in report.faults)


def rewritten(office: Any, seq: int, **changes: object) -> str:
    """An entry's document with some keys changed, its hash made to fit, as SQL."""
    body = json.loads(office.records.entries("cps")[seq - 1].document) | changes
    document = rfc8785.dumps(body).decode()
    digest = hashlib.sha256(document.encode()).hexdigest()
    return f"UPDATE entries SET document = '{document}', hash = '{digest}' WHERE seq = {seq}"


def test_an_untouched_record_holds_and_its_heads_are_listed(busy: Any) -> None:
    report = busy.records.check_chain()
    assert (report.ok, report.entries, report.events, report.faults) == (True, 4, 6, ())
    account, version = busy.records.account("cps"), busy.records.version("cps1988", "1")
    assert [(head.chain, head.seq, head.hash) for head in report.heads] == [
        ("account cps", 4, account.head),
        ("version cps1988/1", 6, version.head),
    ]


def test_an_empty_record_holds(tmp_path: Any) -> None:
    assert Records.open(tmp_path / "fresh.db").check_chain().ok


def test_an_empty_record_on_a_server_holds(postgres_server: Any, postgres_database: str) -> None:
    assert Records.open(postgres_server.url(postgres_database)).check_chain().ok


@pytest.mark.parametrize(
    ("statements", "finding"),
    [
        # entries
        (
            ["UPDATE entries SET document = replace(document, '0.25', '0.20') WHERE seq = 3"],
            "entry 3: required the hash",
        ),
        (["UPDATE entries SET epsilon = 1 WHERE seq = 3"], "entry 3: required columns that repeat"),
        (["UPDATE entries SET identity = 'x' WHERE seq = 3"], "entry 3: required columns that repeat"),
        (["UPDATE entries SET version = '2' WHERE seq = 3"], "entry 3: required columns that repeat"),
        (["UPDATE entries SET hash = '9' WHERE seq = 3"], "entry 4: required the hash of the entry before"),
        (["UPDATE entries SET prev = '9' WHERE seq = 3"], "entry 3: required the hash of the entry before"),
        (["DELETE FROM entries WHERE seq = 4"], "account cps: required 4 records that end in its head; came 3"),
        (["DELETE FROM entries WHERE seq = 2"], "entry 3: required number 2; came number 3"),
        (["DELETE FROM entries WHERE seq = 1"], "entry 2: required number 1; came number 2"),
        (["DELETE FROM entries"], "required at least one entry"),
        (
            [
                "UPDATE entries SET seq = 9 WHERE seq = 3",
                "UPDATE entries SET seq = 3 WHERE seq = 4",
                "UPDATE entries SET seq = 4 WHERE seq = 9",
            ],
            "entry 3: required the hash of the entry before",
        ),
        (["UPDATE entries SET document = 'not json' WHERE seq = 3"], "entry 3: required a document that can be read"),
        (["UPDATE entries SET document = '[]' WHERE seq = 3"], "entry 3: required a document that can be read"),
        (["UPDATE entries SET document = '{\"format\":2}' WHERE seq = 3"], "required a document that can be read"),
        (["UPDATE entries SET document = document || ' ' WHERE seq = 3"], "entry 3: required canonical JSON"),
        # the account
        (["UPDATE accounts SET spent_epsilon = 0"], "required a total of epsilon 0.75"),
        (["UPDATE accounts SET cap_epsilon = 9000000"], "required the terms and the cap it was opened with"),
        (["UPDATE accounts SET cap_epsilon = 500000"], "required at most the cap: epsilon 0.5"),
        (["UPDATE accounts SET unit = 'person'"], "required the terms and the cap it was opened with"),
        (["UPDATE accounts SET max_rows = 0"], "required terms and amounts that can be read"),
        (["UPDATE accounts SET spent_epsilon = -1"], "required terms and amounts that can be read"),
        (["UPDATE accounts SET seq = 3"], "required 3 records that end in its head; came 4"),
        ([f"UPDATE accounts SET head = '{BIG}'"], "required 4 records that end in its head"),
        (["DELETE FROM accounts"], "required the account of its entries"),
        (["DELETE FROM accounts"], "version cps1988/1: required an account"),
        # versions and events
        (["UPDATE versions SET commitment = 'x'"], "required the account and root it was created with"),
        (["UPDATE versions SET account = 'other'"], "entry 2: required a version with this account and root"),
        (["DELETE FROM versions"], "version cps1988/1: required the version of its events"),
        (["UPDATE events SET state = 'held' WHERE seq = 6"], "event 6: required columns that repeat"),
        (["UPDATE events SET document = replace(document, 'ana', 'eva')"], "event 1: required the hash"),
        (["UPDATE events SET document = '{}' WHERE seq = 3"], "event 3: required a document that can be read"),
        (["UPDATE events SET document = document || ' ' WHERE seq = 3"], "event 3: required canonical JSON"),
        (["DELETE FROM events WHERE seq = 6"], "version cps1988/1: required 6 records that end in its head; came 5"),
        (["DELETE FROM events WHERE seq = 3"], "event 4: required a step forward; came drawn after planned"),
        (["DELETE FROM events WHERE seq = 1"], "event 2: required a step forward; came planned after nothing"),
        (["DELETE FROM events"], "required at least one event"),
    ],
    ids=str,
)
def test_an_edit_is_found(busy: Any, statements: list[str], finding: str) -> None:
    busy.tamper(*statements)
    assert finding in found(busy)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"cost": {"epsilon": "0.2", "delta": "0", "geo": "0"}}, "entry 3: required the cost of its loss event"),
        ({"spent": {"epsilon": "0.2", "delta": "0", "geo": "0"}}, "entry 3: required a running total of epsilon 0.5"),
        ({"kind": "refund"}, "entry 3: required a document that can be read"),
        ({"event": {"type": "renyi"}}, "entry 3: required a document that can be read"),
        ({"kind": "open"}, "entry 3: required an opening, and one only, as the first entry"),
        ({"kind": "open"}, "entry 3: required an opening that costs nothing"),
        ({"commitment": BIG}, "entry 3: required a version with this account and root"),
        ({"attempt": 2.5}, "entry 3: required a document that can be read"),
    ],
    ids=str,
)
def test_an_edit_whose_own_hash_was_made_to_fit_is_found(busy: Any, changes: dict[str, object], finding: str) -> None:
    busy.tamper(rewritten(busy, 3, **changes))
    text = found(busy)
    assert finding in text
    assert "entry 4: required the hash of the entry before" in text


def test_a_number_without_canonical_form_is_found(busy: Any) -> None:
    document = busy.records.entries("cps")[2].document.replace('{"account"', '{"a":99999999999999999999,"account"')
    busy.tamper(f"UPDATE entries SET document = '{document}' WHERE seq = 3")
    assert "entry 3: required a document that can be read" in found(busy)


def test_terms_that_cannot_be_read_are_found(busy: Any) -> None:
    busy.tamper(rewritten(busy, 1, terms={"cap": {}}))
    assert "required terms and amounts that can be read" in found(busy)


def test_a_damaged_index_is_found(sqlite_offices: Any, tmp_path: Any) -> None:
    busy = sqlite_offices.new(tmp_path / "ledger.db", busy=True)
    busy.tamper(
        "PRAGMA writable_schema=ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'dataset, version', 'version, dataset') "
        "WHERE name = 'entries_by_version'",
        "PRAGMA writable_schema=RESET",
        "INSERT INTO leases VALUES ('a', 'b', 'c', 'd', 'e')",
    )
    assert "database file: required pages and constraints that hold" in found(busy)


@pytest.mark.parametrize(
    "how", ["DROP TRIGGER entries_no_update", "ALTER TABLE entries DISABLE TRIGGER entries_no_update"]
)
def test_a_guard_that_was_taken_away_is_found(busy: Any, how: str) -> None:
    on_server = busy.server is not None
    if how.startswith("ALTER") and not on_server:
        pytest.skip("SQLite cannot switch a trigger off")
    busy.tamper(how + (" ON entries" if on_server and how.startswith("DROP") else ""), guarded=True)
    assert found(busy) == (
        "database: required every guard in force; came without entries_no_update [chain_broken]. "
        "Restore the database from a backup and draw nothing until then."
    )
