"""The public report says what holds and nothing private; the restricted one says how far off each target is."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import BoxDomain, CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.reporting import (
    RestrictedFacts,
    RoundFacts,
    column_use,
    render_report,
    render_restricted_report,
    wording,
)
from trasgo_lib.reporting.markdown import cell, table
from trasgo_lib.reporting.noise_words import domain_words, noise_words
from trasgo_lib.reporting.public_page import render_report_page


def test_the_report_states_amounts_units_and_exclusions(kit: Any) -> None:
    report = render_report(kit.make_facts())
    assert "| cap of the run, draws only | 12 | 0.000001 | 6.93 |" in report
    assert "| spent by this version, draws only | 8 |" in report
    assert "| account demo\\_account to date, draws only | 20 |" in report
    assert "A charge counts 2 rows of one privacy unit." in report
    assert "central trust, row-level randomisation" in report
    assert "chosen by looking at losses computed on the raw data" in report
    assert "the order of the rows, which is that of the source" in report
    assert "Published unchanged, without noise: note." in report
    assert "Not published: secret." in report
    assert "Privacy unit, not published: person." in report
    assert "2 of 2 passed" in report


def test_targets_are_met_or_not_and_no_loss_is_shown(kit: Any) -> None:
    lines = {line.split(" | ")[0]: line for line in render_report(kit.make_facts()).splitlines()}
    assert lines["| wage"].endswith("| correlation\\_loss at most 40 | not published | yes |")
    assert lines["| region"].endswith("| tvd at most 0.05 | not published | no |")
    assert lines["| day"].endswith("| none |  |  |")
    assert "epsilon 4.5" in lines["| wage"]
    assert "delta" in lines["| hours"]


def test_the_report_names_no_source_file(kit: Any) -> None:
    report = render_report(kit.make_facts())
    assert "private-source" not in report
    assert str(kit.plan.config_path.parent) not in report


def test_with_released_losses_selection_is_covered(kit: Any) -> None:
    report = render_report(kit.make_facts(dataclasses.replace(kit.plan, loss_from="released")))
    assert "draws only" not in report
    assert "is covered" in report


def test_the_strength_of_a_release_with_delta_holds_but_for_delta(kit: Any) -> None:
    facts = kit.make_facts()
    assert facts.realised.delta.units
    words = f"except with probability {facts.realised.delta.text} (delta)"
    assert words in render_report_page(facts).split('id="strength"')[1].split("</section>")[0]


def test_figures_that_many_values_forbid_are_named(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "Too many values for figures of variances, shares and correlations here; ask the toolkit: wage."
    assert words not in render_report_page(kit.make_facts())
    monkeypatch.setattr(column_use, "MOST_CODES", 100)
    assert words in render_report_page(kit.make_facts())


def test_without_targets_raw_losses_chose_nothing(kit: Any) -> None:
    """Amounts stay those of the draws, since the losses were computed before publication."""
    units = tuple(dataclasses.replace(unit, target=None) for unit in kit.plan.units)
    plan = dataclasses.replace(kit.plan, units=units)
    words, left_out = wording.selection(plan), " ".join(wording.not_covered(plan))
    assert "every level of noise is the declared one" in words and "chosen by looking" not in words
    assert "that losses could be computed on the raw data" in left_out and "the choice of noise levels" not in left_out
    assert "chosen by looking" in wording.selection(kit.plan)
    assert "the choice of noise levels" in " ".join(wording.not_covered(kit.plan))
    assert wording.claim_suffix(plan) == "_draws_only"


def test_text_from_the_release_file_cannot_break_the_layout(kit: Any) -> None:
    report = render_report(kit.make_facts())
    assert report.startswith("# Wages \\| &lt;b&gt;and&lt;/b&gt; places\n")
    assert "A \\*made up\\* file" in report
    assert cell("a|b\nc") == "a\\|b c"


def test_a_row_has_as_many_cells_as_its_head() -> None:
    with pytest.raises(ValueError, match="3 cells"):
        table(("a", "b"), [(1, 2, 3)])


def test_facts_optional_in_the_release_file_are_left_out(kit: Any) -> None:
    info = kit.plan.config.release.model_copy(update={"description": "", "licence": "", "source_note": ""})
    config = kit.plan.config.model_copy(update={"release": info})
    report = render_report(kit.make_facts(dataclasses.replace(kit.plan, config=config)))
    assert "licence" not in report
    assert "made up" not in report


@pytest.mark.parametrize("rows", [1, 3])
def test_units_of_several_rows_are_counted_in_words(kit: Any, rows: int) -> None:
    report = render_report(kit.make_facts(dataclasses.replace(kit.plan, max_rows=rows)))
    assert ("at most 1 row in" if rows == 1 else "at most 3 rows in") in report


def test_noise_is_in_the_unit_of_the_column() -> None:
    # B65: a reader sees what epsilon does
    wage = NumberDomain("0", "2000", "10", "USD per week")
    spreads = []
    for epsilon in ("0.5", "2", "8"):
        words = noise_words(wage, build_channel("laplace", wage, epsilon=epsilon))
        assert words.endswith(" USD per week")
        spreads.append(float(words.split(" of ")[1].split()[0]))
    assert spreads == sorted(spreads, reverse=True)
    labels = CategoryDomain(["a", "b"])
    words = noise_words(labels, build_channel("randomized_response", labels, epsilon="1"))
    assert words == "label kept with probability 0.7311"
    assert domain_words(wage) == "0 to 2000 USD per week in steps of 10"
    box = BoxDomain(["41.8", "-87.7", "41.9", "-87.6"], "EPSG:3435", "500")
    assert domain_words(box) == f"{box.size} cells"


def test_a_decoder_that_is_off_on_average_says_by_how_much() -> None:
    hours = NumberDomain(lower="0", upper="79", step="1", unit="hours")
    binned = build_channel("binned_randomized_response", hours, epsilon="2", bins=4)
    assert noise_words(hours, binned).endswith(" hours, and may be off by 10 hours on average")
    assert "on average" not in noise_words(hours, build_channel("laplace", hours, epsilon="2"))
    assert "on average" not in noise_words(hours, build_channel("gaussian", hours, epsilon="2"))


def test_a_domain_without_words_is_an_error() -> None:
    with pytest.raises(TypeError, match="object"):
        domain_words(object())  # type: ignore[arg-type]


def restricted(kit: Any, **changes: Any) -> str:
    facts = RestrictedFacts(
        plan=kit.plan,
        state="held",
        reason="unmet",
        rounds=(
            RoundFacts(1, "wage", Epsilon.parse("1"), 71.512345678, False),
            RoundFacts(1, "region", Epsilon.parse("0.5"), None, False),
            RoundFacts(1, "day", Epsilon.parse("0.25"), None, True),
        ),
        input_report={"rows": 5, "columns": [{"name": "wage", "missing": 3}], "codes": ["a"], "unit": None},
        losses={"overall": 39.25, "columns": [{"column": "wage", "kl": None}]},
        shortfalls=(("wage", "correlation_loss 71.5 against at most 40"),),
    )
    return render_restricted_report(dataclasses.replace(facts, **changes))


def test_the_restricted_report_says_by_how_much_a_target_is_missed(kit: Any) -> None:
    report = restricted(kit)
    assert "Never publish it" in report
    assert "| wage | correlation\\_loss 71.5 against at most 40 |" in report
    assert "| 1 | wage | 1 | 71.5123 | correlation\\_loss at most 40 | no |" in report
    assert "| 1 | region | 0.5 | no evidence | tvd at most 0.05 | no |" in report
    assert "| 1 | day | 0.25 |  | none |  |" in report
    assert "| wage | 3 |" in report
    assert "| wage | none |" in report and "null" not in report
    assert "| codes\\[0] | a |" in report
    assert "| unit | none |" in report


def test_a_unit_without_target_stands_once_among_the_rounds(kit: Any) -> None:
    level = Epsilon.parse("0.25")
    rounds = tuple(RoundFacts(number, unit, level, 50.0, False) for number in (1, 2, 3) for unit in ("wage", "day"))
    report = restricted(kit, rounds=rounds)
    rows = report[report.index("## Rounds") : report.index("## Exact losses")]
    assert (rows.count("| wage |"), rows.count("| day |")) == (3, 1)


def test_why_the_loop_stopped_is_said_in_words(kit: Any) -> None:
    assert "no level is left that could meet a target" in restricted(kit)
    assert "every target is met" in restricted(kit, reason="met")
    units = tuple(dataclasses.replace(unit, target=None) for unit in kit.plan.units)
    bare = restricted(kit, reason="met", plan=dataclasses.replace(kit.plan, units=units), shortfalls=())
    assert "no column has a target" in bare and "every target is met" not in bare


def test_a_loss_without_estimate_is_called_so_and_a_raw_one_unpublished(kit: Any) -> None:
    assert "| not published |" in render_report(kit.make_facts())
    steered = dataclasses.replace(kit.plan, loss_from="released")
    report = render_report(kit.make_facts(steered))
    assert "| no estimate |" in report and "| not published |" not in report


def test_without_shortfalls_there_is_no_such_section(kit: Any) -> None:
    assert "Targets not met" in restricted(kit)
    assert "Targets not met" not in restricted(kit, shortfalls=())
