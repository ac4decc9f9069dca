"""Guarantee 6, exactly: on every path of an adaptive run, what was seen is worth no more than what was charged.

The decisions are those of the real ``next_step``; they are steered by the real estimates on two rows, and elsewhere by
arbitrary functions of the released codes, which can be told apart from the real ones only by being worse. Every number
is an exact integer; logarithms are rounded up. ``test_adaptive_mutants`` shows that the same enumeration refuses runs
that are charged too little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from transcripts import (
    ODDS_BITS,
    ChainSource,
    Found,
    Newest,
    RawFile,
    Run,
    TinyPlan,
    arbitrary_losses,
    arbitrary_predictions,
    charged,
    excess,
    excess_of_any_policy,
    odds,
    passed,
    tiny_unit,
    worst_by_charge,
    worst_by_enumeration,
)

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import Cost
from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import Knowledge, predict_losses, spent_on, total_of
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, estimate_losses

PAIR = CategoryDomain(["no", "yes"])
THREE = NumberDomain("0", "2", "1")
FOUR = NumberDomain("0", "3", "1")
PAIR_OF_NUMBERS = NumberDomain("0", "1", "1")
GROUP = ProductDomain([("sex", PAIR, None), ("age", FOUR, 2)])

LOSSES = (0.5, 0.04, 0.2, None, 0.3, 0.04)
"""Of a target of 0.05: mostly unmet, so that paths are long; sometimes met, sometimes without evidence."""


def eps(text: str) -> Epsilon:
    return Epsilon.parse(text)


def two_columns(total: str, **terms: Any) -> TinyPlan:
    units = tiny_unit("a", "randomized_response", PAIR, "0.5 1 2"), tiny_unit("b", "laplace", THREE, "0.5 1 2")
    return TinyPlan(units, eps(total), **terms)


def with_missing() -> TinyPlan:
    return TinyPlan(
        (
            tiny_unit("a", "laplace", THREE, "0.5 1 2", missing=True),
            tiny_unit("b", "kary_randomized_response", PAIR, "0.25 0.75 1.5", missing=True),
        ),
        eps("3"),
    )


def with_group() -> TinyPlan:
    return TinyPlan(
        (tiny_unit("g", "kary_randomized_response", GROUP, "0.5 1 2"), tiny_unit("c", "staircase", THREE, "0.5 2")),
        eps("3.5"),
    )


def with_fixed_level() -> TinyPlan:
    return TinyPlan(
        (
            tiny_unit("a", "binned_randomized_response", FOUR, "0.5 1 2", bins=2),
            tiny_unit("b", "gaussian", THREE, "0.5 1 2"),
            tiny_unit("c", "kary_randomized_response", PAIR, "1", ceiling=None),
        ),
        eps("4"),
        on_unmet="publish",
    )


def fresh_draws(total: str) -> TinyPlan:
    units = (
        tiny_unit("a", "randomized_response", PAIR, "0.5 1 2", chained=False),
        tiny_unit("b", "laplace", THREE, "0.5 1 2", chained=False),
    )
    return TinyPlan(units, eps(total), composition="sequential")


def not_all_at_the_bound(newest: Newest, _: RawFile | None) -> bool:
    """An output check on released codes alone."""
    return any(set(look.codes) != {0} for look in newest.values())


def run_of(plan: TinyPlan, rows: int, jumps: bool = False) -> Run:
    expected = arbitrary_predictions(plan) if jumps else None
    return Run(plan, rows, arbitrary_losses(*LOSSES), expected, gate=not_all_at_the_bound)


RUNS: Mapping[str, Run] = {
    "two columns": run_of(two_columns("4"), 1),
    "two columns, jumps": run_of(two_columns("4"), 1, jumps=True),
    "two columns, total below the ladders": run_of(two_columns("2.5"), 1, jumps=True),
    "two columns, two rounds": run_of(two_columns("4", max_rounds=2, on_unmet="publish"), 1, jumps=True),
    "missing code": run_of(with_missing(), 1, jumps=True),
    "group": run_of(with_group(), 1, jumps=True),
    "third column at a fixed level": run_of(with_fixed_level(), 1, jumps=True),
    "fresh draws": run_of(fresh_draws("7"), 1),
    "fresh draws, total below the ladders": run_of(fresh_draws("4"), 1, jumps=True),
}

every_run = pytest.mark.parametrize("name", RUNS)


DELTA = "0.001"


def with_delta(epsilon_total: str, delta_total: str) -> TinyPlan:
    return TinyPlan(
        (
            tiny_unit("a", "gaussian", THREE, "0.5 1 2", delta=DELTA),
            tiny_unit("b", "gaussian", PAIR_OF_NUMBERS, "0.5 1 2", delta=DELTA),
        ),
        eps(epsilon_total),
        Delta.parse(delta_total),
    )


def delta_runs() -> Mapping[str, Run]:
    beside_pure = TinyPlan(
        (tiny_unit("a", "gaussian", THREE, "0.5 1 2", delta=DELTA), tiny_unit("b", "laplace", THREE, "0.5 1 2")),
        eps("4"),
        Delta.parse("0.003"),
    )
    return {
        "two columns": run_of(with_delta("4", "0.006"), 1),
        "two columns, jumps": run_of(with_delta("4", "0.006"), 1, jumps=True),
        "two columns, short of delta": run_of(with_delta("4", "0.004"), 1, jumps=True),
        "beside a pure column": run_of(beside_pure, 1),
    }


DELTA_RUNS = delta_runs()


def holds(worst: Mapping[Cost, Any], *, tight: bool = True) -> None:
    """No path is worth more than its charge; and some path is worth all of it, so the bound could not be lower."""
    assert not passed(worst)
    if tight:
        dearest = max(worst, key=lambda paid: paid.epsilon.units)
        assert worst[dearest].log > dearest.epsilon.decimal * Decimal("0.999999")


@every_run
def test_no_path_is_worth_more_than_it_is_charged(name: str) -> None:
    run = RUNS[name]
    holds(worst_by_charge(run), tight=name != "fresh draws")
    for transcript in run.transcripts:
        paid = charged(run.plan, transcript)
        known = (spent_on(run.plan, unit, transcript.levels(unit.name)) for unit in run.plan.units)
        assert paid == sum(known, Cost.zero())  # what the loop counts is what the ledger is charged
        assert paid.fits(total_of(run.plan))


@every_run
def test_the_same_without_cancelling_what_neighbours_share(name: str) -> None:
    run = RUNS[name]
    assert {paid: ratio.log for paid, ratio in worst_by_enumeration(run).items()} == {
        paid: ratio.log for paid, ratio in worst_by_charge(run).items()
    }


def test_the_runs_take_every_way_out() -> None:
    endings = {(one.ending[0], one.ending[-1]) for run in RUNS.values() for one in run.transcripts}
    assert endings >= {
        ("met", "published"),
        ("met", "stopped by a check"),
        ("unmet", "held"),
        ("unmet", "published"),
        ("exhausted", "held"),
        ("exhausted", "published"),
    }
    jumping = RUNS["two columns, jumps"].transcripts
    assert any(eps("1") not in one.levels("a") and eps("2") in one.levels("a") for one in jumping)
    assert any(eps("1") in one.levels("a") and eps("2") in one.levels("a") for one in RUNS["two columns"].transcripts)


SHORT = (
    tiny_unit("a", "randomized_response", PAIR, "0.5 2"),
    tiny_unit("b", "kary_randomized_response", PAIR, "0.5 1"),
)


@pytest.mark.parametrize("max_rows", [1, 2])
def test_several_rows_of_a_unit_are_paid_for_each(max_rows: int) -> None:
    run = run_of(TinyPlan(SHORT, eps("6"), max_rows=max_rows), 2, jumps=True)
    worst = worst_by_charge(run)
    holds(worst)
    whole = worst_by_enumeration(run)
    assert {paid: ratio.log for paid, ratio in whole.items()} == {paid: ratio.log for paid, ratio in worst.items()}
    assert max(paid.epsilon for paid in worst) == eps("3").times(max_rows)


def real_run(plan: TinyPlan, rows: int) -> Run:
    """Losses and predictions as the loop gets them: estimated from released codes through public channels."""
    columns = [LossColumn(unit.name, unit.name, _kind(unit), unit.domain.size, unit.bins) for unit in plan.units]
    public = Keystream(bytes(32), "estimates")

    @cache
    def found(looks: tuple[Any, ...]) -> Mapping[str, Found]:
        newest = {look.unit: look for look in looks}
        codes = {name: [np.array(look.codes, dtype=np.int32)] for name, look in newest.items()}
        channels = {unit.name: unit.channel(newest[unit.name].level) for unit in plan.units}
        readers = {name: (lambda name=name: iter(codes[name])) for name in newest}
        losses = estimate_losses(readers, columns, channels, method="pearson", rows=rows, stream=public)
        return {name: _found(losses.of_unit(name, "tvd")) for name in newest}

    @cache
    def expected(look: Any, counts: tuple[int, ...]) -> Any:
        unit = next(one for one in plan.units if one.name == look[0])
        known = Knowledge(np.array(counts), unit.channel(look[1]))
        rungs = {rung: unit.channel(rung) for rung in unit.rungs}
        bins = np.arange(len(counts), dtype=np.int32)
        return predict_losses(known, rungs, bins, loss="tvd", rows=rows, stream=public)

    def counts(look: Any) -> tuple[int, ...]:
        outputs = next(one for one in plan.units if one.name == look.unit).channel(look.level).outputs
        return tuple(np.bincount(look.codes, minlength=outputs).tolist())

    return Run(
        plan,
        rows,
        lambda newest, _: found(tuple(newest[unit.name] for unit in plan.units)),
        lambda newest: {name: expected((name, look.level), counts(look)) for name, look in newest.items()},
        gate=not_all_at_the_bound,
    )


def _found(loss: Estimate) -> Found:
    return Found(loss.value, None if loss.low is None or loss.high is None else (loss.low, loss.high))


def _kind(unit: Any) -> Any:
    return "number" if unit.domain.kind == "number" else "label"


REAL: Mapping[str, TinyPlan] = {
    "two columns": TinyPlan(
        (
            tiny_unit("a", "randomized_response", PAIR, "2 3", ceiling="0.75"),
            tiny_unit("b", "laplace", THREE, "2 5", ceiling="0.8"),
        ),
        eps("7"),
    ),
    "group": TinyPlan((tiny_unit("g", "kary_randomized_response", GROUP, "1 3 4", ceiling="0.8"),), eps("4")),
    "missing code": TinyPlan((tiny_unit("a", "laplace", THREE, "4 6", ceiling="0.7", missing=True),), eps("6")),
    "fresh draws": TinyPlan(
        (tiny_unit("a", "randomized_response", PAIR, "1 2 4", ceiling="0.7", chained=False),),
        eps("7"),
        composition="sequential",
    ),
}
"""On two rows the estimates say something where both released codes agree: targets are set to what they then say."""


@pytest.mark.parametrize("name", REAL)
def test_runs_steered_by_the_real_estimates(name: str) -> None:
    run = real_run(REAL[name], 2)
    holds(worst_by_charge(run))
    assert len({one.ending[0] for one in run.transcripts}) > 1
    assert len({tuple((look.unit, look.level) for look in one.looks) for one in run.transcripts}) > 1  # paths differ


@pytest.mark.parametrize(
    "unit",
    [unit for run in RUNS.values() for unit in run.plan.units if unit.is_chained and len(unit.rungs) > 1][:8],
    ids=lambda unit: unit.mechanism,
)
def test_no_policy_at_all_sees_more_of_a_chain_than_its_highest_level(unit: Any) -> None:
    """Every set of levels looked at, every outcome: a policy is a choice among these, and nothing else."""
    source, dearest = ChainSource(unit.chain), Decimal(0)
    for many in range(1, len(unit.rungs) + 1):
        for levels in combinations(unit.rungs, many):
            for weights in source.law(levels).weights.values():
                ratio = max(weights), min(weights)
                # e**level is rounded down, so this is on the safe side
                assert ratio[0] << ODDS_BITS <= odds(levels[-1]) * ratio[1]
                dearest = max(dearest, Decimal(ratio[0]) / Decimal(ratio[1]))
    assert dearest.ln() > unit.rungs[-1].decimal * Decimal("0.999")


@pytest.mark.parametrize("name", DELTA_RUNS)
def test_deltas_of_all_rungs_looked_at_cover_the_whole_transcript(name: str) -> None:
    run = DELTA_RUNS[name]
    paid = [charged(run.plan, transcript) for transcript in run.transcripts]
    assert all(one.fits(total_of(run.plan)) for one in paid)
    for one, transcript in zip(paid, run.transcripts, strict=True):
        looks = sum(len(transcript.levels(unit.name)) for unit in run.plan.units if unit.delta.units)
        assert one.delta == Delta.parse(DELTA).times(looks)
    over = excess(run)
    assert 0 < over <= max(one.delta for one in paid).fraction
    # at the totals, fixed before data is opened, less is over still
    assert excess(run, lambda plan, _: total_of(plan)) <= min(over, run.plan.delta_total.fraction)


@pytest.mark.parametrize("looks", [1, 2, 3, 4])
def test_no_policy_at_all_passes_the_deltas_of_what_it_looks_at(looks: int) -> None:
    unit = tiny_unit("a", "gaussian", FOUR, "0.25 0.5 1 2", delta=DELTA)
    over = excess_of_any_policy([unit], looks)
    assert over <= looks * Fraction(DELTA)
    assert over > Fraction(DELTA) * Fraction(99, 100)


@pytest.mark.parametrize("looks", [2, 3, 4])
def test_no_policy_over_two_chains_passes_the_deltas_of_what_it_looks_at(looks: int) -> None:
    units = [
        tiny_unit("a", "gaussian", PAIR_OF_NUMBERS, "0.5 1 2", delta=DELTA),
        tiny_unit("b", "gaussian", PAIR_OF_NUMBERS, "0.5 2", delta=DELTA),
    ]
    assert excess_of_any_policy(units, looks) <= looks * Fraction(DELTA)


@pytest.mark.long
@pytest.mark.parametrize("jumps", [False, True])
@pytest.mark.parametrize(("total", "max_rows"), [("4", 1), ("2.5", 1), ("8", 2)])
def test_two_columns_of_two_rows(total: str, max_rows: int, jumps: bool) -> None:
    """17,000 transcripts over 36 raw files."""
    holds(worst_by_charge(run_of(two_columns(total, max_rows=max_rows), 2, jumps)))


@pytest.mark.long
@pytest.mark.parametrize("max_rows", [1, 2])
def test_three_rows(max_rows: int) -> None:
    run = run_of(TinyPlan(SHORT, eps("9"), max_rows=max_rows), 3, jumps=True)
    worst = worst_by_charge(run)
    holds(worst)
    whole = worst_by_enumeration(run)
    assert {paid: ratio.log for paid, ratio in whole.items()} == {paid: ratio.log for paid, ratio in worst.items()}


@pytest.mark.long
@pytest.mark.parametrize("build", [with_missing, with_fixed_level], ids=["missing code", "third column"])
def test_two_rows_of_richer_columns(build: Any) -> None:
    short = build()
    units = tuple(replace(unit, rungs=unit.rungs[:: len(unit.rungs) - 1 or 1]) for unit in short.units)
    holds(worst_by_charge(run_of(replace(short, units=units), 2, jumps=True)))


@pytest.mark.long
@pytest.mark.parametrize("max_rows", [1, 2])
def test_deltas_over_two_rows(max_rows: int) -> None:
    units = tuple(tiny_unit(name, "gaussian", PAIR_OF_NUMBERS, "0.5 1", delta=DELTA) for name in ("a", "b"))
    run = run_of(TinyPlan(units, eps("4"), Delta.parse("0.1"), max_rows=max_rows), 2)
    assert 0 < excess(run) <= max(charged(run.plan, one).delta for one in run.transcripts).fraction


@pytest.mark.long
def test_three_rows_steered_by_the_real_estimates() -> None:
    run = real_run(REAL["two columns"], 3)
    holds(worst_by_charge(run))
