"""Costs are exact, round up, add, and know every event."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    Cost,
    DeclaredPlanEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    FixedPartitionEvent,
    GaussianEvent,
    GeoEvent,
    LaplaceEvent,
    LossEvent,
    NoisyMaxEvent,
    PartitionEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
    cost,
    event_from_json,
    event_to_json,
)
from trasgo_lib.budget.accounting import _RULES
from trasgo_lib.errors import AmountError, BudgetError, Reason

mp.dps = 80

EVENTS: tuple[LossEvent, ...] = (
    PureEvent(Epsilon.parse("0.25")),
    ApproximateEvent(Epsilon.parse("1.5"), Delta.parse("0.000000000000001")),
    GeoEvent(Geo.parse("6.93")),
    RevealEvent(Epsilon.parse("2"), Epsilon.parse("1.6"), Delta(3)),
    LaplaceEvent(Epsilon.parse("0.1")),
    DiscreteLaplaceEvent(Epsilon.parse("0.5"), 12),
    GaussianEvent(Rho.parse("0.125"), Delta.parse("1e-9")),
    ExponentialMechanismEvent(Epsilon.parse("0.3")),
    NoisyMaxEvent(Epsilon.parse("0.4")),
    SparseVectorEvent(Epsilon.parse("1"), 3),
    SampledGaussianEvent("0.01", "1.1", 500, Delta.parse("1e-6")),
    PartitionEvent(
        "region",
        (
            ("north", (PureEvent(Epsilon.parse("0.5")), GaussianEvent(Rho.parse("0.01"), Delta(7)))),
            ("south", (NoisyMaxEvent(Epsilon.parse("0.25")),)),
        ),
    ),
    FixedPartitionEvent("year", 2, (("2023", (NoisyMaxEvent(Epsilon.parse("0.25")),)),)),
    DeclaredPlanEvent(Epsilon.parse("0.5"), Delta.parse("1e-9"), (NoisyMaxEvent(Epsilon.parse("0.25")),)),
)

amounts = st.integers(0, 10**9)
costs = st.builds(lambda e, d, g: Cost(Epsilon(e), Delta(d), Geo(g)), amounts, amounts, amounts)


def test_every_event_type_has_a_rule_a_stored_form_and_an_example_here() -> None:
    assert set(_RULES) == set(LossEvent.__args__) == {type(event) for event in EVENTS}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_stored_form_round_trips(event: LossEvent) -> None:
    stored = event_to_json(event)
    assert event_from_json(stored) == event
    assert all(isinstance(value, str) for value in stored.values())


def test_cost_of_each_event_for_one_row() -> None:
    assert [cost(event).to_json() for event in EVENTS[:4]] == [
        {"epsilon": "0.25", "delta": "0", "geo": "0"},
        {"epsilon": "1.5", "delta": "0.000000000000001", "geo": "0"},
        {"epsilon": "0", "delta": "0", "geo": "6.93"},
        {"epsilon": "0.4", "delta": "0.000000000000003", "geo": "0"},
    ]


def test_pure_and_geo_costs_are_multiplied_by_the_rows_of_a_unit() -> None:
    assert cost(EVENTS[0], 4) == Cost.of("1")
    assert cost(EVENTS[2], 3) == Cost.of(geo="20.79")


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.integers(1, 5_000_000), st.integers(1, 10**9), st.integers(2, 8))
def test_delta_of_a_unit_is_the_formula_rounded_up_to_the_next_unit(epsilon: int, delta: int, rows: int) -> None:
    event = ApproximateEvent(Epsilon(epsilon), Delta(delta))
    exact = mpf(delta) * (mp.exp(mpf(rows * epsilon) / 10**6) - 1) / (mp.exp(mpf(epsilon) / 10**6) - 1)
    if exact >= 10**15:
        with pytest.raises(AmountError):
            cost(event, rows)
        return
    charged = cost(event, rows)
    assert charged.epsilon.units == rows * epsilon
    assert charged.delta.units == int(mp.ceil(exact))


def test_delta_of_a_unit_at_epsilon_zero_is_the_limit() -> None:
    assert cost(ApproximateEvent(Epsilon(0), Delta(7)), 5).delta == Delta(35)


def test_a_delta_of_zero_stays_zero_however_many_rows() -> None:
    assert cost(ApproximateEvent(Epsilon.parse("100"), Delta(0)), 1000).delta == Delta(0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rows"),
    [("1", "0.1", 10), ("0.000001", "0.5", 3), ("40", "0.000000000000001", 5), ("100000", "0.1", 10**6)],
)
def test_a_delta_that_reaches_one_is_refused(epsilon: str, delta: str, rows: int) -> None:
    with pytest.raises(AmountError, match="less than 1"):
        cost(ApproximateEvent(Epsilon.parse(epsilon), Delta.parse(delta)), rows)


def test_a_delta_that_reaches_one_at_epsilon_zero_is_refused() -> None:
    with pytest.raises(AmountError, match="less than 1"):
        cost(ApproximateEvent(Epsilon(0), Delta.parse("0.5")), 2)


@pytest.mark.parametrize("rows", [0, -1, True, 1.0, "2", None])
def test_max_rows_must_be_a_whole_number_from_one_on(rows: object) -> None:
    with pytest.raises(BudgetError) as caught:
        cost(EVENTS[0], rows)  # type: ignore[arg-type]
    assert caught.value.reason is Reason.BAD_PARAMETER


def test_an_unknown_event_is_refused_and_the_known_ones_are_named() -> None:
    @dataclass(frozen=True)
    class RenyiEvent:
        alpha: int = 2

    with pytest.raises(BudgetError, match="PureEvent, ApproximateEvent, GeoEvent, RevealEvent"):
        cost(RenyiEvent())  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="RenyiEvent"):
        event_to_json(RenyiEvent())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"type": "renyi", "alpha": "2"},
        {"type": "pure"},
        {"type": "pure", "epsilon": "1", "delta": "0"},
        {"type": "approximate", "epsilon": "1"},
        {"type": "geo", "epsilon": "1"},
        {"type": "discrete_laplace", "epsilon": "1", "sensitivity": "-1"},
        {"type": "discrete_laplace", "epsilon": "1", "sensitivity": "1.5"},
        {"type": "partition", "name": "region", "parts": "[1]"},
        {"type": "partition", "name": "region", "parts": "no json"},
        {"type": "sampled_gaussian", "rate": 1, "noise_multiplier": "1", "steps": "1", "delta": "0.1"},
    ],
)
def test_an_unknown_stored_event_is_refused(stored: dict[str, str]) -> None:
    with pytest.raises(BudgetError) as caught:
        event_from_json(stored)
    assert caught.value.reason is Reason.UNKNOWN_NAME


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "5e-324", "0.0000001", 0.25, True])
def test_a_stored_amount_that_is_not_exact_is_refused(text: object) -> None:
    with pytest.raises(AmountError):
        event_from_json({"type": "pure", "epsilon": text})  # type: ignore[dict-item]


@settings(derandomize=True, deadline=None)
@given(costs, costs, costs)
def test_costs_add_exactly_and_in_any_order(a: Cost, b: Cost, c: Cost) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Cost.zero() == a
    assert (a + b).epsilon.fraction == a.epsilon.fraction + b.epsilon.fraction


@settings(derandomize=True, deadline=None)
@given(costs, costs)
def test_what_is_left_fits_and_one_unit_more_does_not(spent: Cost, cap: Cost) -> None:
    left = spent.left(cap)
    if spent.fits(cap):
        assert spent + left == cap
        assert not (spent + left + Cost(Epsilon(1), Delta(0), Geo(0))).fits(cap)
    assert all(amount.units >= 0 for amount in left.components)


def test_one_component_never_pays_for_another() -> None:
    cap = Cost.of("1", "0.1", "2")
    assert Cost.of("1", "0.1", "2").fits(cap)
    assert not Cost.of("0", "0.100000000000001", "0").fits(cap)
    assert not Cost.of("0", "0", "2.000001").fits(cap)


def test_decimal_drift_cannot_accept_or_refuse_at_the_limit() -> None:
    """B70: 0.1 + 0.2 against 0.3 and ten times 0.1 against 1.0 fit; one unit above 1.0 does not."""
    assert (Cost.of("0.1") + Cost.of("0.2")).fits(Cost.of("0.3"))
    total = Cost.zero()
    for _ in range(10):
        total += Cost.of("0.1")
    assert total == Cost.of("1") and total.fits(Cost.of("1.0"))
    assert not Cost.of("1.000001").fits(Cost.of("1"))
    assert 0.1 + 0.2 > 0.3  # the control: floats refuse the first


def test_cost_as_json_round_trips_and_refuses_other_keys() -> None:
    spent = Cost.of("1.25", "0.000001", "3")
    assert Cost.from_json(spent.to_json()) == spent
    for wrong in ({}, {"epsilon": "1"}, {**spent.to_json(), "rho": "0"}):
        with pytest.raises(AmountError, match="epsilon, delta and geo"):
            Cost.from_json(wrong)


def test_cost_reads_as_text_and_knows_zero() -> None:
    assert str(Cost.of("1.5", "0", "2")) == "epsilon 1.5, delta 0, geo epsilon 2 per km"
    assert Cost.zero().is_zero and not Cost.of(delta="0.1").is_zero
    assert Cost.of("0.5").epsilon.fraction == Fraction(1, 2)


def test_reveals_of_a_chain_cost_its_highest_level_and_the_sum_of_deltas() -> None:
    levels = [Epsilon.parse(text) for text in ("0.25", "0.5", "1.25", "4")]
    spent, before = Cost.zero(), Epsilon(0)
    for level in levels:
        spent += cost(RevealEvent(level, before, Delta(5)), 3)
        before = level
    assert spent.epsilon == Epsilon.parse("12")
    assert spent.delta > Delta(60), "group privacy makes each delta more than three times itself"


@pytest.mark.parametrize("before", ["2", "2.000001"])
def test_a_chain_is_revealed_upwards(before: str) -> None:
    with pytest.raises(BudgetError, match="revealed upwards"):
        cost(RevealEvent(Epsilon.parse("2"), Epsilon.parse(before), Delta(0)))


def test_central_events_count_a_whole_unit_and_are_not_multiplied() -> None:
    for event in EVENTS[4:10]:
        assert cost(event, 7) == cost(event, 1)
    assert cost(EVENTS[6]).epsilon == Epsilon.parse("3.058127") and cost(EVENTS[6]).delta == Delta.parse("1e-9")


def test_disjoint_parts_cost_the_two_largest_since_a_unit_can_move() -> None:
    def part(name: str, *epsilons: str) -> tuple[str, tuple[LossEvent, ...]]:
        return name, tuple(DiscreteLaplaceEvent(Epsilon.parse(text)) for text in epsilons)

    three = PartitionEvent("year", (part("2020", "0.5", "0.5"), part("2021", "0.75"), part("2022", "0.25")))
    assert cost(three) == Cost.of("1.75")
    assert cost(PartitionEvent("year", (part("2020", "0.5"),))) == Cost.of("0.5")
    # a unit of two rows can leave two years for two others: each central query sees it once
    assert cost(three, 2) == Cost.of("2")
    # local draws are charged per row already: 2 x (1 + 0.75) covers every way in which two rows can move
    local = tuple((name, tuple(PureEvent(one.epsilon) for one in drawn)) for name, drawn in _drawn(three))
    assert cost(PartitionEvent("year", local), 2) == Cost.of("3.5")
    mixed = PartitionEvent("year", (local[0], *three.parts[1:]))
    assert cost(mixed, 2) == Cost.of("3")


def _drawn(event: PartitionEvent) -> list[tuple[str, list[DiscreteLaplaceEvent]]]:
    return [(name, [one for one in events if isinstance(one, DiscreteLaplaceEvent)]) for name, events in event.parts]


@pytest.mark.parametrize(
    "build",
    [
        lambda: PartitionEvent("year", ()),
        lambda: PartitionEvent("year", (("a", (EVENTS[0],)), ("a", (EVENTS[0],)))),
        lambda: PartitionEvent("year", (("a", ()),)),
        lambda: DiscreteLaplaceEvent(Epsilon(1), 0),
        lambda: SparseVectorEvent(Epsilon(1), True),
        lambda: GaussianEvent(Rho(0), Delta(1)),
        lambda: GaussianEvent(Rho(1), Delta(0)),
        lambda: SampledGaussianEvent("1.1", "1", 1, Delta(1)),
        lambda: SampledGaussianEvent("nan", "1", 1, Delta(1)),
        lambda: SampledGaussianEvent("0.1", "x", 1, Delta(1)),
    ],
)
def test_an_event_that_makes_no_sense_cannot_be_built(build: object) -> None:
    with pytest.raises(BudgetError) as caught:
        build()  # type: ignore[operator]
    assert caught.value.reason is Reason.BAD_PARAMETER
