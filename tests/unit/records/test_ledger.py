"""Accounts and charges: caps to the unit, one charge a draw, nothing written on refusal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trasgo_lib.amounts import Delta, Epsilon, Geo
from trasgo_lib.budget import ApproximateEvent, Cost, GeoEvent, PureEvent
from trasgo_lib.errors import AmountError, BudgetError, ConfigError, ConflictError, Reason
from trasgo_lib.records import AccountTerms

_NAMES = itertools.count()


def test_an_account_opens_with_an_entry_that_binds_its_terms(office: Any) -> None:
    account, (opening,) = office.records.account("cps"), office.records.entries("cps")
    assert account.terms == office.terms
    assert (account.spent, account.left) == (Cost.zero(), office.terms.cap)
    assert (account.seq, account.head) == (1, opening.hash)
    assert (opening.kind, opening.reservation, opening.prev) == ("open", None, "0" * 64)
    assert account.wrapped_digest_key == b"wrapped digest key"
    assert "wrapped" not in repr(account)


def test_an_account_is_opened_once(office: Any) -> None:
    with pytest.raises(ConflictError) as caught:
        office.records.open_account(replace(office.terms, cap=Cost.of("100")), b"k", "ana", office.at)
    assert caught.value.reason is Reason.ALREADY_EXISTS
    assert office.records.account("cps").terms == office.terms


def test_accounts_are_listed_and_an_unknown_one_names_them(office: Any) -> None:
    office.records.open_account(replace(office.terms, name="adult"), b"k", "ana", office.at)
    assert [account.terms.name for account in office.records.accounts()] == ["adult", "cps"]
    for operation in (office.records.account, office.records.entries):
        with pytest.raises(BudgetError, match="adult, cps") as caught:
            operation("none")
        assert caught.value.reason is Reason.NO_ACCOUNT


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"population": "  "},
        {"unit": 3},
        {"max_rows": 0},
        {"max_rows": True},
        {"max_rows": 2**53},
        {"composition": "renyi"},
        {"cap": Cost.zero()},
        {"cap": Cost.of("1", "1")},
    ],
    ids=str,
)
def test_terms_without_meaning_are_refused(office: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        replace(office.terms, **changes)


def test_a_draw_is_charged_and_written(office: Any) -> None:
    entry = office.records.reserve(office.ask("0.25"), office.at)
    account = office.records.account("cps")
    assert (entry.cost, entry.spent, account.spent) == (Cost.of("0.25"),) * 3
    assert account.left == Cost.of("0.75", "0.001", "5")
    assert (account.seq, account.head, entry.prev) == (2, entry.hash, office.records.entries("cps")[0].hash)
    assert office.records.entries("cps")[1] == entry
    assert office.records.charges_of("cps1988", "1") == (entry,)
    assert entry.reservation == office.ask("0.25")


def test_the_same_draw_is_charged_once_however_often_it_is_asked_for(office: Any) -> None:
    """B79: a retried flow or task costs nothing."""
    first = office.records.reserve(office.ask("0.9"), office.at)
    again = office.records.reserve(office.ask("0.9"), "2031-01-01T00:00:00+00:00")
    assert again == first
    assert (office.records.spent_by("cps1988", "1"), office.count("entries")) == (Cost.of("0.9"), 2)


@pytest.mark.parametrize(
    "changes",
    [{"unit": "region"}, {"chain_digest": "e" * 64}, {"attempt": 2}, {"level": "0.3"}],
    ids=str,
)
def test_every_part_of_the_identity_makes_another_draw(office: Any, changes: dict[str, Any]) -> None:
    office.charge("0.25")
    office.records.reserve(replace(office.draw, **changes), office.at)
    assert office.records.spent_by("cps1988", "1") == Cost.of("0.5")


def test_the_same_input_in_ten_versions_is_charged_ten_times_and_then_refused(office: Any) -> None:
    """B75: fresh releases of the same people add up, whatever they are called."""
    for number in range(2, 12):
        office.new_version(str(number), f"{number:064d}")
        office.charge("0.1", version=str(number), commitment=f"{number:064d}")
    assert office.records.account("cps").spent == Cost.of("1")
    office.new_version("12", "f" * 64)
    with pytest.raises(BudgetError):
        office.charge("0.1", version="12", commitment="f" * 64)
    inputs = {entry.reservation.input_digest for entry in office.records.entries("cps")[1:]}
    assert (len(inputs), office.count("entries")) == (1, 11)


def test_the_cap_is_met_exactly_and_one_unit_more_is_refused(office: Any) -> None:
    """B70: no drift at the limit."""
    for attempt in range(10):
        office.charge("0.1", attempt=attempt)
    assert office.records.account("cps").left.epsilon == Epsilon(0)
    with pytest.raises(BudgetError) as caught:
        office.charge("0.000001", attempt=10)
    assert caught.value.exit_code == 5


def test_a_refusal_says_what_was_asked_and_what_is_left_and_writes_nothing(office: Any) -> None:
    office.charge("0.75")
    before = office.everything()
    with pytest.raises(BudgetError, match=r"at most 0\.25, which is left of the cap 1; came 0\.250001 asked") as caught:
        office.charge("0.250001", attempt=2)
    assert caught.value.reason is Reason.OVER_CAP
    assert office.everything() == before
    office.charge("0.25", attempt=2)


def test_every_component_has_its_own_cap_and_its_own_fault(office: Any) -> None:
    both = ApproximateEvent(Epsilon.parse("2"), Delta.parse("0.1"))
    with pytest.raises(BudgetError) as caught:
        office.charge(event=both)
    assert [fault.required.split(" of ")[0] for fault in caught.value.faults] == ["epsilon", "delta"]
    with pytest.raises(BudgetError, match="geo epsilon per km of at most 5"):
        office.charge(event=GeoEvent(Geo.parse("5.000001")))
    office.charge(event=GeoEvent(Geo.parse("5")))
    assert office.records.account("cps").spent == Cost.of(geo="5")


@pytest.mark.parametrize("text", ["5e-324", "nan", "-0.1", "0"])
def test_a_spend_too_small_to_count_never_reaches_the_ledger(office: Any, text: str) -> None:
    """B71: an exhausted ledger refuses what a float would let slip past."""
    office.charge("1")
    with pytest.raises(AmountError):
        office.charge(text, attempt=2)
    assert office.count("entries") == 2


def test_a_charge_of_nothing_is_refused(office: Any) -> None:
    with pytest.raises(BudgetError, match="above zero"):
        office.charge(event=PureEvent(Epsilon(0)))
    assert office.count("entries") == 1


def test_a_cost_too_large_to_count_is_refused(office: Any) -> None:
    with pytest.raises(BudgetError):
        office.charge(event=PureEvent(Epsilon(2**62)))
    assert office.count("entries") == 1


def test_rows_of_a_unit_multiply_the_charge_and_are_the_accounts(office: Any) -> None:
    terms = AccountTerms("people", "US adults", "person_id", 3, "basic", Cost.of("2", "0.1"))
    office.records.open_account(terms, b"k", "ana", office.at)
    office.new_version("p", "e" * 64, account="people")
    asked = {"account": "people", "version": "p", "commitment": "e" * 64}
    with pytest.raises(ConflictError) as caught:
        office.charge("0.5", **asked)
    assert caught.value.reason is Reason.ACCOUNT_MISMATCH
    office.charge("0.5", max_rows=3, **asked)
    assert office.records.account("people").spent == Cost.of("1.5")


def test_a_version_is_charged_to_its_own_account_only(office: Any) -> None:
    office.records.open_account(replace(office.terms, name="other"), b"k", "ana", office.at)
    with pytest.raises(ConflictError) as caught:
        office.charge(account="other")
    assert caught.value.reason is Reason.ACCOUNT_MISMATCH
    with pytest.raises(BudgetError) as missing:
        office.charge(account="none")
    assert missing.value.reason is Reason.NO_ACCOUNT


@pytest.mark.parametrize("changes", [{"version": "2"}, {"dataset": "adult"}, {"commitment": "0" * 64}], ids=str)
def test_without_the_stored_root_nothing_is_charged(office: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(ConflictError) as caught:
        office.charge(**changes)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.ROOT_LOST, 4)
    assert office.count("entries") == 1


def test_before_the_freeze_nothing_is_charged(office: Any) -> None:
    office.records.create_version("cps1988", "2", "cps", b"wrapped", "e" * 64, "ana", office.at)
    with pytest.raises(ConflictError, match="frozen plan") as caught:
        office.charge(version="2", commitment="e" * 64)
    assert caught.value.reason is Reason.STATE_CONFLICT


def test_another_input_is_not_charged_under_this_version(office: Any) -> None:
    with pytest.raises(ConflictError) as caught:
        office.charge(input_digest="9" * 64)
    assert caught.value.reason is Reason.INPUT_CHANGED
    assert "9" * 64 not in str(caught.value)


def test_the_same_draw_with_another_loss_is_a_conflict(office: Any) -> None:
    office.charge("0.25")
    with pytest.raises(ConflictError) as caught:
        office.records.reserve(replace(office.draw, event=PureEvent(Epsilon.parse("0.2"))), office.at)
    assert caught.value.reason is Reason.PLAN_CHANGED


def test_after_the_draws_only_known_draws_are_answered(office: Any) -> None:
    office.charge("0.25")
    office.advance("validated", "drawn", "held")
    office.charge("0.25")
    with pytest.raises(ConflictError, match="held") as caught:
        office.charge("0.25", attempt=2)
    assert caught.value.reason is Reason.STATE_CONFLICT


@pytest.mark.parametrize(
    "changes",
    [{"unit": ""}, {"attempt": -1}, {"attempt": True}, {"attempt": 1.0}, {"level": None}, {"max_rows": 0}],
    ids=str,
)
def test_reservations_without_meaning_are_refused(office: Any, changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        replace(office.draw, **changes)


@pytest.mark.parametrize("at", ["", "yesterday", "2030-01-31T12:00:00", None])
def test_a_time_without_offset_is_refused_and_nothing_is_written(office: Any, at: Any) -> None:
    with pytest.raises(ConfigError, match="offset"):
        office.records.reserve(office.ask(), at)
    with pytest.raises(ConfigError, match="offset"):
        office.records.open_account(replace(office.terms, name="other"), b"k", "ana", at)
    assert (office.count("entries"), office.count("accounts")) == (1, 1)


def test_names_that_utf8_cannot_hold_are_refused(office: Any) -> None:
    with pytest.raises(ConfigError, match="UTF-8"):
        office.records.transition("cps1988", "1", "validated", "an\udc80", "", {}, office.at)


def test_several_draws_are_charged_together(office: Any) -> None:
    asked = (office.ask("0.25"), office.ask("0.5", unit="region"))
    granted = office.records.reserve_all(asked, office.at)
    assert granted == office.records.entries("cps")[1:] == office.records.reserve_all(asked, office.at)
    assert [entry.spent for entry in granted] == [Cost.of("0.25"), Cost.of("0.75")]


def test_when_one_of_several_draws_is_refused_none_is_charged(office: Any) -> None:
    with pytest.raises(BudgetError):
        office.records.reserve_all((office.ask("0.75"), office.ask("0.3", unit="region")), office.at)
    assert (office.count("entries"), office.records.account("cps").spent) == (1, Cost.zero())


def test_spending_is_summed_by_version(office: Any) -> None:
    office.new_version("2", "e" * 64)
    office.charge("0.25")
    office.charge("0.5", version="2", commitment="e" * 64)
    assert office.records.spent_by("cps1988", "1") == Cost.of("0.25")
    assert office.records.spent_by("cps1988", "2") == Cost.of("0.5")
    assert office.records.spent_by("cps1988", "3") == Cost.zero()


@pytest.mark.parametrize("offices", ["sqlite"], indirect=True)  # 15 databases: the same on both, and slow on a server
@settings(
    derandomize=True,
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # every example makes its own office
)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["0.05", "0.1", "0.35", "0.000001"])), max_size=12))
def test_whatever_is_asked_the_total_is_the_sum_of_what_was_granted(
    new_office: Callable[[str], Any], asked: list[tuple[int, str]]
) -> None:
    office, granted = new_office(f"property-{next(_NAMES)}.db"), {}
    for attempt, level in asked:
        try:
            office.charge(level, attempt=attempt)
            granted[attempt, level] = Cost.of(level)
        except BudgetError:
            assert office.records.account("cps").left.epsilon < Epsilon.parse(level)
    total = sum(granted.values(), Cost.zero())
    assert office.records.account("cps").spent == office.records.spent_by("cps1988", "1") == total
    assert total.fits(office.terms.cap)
    assert office.count("entries") == 1 + len(granted)
    assert office.records.check_chain().ok
