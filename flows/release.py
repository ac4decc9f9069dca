"""The release flow: the order of stages and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prefect import flow

from tasks.artifacts import CHECKED, DONE, INGESTED, PROBED, Progress, show_release, show_rounds
from tasks.check import check_release, prepare_probe
from tasks.draw import Draw, draw_unit, forget_draws, reserve
from tasks.heartbeat import HeldLease
from tasks.ingest import ingest
from tasks.measure import Measured, measure_exactly, measure_round
from tasks.policies import opaque
from tasks.publish import Course, hold, mark_checked, package, publish
from tasks.risk import assess_risk
from tasks.session import RunRef, open_session
from tasks.source import require_same_source
from tasks.staging import gather, parts_of, ship
from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes, PrivateTable, ReleasedCodes, ReleasedTable
from trasgo_lib.loop import Continue, History, Predictions, Stop, first_step, next_step
from trasgo_lib.plan import ReleasePlan


@flow(name="release", persist_result=False, validate_parameters=False)
def release(ref: RunRef, slots: int) -> Literal["published", "waiting", "held"]:
    """Take a source file to a published release, to a packaged one that waits, or to a held version.

    Args:
        ref: public facts from which every task opens the run.
        slots: how many draws the runner can work on at a time.

    Raises:
        TrasgoError: without row counts; what a person may see of them is in the restricted root.
    """
    session = open_session(ref)
    with session.hold_lease() as held:
        progress = Progress(session.plan)
        table = ingest(ref)
        progress.at(INGESTED)
        draws = _Draws(ref, session.plan, slots)
        course, newest, released = _loop(draws, table, held, progress)
        if course.stop.shortfalls and session.plan.on_unmet == "hold":
            measure_exactly(ref, table, released, newest)
            assess_risk(ref, table, released, newest)
            hold(ref, opaque(course))
            progress.at(DONE)
            return "held"
        probes = tuple(prepare_probe(ref, draw) for draw in newest)
        probed = draws.drawn("probe", newest, draws.within_reach(probes, "probe-inputs"))
        pairs = list(zip(probes, probed, strict=True))
        progress.at(PROBED)
        checked = check_release(ref, ReleasedTable(table.rows, released, table.public), newest, pairs)
        mark_checked(ref, opaque(course), checked)
        measure_exactly(ref, table, released, newest)
        assess_risk(ref, table, released, newest)
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


@dataclass(frozen=True, slots=True)
class _Draws:
    """Draws handed to the runner: each unit in as many tasks as there is room for, and its codes put together again."""

    ref: RunRef
    plan: ReleasePlan
    slots: int

    def within_reach(self, units: tuple[PrivateCodes, ...], purpose: str) -> tuple[PrivateCodes, ...]:
        return units if self.plan.shares_disk else ship(self.ref, units, purpose)

    def drawn(
        self, purpose: str, draws: tuple[Draw, ...], units: tuple[PrivateCodes, ...]
    ) -> tuple[ReleasedCodes, ...]:
        slots = -(-self.slots // len(draws))
        work = [
            [draw_unit.submit(self.ref, part, draw, purpose) for part in parts_of(codes, slots)]
            for draw, codes in zip(draws, units, strict=True)
        ]
        parts = [[future.result() for future in futures] for futures in work]
        if self.plan.shares_disk and all(len(found) == 1 for found in parts):
            return tuple(found[0] for found in parts)
        return tuple(gather(self.ref, draw, purpose, opaque(found)) for draw, found in zip(draws, parts, strict=True))


def _loop(
    draws: _Draws, table: PrivateTable, held: HeldLease, progress: Progress
) -> tuple[Course, tuple[Draw, ...], tuple[ReleasedCodes, ...]]:
    ref, plan = draws.ref, draws.plan
    newest: dict[str, Draw] = {}
    released: dict[str, ReleasedCodes] = {}
    measured: Measured | None = None
    history = History()
    predictions: list[Predictions] = []
    inputs = {codes.unit: codes for codes in draws.within_reach(table.units, "private")}
    step: Continue | Stop = first_step(plan)
    while isinstance(step, Continue):
        asked = tuple(_next_draw(newest.get(unit), unit, level) for unit, level in step.levels)
        held.require()
        reserve(ref, asked)
        drawn = draws.drawn("draw", asked, tuple(inputs[draw.unit] for draw in asked))
        newest |= {draw.unit: draw for draw in asked}
        fresh = {codes.unit: codes for codes in drawn}
        forget_draws([released[unit] for unit in fresh if unit in released])
        released |= fresh
        current = tuple(newest[unit.name] for unit in plan.units)
        measured = measure_round(ref, table, [released[unit.name] for unit in plan.units], current, opaque(measured))
        history = history.append(measured.entries)
        predictions.append(measured.predictions)
        progress.after_round(len(history.rounds))
        step = next_step(plan, history, measured.predictions)
    show_rounds(plan, history)
    units = [unit.name for unit in plan.units]
    return (
        Course(history, step, tuple(predictions)),
        tuple(newest[name] for name in units),
        tuple(released[name] for name in units),
    )


def _next_draw(before: Draw | None, unit: str, level: Epsilon) -> Draw:
    return Draw(unit, level, 1, Epsilon(0)) if before is None else Draw(unit, level, before.attempt + 1, before.level)
