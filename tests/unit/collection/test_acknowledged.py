"""Batches that were acknowledged: found again with their receipts, in a few bytes each."""

from __future__ import annotations

import hashlib

import pytest

import trasgo_lib.collection.intake.acknowledged as acknowledged
from trasgo_lib.collection.intake.acknowledged import Acknowledged, KnownBatches, Receipt


def _batch(number: int) -> Acknowledged:
    name, body = (hashlib.sha256(f"{what} {number}".encode()).hexdigest()[:16] for what in ("name", "body"))
    refused = {} if number % 3 else {"duplicate_device": number % 2 + 1}
    return Acknowledged(name, body, Receipt(number % 100, refused))


def test_every_batch_is_found_with_its_body_and_its_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acknowledged, "_RECENT", 64)  # several merges, and some that are not merged yet
    known, batches = KnownBatches(), [_batch(number) for number in range(1000)]
    for first in range(0, 1000, 7):
        known.add(batches[first : first + 7])
    assert len(known) == 1000
    assert [known.get(one.name) for one in batches] == batches
    assert known.get(_batch(1000).name) is None and KnownBatches().get(batches[0].name) is None


def test_digests_of_older_entries_are_longer_and_found_all_the_same() -> None:
    one = _batch(0)
    known = KnownBatches()
    known.add([Acknowledged(one.name + "0" * 16, one.body + "f" * 16, one.receipt)])
    assert known.get(one.name) == one


def test_batches_take_24_bytes_each(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownBatches()
    monkeypatch.setattr(acknowledged, "_RECENT", 1 << 10)
    known.add(_batch(number) for number in range(1 << 11))
    assert known._sorted.nbytes == 24 << 11 and len(known._refused) == 3, "receipts are kept once each"
