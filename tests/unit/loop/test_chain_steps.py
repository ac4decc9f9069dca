"""Steps under ``composition: chain``: increments, jumps to a promised rung, and totals that are never passed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import Cost
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import (
    Continue,
    History,
    PredictedLoss,
    RoundEntry,
    Stop,
    cost_of,
    first_step,
    next_step,
    spent_on,
    total_of,
)

NO_DELTA, NO_GEO = Delta(0), Geo(0)


@dataclass(frozen=True)
class Target:
    loss: str
    ceiling: str


@dataclass(frozen=True)
class Unit:
    name: str
    rungs: tuple[Epsilon, ...]
    target: Target | None
    delta: Delta = NO_DELTA
    geo: Geo = NO_GEO


@dataclass(frozen=True)
class Plan:
    units: tuple[Unit, ...]
    epsilon_total: Epsilon
    delta_total: Delta = NO_DELTA
    geo_total: Geo = NO_GEO
    max_rows: int = 1
    max_rounds: int = 100
    on_unmet: str = "hold"
    composition: str = "chain"


def eps(text):
    return Epsilon.parse(text, zero=True)


def unit(name, rungs, ceiling="0.05", **extra):
    return Unit(name, tuple(map(eps, rungs.split())), Target("tvd", ceiling) if ceiling else None, **extra)


def seen(plan, past, **found):
    """One more round: name=(level, attempt, upper end)."""
    targets = {one.name: one.target for one in plan.units}
    return past.append(
        RoundEntry.judged(
            name, eps(level), attempt, upper, targets[name], source="released", interval=upper and (0.0, upper)
        )
        for name, (level, attempt, upper) in found.items()
    )


def promise(**ends):
    """By unit, (level, upper end) pairs."""
    return {
        name: tuple(PredictedLoss(eps(level), Estimate(high, 0.0, high, high)) for level, high in pairs)
        for name, pairs in ends.items()
    }


PLAN = Plan((unit("a", "0.5 1 2 4"), unit("b", "0.5 1 2 4"), unit("c", "1", None)), eps("6"))


def test_a_reveal_costs_the_difference_to_the_highest_level_so_far():
    past = seen(PLAN, History(), a=("0.5", 1, 0.5), b=("0.5", 1, 0.01), c=("1", 1, None))
    assert next_step(PLAN, past) == Continue((("a", eps("1")),), eps("3.5"))
    past = seen(PLAN, past, a=("1", 2, 0.4), b=("0.5", 1, 0.01), c=("1", 1, None))
    assert next_step(PLAN, past) == Continue((("a", eps("2")),), eps("2.5"))
    past = seen(PLAN, past, a=("2", 3, 0.4), b=("0.5", 1, 0.01), c=("1", 1, None))
    assert next_step(PLAN, past) == Continue((("a", eps("4")),), eps("0.5"))  # 4 + 0.5 + 1: what b left went to a
    sequential = replace(PLAN, composition="sequential")
    assert isinstance(next_step(sequential, past), Stop)  # 0.5 + 1 + 2 + 4 and the others do not fit


def test_the_lowest_rung_promised_by_its_upper_end_is_taken():
    past = seen(PLAN, History(), a=("0.5", 1, 0.5), b=("0.5", 1, 0.01), c=("1", 1, None))
    promised = promise(a=[("1", 0.3), ("2", 0.05), ("4", 0.01)])
    assert next_step(PLAN, past, promised) == Continue((("a", eps("2")),), eps("2.5"))
    assert next_step(PLAN, past, promise(a=[("2", 0.051)])).levels == (("a", eps("1")),)  # no promise: the next rung
    unknown = {"a": (PredictedLoss(eps("2"), Estimate.none("hidden")),)}
    assert next_step(PLAN, past, unknown).levels == (("a", eps("1")),)
    short = replace(PLAN, epsilon_total=eps("3"))  # the promised rung does not fit, the next one does
    assert next_step(short, past, promised).levels == (("a", eps("1")),)


def test_the_largest_predicted_excess_goes_first():
    past = seen(PLAN, History(), a=("0.5", 1, 0.5), b=("0.5", 1, 0.4), c=("1", 1, None))
    assert next_step(PLAN, past).levels == (("a", eps("1")),)
    assert next_step(PLAN, past, promise(a=[("1", 0.1)], b=[("1", 0.3)])).levels == (("b", eps("1")),)


def test_delta_adds_up_over_every_rung_looked_at():
    one = unit("a", "1 2 3 4", delta=Delta(10))
    plan = Plan((one,), eps("4"), Delta(30))
    assert spent_on(plan, one, [eps("1"), eps("2"), eps("4")]) == Cost(eps("4"), Delta(30), Geo(0))
    assert spent_on(plan, one, []) == Cost.zero()
    past = seen(plan, History(), a=("1", 1, 0.5))
    past = seen(plan, past, a=("2", 2, 0.4))
    past = seen(plan, past, a=("3", 3, 0.3))
    stop = next_step(plan, past)
    assert stop.reason == "exhausted"
    assert stop.shortfalls[0].obstacle == "going on to rung 4 costs 1 more, which does not fit the delta left"
    jump = next_step(plan, seen(plan, History(), a=("1", 1, 0.5)), promise(a=[("4", 0.01)]))
    assert jump == Continue((("a", eps("4")),), eps("0"))  # rungs that are jumped over were not looked at


def test_a_lower_level_never_gives_anything_back():
    one = unit("a", "1 2 3")
    plan = Plan((one,), eps("3"))
    assert spent_on(plan, one, [eps("2"), eps("1")]) == spent_on(plan, one, [eps("2")])
    past = seen(plan, History(), a=("2", 1, 0.5))
    past = seen(plan, past, a=("1", 2, 0.5))
    assert next_step(plan, past) == Continue((("a", eps("2")),), eps("1"))  # free: it was looked at before


def test_every_row_of_a_unit_pays_the_difference():
    plan = Plan((unit("a", "1 2"),), eps("3"), max_rows=2)
    stop = next_step(plan, seen(plan, History(), a=("1", 1, 0.5)))
    assert stop.shortfalls[0].obstacle == "going on to rung 2 costs 2 more, which does not fit the 1 left"


@st.composite
def plans(draw):
    units = []
    for number in range(draw(st.integers(1, 4))):
        rungs = sorted(draw(st.sets(st.integers(1, 3_000_000), min_size=1, max_size=6)))
        target = Target("tvd", draw(st.sampled_from(["0", "0.1", "0.5"]))) if draw(st.booleans()) else None
        units.append(Unit(f"u{number}", tuple(map(Epsilon, rungs)), target, Delta(draw(st.sampled_from([0, 0, 10])))))
    plan = Plan(tuple(units), Epsilon(2**60), Delta(10**14), max_rows=draw(st.integers(1, 3)))
    first = sum((cost_of(plan, one, one.rungs[0]) for one in units), Cost.zero())
    return replace(
        plan,
        epsilon_total=Epsilon(first.epsilon.units + draw(st.integers(0, 9_000_000))),
        delta_total=Delta(first.delta.units + draw(st.integers(0, 100))),
    )


@settings(derandomize=True, deadline=None, max_examples=200)
@given(plans(), st.data())
def test_no_run_passes_a_total_whatever_is_predicted(plan, data):
    losses = st.one_of(st.none(), st.floats(0, 1))
    levels = {one.name: [] for one in plan.units}
    attempts, past, step = {}, History(), first_step(plan)
    while isinstance(step, Continue):
        for name, level in step.levels:
            assert not levels[name] or level > max(levels[name])
            levels[name].append(level)
            attempts[name] = attempts.get(name, 0) + 1
        # counted here by hand: the highest level of each unit, and delta of every rung
        epsilon = sum(max(of.units for of in found) for found in levels.values()) * plan.max_rows
        assert epsilon <= plan.epsilon_total.units
        assert step.left.units == plan.epsilon_total.units - epsilon
        spent = sum((spent_on(plan, one, levels[one.name]) for one in plan.units), Cost.zero())
        assert spent.fits(total_of(plan))
        assert spent.delta.units >= sum(one.delta.units * len(levels[one.name]) for one in plan.units)
        past = past.append(
            RoundEntry.judged(one.name, levels[one.name][-1], attempts[one.name], data.draw(losses), one.target)
            for one in plan.units
        )
        expected = {
            one.name: tuple(
                PredictedLoss(rung, Estimate(high, 0.0, high, 0.1)) for rung in one.rungs if (high := data.draw(losses))
            )
            for one in plan.units
        }
        step = next_step(plan, past, expected)
        assert step == next_step(plan, past, expected)
    assert (step.reason == "met") == all(entry.met for entry in past.latest.values())


@pytest.mark.parametrize("composition", ["chain", "sequential"])
def test_both_compositions_start_alike(composition):
    assert first_step(replace(PLAN, composition=composition)).left == eps("4")
