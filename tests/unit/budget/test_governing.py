"""What governs an account: prices under each composition, parts in parallel, and wrong rules that are caught."""

from __future__ import annotations

import itertools
import math
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal, localcontext
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget import (
    ApproximateEvent,
    Composition,
    Cost,
    DeclaredPlanEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    FixedPartitionEvent,
    GaussianEvent,
    GeoEvent,
    LossEvent,
    NoisyMaxEvent,
    Partition,
    PartitionEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
    Tally,
    charge,
    cost,
    event_from_json,
    event_to_json,
)
from trasgo_lib.budget.composition import compositions, declared_plan, least_of_plan
from trasgo_lib.errors import BudgetError, ConfigError, Reason

BASIC = Composition("basic")
ZCDP = Composition("zcdp", Delta.parse("1e-6"))
RENYI = Composition("renyi", Delta.parse("1e-6"), 8)


def eps(text: str) -> Epsilon:
    return Epsilon.parse(text)


def rho(text: str) -> Cost:
    return Cost.of(rho=text)


@pytest.mark.parametrize("one", [BASIC, ZCDP, RENYI])
def test_a_composition_is_read_as_it_is_written(one: Composition) -> None:
    assert Composition.parse(one.text) == one


@pytest.mark.parametrize(
    "text",
    ["", "Basic", "zcdp", "zcdp, delta 0", "zcdp, delta 1", "zcdp, delta 1e-6", "renyi of order 1, delta 0.1", "pld",
     "renyi of order 8", "renyi of order 2000, delta 0.1", "advanced, delta 0.1", "zcdp, delta 0.1.1", " basic"],
)  # fmt: skip
def test_no_other_composition_can_govern(text: str) -> None:
    """Advanced composition and loss distributions are not proved for spends that are chosen on the way."""
    with pytest.raises(ConfigError) as caught:
        Composition.parse(text)
    assert caught.value.reason is Reason.BAD_PARAMETER


@pytest.mark.parametrize(
    ("event", "price"),
    [
        (PureEvent(eps("0.2")), "0.02"),
        (RevealEvent(eps("0.2"), Epsilon(0), Delta(0)), "0.02"),
        (RevealEvent(eps("0.2"), eps("0.1"), Delta(0)), "0.02"),
        (DiscreteLaplaceEvent(eps("0.1")), "0.005"),
        (ExponentialMechanismEvent(eps("0.2")), "0.005"),
        (NoisyMaxEvent(eps("0.2")), "0.02"),
        (SparseVectorEvent(eps("0.2"), 3), "0.02"),
        (GaussianEvent(Rho.parse("0.01"), Delta(1)), "0.01"),
        (PureEvent(eps("0.000001")), "0.000000001"),  # 5e-13, rounded up
    ],
)
def test_prices_in_rho(event: LossEvent, price: str) -> None:
    assert charge(event, ZCDP) == rho(price)
    renyi = charge(event, RENYI)
    assert 0 < renyi.rho.units <= 8 * Rho.parse(price).units + 1
    assert renyi == Cost.of(rho=renyi.rho.text)


def test_a_release_of_several_columns_adds_squares_and_not_its_epsilon() -> None:
    """Ten columns at 0.5 and a unit of two rows: each row and column is a draw of its own."""
    total = Cost.zero()
    for _ in range(10):
        total += charge(PureEvent(eps("0.5")), ZCDP, 2)
    assert total == rho("2.5")
    assert rho("50") == charge(PureEvent(eps("10")), ZCDP)  # what its total epsilon alone would prove


@pytest.mark.parametrize(
    "event",
    [ApproximateEvent(eps("1"), Delta(1)), RevealEvent(eps("1"), Epsilon(0), Delta(1))],
)
def test_what_has_no_proved_bound_is_refused_in_rho(event: LossEvent) -> None:
    for rule in (ZCDP, RENYI):
        with pytest.raises(BudgetError, match="whose loss is known"):
            charge(event, rule)
    assert charge(event, BASIC) == cost(event)


def test_points_keep_their_own_column_and_sampled_steps_go_to_renyi_only() -> None:
    point = GeoEvent(Geo.parse("6.93"))
    assert {charge(point, rule, 2).geo.text for rule in (BASIC, ZCDP, RENYI)} == {"13.86"}
    assert charge(point, ZCDP).rho.units == 0
    steps = SampledGaussianEvent("0.1", "4", 10, Delta.parse("1e-6"))
    assert charge(steps, RENYI).rho.units > 0
    with pytest.raises(BudgetError):
        charge(steps, ZCDP)


def test_an_unknown_event_is_refused_by_every_rule() -> None:
    class Made:
        pass

    for rule in (BASIC, ZCDP, RENYI):
        with pytest.raises(BudgetError):
            charge(Made(), rule)  # type: ignore[arg-type]


def test_events_are_frozen_and_say_nothing_of_cost() -> None:
    for kind in get_args(LossEvent):
        assert not {"cost", "price", "charge"} & set(dir(kind)), kind
        made = object.__new__(kind)
        with pytest.raises((FrozenInstanceError, TypeError)):
            setattr(made, fields(kind)[0].name, None)


# --- parts ---------------------------------------------------------------------------------------------------


def _replaced_moves(epsilon: float, parts: int) -> float:
    """Largest log-ratio when one record moves from the first part to the second and each part's count is noised.

    Each count carries two-sided geometric noise; the record adds one to the count of the part it lies in.
    """
    a = math.exp(-epsilon)

    def law(y: int, centre: int) -> float:
        return (1 - a) / (1 + a) * a ** abs(y - centre)

    worst = 0.0
    for answers in itertools.product(range(-3, 5), repeat=parts):
        here = math.prod(law(y, 1 if part == 0 else 0) for part, y in enumerate(answers))
        there = math.prod(law(y, 1 if part == 1 else 0) for part, y in enumerate(answers))
        worst = max(worst, abs(math.log(here / there)))
    return worst


def test_a_record_that_may_move_is_charged_in_two_parts_and_the_largest_alone_would_not_do() -> None:
    parts = tuple((name, (DiscreteLaplaceEvent(eps("0.7")),)) for name in ("north", "south", "east"))
    truth = _replaced_moves(0.7, 3)
    moving, fixed = cost(PartitionEvent("region", parts)), cost(FixedPartitionEvent("region", 1, parts))
    assert float(moving.epsilon.decimal) == pytest.approx(truth)
    assert float(fixed.epsilon.decimal) < truth  # negative control: the maximum is right only where nobody moves
    assert moving.epsilon < eps("2.1")  # and the sum over all parts is more than anybody loses
    assert charge(PartitionEvent("region", parts), ZCDP).rho == Rho.parse("0.49")
    assert charge(FixedPartitionEvent("region", 1, parts), ZCDP).rho == Rho.parse("0.245")


REGION = Partition("region", ("north", "south", "east"), 1)
YEARS = Partition("year", ("2023", "2024", "2025"), 2)
amounts = st.integers(1, 10**6)
places = st.sampled_from([None, *(("region", p) for p in REGION.parts), *(("year", p) for p in YEARS.parts)])


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.tuples(amounts, places), max_size=12), st.sampled_from([BASIC, ZCDP]))
def test_an_account_deducts_what_the_worst_unit_has_lost(
    spends: list[tuple[int, tuple[str, str] | None]], rule: Composition
) -> None:
    """Against every unit there can be: one in any part of region and any two years."""
    tally = Tally(rule, 1, (REGION, YEARS))
    charged = Cost.zero()
    for units, part in spends:
        after = tally.after(PureEvent(Epsilon(units)), part)
        charged, tally = charged + (after.total - tally.total), after
    worst = Cost.zero()
    for region in REGION.parts:
        for years in itertools.combinations(YEARS.parts, 2):
            own = {None, ("region", region), *(("year", year) for year in years)}
            lost = [charge(PureEvent(Epsilon(units)), rule) for units, part in spends if part in own]
            worst = max(worst, sum(lost, Cost.zero()), key=lambda one: (one.epsilon.units, one.rho.units))
    assert tally.total == charged == worst


def test_parts_that_nobody_declared_are_refused() -> None:
    tally = Tally(BASIC, 1, (REGION,))
    draw = PureEvent(eps("1"))
    for part in (("region", "west"), ("year", "2023")):
        with pytest.raises(BudgetError) as caught:
            tally.after(draw, part)
        assert caught.value.reason is Reason.ACCOUNT_MISMATCH
    asked = FixedPartitionEvent("region", 1, (("north", (draw,)),))
    with pytest.raises(BudgetError, match="both at once"):
        tally.after(asked, ("region", "north"))
    with pytest.raises(BudgetError, match="parts_per_unit 1"):
        tally.after(FixedPartitionEvent("region", 2, (("north", (draw,)),)))
    assert tally.after(asked).total == cost(draw)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Partition("region", ("north",)),
        lambda: Partition("region", ("north", "north")),
        lambda: Partition("", ("a", "b")),
        lambda: Partition("region", ("a", "")),
        lambda: Partition("region", ("a", "b"), 0),
        lambda: Partition("region", ("a", "b"), 3),
        lambda: Partition("region", ("a", "b"), True),
    ],
)
def test_a_partition_that_is_none_cannot_be_declared(make: object) -> None:
    with pytest.raises(ConfigError):
        make()  # type: ignore[operator]


# --- plans in advance ------------------------------------------------------------------------------------------


def test_a_plan_in_advance_is_one_charge_for_its_composed_loss() -> None:
    draws = [NoisyMaxEvent(eps("0.1"))] * 20 + [DiscreteLaplaceEvent(eps("0.1"), 5)] * 10
    delta = Delta.parse("1e-6")
    plan = declared_plan(draws, delta)
    told = compositions(draws, delta).pld
    assert told is not None and told <= float(plan.epsilon.decimal) <= told * 1.01
    assert cost(plan) == Cost(plan.epsilon, delta, Geo(0)) and plan.epsilon < eps("2.9")
    assert event_from_json(event_to_json(plan)) == plan
    # where the account is in rho, its draws are charged, and no claim of the plan enters
    assert charge(plan, ZCDP) == rho("0.15")
    assert declared_plan(draws[:1], delta).epsilon <= eps("0.1")


@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-9", "1e-12", "2e-15"])
@pytest.mark.parametrize("count", [1, 3, 7, 50])
def test_a_plan_is_charged_on_an_exact_grid_and_never_below_what_its_claim_needs(count: int, delta: str) -> None:
    """Rounded up from the exact value of the float, at a smaller delta; at 2e-15 no tail is left to give away."""
    draws = [NoisyMaxEvent(eps("0.123457"))] * count
    plan, total = declared_plan(draws, Delta.parse(delta)), count * eps("0.123457").units
    least = least_of_plan(draws, Delta.parse(delta))
    assert plan.epsilon.decimal >= least and plan.epsilon.units <= total
    assert plan.epsilon.units % 100 == 0 or plan.epsilon.units == total
    assert plan.epsilon.decimal - least <= Decimal("0.02") or delta == "2e-15"


@pytest.mark.parametrize(("epsilon", "count"), [("0.01", 2000), ("0.1", 50), ("0.5", 40)])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9", "1e-12", "1e-14", "2e-15"])
def test_rounding_in_the_transforms_never_lowers_what_a_plan_is_charged(epsilon: str, count: int, delta: str) -> None:
    """2,000 draws at 0.01 were charged 3.237 at a delta of 1e-14, where the exact delta is 5.9e-14."""
    plan = declared_plan([NoisyMaxEvent(eps(epsilon))] * count, Delta.parse(delta))
    assert _exact_delta(epsilon, count, plan.epsilon.decimal) <= Decimal(delta)


def test_the_exact_delta_finds_a_claim_that_is_too_small() -> None:
    """Negative control."""
    assert Decimal("5.9e-14") < _exact_delta("0.01", 2000, Decimal("3.237")) < Decimal("6e-14")


def _exact_delta(epsilon: str, count: int, claim: Decimal) -> Decimal:
    """Of binary randomised responses, by their binomial law in 60 digits: no law of that epsilon passes it."""
    with localcontext() as context:
        context.prec = 60
        odds = Decimal(epsilon).exp()
        scale, total = (1 + odds) ** count, Decimal(0)
        for kept in range(count + 1):
            lost = odds**kept - claim.exp() * odds ** (count - kept)
            total += math.comb(count, kept) * max(lost, Decimal(0)) / scale
        return total


@pytest.mark.parametrize("event", [NoisyMaxEvent(eps("800")), DiscreteLaplaceEvent(eps("5000"), 400)])
def test_a_plan_of_losses_that_no_float_holds_is_charged_their_sum(event: LossEvent) -> None:
    plan = declared_plan([event, NoisyMaxEvent(eps("0.1"))], Delta.parse("1e-6"))
    assert plan.epsilon == eps("0.1") + event.epsilon  # type: ignore[union-attr]


def test_a_plan_with_a_draw_of_unknown_distribution_is_refused() -> None:
    with pytest.raises(BudgetError):
        declared_plan([GaussianEvent(Rho.parse("0.1"), Delta(1))], Delta.parse("1e-6"))
    with pytest.raises(BudgetError):
        DeclaredPlanEvent(eps("1"), Delta(1), (PureEvent(eps("1")),))


@pytest.mark.parametrize(
    "event",
    [
        FixedPartitionEvent("region", 2, (("a", (NoisyMaxEvent(eps("0.5")),)), ("b", (NoisyMaxEvent(eps("0.1")),)))),
        DeclaredPlanEvent(eps("1"), Delta(5), (NoisyMaxEvent(eps("0.5")), SparseVectorEvent(eps("1"), 2))),
    ],
)
def test_new_events_are_read_as_they_are_written(event: LossEvent) -> None:
    assert event_from_json(event_to_json(event)) == event
