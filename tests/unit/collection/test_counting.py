"""Reports as tables and counts: whole numbers that add up in any grouping, malformed rows refused by reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import (
    BAD_BITS,
    BAD_SLOT,
    ReportChannel,
    ReportCounts,
    Tag,
    build_report_channel,
    count_answers,
    count_table,
    report_schema,
    report_table,
    rows_of,
    tag_counts,
    without_pseudonyms,
)
from trasgo_lib.errors import InputContractError
from trasgo_lib.noise import Keystream

ROOT = bytes(range(32))
GRR = build_report_channel("kary_randomized_response", 21, Epsilon.parse("1"))
OUE = build_report_channel("optimised_unary_encoding", 21, Epsilon.parse("1"))
TAG = Tag("a" * 32, "c" * 32)
WEEK = "2026-01-05"


def _drawn(channel: ReportChannel, rows: int = 1000) -> np.ndarray:
    slots = (np.arange(rows) % channel.slots).astype(np.int32)
    answers: np.ndarray = channel.draw(slots, Keystream(ROOT, "counted"))  # type: ignore[attr-defined]
    return answers


def _by_hand(channel: ReportChannel, answers: np.ndarray) -> list[int]:
    if channel.kind == "slot":
        return [int((answers == slot).sum()) for slot in range(channel.slots)]
    return [int(((answers[:, slot // 8] >> (slot % 8)) & 1).sum()) for slot in range(channel.slots)]


@pytest.mark.parametrize("channel", [GRR, OUE], ids=["slots", "bits"])
def test_counts_are_those_of_counting_by_hand_and_add_up_in_any_grouping(channel: ReportChannel) -> None:
    answers = _drawn(channel)
    whole = count_answers(channel, answers)
    assert whole.counts.tolist() == _by_hand(channel, answers)
    assert (whole.reports, dict(whole.refused)) == (1000, {})
    parts = [count_answers(channel, answers[cut]) for cut in (slice(0, 3), slice(3, 600), slice(600, 1000))]
    together = parts[2] + parts[0] + parts[1] + ReportCounts.empty(channel)
    assert together.to_json() == whole.to_json()
    again = ReportCounts.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.to_json() == whole.to_json()


def test_lanes_of_eight_bits_do_not_overflow() -> None:
    """510 reports with every bit set: two full lanes; a third of one row."""
    ones = np.full((511, OUE.report_bytes), 255, dtype=np.uint8)
    ones[:, -1] = 0b11111
    assert count_answers(OUE, ones).counts.tolist() == [511] * 21


@pytest.mark.parametrize("rows", [0, 1, 62, 63, 64, 126, 127, 63 * 2 * 3 + 5, 255 * 63 * 2 + 70])
def test_rows_added_bit_by_bit_count_like_rows_one_by_one(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of two rows, so that whole blocks, part of one and a rest behind them occur."""
    monkeypatch.setattr("trasgo_lib.collection.counting._LAYER_BYTES", 2 * OUE.report_bytes)
    for answers in (_drawn(OUE, rows), np.tile(np.array([255, 255, 31], np.uint8), (rows, 1))):
        assert count_answers(OUE, answers).counts.tolist() == _by_hand(OUE, answers)


def test_malformed_reports_are_refused_one_by_one_and_counted_by_reason() -> None:
    slots = _drawn(GRR, 10).copy()
    slots[[2, 5]] = [21, 65535]
    found = count_answers(GRR, slots)
    assert (found.reports, dict(found.refused), int(found.counts.sum())) == (8, {BAD_SLOT: 2}, 8)
    bits = _drawn(OUE, 10).copy()
    bits[4, -1] |= 0b100000
    found = count_answers(OUE, bits)
    assert (found.reports, dict(found.refused)) == (9, {BAD_BITS: 1})
    assert (found + found).refused == {BAD_BITS: 2}
    assert found.counts.tolist() == _by_hand(OUE, np.delete(bits, 4, axis=0))


@pytest.mark.parametrize("channel", [GRR, OUE], ids=["slots", "bits"])
def test_tables_travel_through_parquet_and_slices_and_count_alike(channel: ReportChannel, tmp_path: Path) -> None:
    answers = _drawn(channel)
    table = report_table(channel, TAG, WEEK, answers, [f"{row:032x}" for row in range(1000)])
    assert table.schema == report_schema(channel, in_transport=True)
    kept = without_pseudonyms(table)
    assert kept.schema == report_schema(channel) == without_pseudonyms(kept).schema
    pq.write_table(kept, tmp_path / "reports.parquet", row_group_size=300)
    read = pq.read_table(tmp_path / "reports.parquet")
    assert count_table(channel, read).to_json() == count_answers(channel, answers).to_json()
    sliced = read.slice(7, 500)
    assert count_table(channel, sliced).counts.tolist() == _by_hand(channel, answers[7:507])
    batch = kept.to_batches()[0].slice(5, 20)
    assert count_table(channel, batch).counts.tolist() == _by_hand(channel, answers[5:25])
    assert count_table(channel, read.slice(0, 0)).reports == 0


def test_tables_of_another_shape_are_refused() -> None:
    slots, bits = (without_pseudonyms(report_table(c, TAG, WEEK, _drawn(c, 5))) for c in (GRR, OUE))
    wide = build_report_channel("optimised_unary_encoding", 40, Epsilon.parse("1"))
    missing = pa.table({"slot": pa.array([1, None], pa.uint16())})
    text = pa.table({"slot": ["1"]})
    for channel, table in ((OUE, slots), (GRR, bits), (wide, bits), (GRR, missing), (GRR, text)):
        with pytest.raises(InputContractError):
            count_table(channel, table)
    with pytest.raises(InputContractError):
        count_table(GRR, slots) + count_table(OUE, bits)


def test_reports_are_told_apart_by_tag_and_window() -> None:
    other = Tag("b" * 32, TAG.channel)
    table = pa.concat_tables(
        [
            report_table(GRR, TAG, WEEK, _drawn(GRR, 5)),
            report_table(GRR, TAG, "2026-01-12", _drawn(GRR, 3)),
            report_table(GRR, other, WEEK, _drawn(GRR, 2)),
        ]
    )
    assert tag_counts(table) == {TAG: 8, other: 2}
    assert (len(rows_of(table, TAG)), len(rows_of(table, TAG, WEEK)), len(rows_of(table, other, WEEK))) == (8, 5, 2)
