"""The loop on codes in memory: real chains, estimates, predictions and decisions, without tasks, files and ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.data import Domain
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import (
    Continue,
    History,
    Knowledge,
    PredictedLoss,
    Predictions,
    RoundEntry,
    first_step,
    is_met,
    next_step,
    predict_losses,
    spent_on,
)
from trasgo_lib.mechanisms import Chain, Channel, build_chain, build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import Target
from trasgo_lib.utility import LossColumn, Losses, LossEstimates, Measurement, estimate_losses, measure

Codes = NDArray[np.int32]
Released = dict[str, Codes]

_PUBLIC = bytes(32)
"""Root of the words of estimates and predictions; needs no secret."""


@dataclass(frozen=True, eq=False)
class Unit:
    """One column, its mechanism and its target; a ``LoopUnit``."""

    column: LossColumn
    domain: Domain
    codes: Codes = field(repr=False)
    mechanism: str
    rungs: tuple[Epsilon, ...]
    target: Target | None
    parameters: Mapping[str, object] = field(default_factory=dict)
    delta: Delta = field(default=Delta(0))
    geo: Geo = field(default=Geo(0))

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @cached_property
    def chain(self) -> Chain:
        """The coupled levels."""
        return build_chain(self.mechanism, self.domain, self.rungs, **self.parameters)

    def fresh_channel(self, level: Epsilon) -> Channel:
        """A channel of its own for a level, coupled to nothing."""
        return _fresh(self.mechanism, self.domain, level, tuple(sorted(self.parameters.items())))


@cache
def _fresh(mechanism: str, domain: Domain, level: Epsilon, parameters: tuple[tuple[str, object], ...]) -> Channel:
    return build_channel(mechanism, domain, level.text, **dict(parameters))


@dataclass(frozen=True)
class Plan:
    """Units with a total that is never the limit; a ``LoopPlan``."""

    units: Sequence[Unit]
    composition: Literal["chain", "sequential"]
    epsilon_total: Epsilon = field(default=Epsilon.parse("10000"))
    delta_total: Delta = field(default=Delta(0))
    geo_total: Geo = field(default=Geo(0))
    max_rows: int = 1
    max_rounds: int = 10_000
    on_unmet: Literal["hold", "publish"] = "publish"

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.units[0].codes)

    @property
    def columns(self) -> list[LossColumn]:
        """What is measured."""
        return [unit.column for unit in self.units]


@dataclass(frozen=True)
class Outcome:
    """What one run of a loop came to.

    Args:
        levels: by unit, the level of its last draw.
        spent: epsilon of all draws together.
        rounds: how many rounds it took.
        released: by unit, the codes of the last draw.
        met: by unit, whether its exact loss meets its target.
    """

    levels: Mapping[str, Epsilon]
    spent: Epsilon
    rounds: int
    released: Mapping[str, Codes] = field(repr=False)
    met: Mapping[str, bool]


def root(key: int) -> bytes:
    """32 fixed bytes for a small number."""
    return bytes([key] * 32)


def covered_loop(plan: Plan, key: int) -> Outcome:
    """The product's loop: reveals, estimates from released codes, predictions, ``next_step``."""
    released: Released = {}
    levels: dict[str, Epsilon] = {}
    attempts: dict[str, int] = {}
    history = History()
    step = first_step(plan)
    units = {unit.name: unit for unit in plan.units}
    while isinstance(step, Continue):
        for name, level in step.levels:
            released[name] = reveal(units[name], level, key)
            levels[name], attempts[name] = level, attempts.get(name, 0) + 1
        estimates = estimate(plan, released, levels)
        history = history.append(judged(unit, levels, attempts, estimates) for unit in plan.units)
        step = next_step(plan, history, predict(plan, released, history, estimates))
    return _outcome(plan, history, released, levels, exact_losses(plan, released))


def paid_loop(plan: Plan, key: int) -> Outcome:
    """Fresh draws, rung by rung, decided by the exact loss: the unit with the largest loss for its ceiling is next."""
    released: Released = {}
    levels: dict[str, Epsilon] = {}
    attempts: dict[str, int] = {}
    history, found = History(), None
    step = first_step(plan)
    units = {unit.name: unit for unit in plan.units}
    while isinstance(step, Continue):
        for name, level in step.levels:
            released[name] = fresh_draw(units[name], level, key)
            levels[name], attempts[name] = level, attempts.get(name, 0) + 1
        found = exact_losses(plan, released, attempts, found)
        history = history.append(judged(unit, levels, attempts, found.losses) for unit in plan.units)
        step = next_step(plan, history)
    return _outcome(plan, history, released, levels, exact_losses(plan, released))


def oracle(plan: Plan, start: Outcome, key: int) -> Mapping[str, Epsilon]:
    """Levels that meet every target by exact loss with one draw each, none of which can be one rung lower.

    Args:
        plan: with the ladder the oracle may choose from.
        start: levels that meet every target with the fresh draws of this key.
        key: of the fresh draws.
    """
    levels, released = dict(start.levels), dict(start.released)
    lowered = True
    while lowered:
        lowered = False
        for unit in sorted(plan.units, key=lambda unit: levels[unit.name], reverse=True):
            below = [rung for rung in unit.rungs if rung < levels[unit.name]]
            if not below:
                continue
            trial = {**released, unit.name: fresh_draw(unit, below[-1], key)}
            exact = exact_losses(plan, trial)
            if all(_is_met(exact, each) for each in plan.units):
                levels[unit.name], released, lowered = below[-1], trial, True
    return levels


def fresh_draw(unit: Unit, level: Epsilon, key: int) -> Codes:
    """A draw at a level that depends on no other; the same key gives the same bits."""
    return unit.fresh_channel(level).sample(unit.codes, Keystream(root(key), "fresh", unit.name, level.text))


def exact_losses(
    plan: Plan, released: Released, attempts: Mapping[str, int] | None = None, before: Measurement | None = None
) -> Measurement:
    """Losses against the private codes."""
    return measure(
        {unit.name: partial(_one_batch, unit.codes) for unit in plan.units},
        {name: partial(_one_batch, codes) for name, codes in released.items()},
        plan.columns,
        rows=plan.rows,
        attempts=attempts,
        before=before,
    )


def reveal(unit: Unit, level: Epsilon, key: int) -> Codes:
    """One level of a unit's chain; the same key gives the same coupled levels."""
    return unit.chain.sample(unit.codes, partial(stream, key, unit.name), level)


def estimate(plan: Plan, released: Released, levels: Mapping[str, Epsilon]) -> LossEstimates:
    """What the loop learns of the losses in a round."""
    return estimate_losses(
        {name: partial(_one_batch, codes) for name, codes in released.items()},
        plan.columns,
        {unit.name: unit.chain.channel(levels[unit.name]) for unit in plan.units},
        method="pearson",
        rows=plan.rows,
        stream=Keystream(_PUBLIC, "estimate"),
    )


def predict(plan: Plan, released: Released, history: History, estimates: LossEstimates) -> Predictions:
    """What the loop expects of the rungs above, for every unit that misses its target."""
    latest = history.latest
    return {
        unit.name: predicted(unit, latest[unit.name].level, _counts(unit, released[unit.name]), plan.rows, estimates)
        for unit in plan.units
        if not latest[unit.name].met
    }


def _counts(unit: Unit, codes: Codes) -> NDArray[np.int64]:
    return np.bincount(codes, minlength=unit.domain.size).astype(np.int64)


def predicted(
    unit: Unit, level: Epsilon, counts: NDArray[np.int64], rows: int, estimates: LossEstimates
) -> tuple[PredictedLoss, ...]:
    """What the loop expects of a unit's rungs above a level, as ``tasks.measure`` has it."""
    channel = unit.chain.channel(level)
    return predict_losses(
        Knowledge(counts, channel),
        {rung: unit.chain.channel(rung) for rung in unit.rungs if rung > level},
        unit.column.bins_of(channel.outputs),
        loss=unit.target.loss if unit.target is not None else "tvd",
        rows=rows,
        stream=Keystream(_PUBLIC, "predict", unit.name, level.text),
        found=estimates.of_unit(unit.name, "correlation_loss"),
        size=unit.column.size,
    )


def judged(
    unit: Unit, levels: Mapping[str, Epsilon], attempts: Mapping[str, int], losses: Losses | LossEstimates
) -> RoundEntry:
    """The entry of a unit for a round, as ``tasks.measure`` has it."""
    level, attempt = levels[unit.name], attempts[unit.name]
    if unit.target is None:
        return RoundEntry.judged(unit.name, level, attempt, None, None)
    found = losses.of_unit(unit.name, unit.target.loss)
    if not isinstance(found, Estimate):
        return RoundEntry.judged(unit.name, level, attempt, found.value, unit.target, reason=found.reason)
    ends = None if found.low is None or found.high is None else (found.low, found.high)
    return RoundEntry.judged(
        unit.name, level, attempt, found.value, unit.target, source="released", interval=ends, reason=found.reason
    )


def _outcome(
    plan: Plan, history: History, released: Released, levels: Mapping[str, Epsilon], exact: Measurement
) -> Outcome:
    spent = Epsilon(0)
    for unit in plan.units:
        looked_at = [level for (name, _), level in history.draws.items() if name == unit.name]
        spent += spent_on(plan, unit, looked_at).epsilon
    met = {unit.name: _is_met(exact, unit) for unit in plan.units}
    return Outcome(levels, spent, len(history.rounds), released, met)


def _is_met(exact: Measurement, unit: Unit) -> bool:
    return unit.target is None or is_met(exact.losses.of_unit(unit.name, unit.target.loss).value, unit.target)


def stream(key: int, name: str, purpose: str, level: Epsilon) -> Keystream:
    """The words of one step of a unit's chain."""
    return Keystream(root(key), name, purpose, level.text)


def _one_batch(codes: Codes) -> Iterator[Codes]:
    yield codes
