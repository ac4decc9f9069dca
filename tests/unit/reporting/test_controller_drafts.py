"""The drafts for the controller: what the plan knows is stated, all else is named as open, and nothing is concluded."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest

from trasgo_lib.reporting.metadata import impact_assessment, processing_record

OPEN = "to be filled in by the controller"


@pytest.fixture(params=[processing_record, impact_assessment], ids=["record", "assessment"])
def draft(request: pytest.FixtureRequest, kit: Any) -> str:
    return request.param(kit.plan).decode()


def test_a_draft_leaves_open_what_only_the_controller_knows(draft: str) -> None:
    assert draft.lower().count(OPEN) >= 6
    assert "Draft under article 3" in draft
    assert "anonym" not in draft.lower()


def test_a_draft_names_every_column_and_its_fate(draft: str, kit: Any) -> None:
    for column in kit.plan.columns:
        assert re.search(rf"^\| {column.name} \|", draft, re.M), column.name
    assert "| secret |  | read, not published |" in draft
    assert "| note |  | published as they are |" in draft
    assert "| person |  | read to count rows of one unit, not published |" in draft


def test_a_draft_states_the_cap_of_the_plan(draft: str) -> None:
    assert "epsilon at most 12, delta at most 0.000001, geo epsilon at most 6.93 per km" in draft
    assert "demo\\_account" in draft
    assert "Rows keep the order of the source" in draft
    assert "Publication needs no approval by a second person" in draft


def test_the_cap_is_said_to_hold_for_one_place_only(kit: Any) -> None:
    text = impact_assessment(kit.plan).decode()
    assert "change by the random draws by a factor of at most 162,755, except with probability 0.000001" in text
    assert "each kilometre between two places is a factor of 1,023 more" in text


def test_what_a_column_can_cost_counts_every_row_and_every_fresh_draw(kit: Any) -> None:
    text = impact_assessment(kit.plan).decode()
    assert "| hours | hours | epsilon 2 | 88.1 % |" in text  # 1 a row, 2 rows a person
    assert "| wage | wage | epsilon 12 |" in text  # fresh draws add up, to the total at most


def test_amounts_of_draws_only_say_so_wherever_they_stand(kit: Any) -> None:
    covered = dataclasses.replace(kit.plan, loss_from="released")
    for write in (impact_assessment, processing_record):
        text, whole = write(kit.plan).decode(), write(covered).decode()
        assert text.count("epsilon at most 12,") == text.count("of the random draws only, epsilon at most 12,") > 0
        assert "epsilon at most 12," in whole and "draws only" not in whole
    assert "change by the random draws by the stated factor at most" in impact_assessment(kit.plan).decode()
    assert "covers the random draws only" in impact_assessment(kit.plan).decode()


def test_safeguards_for_statistics_are_asked_for(draft: str) -> None:
    assert "article 89(1)" in draft and "2 columns of the source are not published" in draft
    assert "rehearsal" not in draft


def test_the_record_has_every_point_of_article_30(kit: Any) -> None:
    text = processing_record(kit.plan).decode()
    assert all(f"({letter})" in text for letter in "abcdefg")


def test_the_assessment_has_every_point_of_article_35(kit: Any) -> None:
    text = impact_assessment(kit.plan).decode()
    assert all(f"## ({letter})" in text for letter in "abcd")
    for risk in ("Singling out", "Linkability", "Inference"):
        assert f"| {risk}" in text
    assert "an even guess becomes at most" in text and "an even guess can become" in text
    assert "does not say whether the published rows are personal data" in text
