"""Batches to entries: once, durably, by one collector or several, whatever is cut off in between."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import Tag, Windows, build_report_channel
from trasgo_lib.collection.intake import Journal, Outcome, Receiver, Refusal, Submission
from trasgo_lib.collection.intake.journal import reports_bytes
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.keys import WrappingKey
from trasgo_lib.storage import ObjectStore, open_store

GRR = build_report_channel("kary_randomized_response", 21, Epsilon.parse("2"))
UNARY = build_report_channel("optimised_unary_encoding", 21, Epsilon.parse("2"))
ALPHABET = "a" * 32
KNOWN = {Tag(ALPHABET, one.version): one for one in (GRR, UNARY)}
WINDOW = "2026-01-05"
WINDOWS = Windows(date(2026, 1, 5), 7, 3)
KEY = WrappingKey(bytes(range(32)))


def fresh_random() -> Any:
    """Bytes that differ at every call."""
    numbers = itertools.count(1)
    return lambda count: next(numbers).to_bytes(count, "big") if count < 32 else bytes(range(1, count + 1))


class Place:
    """A store and collectors on it."""

    def __init__(self, folder: Path) -> None:
        self.store = open_store(folder, private=True)
        self.random = fresh_random()

    def receiver(self, today: date = date(2026, 1, 6)) -> Receiver:
        """Another collector, started now."""
        return Receiver(Journal(self.store, "heat", KEY, self.random, WINDOWS.days), KNOWN, WINDOWS, lambda: today)

    def journal(self) -> Journal:
        """The records, without the collector's key."""
        return Journal(self.store, "heat", None, self.random, WINDOWS.days)

    def reports(self) -> int:
        """Reports in the files that entries name, read from the files."""
        log = self.journal().read(WINDOW)
        return sum(len(pq.read_table(io.BytesIO(self.store.get(file.key)))) for file in log.files)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def sub(number: int, devices: range, group: str = "android", **changes: Any) -> Submission:
    """A batch of slots."""
    document = {
        "format": 1,
        "batch": f"batch-{number:016d}",
        "alphabet_version": ALPHABET,
        "channel_version": GRR.version,
        "window": WINDOW,
        "pseudonyms": [f"{device:032x}" for device in devices],
        "slots": [device % 21 for device in devices],
    } | changes
    return Submission(group, json.dumps(document).encode())


def told(outcome: Outcome) -> tuple[int, dict[str, int], str | None, bool]:
    """An outcome in short."""
    return outcome.receipt.accepted, dict(outcome.receipt.refused), outcome.refusal, outcome.replayed


def test_a_batch_counts_once_however_often_it_comes(place: Place) -> None:
    first = place.receiver()
    assert [told(one) for one in first.receive([sub(1, range(10)), sub(1, range(10))])] == [
        (10, {}, None, again) for again in (False, True)
    ]
    assert told(first.receive([sub(1, range(10))])[0]) == (10, {}, None, True)
    assert told(place.receiver().receive([sub(1, range(10))])[0]) == (10, {}, None, True), "by another process, too"
    assert place.reports() == 10


def test_a_batch_of_the_same_name_and_other_content_is_refused(place: Place) -> None:
    receiver = place.receiver()
    outcomes = receiver.receive([sub(1, range(10)), sub(1, range(11))])
    assert [one.refusal for one in outcomes] == [None, Refusal.BATCH_CHANGED]
    assert receiver.receive([sub(1, range(9))])[0].refusal is Refusal.BATCH_CHANGED
    assert receiver.receive([sub(1, range(20, 25), group="ios")])[0].receipt.accepted == 5, "names are a group's own"


def test_a_device_reports_once_in_a_window(place: Place) -> None:
    receiver = place.receiver()
    outcomes = receiver.receive([sub(1, range(10)), sub(2, range(5, 15)), sub(1, range(5), group="files")])
    assert [one.receipt.accepted for one in outcomes] == [10, 5, 0], (
        "also when a gateway drops its batch as a file, too"
    )
    assert told(place.receiver().receive([sub(4, range(12, 16))])[0]) == (1, {"duplicate_device": 3}, None, False)
    log = place.journal().read(WINDOW)
    assert log.accepted == place.reports() == len(log.devices) == 16 and log.refused == {"duplicate_device": 13}


def test_what_is_refused_whole_comes_to_the_record(place: Place) -> None:
    receiver = place.receiver()
    unknown = sub(1, range(10), alphabet_version="b" * 32)
    assert receiver.receive([unknown])[0].refusal is Refusal.UNKNOWN_ALPHABET
    assert place.journal().read(WINDOW).refused == {}, "a kill now would lose the count"
    receiver.record()
    receiver.record()
    assert place.journal().read(WINDOW).refused == {"unknown_alphabet": 10}
    receiver.receive([unknown] * 64)
    log = place.journal().read(WINDOW)
    assert log.refused == {"unknown_alphabet": 650} and log.entries == 2, "an entry of their own for 64 batches"
    receiver.receive([sub(2, range(10))])
    log = place.journal().read(WINDOW)
    assert log.refused == {"unknown_alphabet": 650} and log.accepted == 10
    assert place.receiver().receive([sub(3, range(0))])[0].refusal is Refusal.BAD_BATCH, "nothing to write down"


def test_refusals_of_a_closed_window_or_a_day_without_one_are_left_in_memory(place: Place) -> None:
    receiver = place.receiver()
    receiver.receive([sub(1, range(10))])
    journal = place.journal()
    assert journal.close(WINDOW, journal.read(WINDOW))
    early = place.receiver(date(2026, 1, 1))
    for one in (receiver, early):
        one.receive([sub(2, range(20, 25), alphabet_version="b" * 32)])
        one.record()
        assert one.refused["unknown_alphabet"] == 5
    assert place.journal().read(WINDOW).refused == {}


def test_a_window_of_another_length_is_another_window(place: Place) -> None:
    """Else reports of a week would be published as those of a fortnight that begins on the same day."""
    place.receiver().receive([sub(1, range(10))])
    log = place.journal().read(WINDOW)
    assert log.days == 7 and log.is_of(7) and not log.is_of(14)
    longer = Windows(WINDOWS.first_day, 14, 3)
    journal = Journal(place.store, "heat", KEY, place.random, longer.days)
    other = Receiver(journal, KNOWN, longer, lambda: date(2026, 1, 6))
    assert other.receive([sub(2, range(20, 30))])[0].refusal is Refusal.UNKNOWN_WINDOW
    assert place.receiver().receive([sub(3, range(30, 40))])[0].receipt.accepted == 10
    assert place.reports() == 20


def test_versions_come_to_files_of_their_own_in_an_order_that_tells_nothing(place: Place) -> None:
    packed = [f"{value:06x}" for value in (0x1F0000, 0x000001, 0xFF0000)]
    bits = sub(2, range(3), channel_version=UNARY.version, bits=packed)
    document = json.loads(bits.body)
    del document["slots"]
    document["pseudonyms"] = [f"{device:032x}" for device in range(50, 53)]
    place.receiver().receive([sub(1, range(40)), Submission("android", json.dumps(document).encode())])
    log = place.journal().read(WINDOW)
    assert {(file.channel, file.reports) for file in log.files} == {(GRR.version, 40), (UNARY.version, 3)}
    for file in log.files:
        table = pq.read_table(io.BytesIO(place.store.get(file.key)))
        assert "pseudonym" not in table.column_names and set(table["window"].to_pylist()) == {WINDOW}
        if file.channel == GRR.version:
            slots = table["slot"].to_pylist()
            assert slots == sorted(slots)
        else:
            assert sorted(one.hex() for one in table["bits"].to_pylist()) == sorted(packed)


def test_reports_that_begin_alike_are_put_in_order_too() -> None:
    """With few bits set most reports begin with zeros: their order must not be the one in which they came."""
    channel = build_report_channel("optimised_unary_encoding", 200, Epsilon.parse("2"))
    came = np.zeros((6, 25), dtype=np.uint8)
    came[:, 24] = [5, 1, 4, 0, 3, 2]
    tag = Tag(ALPHABET, channel.version)
    table = pq.read_table(io.BytesIO(reports_bytes(WINDOW, tag, channel, came)))
    assert [one[24] for one in table["bits"].to_pylist()] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("day", "window", "reason"),
    [
        (date(2026, 1, 4), WINDOW, Refusal.EARLY_WINDOW),
        (date(2026, 1, 15), WINDOW, Refusal.LATE_WINDOW),
        (date(2026, 1, 14), WINDOW, None),
        (date(2026, 1, 6), "2026-01-06", Refusal.UNKNOWN_WINDOW),
        (date(2026, 1, 6), "2025-12-29", Refusal.UNKNOWN_WINDOW),
        (date(2026, 1, 6), "20260105", Refusal.UNKNOWN_WINDOW),
    ],
)
def test_windows_take_reports_while_they_are_open(place: Place, day: date, window: str, reason: Refusal | None) -> None:
    receiver = place.receiver(day)
    assert receiver.receive([sub(1, range(4), window=window)])[0].refusal is reason
    assert receiver.refused == ({} if reason is None else {reason: 4})


def test_a_closed_window_takes_nothing_more_also_from_a_collector_that_knew_it_open(place: Place) -> None:
    receiver = place.receiver()
    receiver.receive([sub(1, range(4))])
    journal = place.journal()
    log = journal.read(WINDOW)
    assert journal.close(WINDOW, log)
    journal.forget_devices(WINDOW)
    assert receiver.receive([sub(2, range(4, 8))])[0].refusal is Refusal.LATE_WINDOW
    assert place.receiver().receive([sub(3, range(8, 12))])[0].refusal is Refusal.LATE_WINDOW
    assert place.reports() == 4 and not [key for key in place.store.list() if key.endswith("/secret")]


def test_collectors_that_share_a_root_count_each_device_once(place: Place) -> None:
    """Each holds an older view of the log than the other has written."""
    one, other = place.receiver(), place.receiver()
    for number in range(6):
        writer = (one, other)[number % 2]
        writer.receive([sub(number, range(number * 5, number * 5 + 10))])
    assert place.reports() == 35 == len(place.journal().read(WINDOW).devices)
    assert told(one.receive([sub(5, range(25, 35))])[0])[3], "what the other took is known"


class Cut(BaseException):
    """The power goes."""


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Cuts the power before or after the n-th put; 0 never."""
    plan, put = {"before": 0, "after": 0, "puts": 0}, ObjectStore.put_once

    def putting(self: ObjectStore, key: str, data: Any) -> str:
        plan["puts"] += 1
        if plan["puts"] == plan["before"]:
            raise Cut
        digest = put(self, key, data)
        if plan["puts"] == plan["after"]:
            raise Cut
        return digest

    monkeypatch.setattr(ObjectStore, "put_once", putting)
    yield plan


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("put", [1, 2, 3])  # secret, reports, entry
def test_a_cut_at_any_put_loses_and_doubles_nothing(place: Place, cut: dict[str, int], when: str, put: int) -> None:
    cut[when] = put
    with pytest.raises(Cut):
        place.receiver().receive([sub(1, range(10))])
    cut[when] = 0
    # the client got no answer: it sends the batch again, or its devices' reports in another batch
    again = place.receiver()
    assert again.receive([sub(1, range(10))])[0].receipt.accepted == 10
    assert again.receive([sub(2, range(5, 12))])[0].receipt.accepted == 2
    assert place.reports() == 12


def test_a_collector_that_acknowledged_first_would_lose_reports(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: an entry that is said to be written and is not."""
    monkeypatch.setattr(Journal, "append", lambda *_: True)
    assert place.receiver().receive([sub(1, range(10))])[0].receipt.accepted == 10
    assert place.reports() == 0


def test_a_store_that_fails_is_no_acknowledgement_and_may_have_written(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply of the store is lost: the entry is there, the collector does not know; the client comes again."""
    receiver, put = place.receiver(), ObjectStore.put_once

    def lossy(self: ObjectStore, key: str, data: Any) -> str:
        put(self, key, data)
        if "/log/" in key:
            raise StoreError.of(Reason.STORE_UNREACHABLE, key, required="an answer", came="none", fix="Wait.")
        return ""

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "put_once", lossy)
        assert receiver.receive([sub(1, range(10))])[0].refusal is Refusal.STORE_UNREACHABLE
    assert told(receiver.receive([sub(1, range(10))])[0]) == (10, {}, None, True)
    assert place.reports() == 10


def test_nothing_that_is_stored_names_a_device_a_batch_or_a_group(place: Place) -> None:
    place.receiver().receive([sub(7391846275, range(7391846275, 7391846285))])
    for key in place.store.list():
        content = place.store.get(key)
        for text in (f"{7391846275:032x}", "7391846275", "android"):
            assert text.encode() not in content and text not in key


def test_an_entry_of_another_hand_stops_the_window(place: Place) -> None:
    place.receiver().receive([sub(1, range(10))])
    place.store.put_once(f"heat/collected/{WINDOW}/log/0000000001", b"{}\n")
    assert place.receiver().receive([sub(2, range(10, 20))])[0].refusal is Refusal.STORE_UNREACHABLE
