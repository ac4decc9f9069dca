"""What a statistics file may ask, and that every fault is found before data is opened, with name and key."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from asked import plan_of, query_of, text_of

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import (
    Cost,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    NoisyMaxEvent,
    SparseVectorEvent,
    epsilon_of_rho,
)
from trasgo_lib.config import holds_queries
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.statistics import explain_statistics, read_either, read_statistics, render_statistics

ROOT = Path(__file__).resolve().parents[3]
SOUTH = "where: [{column: region, codes: [south]}]"


def _faults(folder: Path, *queries: str, edit: tuple[str, str] = ("", ""), max_rows: int = 1) -> tuple[Fault, ...]:
    path = folder / "people.yaml"
    path.write_text(text_of(*queries, max_rows=max_rows).replace(*edit), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_statistics(path)
    return caught.value.faults


REFUSED = [
    ("{name: q, type: count, epsilon: '1'}", "queries[q].type", Reason.BAD_PARAMETER),
    (f"{{name: q, type: count, {SOUTH}}}", "queries[q]", Reason.BAD_AMOUNT),
    (f"{{name: q, type: count, epsilon: 0.1, {SOUTH}}}", "queries[q].epsilon", Reason.BAD_SHAPE),
    (f"{{name: q, type: count, epsilon: '0.0000001', {SOUTH}}}", "queries[q].epsilon", Reason.BAD_AMOUNT),
    (f"{{name: q, type: count, epsilon: '1', rho: '1', {SOUTH}}}", "queries[q]", Reason.BAD_AMOUNT),
    (f"{{name: q, type: count, rho: '1', {SOUTH}}}", "queries[q].rho", Reason.BAD_AMOUNT),
    (f"{{name: q, type: count, epsilon: '1', delta: '0.001', {SOUTH}}}", "queries[q].delta", Reason.BAD_AMOUNT),
    ("{name: q, type: median, column: age, epsilon: '1', delta: '1e-9'}", "queries[q].delta", Reason.BAD_AMOUNT),
    ("{name: q, type: sum, column: wage, epsilon: '1'}", "queries[q].column", Reason.UNKNOWN_NAME),
    ("{name: q, type: sum, column: region, epsilon: '1'}", "queries[q].column", Reason.BAD_PARAMETER),
    ("{name: q, type: sum, column: person, epsilon: '1'}", "queries[q].column", Reason.UNKNOWN_NAME),
    ("{name: q, type: mean, column: age, by: [age], epsilon: '1'}", "queries[q].by[#1]", Reason.BAD_PARAMETER),
    ("{name: q, type: crosstab, by: [sex, sex], epsilon: '1'}", "queries[q].by[#2]", Reason.DUPLICATE_COLUMN),
    (
        "{name: q, type: crosstab, by: [region], keys: [[west]], epsilon: '1'}",
        "queries[q].keys[#1]",
        Reason.OUT_OF_DOMAIN,
    ),
    (
        "{name: q, type: crosstab, by: [region], keys: [[south, f]], epsilon: '1'}",
        "queries[q].keys[#1]",
        Reason.BAD_SHAPE,
    ),
    (
        "{name: q, type: crosstab, by: [sex], keys: [[f], [f]], epsilon: '1'}",
        "queries[q].keys[#2]",
        Reason.BAD_PARAMETER,
    ),
    ("{name: q, type: crosstab, epsilon: '1'}", "queries[q].by", Reason.BAD_SHAPE),
    (
        "{name: q, type: quantile, column: age, probability: '1', epsilon: '1'}",
        "queries[q].probability",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: quantile, column: age, probability: '0', epsilon: '1'}",
        "queries[q].probability",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: quantile, column: age, probability: '0.1234567', epsilon: '1'}",
        "queries[q].probability",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: median, column: age, candidates: ['3', '2'], epsilon: '1'}",
        "queries[q].candidates[#2]",
        Reason.OUT_OF_DOMAIN,
    ),
    (
        "{name: q, type: median, column: age, candidates: ['2.5'], epsilon: '1'}",
        "queries[q].candidates[#1]",
        Reason.OUT_OF_DOMAIN,
    ),
    (
        "{name: q, type: median, column: age, candidates: ['2'], epsilon: '1'}",
        "queries[q].candidates",
        Reason.BAD_PARAMETER,
    ),
    ("{name: q, type: histogram, column: age, bins: 11, epsilon: '1'}", "queries[q].bins", Reason.BAD_PARAMETER),
    ("{name: q, type: histogram, column: sex, bins: 2, epsilon: '1'}", "queries[q].bins", Reason.BAD_PARAMETER),
    ("{name: q, type: top, column: region, best: 3, epsilon: '1'}", "queries[q].best", Reason.BAD_PARAMETER),
    ("{name: q, type: crosstab, by: [sex], max_rows: 0, epsilon: '1'}", "queries[q].max_rows", Reason.BAD_SHAPE),
    ("{name: q, type: crosstab, by: [sex], max_rows: 2, epsilon: '1'}", "queries[q].max_rows", Reason.BAD_PARAMETER),
    (
        "{name: q, type: crosstab, by: [sex], max_groups: 3, epsilon: '1'}",
        "queries[q].max_groups",
        Reason.BAD_PARAMETER,
    ),
    (
        f"{{name: q, type: above, threshold: 1, cutoff: 2, epsilon: '1', questions: [{{name: a, {SOUTH}}}]}}",
        "queries[q].cutoff",
        Reason.BAD_PARAMETER,
    ),
    (
        f"{{name: q, type: above, threshold: 1, rho: '1', delta: '1e-9', questions: [{{name: a, {SOUTH}}}]}}",
        "queries[q].delta",
        Reason.BAD_AMOUNT,
    ),
    (
        "{name: q, type: best, utility: rows, epsilon: '1', "
        f"candidates: [{{name: a, {SOUTH}}}, {{name: a, {SOUTH}}}]}}",
        "queries[q].candidates[a].name",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: best, utility: split, epsilon: '1', "
        f"candidates: [{{name: a, {SOUTH}}}, {{name: b, {SOUTH}}}]}}",
        "queries[q].label",
        Reason.BAD_SHAPE,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: age, codes: ['1']}]}",
        "queries[q].where[#1].codes",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: sex, at_least: '1'}]}",
        "queries[q].where[#1]",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: age, at_least: '10'}]}",
        "queries[q].where[#1]",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: age, at_least: '1e999999999'}]}",
        "queries[q].where[#1].at_least",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: born, at_most: soon}]}",
        "queries[q].where[#1].at_most",
        Reason.BAD_PARAMETER,
    ),
    (
        "{name: q, type: count, epsilon: '1', where: [{column: born, at_most: '2000'}]}",
        "queries[q].where[#1].at_most",
        Reason.BAD_PARAMETER,
    ),
    ("{name: q, type: count, epsilon: '1', where: [{column: sex}]}", "queries[q].where[#1]", Reason.BAD_SHAPE),
    ("{name: q, type: crosstab, by: [sex], keys: [], epsilon: '1'}", "queries[q].keys", Reason.BAD_PARAMETER),
    ("{name: q, type: counts, epsilon: '1'}", "queries[q].type", Reason.BAD_SHAPE),
    ("{name: q, type: count, epsilon: '1', wher: []}", "queries[q].wher", Reason.UNKNOWN_KEY),
    ("{name: q, type: variance, column: age, epsilon: '0.000001'}", "queries[q].epsilon", Reason.BAD_PARAMETER),
    (
        "{name: q, type: crosstab, by: [sex], consistent_with: [other], epsilon: '1'}",
        "queries[q].consistent_with[#1]",
        Reason.BAD_PARAMETER,
    ),
]


@pytest.mark.parametrize(("query", "where", "reason"), REFUSED, ids=[f"{w} {q[17:40]}" for q, w, _ in REFUSED])
def test_a_query_that_cannot_be_answered_is_refused_at_its_key(
    query: str, where: str, reason: Reason, tmp_path: Path
) -> None:
    faults = _faults(tmp_path, query)
    assert [(fault.where, fault.reason) for fault in faults] == [(where, reason)], faults
    assert faults[0].line is not None and faults[0].line > 10 and faults[0].fix


def test_all_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    faults = _faults(
        tmp_path,
        "{name: a, type: count, epsilon: '1'}",
        "{name: a, type: top, column: west, best: 1, epsilon: '1'}",
        edit=("outside: clip}", "outside: clip, mechanism: laplace, epsilon: '1'}"),
    )
    assert [fault.where for fault in faults][:2] == ["columns[age].mechanism", "columns[age].epsilon"]
    assert "queries[a].name" in [fault.where for fault in faults]
    later = _faults(
        tmp_path, "{name: a, type: count, epsilon: '1'}", "{name: a, type: top, column: west, best: 1, epsilon: '1'}"
    )
    assert [fault.where for fault in later] == ["queries[a].type", "queries[a].name", "queries[a].column"]


@pytest.mark.parametrize(
    ("edit", "where", "reason"),
    [
        (('epsilon_total: "1000"', 'epsilon_total: "0.5"'), "privacy.epsilon_total", Reason.OVER_TOTAL),
        (("{name: person, role: drop}", "{name: person, role: public}"), "columns[person].role", Reason.BAD_PARAMETER),
        (
            ("source: {path: people.csv", "source: {path: releases/public/people.csv"),
            "source.path",
            Reason.BAD_PARAMETER,
        ),
    ],
)
def test_the_file_as_a_whole_keeps_the_rules_of_releases(
    edit: tuple[str, str], where: str, reason: Reason, tmp_path: Path
) -> None:
    faults = _faults(tmp_path, "{name: q, type: median, column: age, epsilon: '1'}", edit=edit)
    assert (where, reason) in [(fault.where, fault.reason) for fault in faults]


def test_a_delta_needs_the_declared_number_of_rows(tmp_path: Path) -> None:
    query = "{name: q, type: sum, column: age, epsilon: '1', delta: '1e-9'}"
    assert [fault.where for fault in _faults(tmp_path, query, edit=("rows: 1000\n", ""))] == ["queries[q].delta"]


def test_budgets_become_one_event_whose_cost_is_within_what_was_declared(tmp_path: Path) -> None:
    def event(query: str) -> object:
        return query_of(tmp_path, query).event

    one = Epsilon.parse("1")
    assert event("{name: q, type: sum, column: age, epsilon: '1'}") == DiscreteLaplaceEvent(one, 9)
    assert event("{name: q, type: variance, column: age, epsilon: '1'}") == DiscreteLaplaceEvent(one, 1)
    assert event("{name: q, type: histogram, column: age, epsilon: '1'}") == DiscreteLaplaceEvent(one, 1)
    assert event("{name: q, type: median, column: age, epsilon: '1'}") == ExponentialMechanismEvent(one)
    assert event("{name: q, type: top, column: region, best: 2, epsilon: '1'}") == NoisyMaxEvent(one)
    asked = f"{{name: q, type: above, threshold: 1, epsilon: '1', questions: [{{name: a, {SOUTH}}}]}}"
    assert event(asked) == SparseVectorEvent(one, 1)
    delta = Delta.parse("1e-9")
    for kind in ("sum, column: age", "median, column: age", "top, column: region, best: 2"):
        assert event(f"{{name: q, type: {kind}, rho: '0.5', delta: '1e-9'}}") == GaussianEvent(Rho.parse("0.5"), delta)
    plan = plan_of(tmp_path, "{name: q, type: mean, column: age, by: [sex], epsilon: '1', delta: '1e-9'}")
    assert isinstance(plan.queries[0].event, GaussianEvent)
    assert plan.cost.fits(Cost.of("1", "1e-9"))
    assert epsilon_of_rho(Rho(plan.queries[0].event.rho.units + 2), delta) > one
    assert [part.noise for part in plan.queries[0].parts] == ["gaussian", "gaussian"]


def test_conditions_are_exact(tmp_path: Path) -> None:
    def allowed(condition: str) -> list[int]:
        return list(
            query_of(tmp_path, f"{{name: q, type: count, epsilon: '1', where: [{condition}]}}").rules[0].allowed
        )

    assert allowed("{column: balance, at_least: '0'}") == [0, 1, 1, 1]
    assert allowed("{column: balance, at_least: '0.0000001', at_most: '2.5'}") == [0, 0, 1, 0]
    assert allowed("{column: balance, at_most: '1e30'}") == [1, 1, 1, 1]
    assert allowed("{column: age, at_least: '2.5', at_most: '4'}") == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    assert allowed("{column: born, at_least: 2000-01-09}") == [0] * 8 + [1, 1]
    assert allowed("{column: sex, codes: [m]}") == [0, 1, 0], "a missing value meets no other condition"
    assert allowed("{column: sex, codes: [m, missing]}") == [0, 1, 1]
    assert allowed("{column: sex, codes: [missing]}") == [0, 0, 1]


def test_a_code_that_is_called_as_a_missing_value_is_refused(tmp_path: Path) -> None:
    text = text_of("{name: q, type: histogram, column: sex, epsilon: '1'}").replace("[f, m]", "[f, missing]")
    (tmp_path / "people.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_statistics(tmp_path / "people.yaml")
    assert [fault.reason for fault in caught.value.faults] == [Reason.BAD_DOMAIN]


def test_bins_and_labels_of_cells(tmp_path: Path) -> None:
    table = query_of(tmp_path, "{name: q, type: histogram, column: age, bins: 4, epsilon: '1'}").table
    assert table.labels == (("0 to 2",), ("3 to 4",), ("5 to 7",), ("8 to 9",))
    assert table.cells == (0, 0, 0, 1, 1, 2, 2, 2, 3, 3)
    days = query_of(tmp_path, "{name: q, type: histogram, column: born, epsilon: '1'}").table
    assert days.labels[0] == ("2000-01-01",) and len(days.labels) == 10
    sexes = query_of(tmp_path, "{name: q, type: crosstab, by: [sex], epsilon: '1'}").table
    assert sexes.labels == (("f",), ("m",), ("missing",)) and sexes.covers_all


def test_the_digest_covers_what_fixes_the_law_and_not_post_processing(tmp_path: Path) -> None:
    base = "{name: q, type: crosstab, by: [sex], epsilon: '1'}"
    digest = query_of(tmp_path, base).digest
    assert query_of(tmp_path, base.replace("'1'}", "'1', round: true, suppress_below: '5'}")).digest == digest
    for other in (
        base.replace("'1'", "'2'"),
        base.replace("sex", "region"),
        base.replace("[sex]", "[sex], keys: [[f]]"),
    ):
        assert query_of(tmp_path, other).digest != digest


def test_the_plan_says_sensitivity_noise_width_and_cost_of_every_query(tmp_path: Path) -> None:
    demo = ROOT / "configs" / "demo" / "cps1988-statistics.yaml"
    assert holds_queries(demo) and not holds_queries(ROOT / "configs" / "demo" / "cps1988.yaml")
    loaded, plan, statistics = read_either(demo)
    assert statistics is not None and statistics.base == plan and loaded.config.release.dataset == "cps1988-statistics"
    text = render_statistics(statistics)
    for query in statistics.queries:
        section = text.split(f"\n{query.name} (")[1].split("\n\n")[0]
        assert "sensitivity" in section and "noise" in section and "scale" in section and "with 95 %" in section
        assert f"epsilon {query.cost.epsilon.text}" in section
    told = explain_statistics(statistics)
    assert told["cost"] == {"epsilon": "1.8", "delta": "0", "geo": "0"}
    assert "1.07 USD per week at 28000 rows" in text
    assert Fraction(statistics.queries[2].parts[0].scale) >= 1000


def test_contribution_bounds_scale_the_noise(tmp_path: Path) -> None:
    def scale(more: str) -> float:
        query = f"{{name: q, type: crosstab, by: [region], epsilon: '1'{more}}}"
        return query_of(tmp_path, query, max_rows=10).parts[0].scale

    assert scale("") == pytest.approx(20)
    assert scale(", max_rows: 2, max_groups: 3") == pytest.approx(12)
    assert scale(", max_rows: 1, max_groups: 1") == pytest.approx(2)
