"""Measure: losses of the current draws, from released codes where the plan says so, else against the original.

Losses computed on raw data are private: they stay in this process and in the restricted root, and under
``loss_from: released`` they are computed after every decision and read by none.
"""

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
from tasks.workspace import COMPARISON, ESTIMATES, LOSSES, Workspace
from trasgo_lib.data import PrivateCodes, PrivateTable, ReleasedCodes, read_batches
from trasgo_lib.errors import StoreError
from trasgo_lib.loop import (
    Knowledge,
    PredictedLoss,
    Predictions,
    RoundEntry,
    estimated_entry,
    measured_entry,
    predicted_rungs,
)
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import (
    LossEstimates,
    Measurement,
    comparison_document,
    estimate_losses,
    loss_columns,
    measure,
)

_LOGGER = logging.getLogger("trasgo")

_PUBLIC_ROOT = b"trasgo: a public key, no secret."
"""Root of the bootstrap's words: 32 bytes that everyone knows, since resampling published codes needs no secret and a
rerun must give the same estimates."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a round found; private under ``loss_from: original``.

    Args:
        entries: one for each noise unit, in plan order; what the loop decides on.
        predictions: losses expected at rungs not looked at, from released codes; empty under ``original``.
        measurement: exact statistics that the next round need not take again; None under ``released``.
    """

    entries: tuple[RoundEntry, ...] = field(repr=False)
    predictions: Predictions = field(repr=False)
    measurement: Measurement | None = field(repr=False)


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
        table: the private table; under ``loss_from: released`` only its number of rows is read.
        released: the newest draw of each unit.
        draws: which draws those are, in the same order.
        before: what the previous round found, or None.
    """
    session = open_session(ref)
    if session.plan.loss_from == "released":
        found = _estimated(session, table.rows, released, draws)
    else:
        found = _exact(session, table, released, draws, None if before is None else before.measurement)
    targets = [entry for entry in found.entries if session.plan.unit(entry.unit).target is not None]
    _LOGGER.info("measure: %d of %d targets met", sum(entry.met for entry in targets), len(targets))
    return found


@task(name="measure exactly", **PURE)
@at_boundary
def measure_exactly(ref: RunRef, table: PrivateTable, released: Sequence[ReleasedCodes], draws: Sequence[Draw]) -> None:
    """Exact losses for the restricted root, after the decision to publish or hold; nothing reads them but people.

    Should they not be computable, the restricted report says so and the run goes on: a release that is published or not
    as its raw file allows a computation would tell something of that file, which nobody paid for. How much memory it
    takes depends on values, too. Trouble with the disk says nothing of them and stops the run, which resumes.
    """
    session = open_session(ref)
    if session.plan.loss_from != "released":
        return
    try:
        _exact(session, table, released, draws, None)
    except (OSError, StoreError):
        raise
    except Exception as error:  # noqa: BLE001 whatever it is, it came from raw data
        workspace = Workspace(session.work)
        workspace.write_json(LOSSES, {"columns": [], "not_computed": type(error).__name__})
        workspace.write_json(COMPARISON, {})


def _exact(
    session: Session,
    table: PrivateTable,
    released: Sequence[ReleasedCodes],
    draws: Sequence[Draw],
    before: Measurement | None,
) -> Measured:
    measurement = measure(
        {codes.unit: _reader(session, codes) for codes in table.units},
        {codes.unit: _reader(session, codes) for codes in released},
        loss_columns(session.plan),
        method=session.plan.correlation,
        rows=table.rows,
        attempts={draw.unit: draw.attempt for draw in draws},
        before=before,
    )
    workspace = Workspace(session.work)
    workspace.write_json(LOSSES, measurement.losses.to_json())
    workspace.write_json(COMPARISON, comparison_document(measurement, loss_columns(session.plan)))
    entries = tuple(
        measured_entry(session.plan.unit(draw.unit), draw.level, draw.attempt, measurement.losses) for draw in draws
    )
    return Measured(entries, {}, measurement)


def _estimated(session: Session, rows: int, released: Sequence[ReleasedCodes], draws: Sequence[Draw]) -> Measured:
    plan = session.plan
    channels = {draw.unit: plan.unit(draw.unit).channel(draw.level) for draw in draws}
    # the same words in every round: a column that was not drawn again keeps its estimate, and its verdict
    stream = Keystream(_PUBLIC_ROOT, plan.dataset, plan.version)
    estimates = estimate_losses(
        {codes.unit: _reader(session, codes) for codes in released},
        loss_columns(plan),
        channels,
        method=plan.correlation,
        rows=rows,
        stream=stream,
    )
    Workspace(session.work).write_json(ESTIMATES, estimates.to_json())
    entries = tuple(estimated_entry(plan.unit(draw.unit), draw.level, draw.attempt, estimates) for draw in draws)
    by_unit = {codes.unit: codes for codes in released}
    predictions = {
        entry.unit: _predicted(session, entry, by_unit[entry.unit], rows, estimates)
        for entry in entries
        if not entry.met
    }
    return Measured(entries, predictions, None)


def _predicted(
    session: Session, entry: RoundEntry, codes: ReleasedCodes, rows: int, estimates: LossEstimates
) -> tuple[PredictedLoss, ...]:
    """Losses expected at the rungs above the one that was looked at."""
    plan = session.plan
    unit = plan.unit(entry.unit)
    channel = unit.channel(entry.level)
    counts = np.zeros(channel.outputs, dtype=np.int64)
    for batch in read_batches(codes, session.digest_key()):
        counts += np.bincount(batch, minlength=channel.outputs)
    columns = [column for column in loss_columns(plan) if column.unit == entry.unit]
    public = partial(Keystream, _PUBLIC_ROOT, plan.dataset, plan.version, "predict", unit.name, entry.level.text)
    return predicted_rungs(unit, columns, Knowledge(counts, channel), entry.level, rows, estimates, public)


def _reader(session: Session, codes: PrivateCodes | ReleasedCodes) -> Callable[[], Iterator[NDArray[np.int32]]]:
    return partial(read_batches, codes, session.digest_key())
