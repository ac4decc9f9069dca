"""Versions: created once, frozen by the first charge, only ever forward."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from trasgo_lib.errors import BudgetError, ConfigError, ConflictError, Reason, StoreError
from trasgo_lib.records import State
from trasgo_lib.records.lifecycle import NEXT_STATES

PATH_TO = {
    "planned": (),
    "validated": ("validated",),
    "drawn": ("validated", "drawn"),
    "checked": ("validated", "drawn", "checked"),
    "held": ("validated", "drawn", "held"),
    "approved": ("validated", "drawn", "held", "approved"),
    "published": ("validated", "drawn", "checked", "published"),
    "superseded": ("validated", "drawn", "checked", "published", "superseded"),
    "withdrawn": ("withdrawn",),
}


def test_a_version_starts_planned_with_its_root(office: Any) -> None:
    record = office.records.create_version("cps1988", "2", "cps", b"wrapped root", "e" * 64, "ana", office.at)
    assert record == office.records.version("cps1988", "2")
    assert (record.state, record.account, record.wrapped_root) == (State.PLANNED, "cps", b"wrapped root")
    assert (record.plan_digest, record.input_digest, record.manifest_digest) == (None, None, None)
    assert "wrapped" not in repr(record)
    (event,) = office.records.events("cps1988", "2")
    assert event.evidence == {"account": "cps", "commitment": "e" * 64}
    assert (event.actor, event.prev, event.hash, event.seq) == ("ana", "0" * 64, record.head, record.seq)


def test_versions_are_listed_and_an_unknown_one_is_none(office: Any) -> None:
    office.new_version("0", "e" * 64)
    assert [record.version for record in office.records.versions()] == ["0", "1"]
    assert office.records.version("cps1988", "9") is None
    assert office.records.events("cps1988", "9") == ()


@pytest.mark.parametrize(("version", "commitment"), [("1", "e" * 64), ("2", "c" * 64), ("1", "c" * 64)])
def test_neither_a_version_nor_a_root_is_used_twice(office: Any, version: str, commitment: str) -> None:
    with pytest.raises(ConflictError) as caught:
        office.records.create_version("cps1988", version, "cps", b"new root", commitment, "ana", office.at)
    assert (caught.value.reason, caught.value.exit_code) == (Reason.ALREADY_EXISTS, 4)
    assert office.records.version("cps1988", "1").wrapped_root == b"wrapped"


def test_a_version_needs_an_account_and_all_its_parts(office: Any) -> None:
    with pytest.raises(BudgetError) as caught:
        office.records.create_version("cps1988", "2", "none", b"w", "e" * 64, "ana", office.at)
    assert caught.value.reason is Reason.NO_ACCOUNT
    for arguments in (("", "2", "cps", b"w", "e"), ("d", "", "cps", b"w", "e"), ("d", "2", "cps", b"", "e")):
        with pytest.raises(ConfigError):
            office.records.create_version(*arguments, "ana", office.at)


def test_the_same_freeze_again_changes_nothing(office: Any) -> None:
    before = office.records.version("cps1988", "1")
    assert (before.plan_digest, before.input_digest) == ("2" * 64, "1" * 64)
    assert office.records.freeze("cps1988", "1", "2" * 64, "1" * 64, "eva", office.at) == before


def test_before_the_first_charge_plan_and_input_can_be_fixed_anew(office: Any) -> None:
    record = office.records.freeze("cps1988", "1", "5" * 64, "6" * 64, "eva", office.at)
    assert (record.plan_digest, record.input_digest) == ("5" * 64, "6" * 64)
    assert [event.kind for event in office.records.events("cps1988", "1")] == ["state", "freeze", "freeze"]


@pytest.mark.parametrize(
    ("plan", "data", "reason"),
    [
        ("5", "1", Reason.PLAN_CHANGED),
        ("2", "6", Reason.INPUT_CHANGED),
        ("5", "6", Reason.PLAN_CHANGED),
    ],
)
def test_from_the_first_charge_on_they_cannot_change(office: Any, plan: str, data: str, reason: Reason) -> None:
    office.charge("0.25")
    before = office.everything()
    with pytest.raises(ConflictError) as caught:
        office.records.freeze("cps1988", "1", plan * 64, data * 64, "eva", office.at)
    assert (caught.value.reason, caught.value.exit_code) == (reason, 4)
    assert office.everything() == before
    assert "6" * 64 not in str(caught.value)


def test_past_the_draws_they_cannot_change_even_without_a_charge(office: Any) -> None:
    office.advance("validated", "drawn")
    with pytest.raises(ConflictError):
        office.records.freeze("cps1988", "1", "5" * 64, "1" * 64, "eva", office.at)


def test_an_unknown_version_is_neither_frozen_nor_moved(office: Any) -> None:
    with pytest.raises(ConflictError) as caught:
        office.records.freeze("cps1988", "9", "5" * 64, "6" * 64, "eva", office.at)
    assert caught.value.reason is Reason.NOTHING_TO_RESUME
    with pytest.raises(ConflictError):
        office.records.transition("cps1988", "9", "validated", "eva", "", {}, office.at)


def test_a_published_life(office: Any) -> None:
    office.advance("validated", "drawn", "checked", "published")
    record = office.records.version("cps1988", "1")
    assert (record.state, record.manifest_digest) == (State.PUBLISHED, "3" * 64)
    life = office.records.events("cps1988", "1")
    assert [(event.kind, event.state.value) for event in life] == [
        ("state", "planned"),
        ("freeze", "planned"),
        ("state", "validated"),
        ("state", "drawn"),
        ("state", "checked"),
        ("state", "published"),
    ]
    assert [event.prev for event in life[1:]] == [event.hash for event in life[:-1]]
    assert (record.head, record.seq) == (life[-1].hash, 6)
    assert life[-1].reason == "as planned"


def test_the_table_covers_every_state_and_only_leads_forward() -> None:
    order = list(State)
    assert set(NEXT_STATES) == set(order)
    assert all(order.index(after) > order.index(before) for before in order for after in NEXT_STATES[before])
    assert State.PUBLISHED not in NEXT_STATES[State.HELD]
    assert State.PUBLISHED not in NEXT_STATES[State.DRAWN]
    assert not NEXT_STATES[State.WITHDRAWN]


@pytest.mark.parametrize(("now", "wanted"), list(itertools.product(PATH_TO, PATH_TO)))
def test_every_step_is_taken_passed_over_or_refused(office: Any, now: str, wanted: str) -> None:
    office.advance(*PATH_TO[now])
    events = office.count("events")
    passed = {"planned", *PATH_TO[now]}
    finished = now in {"published", "superseded", "withdrawn"}
    if State(wanted) in NEXT_STATES[State(now)]:
        office.advance(wanted)
        assert (office.records.version("cps1988", "1").state, office.count("events")) == (State(wanted), events + 1)
        return
    if wanted == now or (wanted in passed and not finished):
        office.advance(wanted)
    else:
        with pytest.raises(ConflictError) as caught:
            office.advance(wanted)
        assert caught.value.reason is Reason.STATE_CONFLICT
    assert (office.records.version("cps1988", "1").state, office.count("events")) == (State(now), events)


def test_a_publication_names_its_manifest_and_evidence_is_text(office: Any) -> None:
    office.advance("validated", "drawn", "checked")
    for evidence in ({}, {"manifest_digest": ""}, {"manifest_digest": "3" * 64, "rows": 3}):
        with pytest.raises(ConfigError):
            office.records.transition("cps1988", "1", "published", "ana", "", evidence, office.at)
    with pytest.raises(ConfigError, match="planned, validated"):
        office.records.transition("cps1988", "1", "done", "ana", "", {}, office.at)
    assert office.records.version("cps1988", "1").state is State.CHECKED


def test_two_data_sets_can_have_the_same_version(office: Any) -> None:
    office.records.create_version("adult", "1", "cps", b"w", "e" * 64, "ana", office.at)
    office.records.freeze("adult", "1", "2" * 64, "1" * 64, "ana", office.at)
    office.records.reserve(replace(office.draw, dataset="adult", commitment="e" * 64), office.at)
    assert office.records.spent_by("cps1988", "1").is_zero


@pytest.mark.parametrize(
    "change", ["'\"state\"', '\"refund\"'", "'\"planned\"', '\"done\"'", "'\"evidence\"', '\"proof\"'"]
)
def test_an_event_that_cannot_be_read_is_a_broken_record(office: Any, change: str) -> None:
    office.tamper(f"UPDATE events SET document = replace(document, {change}) WHERE seq = 1")
    with pytest.raises(StoreError) as caught:
        office.records.events("cps1988", "1")
    assert caught.value.reason is Reason.CHAIN_BROKEN


def test_a_version_without_events_is_a_broken_record(office: Any) -> None:
    office.tamper("DELETE FROM events")
    with pytest.raises(StoreError) as caught:
        office.records.version("cps1988", "1")
    assert caught.value.reason is Reason.CHAIN_BROKEN
