"""What a run states follows from its draws, and must be what the ledger says."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import Cost, cost
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.reporting import UnitOutcome, unit_outcomes


def entry(unit: str, level: str, met: bool, attempt: int = 1) -> Any:
    known = {"loss": 0.25, "interval": None, "source": "original"}
    return SimpleNamespace(unit=unit, level=Epsilon.parse(level), attempt=attempt, met=met, **known)


def test_all_attempts_are_charged_for_every_row_of_a_unit(kit: Any) -> None:
    facts = kit.make_facts()
    assert facts.charged("wage") == Cost.of("4.5")  # (1 + 1.25) for each of 2 rows
    assert facts.charged("region") == Cost.of("1")
    hours = facts.plan.unit("hours")
    assert facts.charged("hours") == cost(hours.channel(hours.rungs[0]).event, 2)
    assert facts.charged("hours").delta.units > 2 * hours.delta.units
    assert facts.realised.epsilon.text == "8"
    assert facts.guarantee == Cost.of("12", "0.000001", "6.93")


def test_the_last_draw_is_published(kit: Any) -> None:
    facts = kit.make_facts()
    assert facts.published_channel("wage").event.epsilon.text == "1.25"
    assert [event.epsilon.text for event in facts.draws("wage")] == ["1", "1.25"]


def test_the_ledger_must_agree(kit: Any) -> None:
    # B69: what is reported is what was charged
    facts = kit.make_facts()
    facts.require_ledger(facts.realised)
    with pytest.raises(BudgetError) as caught:
        facts.require_ledger(Cost.of("8"))
    assert caught.value.reason is Reason.CHAIN_BROKEN


def test_more_than_the_cap_is_never_published(kit: Any) -> None:
    facts = kit.make_facts(dataclasses.replace(kit.plan, epsilon_total=Epsilon.parse("7.999999")))
    with pytest.raises(BudgetError) as caught:
        facts.require_ledger(facts.realised)
    assert caught.value.reason is Reason.OVER_TOTAL


def test_outcomes_follow_the_history(kit: Any) -> None:
    history = [
        entry("wage", "1", False),
        entry("region", "0.5", False),
        entry("hours", "1", True),
        entry("day", "0.25", True),
        entry("wage", "1.25", True, attempt=2),
        entry("region", "0.5", False),
        entry("hours", "1", True),
        entry("day", "0.25", True),
    ]
    outcomes = {outcome.unit: outcome for outcome in unit_outcomes(kit.plan, history)}
    assert [level.text for level in outcomes["wage"].levels] == ["1", "1.25"]
    assert outcomes["wage"].met is True
    assert outcomes["region"].met is False
    # a unit that a round left alone was drawn, and charged, once
    assert [level.text for level in outcomes["region"].levels] == ["0.5"]
    assert outcomes["hours"].met is None
    assert list(outcomes) == [unit.name for unit in kit.plan.units]


def test_a_unit_that_was_never_drawn_has_no_outcome(kit: Any) -> None:
    with pytest.raises(ValueError, match="never drawn"):
        unit_outcomes(kit.plan, [entry("wage", "1", True)])
    with pytest.raises(ValueError, match="never drawn"):
        UnitOutcome("wage", (), None)


def test_outcomes_stand_in_plan_order(kit: Any) -> None:
    facts = kit.make_facts()
    for outcomes in (facts.outcomes[::-1], facts.outcomes[:-1]):
        with pytest.raises(ValueError, match="plan order"):
            dataclasses.replace(facts, outcomes=outcomes)


def test_only_an_estimate_from_released_data_is_published(kit: Any) -> None:
    plan = kit.make_facts().plan
    entries = [entry(unit.name, unit.rungs[0].text, True) for unit in plan.units]
    wage = next(found for found in entries if found.unit == "wage")
    wage.interval = (0.125, 0.5)
    assert unit_outcomes(plan, entries)[0].estimate is None, "a loss on raw data"
    wage.source = "released"
    outcome = next(found for found in unit_outcomes(plan, entries) if found.unit == "wage")
    assert outcome.estimate == (0.25, 0.125, 0.5)
