"""The loop's decision as a table, and the properties that keep the published epsilon true."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import Cost
from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.loop import (
    Continue,
    History,
    RoundEntry,
    Stop,
    cost_of,
    first_step,
    next_step,
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
    target: Target | None = None
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
    composition: str = "sequential"


def eps(text):
    return Epsilon.parse(text, zero=True)


def unit(name, rungs, ceiling=None, loss="tvd", **extra):
    return Unit(name, tuple(map(eps, rungs.split())), Target(loss, ceiling) if ceiling else None, **extra)


def entry(plan, name, level, attempt=1, loss=None, **extra):
    target = next(unit.target for unit in plan.units if unit.name == name)
    return RoundEntry.judged(name, eps(level), attempt, loss, target, **extra)


def history(plan, *rounds):
    """Rounds as ``{name: (level, attempt, loss)}``."""
    past = History()
    for entries in rounds:
        past = past.append(entry(plan, name, *values) for name, values in entries.items())
    return past


PLAN = Plan(
    (
        unit("wage", "1 2 4", "40", "correlation_loss"),
        unit("region", "0.5 1", "0.05"),
        unit("smsa", "0.5"),
    ),
    eps("8"),
)
"""First rungs cost 2."""

TABLE = {
    # what was found after each round: the decision
    "all met at once": ([{"wage": ("1", 1, 39.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)}], "met"),
    "a ceiling reached exactly is met": (
        [{"wage": ("1", 1, 40.0), "region": ("0.5", 1, 0.05), "smsa": ("0.5", 1)}],
        "met",
    ),
    "only the unmet unit is drawn again": (
        [{"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)}],
        ("wage", "2", "4"),
    ),
    "the largest loss in terms of its ceiling goes first": (
        [{"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.11), "smsa": ("0.5", 1)}],
        ("region", "1", "5"),
    ),
    "a tie goes by release order": (
        [{"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.1), "smsa": ("0.5", 1)}],
        ("wage", "2", "4"),
    ),
    "a unit at the end of its ladder lets the next one go": (
        [
            {"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.5), "smsa": ("0.5", 1)},
            {"wage": ("1", 1, 80.0), "region": ("1", 2, 0.4), "smsa": ("0.5", 1)},
        ],
        ("wage", "2", "3"),
    ),
    "a loss without evidence is not met": (
        [{"wage": ("1", 1, None), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)}],
        ("wage", "2", "4"),
    ),
    "a loss that is not a number is not met": (
        [{"wage": ("1", 1, float("nan")), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)}],
        ("wage", "2", "4"),
    ),
    "evidence goes before no evidence": (
        [{"wage": ("1", 1, None), "region": ("0.5", 1, 0.06), "smsa": ("0.5", 1)}],
        ("region", "1", "5"),
    ),
    "of losses without evidence the one at the lowest level goes first": (
        [{"wage": ("1", 1, None), "region": ("0.5", 1, None), "smsa": ("0.5", 1)}],
        ("region", "1", "5"),
    ),
    "a met unit can lose its target when another is drawn": (
        [
            {"wage": ("1", 1, 39.0), "region": ("0.5", 1, 0.5), "smsa": ("0.5", 1)},
            {"wage": ("1", 1, 41.0), "region": ("1", 2, 0.01), "smsa": ("0.5", 1)},
        ],
        ("wage", "2", "3"),
    ),
    "the next rung does not fit what is left": (
        [
            {"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.5), "smsa": ("0.5", 1)},
            {"wage": ("1", 1, 80.0), "region": ("1", 2, 0.01), "smsa": ("0.5", 1)},
            {"wage": ("2", 2, 60.0), "region": ("1", 2, 0.01), "smsa": ("0.5", 1)},
        ],
        "exhausted",
    ),
    "no ladder goes on": (
        [
            {"wage": ("1", 1, 39.0), "region": ("0.5", 1, 0.5), "smsa": ("0.5", 1)},
            {"wage": ("1", 1, 39.0), "region": ("1", 2, 0.06), "smsa": ("0.5", 1)},
        ],
        "unmet",
    ),
    "an interrupted first round is completed": ([{"wage": ("1", 1, 80.0)}], [("region", "0.5"), ("smsa", "0.5")]),
}


@pytest.mark.parametrize(("rounds", "expected"), TABLE.values(), ids=TABLE)
def test_decision_table(rounds, expected):
    step = next_step(PLAN, history(PLAN, *rounds))
    if isinstance(expected, str):
        assert isinstance(step, Stop)
        assert step.reason == expected
        assert bool(step.shortfalls) == (expected != "met")
    elif isinstance(expected, tuple):
        name, level, left = expected
        assert step == Continue(((name, eps(level)),), eps(left))
    else:
        assert step.levels == tuple((name, eps(level)) for name, level in expected)


def test_the_first_step_draws_every_unit_at_its_first_rung():
    expected = Continue((("wage", eps("1")), ("region", eps("0.5")), ("smsa", eps("0.5"))), eps("6"))
    assert first_step(PLAN) == next_step(PLAN, History()) == expected


def test_first_rungs_that_do_not_fit_are_refused():
    with pytest.raises(ConfigError) as caught:
        first_step(replace(PLAN, epsilon_total=eps("1.999999")))
    assert caught.value.reason == Reason.OVER_TOTAL
    first_step(replace(PLAN, epsilon_total=eps("2")))


def test_what_the_satisfied_leave_goes_to_the_others_exactly():
    """Ten tenths: a float sum would pass 1 or stop short of it."""
    rungs = "0.1 0.2 0.3"
    plan = Plan((unit("a", rungs, "0.05"), unit("b", rungs, "0.05"), unit("c", rungs, "0.05")), eps("0.8"))
    past = history(plan, {"a": ("0.1", 1, 0.9), "b": ("0.1", 1, 0.01), "c": ("0.1", 1, 0.01)})
    step = next_step(plan, past)
    assert step == Continue((("a", eps("0.2")),), eps("0.3"))
    past = past.append([entry(plan, "a", "0.2", 2, 0.5), entry(plan, "b", "0.1", 1, 0.01)])
    assert next_step(plan, past) == Continue((("a", eps("0.3")),), eps("0"))  # b and c left 0.3 undrawn
    short = replace(plan, epsilon_total=eps("0.799999"))
    assert next_step(short, past).reason == "exhausted"


def test_a_draw_measured_again_is_charged_once():
    past = history(PLAN, *[{"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)}] * 5)
    assert next_step(PLAN, past) == Continue((("wage", eps("2")),), eps("4"))
    assert len(past.draws) == 3


def test_every_row_of_a_privacy_unit_is_charged():
    plan = replace(PLAN, max_rows=2)
    past = history(plan, {"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)})
    assert next_step(plan, past) == Continue((("wage", eps("2")),), eps("0"))
    tight = replace(plan, epsilon_total=eps("7.9"))
    (shortfall,) = next_step(tight, past).shortfalls
    assert shortfall.obstacle == "next rung 2 (4 for 2 rows of one unit) does not fit the 3.9 left"


def test_delta_and_points_count_too():
    plan = Plan(
        (
            unit("wage", "1 2 3", "0.1", delta=Delta.parse("0.000001")),
            unit("pickup", "0", geo=Geo.parse("6.93")),
        ),
        eps("8"),
        Delta.parse("0.000002"),
        Geo.parse("6.93"),
    )
    assert first_step(plan).levels == (("wage", eps("1")), ("pickup", eps("0")))
    past = history(plan, {"wage": ("1", 1, 0.5), "pickup": ("0", 1)})
    assert next_step(plan, past) == Continue((("wage", eps("2")),), eps("5"))
    past = history(plan, {"wage": ("1", 1, 0.5), "pickup": ("0", 1)}, {"wage": ("2", 2, 0.4), "pickup": ("0", 1)})
    stop = next_step(plan, past)
    assert stop.reason == "exhausted"
    assert stop.shortfalls[0].obstacle == "next rung 3 does not fit the delta left"
    with pytest.raises(ConfigError):
        first_step(replace(plan, geo_total=Geo(0)))


def test_a_delta_that_explodes_does_not_fit():
    plan = Plan((unit("wage", "1 99", "0.1", delta=Delta(1)),), eps("1000"), Delta(10**14), max_rows=3)
    stop = next_step(plan, history(plan, {"wage": ("1", 1, 0.5)}))
    assert stop.reason == "exhausted"


def test_messages_say_by_how_much_and_why():
    plan = Plan((unit("wage", "5 6.25", "40", "correlation_loss"),), eps("8.2"))
    (shortfall,) = next_step(plan, history(plan, {"wage": ("5", 1, 47.1)})).shortfalls
    expected = "wage: correlation_loss 47.1 against 40 at epsilon 5; next rung 6.25 does not fit the 3.2 left"
    assert shortfall.message == expected
    assert (shortfall.next_rung, shortfall.left, shortfall.level) == (eps("6.25"), eps("3.2"), eps("5"))
    plan = Plan((unit("wage", "5", "0.1", "kl"),), eps("8.2"))
    past = History().append([entry(plan, "wage", "5", reason="support lost: 1")])
    stop = next_step(plan, past)
    assert stop.reason == "unmet"
    assert stop.shortfalls[0].message == (
        "wage: kl without evidence (support lost: 1) against 0.1 at epsilon 5; its ladder ends there"
    )


def test_the_limit_of_rounds_ends_the_loop():
    plan = replace(PLAN, max_rounds=1)
    past = history(plan, {"wage": ("1", 1, 80.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)})
    stop = next_step(plan, past)
    assert stop.reason == "unmet"
    assert stop.shortfalls[0].obstacle == "the limit of 1 rounds is reached"
    done = history(plan, {"wage": ("1", 1, 1.0), "region": ("0.5", 1, 0.01), "smsa": ("0.5", 1)})
    assert next_step(plan, done).reason == "met"


def test_a_target_that_no_level_can_meet_stops_a_version_that_would_be_held():
    states = [
        entry(PLAN, "wage", "1", reason="unreliable", is_mendable=False),
        entry(PLAN, "region", "0.5", loss=0.5),
        entry(PLAN, "smsa", "0.5"),
    ]
    stop = next_step(PLAN, History().append(states))
    assert stop.reason == "unmet"
    assert [shortfall.obstacle for shortfall in stop.shortfalls] == [
        "no level can change that",
        "not raised, since no level can meet the target of wage",
    ]
    # a version that is published anyway still gets what the others can reach, and never wastes a draw on that one
    publish = replace(PLAN, on_unmet="publish")
    assert next_step(publish, History().append(states)).levels == (("region", eps("1")),)
    states[1] = entry(PLAN, "region", "1", 2, loss=0.5)
    stop = next_step(publish, History().append(states))
    assert (stop.reason, len(stop.shortfalls)) == ("unmet", 2)


@pytest.mark.parametrize(
    "states",
    [{"nobody": ("1", 1)}, {"wage": ("1.5", 1)}, {"wage": ("1", 1)}],
    ids=["unknown unit", "unknown rung", "one draw at two levels"],
)
def test_a_history_of_another_plan_is_refused(states):
    past = History()
    for name, (level, attempt) in states.items():
        past = past.append([RoundEntry(name, eps(level), attempt, None, None, "original", True)])
    if states == {"wage": ("1", 1)}:
        past = past.append([RoundEntry("wage", eps("2"), 1, None, None, "original", True)])
    with pytest.raises(ConflictError) as caught:
        next_step(PLAN, past)
    assert caught.value.reason == Reason.PLAN_CHANGED


@pytest.mark.parametrize("ceiling", ["0", "0.05"])
def test_a_ceiling_of_zero_is_the_most_urgent(ceiling):
    plan = Plan((unit("a", "1 2", "0.1"), unit("b", "1 2", ceiling)), eps("9"))
    step = next_step(plan, history(plan, {"a": ("1", 1, 0.9), "b": ("1", 1, 0.2)}))
    assert step.levels[0][0] == ("b" if ceiling == "0" else "a")


def test_an_estimate_is_met_with_its_upper_end():
    target = Target("tvd", "0.05")
    made = [
        RoundEntry.judged("a", eps("1"), 1, 0.04, target, source="released", interval=(0.03, upper))
        for upper in (0.049, 0.051)
    ]
    assert [found.met for found in made] == [True, False]


# properties: any ladder, any targets, any losses


@st.composite
def plans(draw):
    units = []
    for number in range(draw(st.integers(1, 4))):
        rungs = sorted(draw(st.sets(st.integers(1, 3_000_000), min_size=1, max_size=6)))
        target = Target("tvd", draw(st.sampled_from(["0", "0.1", "0.5"]))) if draw(st.booleans()) else None
        delta = Delta(draw(st.sampled_from([0, 0, 10])))
        units.append(Unit(f"u{number}", tuple(map(Epsilon, rungs)), target, delta))
    max_rows = draw(st.integers(1, 3))
    plan = Plan(tuple(units), Epsilon(2**60), Delta(10**14), max_rows=max_rows, max_rounds=draw(st.integers(1, 30)))
    first = sum((cost_of(plan, one, one.rungs[0]) for one in units), Cost.zero())
    extra = draw(st.integers(0, 20_000_000))
    return replace(
        plan,
        epsilon_total=Epsilon(first.epsilon.units + extra),
        delta_total=Delta(first.delta.units + draw(st.integers(0, 100))),
        on_unmet=draw(st.sampled_from(["hold", "publish"])),
    )


@settings(derandomize=True, deadline=None, max_examples=200)
@given(plans(), st.data())
def test_no_run_passes_a_total_and_every_run_ends(plan, data):
    losses = st.one_of(st.none(), st.floats(0, 1))
    attempts, levels = {}, {}
    spent, past, step, rounds = Cost.zero(), History(), first_step(plan), 0
    while isinstance(step, Continue):
        rounds += 1
        assert rounds <= 1 + sum(len(one.rungs) for one in plan.units)
        for name, level in step.levels:
            one = next(one for one in plan.units if one.name == name)
            assert level in one.rungs
            assert name not in levels or level > levels[name]  # levels only rise
            assert name not in levels or not past.latest[name].met  # the satisfied are left alone
            spent = spent + cost_of(plan, one, level)
            attempts[name], levels[name] = attempts.get(name, 0) + 1, level
        assert spent.fits(total_of(plan))
        assert step.left == spent.left(total_of(plan)).epsilon
        past = past.append(
            RoundEntry.judged(
                one.name,
                levels[one.name],
                attempts[one.name],
                data.draw(losses) if one.target else None,
                one.target,
                is_mendable=data.draw(st.booleans()),
            )
            for one in plan.units
        )
        step = next_step(plan, past)
        assert step == next_step(plan, past)
    unmet = [one.name for one in plan.units if not past.latest[one.name].met]
    assert [shortfall.unit for shortfall in step.shortfalls] == unmet
    assert (step.reason == "met") == (not unmet)
    assert all(shortfall.message for shortfall in step.shortfalls)
    if step.reason == "exhausted":  # nothing that could still be raised would fit
        for shortfall in step.shortfalls:
            one = next(one for one in plan.units if one.name == shortfall.unit)
            if shortfall.next_rung is not None and past.latest[one.name].is_mendable:
                assert not (spent + cost_of(plan, one, shortfall.next_rung)).fits(total_of(plan))


@pytest.mark.parametrize(("lost", "rows", "ceiling"), [(5, 100, "0.05"), (1, 10, "0.1"), (3, 10, "0.3")])
def test_a_share_that_equals_its_ceiling_is_met(lost, rows, ceiling):
    target = Target("tvd", ceiling)
    assert RoundEntry.judged("a", eps("1"), 1, lost / rows, target).met
    assert not RoundEntry.judged("a", eps("1"), 1, (lost + 1e-9) / rows, target).met
    assert RoundEntry.judged("a", eps("1"), 1, None, None).met
