"""Runs that are charged too little, or that look where they may not: the enumeration must refuse every one of them.

Each mutant differs from a run that holds in one thing only, and is shown to pass its charge by exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from transcripts import (
    ChainSource,
    Found,
    Independent,
    Law,
    Newest,
    RawFile,
    Run,
    SharedUniforms,
    TinyPlan,
    Transcript,
    arbitrary_losses,
    charged,
    excess,
    excess_of_any_policy,
    passed,
    source_of,
    tiny_unit,
    worst_by_charge,
    worst_by_enumeration,
)

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import Cost, cost
from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.loop import spent_on
from trasgo_lib.mechanisms import build_chain

PAIR = CategoryDomain(["no", "yes"])
THREE = NumberDomain("0", "2", "1")
GROUP = ProductDomain([("sex", PAIR, None), ("age", THREE, None)])
UNMET = arbitrary_losses(0.5, 0.2, 0.3)
MIXED = arbitrary_losses(0.5, 0.04, 0.2, None, 0.3)

Charge = Callable[[TinyPlan, Transcript], Cost]


def eps(text: str) -> Epsilon:
    return Epsilon.parse(text)


def plan_of(*units: Any, total: str = "20", **terms: Any) -> TinyPlan:
    return TinyPlan(units, eps(total), **terms)


def column(ladder: str = "1 2", mechanism: str = "laplace", domain: Any = THREE, **own: Any) -> Any:
    return tiny_unit("a", mechanism, domain, ladder, **own)


def largest(broken: Mapping[Cost, Decimal]) -> Decimal:
    return max(broken.values())


def test_a_mechanism_switched_between_rungs_is_not_covered_by_the_highest_level() -> None:
    plan = plan_of(column())
    first = ChainSource(build_chain("laplace", THREE, ["1", "2"]))
    second = ChainSource(build_chain("kary_randomized_response", THREE, ["1", "2"]))
    switched = Run(plan, 1, UNMET, sources={"a": Independent({eps("1"): first, eps("2"): second})})
    assert not passed(worst_by_charge(Run(plan, 1, UNMET)))
    broken = passed(worst_by_charge(switched))
    assert Decimal("2.9") < broken[Cost.of("2")] <= 3  # the two chains add up
    assert broken == passed(worst_by_enumeration(switched))
    assert not passed(worst_by_charge(switched, charged_as_two_chains))


def test_an_edited_ladder_is_not_covered_by_the_highest_level() -> None:
    plan = plan_of(column())
    first = ChainSource(build_chain("laplace", THREE, ["1", "1.5"]))
    second = ChainSource(build_chain("laplace", THREE, ["1", "2"]))
    edited = Run(plan, 1, UNMET, sources={"a": Independent({eps("1"): first, eps("2"): second})})
    assert Decimal("2.999") < passed(worst_by_charge(edited))[Cost.of("2")] <= 3
    assert not passed(worst_by_charge(edited, charged_as_two_chains))


def charged_as_two_chains(plan: TinyPlan, transcript: Transcript) -> Cost:
    """The rule of guarantee 3: the highest level of each chain, added up."""
    (unit,) = plan.units
    return sum((cost(unit.event(level, Epsilon(0))) for level in transcript.levels("a")), Cost.zero())


@dataclass(frozen=True)
class _AloneOf:
    """The codes of one member, drawn by a chain of its own, as a source over the codes of its group."""

    alone: ChainSource
    members: tuple[int, ...]

    @property
    def inputs(self) -> int:
        return len(self.members)

    def law(self, levels: tuple[Epsilon, ...]) -> Law:
        law = self.alone.law(levels)
        return Law({path: tuple(of[code] for code in self.members) for path, of in law.weights.items()}, law.bits)


def test_a_column_looked_at_alone_and_then_in_a_group_is_not_covered_by_the_highest_level() -> None:
    plan = plan_of(column(mechanism="kary_randomized_response", domain=GROUP))
    alone = _AloneOf(ChainSource(build_chain("kary_randomized_response", THREE, ["1", "2"])), (0, 1, 2) * 2)
    grouped = ChainSource(build_chain("kary_randomized_response", GROUP, ["1", "2"]))
    run = Run(plan, 1, arbitrary_losses(0.5), sources={"a": Independent({eps("1"): alone, eps("2"): grouped})})
    assert Decimal("2.999") < passed(worst_by_charge(run))[Cost.of("2")] <= 3


@pytest.mark.parametrize("mechanism", ["laplace", "kary_randomized_response", "staircase"])
def test_levels_that_share_uniforms_tell_the_raw_code(mechanism: str) -> None:
    plan = plan_of(column("0.5 1 2", mechanism))
    shared = SharedUniforms(build_chain(mechanism, THREE, ["0.5", "1", "2"]))
    for level in plan.units[0].rungs:  # each level by itself is what it claims to be
        assert max(max(of) / min(of) for of in shared.law((level,)).weights.values()) < float(level.decimal.exp())
    broken = passed(worst_by_charge(Run(plan, 1, UNMET, sources={"a": shared})))
    assert largest(broken) == Decimal("Infinity")  # some pairs of codes cannot come of every raw code
    assert not passed(worst_by_charge(Run(plan, 1, UNMET)))


def total_variation(newest: Newest, raw: RawFile | None) -> Mapping[str, Found]:
    """The exact loss against the raw file."""
    assert raw is not None
    found = {}
    for at, look in enumerate(newest.values()):
        original = [row[at] for row in raw]
        codes = {*original, *look.codes}
        found[look.unit] = Found(
            sum(abs(original.count(code) - look.codes.count(code)) for code in codes) / 2 / len(raw)
        )
    return found


@pytest.mark.parametrize("rows", [1, 2])
def test_a_loop_steered_by_the_raw_loss_has_no_bound(rows: int) -> None:
    unit = column("0.5 1" if rows > 1 else "0.5 1 2", "randomized_response", PAIR, ceiling="0.4")
    run = Run(plan_of(unit), rows, total_variation, reads_raw=True)
    broken = passed(worst_by_enumeration(run))
    assert largest(broken) == Decimal("Infinity")  # that it stopped here is impossible for the neighbour


def test_a_check_that_compares_with_the_raw_file_has_no_bound() -> None:
    def differs(newest: Newest, raw: RawFile | None) -> bool:
        return raw is not None and any(newest["a"].codes[at] != row[0] for at, row in enumerate(raw))

    honest = Run(plan_of(column("0.5 1", ceiling="0.4"), on_unmet="publish"), 1, MIXED)
    assert not passed(worst_by_enumeration(honest))
    assert not passed(worst_by_enumeration(replace(honest, reads_raw=True)))  # the same run, walked once a raw file
    gated = replace(honest, gate=differs, reads_raw=True)
    assert largest(passed(worst_by_enumeration(gated))) == Decimal("Infinity")


def test_a_raw_loss_still_leaks_when_only_the_last_level_is_seen() -> None:
    """Nobody has to see the path: where it stopped, and what was published there, is enough."""
    unit = column("0.5 1 2", "randomized_response", PAIR, ceiling="0.4")
    run = Run(plan_of(unit, on_unmet="publish"), 1, total_variation, reads_raw=True)
    broken = passed(worst_by_enumeration(run, view=lambda one: one.looks[-1]))
    assert largest(broken) == Decimal("Infinity")


def last_increment_only(plan: TinyPlan, transcript: Transcript) -> Cost:
    total = Cost.zero()
    for unit in plan.units:
        *lower, last = transcript.levels(unit.name)
        total += cost(unit.event(last, max(lower, default=Epsilon(0))), plan.max_rows)
    return total


def refunded(plan: TinyPlan, transcript: Transcript) -> Cost:
    """The finest level was looked at, then thrown away for the one before."""
    return sum(
        (spent_on(plan, unit, transcript.levels(unit.name)[:-1] or unit.rungs[:1]) for unit in plan.units), Cost.zero()
    )


def one_row_only(plan: TinyPlan, transcript: Transcript) -> Cost:
    return charged(replace(plan, max_rows=1), transcript)


def one_unit_only(plan: TinyPlan, transcript: Transcript) -> Cost:
    dearest = max(plan.units, key=lambda unit: spent_on(plan, unit, transcript.levels(unit.name)).epsilon)
    return spent_on(plan, dearest, transcript.levels(dearest.name))


TWO = (column("0.5 1 2", "randomized_response", PAIR), tiny_unit("b", "laplace", THREE, "0.5 1"))
PEOPLE = TinyPlan((column("0.5 1", "randomized_response", PAIR),), eps("4"), max_rows=2)


@pytest.mark.parametrize(
    ("run", "charge", "at_least"),
    [
        (Run(plan_of(column("0.5 1 2")), 1, UNMET), last_increment_only, "1.99"),
        (Run(plan_of(column("0.5 1 2")), 1, UNMET), refunded, "1.99"),
        (Run(plan_of(*TWO), 1, UNMET), one_unit_only, "2.99"),
        (Run(PEOPLE, 2, MIXED), one_row_only, "1.99"),
    ],
    ids=["only the last increment", "refund of a discarded level", "columns do not add", "rows of a unit do not add"],
)
def test_a_charge_that_is_too_small_is_passed(run: Run, charge: Charge, at_least: str) -> None:
    assert not passed(worst_by_charge(run))
    broken = passed(worst_by_charge(run, charge))
    assert largest(broken) > Decimal(at_least)
    assert broken == passed(worst_by_enumeration(run, charge))


def test_a_discarded_level_tells_through_the_choice_to_discard_it() -> None:
    """The finer codes are hidden; only the coarser ones are published, if the finer ones showed something."""
    run = Run(plan_of(column("1 2", "randomized_response", PAIR)), 1, arbitrary_losses(0.5))

    def published(transcript: Transcript) -> object:
        coarse, fine = transcript.looks
        return coarse if fine.codes == (0,) else "nothing"

    broken = passed(worst_by_enumeration(run, refunded, published))
    assert Decimal("1.999") < broken[Cost.of("1")] <= 2
    assert not passed(worst_by_enumeration(run, charged, published))


def test_fresh_draws_are_not_covered_by_the_highest_level() -> None:
    units = (replace(column("0.5 1 2"), is_chained=False),)
    plan = plan_of(*units, composition="sequential")
    run = Run(plan, 1, UNMET)
    assert not passed(worst_by_charge(run))
    as_chain = replace(plan, composition="chain")

    def as_highest(_: TinyPlan, transcript: Transcript) -> Cost:
        return spent_on(as_chain, units[0], transcript.levels("a"))

    assert Decimal("3.49") < largest(passed(worst_by_charge(run, as_highest))) <= Decimal("3.5")


def small_at_the_low_end(newest: Newest, _: RawFile | None) -> Mapping[str, Found]:
    return {name: Found(0.01 if look.codes == (0,) else 0.5) for name, look in newest.items()}


def test_the_delta_of_one_level_does_not_cover_several() -> None:
    unit = tiny_unit("a", "gaussian", NumberDomain("0", "3", "1"), "0.25 0.5 1 2", delta="0.001")
    one = Fraction("0.001")
    assert excess_of_any_policy([unit], 1) <= one
    for looks in (2, 3, 4):
        assert excess_of_any_policy([unit], looks) > one * Fraction(3, 2)
    # a run of the real loop is such a policy where its losses are small at one end of the domain
    run = Run(TinyPlan((unit,), eps("2"), Delta.parse("0.004")), 1, small_at_the_low_end)
    assert one * Fraction(3, 2) < excess(run) <= 4 * one


def test_every_source_of_these_tests_sums_to_one() -> None:
    shared = SharedUniforms(build_chain("laplace", THREE, ["1", "2"]))
    for source in (source_of(column()), shared, source_of(replace(column(), is_chained=False))):
        law = source.law((eps("1"), eps("2")))
        assert [sum(of) for of in zip(*law.weights.values(), strict=True)] == [1 << law.bits] * source.inputs
