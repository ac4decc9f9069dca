"""The release flow: the order of stages and nothing else."""

from __future__ import annotations

import os
from typing import Any, Literal

from prefect import flow, unmapped
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.artifacts import CHECKED, DONE, INGESTED, PROBED, Progress, show_release, show_rounds
from tasks.check import check_release, prepare_probe
from tasks.draw import Draw, draw_unit, forget_draws, reserve
from tasks.heartbeat import HeldLease
from tasks.ingest import ingest
from tasks.measure import Measured, measure_exactly, measure_round
from tasks.policies import opaque
from tasks.publish import Course, hold, mark_checked, package, publish
from tasks.session import RunRef, open_session
from tasks.source import require_same_source
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateTable, ReleasedCodes, ReleasedTable
from trasgo_lib.loop import Continue, History, Stop, first_step, next_step
from trasgo_lib.plan import ReleasePlan

_RUNNER: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
"""Sampling and Arrow release the interpreter lock, so threads use every core and share one server."""


@flow(
    name="release",
    persist_result=False,
    validate_parameters=False,
    task_runner=_RUNNER,
)
def release(ref: RunRef) -> Literal["published", "waiting", "held"]:
    """Take a source file to a published release, to a packaged one that waits, or to a held version.

    Args:
        ref: public facts from which every task opens the run.

    Raises:
        TrasgoError: without row counts; what a person may see of them is in the restricted root.
    """
    session = open_session(ref)
    with session.hold_lease() as held:
        progress = Progress(session.plan)
        table = ingest(ref)
        progress.at(INGESTED)
        course, newest, released = _loop(ref, session.plan, table, held, progress)
        if course.stop.shortfalls and session.plan.on_unmet == "hold":
            measure_exactly(ref, table, released, newest)
            hold(ref, opaque(course))
            progress.at(DONE)
            return "held"
        probes = [future.result() for future in prepare_probe.map(unmapped(ref), list(newest))]
        probed = draw_unit.map(unmapped(ref), probes, list(newest), unmapped("probe"))
        pairs = list(zip(probes, [future.result() for future in probed], strict=True))
        progress.at(PROBED)
        checked = check_release(ref, ReleasedTable(table.rows, released, table.public), newest, pairs)
        mark_checked(ref, opaque(course), checked)
        measure_exactly(ref, table, released, newest)
        progress.at(CHECKED)
        require_same_source(ref)
        held.require()
        if session.must_wait():
            package(ref, table.rows, opaque(course), checked)
            return "waiting"
        publish(ref, table.rows, opaque(course), checked)
        progress.at(DONE)
        show_release(session)
        return "published"


def _loop(
    ref: RunRef, plan: ReleasePlan, table: PrivateTable, held: HeldLease, progress: Progress
) -> tuple[Course, tuple[Draw, ...], tuple[ReleasedCodes, ...]]:
    newest: dict[str, Draw] = {}
    released: dict[str, ReleasedCodes] = {}
    measured: Measured | None = None
    history = History()
    step: Continue | Stop = first_step(plan)
    while isinstance(step, Continue):
        draws = tuple(_next_draw(newest.get(unit), unit, level) for unit, level in step.levels)
        held.require()
        reserve(ref, draws)
        drawn = draw_unit.map(unmapped(ref), [table.unit(draw.unit) for draw in draws], list(draws))
        newest |= {draw.unit: draw for draw in draws}
        fresh = {codes.unit: codes for codes in (future.result() for future in drawn)}
        forget_draws([released[unit] for unit in fresh if unit in released])
        released |= fresh
        current = tuple(newest[unit.name] for unit in plan.units)
        measured = measure_round(ref, table, [released[unit.name] for unit in plan.units], current, opaque(measured))
        history = history.append(measured.entries)
        progress.after_round(len(history.rounds))
        step = next_step(plan, history, measured.predictions)
    show_rounds(plan, history)
    units = [unit.name for unit in plan.units]
    return Course(history, step), tuple(newest[name] for name in units), tuple(released[name] for name in units)


def _next_draw(before: Draw | None, unit: str, level: Epsilon) -> Draw:
    return Draw(unit, level, 1, Epsilon(0)) if before is None else Draw(unit, level, before.attempt + 1, before.level)
