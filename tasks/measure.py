"""Measure: exact losses of the current draws against the original; private, so they stay in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from prefect import task

from tasks.draw import Draw
from tasks.policies import PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.workspace import LOSSES, Workspace
from trasgo_lib.data import PrivateCodes, PrivateTable, ReleasedCodes, read_batches
from trasgo_lib.loop import RoundEntry
from trasgo_lib.utility import LossValue, Measurement, loss_columns, measure

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a round found; private under ``loss_from: original``.

    Args:
        entries: one for each noise unit, in plan order; what the loop decides on.
        measurement: statistics that the next round need not take again.
    """

    entries: tuple[RoundEntry, ...] = field(repr=False)
    measurement: Measurement = field(repr=False)


@task(name="measure", **PURE)
@at_boundary
def measure_round(
    ref: RunRef,
    table: PrivateTable,
    released: Sequence[ReleasedCodes],
    draws: Sequence[Draw],
    before: Measured | None,
) -> Measured:
    """Losses of the newest draw of every unit.

    Args:
        ref: the run.
        table: the private table.
        released: the newest draw of each unit.
        draws: which draws those are, in the same order.
        before: what the previous round found, or None.
    """
    session = open_session(ref)
    plan = session.plan
    measurement = measure(
        {codes.unit: _reader(session, codes) for codes in table.units},
        {codes.unit: _reader(session, codes) for codes in released},
        loss_columns(plan),
        method=plan.correlation,
        rows=table.rows,
        attempts={draw.unit: draw.attempt for draw in draws},
        before=None if before is None else before.measurement,
    )
    entries = tuple(_entry(session, draw, measurement) for draw in draws)
    Workspace(session.work).write_json(LOSSES, measurement.losses.to_json())
    _LOGGER.info("measure: %d of %d targets met", *_counts(session, entries))
    return Measured(entries, measurement)


def _reader(session: Session, codes: PrivateCodes | ReleasedCodes) -> Callable[[], Iterator[NDArray[np.int32]]]:
    return partial(read_batches, codes, session.digest_key())


def _entry(session: Session, draw: Draw, measurement: Measurement) -> RoundEntry:
    target = session.plan.unit(draw.unit).target
    found = LossValue(None) if target is None else measurement.losses.of_unit(draw.unit, target.loss)
    return RoundEntry.judged(
        draw.unit,
        draw.level,
        draw.attempt,
        found.value,
        target,
        reason=found.reason,
        is_mendable=found.is_mendable,
    )


def _counts(session: Session, entries: Sequence[RoundEntry]) -> tuple[int, int]:
    with_target = [entry for entry in entries if session.plan.unit(entry.unit).target is not None]
    return sum(entry.met for entry in with_target), len(with_target)
