"""How a unit's codes are cut into tasks."""

from __future__ import annotations

import pytest

from tasks.staging import ROWS_OF_A_TASK, parts_of
from trasgo_lib.data import BatchRef, PrivateCodes

BATCH = 1 << 18


@pytest.mark.parametrize(
    ("batches", "slots", "tasks"),
    [(1, 8, 1), (16, 8, 1), (31, 8, 1), (32, 8, 2), (64, 8, 4), (64, 1, 1), (400, 8, 8), (401, 8, 8), (400, 3, 3)],
)
def test_tasks_are_large_and_hold_every_batch_once_in_order(batches: int, slots: int, tasks: int) -> None:
    codes = PrivateCodes("wage", tuple(BatchRef("", n * BATCH, BATCH, "") for n in range(batches)), "digest")
    parts = parts_of(codes, slots)
    assert len(parts) == tasks
    assert tuple(batch for part in parts for batch in part.batches) == codes.batches
    assert {(part.unit, part.digest) for part in parts} == {("wage", "digest")}, "the stream is that of the whole unit"
    assert tasks == 1 or min(len(part.batches) for part in parts[:-1]) * BATCH >= ROWS_OF_A_TASK
