"""The real loop on rows that anyone may see: what it will spend, and which targets it will meet.

Draws, estimates, predictions and decisions are those of a run; only the key is public and the total is large, so that
what is spent at the end is the least total with which this key meets every target. Works on a population made from a
prior as on the codes of a public file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost
from trasgo_lib.config import DateColumn, LoadedConfig, NoisedColumn, NumberColumn, PlainColumn
from trasgo_lib.data import ProductDomain
from trasgo_lib.loop.decide import first_step, next_step
from trasgo_lib.loop.history import History, RoundEntry
from trasgo_lib.loop.predict import Knowledge
from trasgo_lib.loop.predictions import PredictedLoss, Predictions
from trasgo_lib.loop.rounds import estimated_entry, measured_entry, predicted_rungs
from trasgo_lib.loop.steps import Continue, Stop
from trasgo_lib.loop.view import spent_on
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, UnitPlan, compile_plan
from trasgo_lib.plan.totals import first_charges
from trasgo_lib.utility import (
    CodeBatches,
    LossColumn,
    LossEstimates,
    Measurement,
    estimate_losses,
    loss_columns,
    measure,
)

MOST_LEVEL = Epsilon.parse("16")
"""Ladders are rehearsed up to here: at 16 randomised response over 256 codes gives another code in one row of 35,000,
and what is not met there is not met at any level."""

_CORRELATION = "correlation_loss"

Codes = Mapping[str, NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One run of the loop; public.

    Args:
        rows: number of rows.
        entries: by noise unit, where it ended.
        spent: by noise unit, epsilon per privacy unit.
        rounds: rounds of the loop.
        stop: why it ended.
    """

    rows: int
    entries: Mapping[str, RoundEntry]
    spent: Mapping[str, Epsilon]
    rounds: int
    stop: Stop

    @property
    def total(self) -> Epsilon:
        """Epsilon per privacy unit over all noise units."""
        return Epsilon(sum(spent.units for spent in self.spent.values()))

    @property
    def is_met(self) -> bool:
        """Whether every target is met."""
        return all(entry.met for entry in self.entries.values())


def generous_plan(loaded: LoadedConfig, plan: ReleasePlan) -> ReleasePlan:
    """A plan with ladders up to ``MOST_LEVEL`` and a total that never stands in the way.

    Args:
        loaded: a release file that compiles.
        plan: its plan; mechanisms that ``auto`` chose stay as they are.

    Raises:
        ConfigError: a mechanism whose chain does not exist for such a ladder, or deltas that do not last for it.
    """
    config = loaded.config
    firsts = sum(charge.units for charge in first_charges(config).values())
    roomy = Epsilon(firsts + MOST_LEVEL.units * plan.max_rows)
    update = {
        "privacy": config.privacy.model_copy(update={"epsilon_total": roomy.text}),
        "columns": tuple(_as_resolved(column, plan) for column in config.columns),
    }
    wide = compile_plan(replace(loaded, config=config.model_copy(update=update)))
    units = tuple(_up_to_the_most(unit) for unit in wide.units)
    most = sum(sum(rung.units for rung in unit.rungs) for unit in units) * plan.max_rows
    return replace(wide, units=units, epsilon_total=Epsilon(most), on_unmet="publish")


def _as_resolved(column: NoisedColumn | PlainColumn, plan: ReleasePlan) -> NoisedColumn | PlainColumn:
    """A column with the mechanism that ``auto`` came to, which a larger total could change."""
    unit = next((unit for unit in plan.units if unit.name == column.name), None)
    if isinstance(column, PlainColumn) or unit is None or unit.selection is None:
        return column
    chosen: dict[str, object] = {"mechanism": unit.mechanism}
    if isinstance(column, NumberColumn | DateColumn):
        named = dict(unit.parameters)
        chosen |= {"noise_bins": named.get("bins"), "width": named.get("width"), "bins": unit.bins}
    return column.model_copy(update=chosen)


def _up_to_the_most(unit: UnitPlan) -> UnitPlan:
    rungs = tuple(rung for rung in unit.rungs if rung <= MOST_LEVEL) or unit.rungs[:1]
    return replace(unit, rungs=rungs, is_chained=unit.is_chained and len(rungs) > 1)


def only_units(plan: ReleasePlan, names: Sequence[str]) -> ReleasePlan:
    """The plan without the noise units that are not named."""
    return replace(
        plan,
        units=tuple(unit for unit in plan.units if unit.name in names),
        columns=tuple(column for column in plan.columns if column.unit is None or column.unit in names),
    )


def unit_codes(plan: ReleasePlan, columns: Codes) -> dict[str, NDArray[np.int32]]:
    """Codes of every noise unit whose columns are all there, from codes of columns."""
    made = {}
    for unit in plan.units:
        names = [part.name for part in unit.parts] or [unit.name]
        if all(name in columns for name in names):
            own = [np.asarray(columns[name], dtype=np.int32) for name in names]
            made[unit.name] = unit.domain.encode(*own) if isinstance(unit.domain, ProductDomain) else own[0]
    return made


def rehearse(plan: ReleasePlan, codes: Codes, root: bytes, public: bytes) -> Rehearsal:
    """Run the loop of a plan on public rows.

    Args:
        plan: its total is the ceiling, as in a run; ``generous_plan`` makes one that has none.
        codes: by noise unit, int32[rows]; public.
        root: 32 bytes, the key of the draws; public, and another one gives other draws.
        public: 32 bytes, the key of the estimates' bootstrap.
    """
    stage = _Stage(plan, codes, root, public, loss_columns(plan))
    history, step = History(), first_step(plan)
    decided: Continue | Stop = step
    while isinstance(decided, Continue):
        stage.draw(decided)
        entries, predictions = stage.judge()
        history = history.append(entries)
        decided = next_step(plan, history, predictions)
    levels = {
        unit.name: tuple(level for (name, _), level in history.draws.items() if name == unit.name)
        for unit in plan.units
    }
    spent: dict[str, Cost] = {unit.name: spent_on(plan, unit, levels[unit.name]) for unit in plan.units}
    return Rehearsal(
        len(next(iter(codes.values()))),
        history.latest,
        {name: cost.epsilon for name, cost in spent.items()},
        len(history.rounds),
        decided,
    )


@dataclass(slots=True)
class _Stage:
    """Where a rehearsal stands: the newest draw of every unit."""

    plan: ReleasePlan
    codes: Codes
    root: bytes = field(repr=False)
    public: bytes = field(repr=False)
    columns: tuple[LossColumn, ...]
    levels: dict[str, Epsilon] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    released: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    judged: dict[str, Epsilon] = field(default_factory=dict)
    entries: dict[str, RoundEntry] = field(default_factory=dict)
    predictions: dict[str, tuple[PredictedLoss, ...]] = field(default_factory=dict)
    measurement: Measurement | None = None

    def draw(self, step: Continue) -> None:
        """Draw, or reveal, what the loop decided."""
        for name, level in step.levels:
            self.levels[name], self.attempts[name] = level, self.attempts.get(name, 0) + 1
            unit = self.plan.unit(name)
            if unit.is_chained:
                self.released[name] = unit.chain.sample(self.codes[name], partial(self._stream, name), level)
            else:
                stream = Keystream(self.root, "rehearse", name, self.attempts[name], level.text)
                self.released[name] = unit.channel(level).sample(self.codes[name], stream)

    def _stream(self, unit: str, purpose: str, level: Epsilon) -> Keystream:
        return Keystream(self.root, "rehearse", unit, purpose, level.text)

    def judge(self) -> tuple[tuple[RoundEntry, ...], Predictions]:
        """Losses and verdicts of the newest draws, and what is expected of higher levels."""
        return self._exactly() if self.plan.loss_from == "original" else self._from_released()

    def _exactly(self) -> tuple[tuple[RoundEntry, ...], Predictions]:
        self.measurement = measure(
            _batches(self.codes),
            _batches(self.released),
            self.columns,
            method=self.plan.correlation,
            rows=self._rows,
            attempts=self.attempts,
            before=self.measurement,
        )
        losses = self.measurement.losses
        return tuple(
            measured_entry(unit, self.levels[unit.name], self.attempts[unit.name], losses) for unit in self.plan.units
        ), {}

    def _from_released(self) -> tuple[tuple[RoundEntry, ...], Predictions]:
        changed = [unit for unit in self.plan.units if self.judged.get(unit.name) != self.levels[unit.name]]
        is_tied = any(unit.target is not None and unit.target.loss == _CORRELATION for unit in self.plan.units)
        # a correlation loss hangs on every column; any other on its own unit, whose estimate stays until its next draw
        for together in [self.plan.units] if is_tied else [(unit,) for unit in changed]:
            losses = self._estimates([unit.name for unit in together])
            for unit in together:
                self.entries[unit.name] = self._entry(unit, losses)
                self.predictions[unit.name] = self._predicted(unit, losses)
        self.judged = dict(self.levels)
        return tuple(self.entries[unit.name] for unit in self.plan.units), dict(self.predictions)

    def _estimates(self, names: Sequence[str]) -> LossEstimates:
        # the same words in every round, as in a run
        stream = Keystream(self.public, self.plan.dataset, self.plan.version, *(names if len(names) == 1 else ()))
        return estimate_losses(
            _batches({name: self.released[name] for name in names}),
            [column for column in self.columns if column.unit in names],
            {name: self.plan.unit(name).channel(self.levels[name]) for name in names},
            method=self.plan.correlation,
            rows=self._rows,
            stream=stream,
            divergences=self._diverging,
        )

    @property
    def _diverging(self) -> set[str]:
        """Columns whose target is a divergence; nobody reads those of others, which can cost most of the time."""
        aims = {unit.name: unit.target.loss for unit in self.plan.units if unit.target is not None}
        return {column.name for column in self.columns if aims.get(column.unit, _CORRELATION) != _CORRELATION}

    def _entry(self, unit: UnitPlan, losses: LossEstimates) -> RoundEntry:
        return estimated_entry(unit, self.levels[unit.name], self.attempts[unit.name], losses)

    def _predicted(self, unit: UnitPlan, losses: LossEstimates) -> tuple[PredictedLoss, ...]:
        level = self.levels[unit.name]
        if self.entries[unit.name].met:
            return ()
        channel = unit.channel(level)
        known = Knowledge(np.bincount(self.released[unit.name], minlength=channel.outputs), channel)
        columns = [column for column in self.columns if column.unit == unit.name]
        public = partial(Keystream, self.public, self.plan.dataset, self.plan.version, "predict", unit.name, level.text)
        return predicted_rungs(unit, columns, known, level, self._rows, losses, public)

    @property
    def _rows(self) -> int:
        return len(next(iter(self.codes.values())))


def _batches(codes: Codes) -> CodeBatches:
    return {name: partial(_once, batch) for name, batch in codes.items()}


def _once(codes: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    yield codes
