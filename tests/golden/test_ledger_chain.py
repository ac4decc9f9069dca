"""A small ledger, byte for byte: fixed keys, fixed times. What a stored chain looks like never changes by accident.

The file is what an auditor works from, so the test checks it with SHA-256 and JSON alone before it asks the library.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import ApproximateEvent, Cost, GeoEvent, LossEvent, PureEvent
from trasgo_lib.keys import KeyedDigest, WrappingKey, commitment, digest_key_context, root_context
from trasgo_lib.records import AccountTerms, Records, Reservation
from trasgo_lib.records.documents import read_entry, read_event, read_terms

GOLDEN = Path(__file__).parent / "ledger_chain.json"
ROOT, DIGEST_KEY = bytes(range(32)), bytes(range(32, 64))
KEY = WrappingKey(bytes(range(64, 96)))
TIMES = [f"2030-01-31T12:00:{second:02d}+00:00" for second in range(20)]
EVENTS: tuple[tuple[str, LossEvent], ...] = (
    ("wage", PureEvent(Epsilon.parse("0.25"))),
    ("hours", ApproximateEvent(Epsilon.parse("0.5"), Delta.parse("0.000000001"))),
    ("pickup", GeoEvent(Geo.parse("6.93"))),
)


def small_ledger(place: Path | str) -> dict[str, object]:
    """Every kind of entry and event once; returns all that is stored."""
    times, records = iter(TIMES), Records.open(place)
    digest = KeyedDigest(DIGEST_KEY)
    digest.update(b"wage\n1000\n")
    wrapped_key = KEY.wrap(DIGEST_KEY, digest_key_context("cps"), lambda count: bytes(count))
    wrapped_root = KEY.wrap(ROOT, root_context("cps1988", "1"), lambda count: bytes(count))
    terms = AccountTerms("cps", "US adults, March 1988", "person_id", 2, "basic", Cost.of("8", "0.000001", "20"))
    records.open_account(terms, wrapped_key, "ana", next(times))
    records.create_version("cps1988", "1", "cps", wrapped_root, commitment(ROOT), "ana", next(times))
    records.freeze("cps1988", "1", "2" * 64, digest.hexdigest(), "ana", next(times))
    records.transition("cps1988", "1", "validated", "ana", "input contract holds", {"rows": "1"}, next(times))
    for attempt, (unit, event) in enumerate(EVENTS):
        reservation = Reservation(
            account="cps",
            dataset="cps1988",
            version="1",
            commitment=commitment(ROOT),
            unit=unit,
            chain_digest="d" * 64,
            attempt=attempt,
            level="0.25",
            input_digest=digest.hexdigest(),
            event=event,
            max_rows=2,
        )
        records.reserve(reservation, next(times))
    for state in ("drawn", "checked", "published", "superseded", "withdrawn"):
        evidence = {"manifest_digest": "3" * 64} if state == "published" else {}
        records.transition("cps1988", "1", state, "ana", "añadido ≤ 1", evidence, next(times))
    return {
        "format": 1,
        "wrapped_digest_key": wrapped_key.hex(),
        "wrapped_root": wrapped_root.hex(),
        "entries": [{"document": e.document, "hash": e.hash} for e in records.entries("cps")],
        "events": [{"document": e.document, "hash": e.hash} for e in records.events("cps1988", "1")],
    }


def test_the_chain_is_written_as_it_always_was(tmp_path: Path) -> None:
    assert small_ledger(tmp_path / "ledger.db") == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_chain_is_the_same_on_a_server(postgres_server: Any, postgres_database: str) -> None:
    written = small_ledger(postgres_server.url(postgres_database))
    assert written == json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_chain_verifies_with_sha256_and_json_alone() -> None:
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for chain in (stored["entries"], stored["events"]):
        head = "0" * 64
        for number, record in enumerate(chain, start=1):
            body = json.loads(record["document"])
            assert hashlib.sha256(record["document"].encode()).hexdigest() == record["hash"]
            assert (body["prev"], body["seq"], body["format"]) == (head, number, 1)
            head = record["hash"]


def test_old_documents_stay_readable() -> None:
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))
    entries = [read_entry(record["document"]) for record in stored["entries"]]
    assert [entry.hash for entry in entries] == [record["hash"] for record in stored["entries"]]
    assert read_terms(entries[0].document).cap == Cost.of("8", "0.000001", "20")
    assert [entry.reservation.event for entry in entries if entry.reservation] == [event for _, event in EVENTS]
    assert entries[-1].spent == Cost.of("1.5", "0.000000002648722", "13.86")
    states = [read_event(record["document"]).state.value for record in stored["events"]]
    assert states[-3:] == ["published", "superseded", "withdrawn"]
    root = KEY.unwrap(bytes.fromhex(stored["wrapped_root"]), root_context("cps1988", "1"))
    assert (root, commitment(root)) == (ROOT, read_event(stored["events"][0]["document"]).evidence["commitment"])
