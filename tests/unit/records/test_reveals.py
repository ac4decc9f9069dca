"""The ledger of a chained run: reveals add up to the highest level of every unit, however often the run is resumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from transcripts import Look, TinyPlan, arbitrary_losses, arbitrary_predictions, tiny_unit

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import Cost, RevealEvent
from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.loop import Continue, History, RoundEntry, first_step, next_step, spent_on, total_of
from trasgo_lib.noise import Keystream
from trasgo_lib.records import AccountTerms, Reservation

ROWS = 6
LOSSES = arbitrary_losses(0.5, 0.2, 0.04, None, 0.3)


def eps(text: str) -> Epsilon:
    return Epsilon.parse(text, zero=True)


def plan_of(max_rows: int) -> TinyPlan:
    units = (
        tiny_unit("flag", "randomized_response", CategoryDomain(["no", "yes"]), "0.25 0.5 1 2"),
        tiny_unit("wage", "laplace", NumberDomain("0", "5", "1"), "0.5 1 2", missing=True),
        tiny_unit("age", "gaussian", NumberDomain("0", "5", "1"), "0.5 1 2", delta="0.0001"),
    )
    return TinyPlan(units, eps("5").times(max_rows), Delta.parse("0.1"), max_rows=max_rows)


def open_for(office: Any, plan: TinyPlan) -> None:
    terms = AccountTerms("people", "US adults", "person_id", plan.max_rows, "basic", Cost.of("50", "0.5"))
    office.records.open_account(terms, b"k", "ana", office.at)
    office.new_version("p", "e" * 64, account="people")


def reservation(office: Any, plan: TinyPlan, name: str, attempt: int, level: Epsilon, before: Epsilon) -> Reservation:
    unit = next(one for one in plan.units if one.name == name)
    return replace(
        office.draw,
        account="people",
        version="p",
        commitment="e" * 64,
        unit=name,
        chain_digest=unit.chain.digest,
        attempt=attempt,
        level=level.text,
        event=unit.event(level, before),
        max_rows=plan.max_rows,
    )


def rounds(office: Any, plan: TinyPlan, key: int, jumps: bool) -> Iterator[dict[str, list[Epsilon]]]:
    """A run from its start, as the release flow makes it: reserve, reveal, decide; yields after every charge."""
    levels: dict[str, list[Epsilon]] = {unit.name: [] for unit in plan.units}
    expected = arbitrary_predictions(plan) if jumps else lambda _: None
    newest, history, step = {}, History(), first_step(plan)
    while isinstance(step, Continue):
        asked = []
        for name, level in step.levels:
            before = levels[name][-1] if levels[name] else Epsilon(0)
            levels[name].append(level)
            asked.append(reservation(office, plan, name, len(levels[name]), level, before))
        office.records.reserve_all(tuple(asked), office.at)
        yield levels
        for name, level in step.levels:
            newest[name] = Look(name, level, _revealed(plan, name, level, key))
        losses = LOSSES(newest, None)
        history = history.append(
            RoundEntry.judged(
                unit.name, levels[unit.name][-1], len(levels[unit.name]), losses[unit.name].value, unit.target
            )
            for unit in plan.units
        )
        step = next_step(plan, history, expected(newest))


def _revealed(plan: TinyPlan, name: str, level: Epsilon, key: int) -> tuple[int, ...]:
    chain = next(one for one in plan.units if one.name == name).chain
    codes = (np.arange(ROWS) % chain.channel(level).inputs).astype(np.int32)
    root = key.to_bytes(32, "big")
    drawn = chain.sample(codes, lambda purpose, at: Keystream(root, name, purpose, at.text), level)
    return tuple(drawn.tolist())


def finish(run: Iterator[dict[str, list[Epsilon]]]) -> dict[str, list[Epsilon]]:
    *_, last = run
    return last


@pytest.mark.parametrize("jumps", [False, True], ids=["rung by rung", "with jumps"])
@pytest.mark.parametrize("max_rows", [1, 2])
def test_charges_add_up_to_the_highest_level_of_every_unit(new_office: Any, max_rows: int, jumps: bool) -> None:
    plan, many = plan_of(max_rows), set()
    for key in range(4):
        office = new_office(f"{key}.db")
        open_for(office, plan)
        levels = finish(rounds(office, plan, key, jumps))
        entries = office.records.entries("people")[1:]
        many.add(len(entries))
        for unit in plan.units:
            charged = [entry for entry in entries if entry.reservation.unit == unit.name]
            total = sum((entry.cost for entry in charged), Cost.zero())
            assert total.epsilon == max(levels[unit.name]).times(max_rows)
            assert total == spent_on(plan, unit, levels[unit.name])
            assert (total.delta.units > 0) == (unit.name == "age")
        assert office.records.spent_by("cps1988", "p") == office.records.account("people").spent
        assert office.records.account("people").spent.fits(total_of(plan))
        assert office.records.check_chain().ok
    assert max(many) > len(plan.units)


@pytest.mark.parametrize("offices", ["sqlite"], indirect=True)  # dozens of databases
@pytest.mark.parametrize("jumps", [False, True], ids=["rung by rung", "with jumps"])
def test_a_run_resumed_anywhere_ends_with_the_same_entries(new_office: Any, jumps: bool) -> None:
    plan = plan_of(1)
    whole = new_office("whole.db")
    open_for(whole, plan)
    levels = finish(rounds(whole, plan, 3, jumps))
    wanted = whole.records.entries("people")
    for crash in range(1, len(wanted)):
        office = new_office(f"crash-{crash}.db")
        open_for(office, plan)
        for at, _ in enumerate(rounds(office, plan, 3, jumps), start=1):
            if at == crash:
                break  # charged, and dead before the draw
        assert finish(rounds(office, plan, 3, jumps)) == levels
        assert finish(rounds(office, plan, 3, jumps)) == levels
        assert office.records.entries("people") == wanted


def test_a_lower_level_asked_for_again_costs_nothing(office: Any) -> None:
    plan = plan_of(1)
    open_for(office, plan)
    levels = finish(rounds(office, plan, 3, jumps=False))
    before = office.records.entries("people")
    spent = office.records.account("people").spent
    for name, of in levels.items():
        for attempt, level in enumerate(of, start=1):
            known = of[attempt - 2] if attempt > 1 else Epsilon(0)
            entry = office.records.reserve(reservation(office, plan, name, attempt, level, known), office.at)
            assert entry in before
    assert office.records.account("people").spent == spent
    # under a new number there is no event for it, so nothing can be charged or drawn
    name, of = next((name, of) for name, of in levels.items() if len(of) > 1)
    with pytest.raises(BudgetError, match="revealed upwards"):
        office.records.reserve(reservation(office, plan, name, len(of) + 1, of[0], of[-1]), office.at)
    assert office.records.entries("people") == before


@pytest.mark.parametrize("before", ["0.25", "1", "1.999999"])
def test_a_reveal_cannot_build_on_a_level_that_was_never_paid(office: Any, before: str) -> None:
    """An increment over a level nobody paid for would publish epsilon 2 for a charge of next to nothing."""
    plan = plan_of(1)
    open_for(office, plan)
    first = reservation(office, plan, "flag", 1, eps("2"), eps(before))
    with pytest.raises(BudgetError, match="paid before") as caught:
        office.records.reserve(first, office.at)
    assert caught.value.reason is Reason.STATE_CONFLICT
    assert office.records.account("people").spent == Cost.zero()
    office.records.reserve(reservation(office, plan, "flag", 1, eps("0.5"), eps("0")), office.at)
    again = reservation(office, plan, "flag", 2, eps("2"), eps(before))
    if before == "0.25":
        office.records.reserve(again, office.at)  # pays 0.25 twice, which harms nobody
        return
    with pytest.raises(BudgetError, match="paid before"):
        office.records.reserve(again, office.at)
    for other in ({"unit": "wage"}, {"chain_digest": "9" * 64}):  # paid by another chain: a new chain adds
        with pytest.raises(BudgetError, match="paid before"):
            office.records.reserve(
                replace(again, event=RevealEvent(eps("2"), eps("0.5"), Delta(0)), **other), office.at
            )
    assert office.records.account("people").spent == Cost.of("0.5")


def test_another_version_starts_from_nothing(office: Any) -> None:
    plan = plan_of(1)
    open_for(office, plan)
    office.records.reserve(reservation(office, plan, "flag", 1, eps("2"), eps("0")), office.at)
    office.new_version("q", "b" * 64, account="people")
    fresh = replace(reservation(office, plan, "flag", 1, eps("0.5"), eps("0")), version="q", commitment="b" * 64)
    with pytest.raises(BudgetError, match="paid before"):
        office.records.reserve(replace(fresh, level="1", event=RevealEvent(eps("1"), eps("0.5"), Delta(0))), office.at)
    office.records.reserve(fresh, office.at)
    assert office.records.spent_by("cps1988", "q") == Cost.of("0.5")
