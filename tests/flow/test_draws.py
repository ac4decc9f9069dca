"""What a draw is made of, through the command: one label a draw, paid before it is made, the same bits whenever."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from office import Office

import flows.release
import tasks.draw
import tasks.measure
from tasks.draw import Draw, draw_unit
from tasks.ingest import ingest
from tasks.session import RunRef, Session, open_session
from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import load_config
from trasgo_lib.data import PrivateCodes, ReleasedCodes, codes_digest, read_codes, write_batch
from trasgo_lib.errors import BudgetError, ConflictError, Reason
from trasgo_lib.noise import Keystream
from trasgo_lib.records.database import Database


class Watch:
    """Labels of every keystream, and the released bytes of every draw, over any number of runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.labels: list[tuple[Any, ...]] = []
        self.bits: dict[tuple[str, str, int], set[str]] = {}
        self.before_draw: Callable[[], None] = lambda: None
        stream, draw_codes = Session.stream, tasks.draw.draw_codes

        def watched_stream(session: Session, purpose: str, *parts: str | int) -> Keystream:
            self.labels.append((session.plan.dataset, session.plan.version, purpose, *parts))
            return stream(session, purpose, *parts)

        def watched_draw(channel: Any, private: PrivateCodes, keystream: Keystream, *rest: Any) -> ReleasedCodes:
            self.before_draw()
            released = draw_codes(channel, private, keystream, *rest)
            purpose, attempt = rest[0].parts[-2], int(rest[0].name.removeprefix("attempt-"))
            digest = hashlib.sha256(read_codes(released).tobytes()).hexdigest()
            self.bits.setdefault((purpose, private.unit, attempt), set()).add(digest)
            return released

        monkeypatch.setattr(Session, "stream", watched_stream)
        monkeypatch.setattr(tasks.draw, "draw_codes", watched_draw)


def ref_of(office: Office) -> RunRef:
    """A reference to the office's release as it stands."""
    open_session.cache_clear()
    return RunRef(str(office.config), load_config(office.config).text_digest, str(office.home), "tester")


def stored(session: Session, codes: np.ndarray[Any, np.dtype[np.int32]]) -> PrivateCodes:
    """Codes of the unit ``sex``, stored as private ones."""
    batch = write_batch(session.work / "other", "sex", 0, codes, session.digest_key())
    return PrivateCodes("sex", (batch,), codes_digest([codes], session.digest_key()))


def test_a_crash_after_the_charge_costs_nothing_more_and_draws_the_same_bits(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.release["columns"][1]["target"] = {"tvd": "0.02"}  # half of what the first attempt loses
    office.open()
    watch = Watch(monkeypatch)

    def crash(*arguments: object, **names: object) -> None:
        raise KeyboardInterrupt

    watch.before_draw = crash
    first = office.run("--quiet")
    assert first.exit_code in {1, 11}, first.text
    assert office.spent() == "5", first.text  # age 3, sex 1, region 1: charged, and not one of them drawn
    assert not watch.bits
    watch.before_draw = lambda: None
    with monkeypatch.context() as patch:
        patch.setattr(tasks.measure, "measure", crash)
        assert office.run("--quiet").exit_code in {1, 11}
    assert office.spent() == "5"
    assert set(watch.bits) == {("draw", "age", 1), ("draw", "sex", 1), ("draw", "region", 1)}

    assert office.trasgo("resume", str(office.config), "--quiet").exit_code == 0
    assert all(len(digests) == 1 for digests in watch.bits.values())
    assert {attempt for purpose, _, attempt in watch.bits if purpose == "draw"} > {1}

    draws = [label for label in watch.labels if label[2] in ("draw", "probe")]
    # one label for each draw and each probe, and a repeated draw repeats its label
    assert len(set(draws)) == len(watch.bits)
    assert len({label for label in watch.labels if label[2] == "permute"}) == 1
    # purpose, chain digest, level, attempt, input digest: none is left out
    assert all(len(label) == 7 and len(label[3]) == len(label[6]) == 64 for label in draws)


def test_a_probe_takes_public_codes_only_and_any_other_purpose_is_charged(office: Office) -> None:
    office.open()
    ref = ref_of(office)
    session = open_session(ref)
    table = ingest.fn(ref)
    draw = Draw("sex", Epsilon.parse("1"), 1, Epsilon(0))
    with pytest.raises(BudgetError) as caught:
        draw_unit.fn(ref, table.unit("sex"), draw, "probe")
    assert caught.value.reason is Reason.STATE_CONFLICT
    assert not (session.work / "probe").exists()
    assert session.spent().is_zero
    draw_unit.fn(ref, table.unit("sex"), draw, "anything")
    assert session.spent().epsilon.text == "1"


def test_other_codes_never_meet_the_same_words(office: Office) -> None:
    office.open()
    ref = ref_of(office)
    session = open_session(ref)
    ingest.fn(ref)
    draw = Draw("sex", Epsilon.parse("1"), 1, Epsilon(0))
    zeros, ones = np.zeros(4096, dtype=np.int32), np.ones(4096, dtype=np.int32)
    flipped = [read_codes(draw_unit.fn(ref, stored(session, codes), draw)) != codes for codes in (zeros, ones)]
    # with one stream for both the same rows would flip
    assert not np.array_equal(*flipped)
    again = Draw("sex", Epsilon.parse("1"), 2, Epsilon(0))
    assert not np.array_equal(read_codes(draw_unit.fn(ref, stored(session, zeros), again)) != zeros, flipped[0])


def test_an_account_of_other_units_is_refused_without_the_command_too(office: Office) -> None:
    office.open()
    office.release["privacy"]["unit"] = {"column": "note", "max_rows": 1}
    office.column("note")["role"] = "unit"
    office.write()
    ref = ref_of(office)
    with pytest.raises(ConflictError) as caught:
        ingest.fn(ref)
    assert caught.value.reason is Reason.ACCOUNT_MISMATCH
    assert open_session(ref).version() is None


def test_a_chained_draw_looks_at_the_ledger_as_often_for_many_batches_as_for_one(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.release["loop"] = {"loss_from": "released", "composition": "chain", "start": "0.25", "ratio": "1.25"}
    office.open()
    ref = ref_of(office)
    session = open_session(ref)
    ingest.fn(ref)
    looks: list[None] = []
    read = Database.read

    def counted(database: Database) -> AbstractContextManager[sa.Connection]:
        looks.append(None)
        return read(database)

    monkeypatch.setattr(Database, "read", counted)
    level = session.plan.unit("sex").rungs[0]
    codes = np.zeros(600, dtype=np.int32)
    counts, drawn = [], []
    for sizes in ([600], [100] * 6):
        ends = np.cumsum([0, *sizes])
        key = session.digest_key()
        parts = [codes[first:last] for first, last in pairwise(ends)]
        folder = session.work / f"cut-{len(sizes)}"
        refs = [write_batch(folder, "sex", int(first), part, key) for first, part in zip(ends, parts)]
        looks.clear()
        private = PrivateCodes("sex", tuple(refs), codes_digest([codes], key))
        released = draw_unit.fn(ref, private, Draw("sex", level, 1, Epsilon(0)))
        counts.append(len(looks))
        drawn.append(read_codes(released))
    assert session.plan.unit("sex").is_chained and len(session.plan.unit("sex").rungs) > 2
    assert counts[0] == counts[1] <= 3
    assert np.array_equal(*drawn)


def test_a_superseded_draw_leaves_the_disk_and_a_crash_after_it_changes_no_bit(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.release["columns"][1]["target"] = {"tvd": "0.02"}
    office.open()
    ref = ref_of(office)
    seen: list[dict[str, int]] = []
    forget = flows.release.forget_draws

    def watched(superseded: list[ReleasedCodes]) -> None:
        forget(superseded)
        files = (open_session(ref).work / "draw").rglob("*.arrow")
        seen.append(Counter(path.name.split("-")[0] for path in files))
        if len(seen) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(flows.release, "forget_draws", watched)
    first = office.run("--quiet")
    assert first.exit_code in {1, 11} and len(seen) == 2, first.text
    spent = office.spent()
    assert office.trasgo("resume", str(office.config), "--quiet").exit_code == 0
    assert len(seen) > 2 and office.spent() >= spent
    # one draw of each unit, however often it was drawn; what the crash left is gone once the run has passed it
    assert all(set(files.values()) == {1} for files in [*seen[:2], seen[-1]])
