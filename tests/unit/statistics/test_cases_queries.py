"""Reported faults where a query of the central model could have them too. Ids name the rows of the list of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asked import KEY, plan_of, query_of, rows_of, text_of

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.budget import Cost, PartitionEvent, cost
from trasgo_lib.errors import ConfigError
from trasgo_lib.statistics import answering, read_statistics
from trasgo_lib.statistics.answering import Drawn, draw_answer
from trasgo_lib.statistics.answers import Answer, answers_of

HISTOGRAM = "{name: q, type: histogram, column: sex, epsilon: '1'}"
SUM = "{name: q, type: sum, column: age, epsilon: '1', delta: '1e-9'}"
AGE = 'domain: {lower: "0", upper: "9", step: "1", unit: years}'


def _refused(folder: Path, query: str, old: str = "", new: str = "") -> list[str]:
    """Where the faults of a statistics file stand, after one change of its text."""
    path = folder / "people.yaml"
    text = text_of(query)
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_statistics(path)
    return [fault.where for fault in caught.value.faults]


@pytest.mark.parametrize("amount", ["'NaN'", ".nan", "'inf'", ".inf", "'0'", "'-1'", "true", "1", "'5e-324'", "'one'"])
def test_b33_b71_no_query_takes_a_budget_that_is_none(amount: str, tmp_path: Path) -> None:
    assert _refused(tmp_path, HISTOGRAM.replace("'1'", amount)) == ["queries[q].epsilon"]
    rho = HISTOGRAM.replace("epsilon: '1'", f"rho: {amount}, delta: '1e-9'")
    assert _refused(tmp_path, rho) == ["queries[q].rho"]
    total = amount.replace("'", '"')
    assert _refused(tmp_path, HISTOGRAM, 'epsilon_total: "1000"', f"epsilon_total: {total}") == [
        "privacy.epsilon_total"
    ]


@pytest.mark.parametrize("delta", ["'1'", "'0.99'", "'0.001'", "'NaN'", ".nan", "'-1'", "true"])
def test_b36_a_delta_of_one_record_or_more_is_refused(delta: str, tmp_path: Path) -> None:
    """1000 rows are declared, so a delta of 0.001 would let one record out; just below it passes."""
    assert _refused(tmp_path, SUM.replace("'1e-9'", delta)) == ["queries[q].delta"]
    assert query_of(tmp_path, SUM.replace("1e-9", "0.000999999999")).cost.delta.text == "0.000999999999"


@pytest.mark.parametrize(
    ("domain", "where"),
    [
        ('domain: {lower: "0", upper: "inf", step: "1"}', ["columns[age].domain.upper"]),
        ('domain: {lower: "NaN", upper: "5", step: "1"}', ["columns[age].domain.lower"]),
        ('domain: {lower: "10", upper: "0", step: "1"}', ["columns[age].domain.upper"]),
        ('domain: {lower: "5", upper: "5", step: "1"}', ["columns[age].domain.upper"]),
        ('domain: {step: "1"}', ["columns[age].domain.lower", "columns[age].domain.upper"]),
    ],
)
def test_b31_b41_b44_bounds_of_a_query_are_declared_finite_and_apart(
    domain: str, where: list[str], tmp_path: Path
) -> None:
    assert _refused(tmp_path, SUM, AGE, domain) == where


def test_b37_keys_come_from_the_declaration_and_empty_ones_are_answered(tmp_path: Path) -> None:
    """Every row lives in the north: a table that lists the keys it found would tell so."""
    assert _refused(tmp_path, HISTOGRAM, ", domain: {codes: [f, m]}") == ["columns[sex].domain"]
    query = query_of(tmp_path, "{name: q, type: crosstab, by: [region], epsilon: '1'}")
    drawn = draw_answer(query, rows_of(range(50)), KEY)
    assert len(drawn.numbers("rows")) == 3
    assert [labels for (labels,) in query.table.labels] == ["north", "south", "east"]


def test_b42_a_query_has_no_seed_and_draws_anew(tmp_path: Path) -> None:
    """64 sums of noise on a scale of 900: two equal draws would be a matter of one in 10**200."""
    assert _refused(tmp_path, HISTOGRAM.replace("'1'}", "'1', seed: 42}")) == ["queries[q].seed"]
    query = query_of(tmp_path, "{name: q, type: sum, column: age, epsilon: '0.01'}")
    first, second = ([draw_answer(query, rows_of([0]), KEY).numbers("sum") for _ in range(64)] for _ in range(2))
    assert first != second and len(set(first)) > 32


def test_b47_sums_of_negative_amounts_keep_their_sign_and_whole_range(tmp_path: Path) -> None:
    """-2.5 to 5 in steps of 2.5: a record moves the sum by 3 steps, 7.5; and the sum of -2.5 four times is -10."""
    plan = plan_of(tmp_path, "{name: q, type: sum, column: balance, epsilon: '1'}")
    some = query_of(tmp_path, "{name: q, type: sum, column: balance, epsilon: '1', where: [{column: sex, codes: [f]}]}")
    assert [query.parts[0].sensitivity.l1 for query in (plan.queries[0], some)] == [3, 3]
    (answer,) = answers_of(plan, {"q": Drawn("q", plan.queries[0].digest, 4, (("sum", (0,)),))})
    assert answer.cells[0].value == -10
    assert (answer.cells[0].low or 0) < -10 < (answer.cells[0].high or 0), "a sum is never cut at 0"


def _asked(folder: Path, *budgets: str, total: str) -> Cost:
    queries = [f"{{name: q{place}, type: histogram, column: sex, {budget}}}" for place, budget in enumerate(budgets)]
    path = folder / "people.yaml"
    path.write_text(text_of(*queries).replace('"1000"', f'"{total}"', 1), encoding="utf-8")
    return read_statistics(path)[1].cost


def test_b67_b68_b70_queries_add_up_exactly_to_their_total(tmp_path: Path) -> None:
    tenth = "epsilon: '0.1'"
    assert _asked(tmp_path, *["epsilon: '1'"] * 3, total="3") == Cost.of("3")
    assert _asked(tmp_path, tenth, "epsilon: '0.2'", total="0.3") == Cost.of("0.3")
    assert _asked(tmp_path, *[tenth] * 10, total="1") == Cost.of("1")
    for wrong in ([*[tenth] * 10, "epsilon: '0.000001'"], ["epsilon: '0.6'"] * 2):
        with pytest.raises(ConfigError) as caught:
            _asked(tmp_path, *wrong, total="1")
        assert [fault.where for fault in caught.value.faults] == ["privacy.epsilon_total"]


QUERIES = (
    "{name: count, type: count, epsilon: '0.1', where: [{column: region, codes: [south]}]}",
    "{name: sum, type: sum, column: age, rho: '0.01', delta: '1e-9'}",
    "{name: mean, type: mean, column: age, by: [sex], epsilon: '0.3'}",
    "{name: spread, type: variance, column: balance, epsilon: '0.7', where: [{column: sex, codes: [f]}]}",
    "{name: median, type: median, column: age, epsilon: '0.4'}",
    "{name: late, type: quantile, column: age, probability: '0.9', rho: '0.02', delta: '1e-9'}",
    "{name: top, type: top, column: region, best: 2, epsilon: '0.5'}",
    "{name: table, type: crosstab, by: [region, sex], epsilon: '0.6'}",
    "{name: over, type: above, threshold: 1, cutoff: 1, epsilon: '0.200001', "
    "questions: [{name: a, where: [{column: region, codes: [south]}]}]}",
)
DRAWS = ("add_laplace", "add_gaussian", "exponential_choice", "noisy_max", "concentrated_choice")


@pytest.mark.parametrize("text", QUERIES)
def test_b69_what_is_charged_is_the_sum_of_what_the_noise_was_given(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every draw of a query is watched where noise is added; its claims add up to the event that is charged."""
    given: list[Epsilon | Rho] = []
    for name in DRAWS:
        draw = getattr(answering, name)

        def watch(values: Any, scale: float, move: int, claim: Any, *more: Any, draw: Any = draw) -> Any:
            given.append(claim)
            return draw(values, scale, move, claim, *more)

        monkeypatch.setattr(answering, name, watch)
    query = query_of(tmp_path, text)
    draw_answer(query, rows_of(range(9), age=range(9), sex=[0, 1, 0] * 3), KEY)
    assert given and len({type(claim) for claim in given}) == 1
    event: Any = query.event
    charged = event.rho if isinstance(given[0], Rho) else event.epsilon
    assert sum(claim.units for claim in given) == charged.units
    assert cost(event) == query.cost


def _counts(folder: Path, numbers: list[int], **options: str) -> Answer:
    more = "".join(f", {name}: {value}" for name, value in options.items())
    plan = plan_of(folder, f"{{name: q, type: crosstab, by: [region], epsilon: '0.1'{more}}}")
    return answers_of(plan, {"q": Drawn("q", plan.queries[0].digest, 10, (("rows", tuple(numbers)),))})[0]


@pytest.mark.parametrize("rounding", ["false", "true"])
def test_b40_counts_below_zero_are_published_as_zero_within_their_interval(rounding: str, tmp_path: Path) -> None:
    """Also where the whole interval lies below 0, as for one in forty empty cells; the unbiased number stays beside."""
    cells = _counts(tmp_path, [-200, -3, 5], non_negative="true", round=rounding).cells
    assert [(cell.value, cell.noisy) for cell in cells] == [(0, -200), (0, -3), (5, 5)]
    for cell in cells:
        assert 0 <= cell.low <= cell.value <= cell.high  # type: ignore[operator]
    assert (cells[0].low, cells[0].high) == (0, 0)
    plain = _counts(tmp_path, [-200, -3, 5]).cells
    assert [cell.value for cell in plain] == [-200, -3, 5] and (plain[0].high or 0) < 0, "negative control"


def test_b40_a_table_that_is_changed_after_it_was_fitted_does_not_claim_to_agree(tmp_path: Path) -> None:
    def words(more: str, of_total: str = "") -> set[str]:
        plan = plan_of(
            tmp_path,
            f"{{name: t, type: crosstab, by: [region, sex], epsilon: '1', consistent_with: [r]{more}}}",
            f"{{name: r, type: histogram, column: region, epsilon: '2'{of_total}}}",
        )
        numbers = {"t": [50, -40, 2, 30, 40, 9, 20, 20, 20], "r": [55, 80, 62]}
        drawn = {name: Drawn(name, plan.query(name).digest, 200, (("rows", tuple(n)),)) for name, n in numbers.items()}
        found = answers_of(plan, drawn)
        for cell in found[0].cells:
            assert cell.low <= cell.value <= cell.high  # type: ignore[operator]
        cells = [float(cell.value or 0) for cell in found[0].cells]
        sums = [sum(cells[3 * row : 3 * row + 3]) for row in range(3)]
        agrees = sums == pytest.approx([float(cell.value or 0) for cell in found[1].cells])
        assert agrees == all(answer.post_processed[0].startswith("agrees") for answer in found)
        return {answer.post_processed[0] for answer in found}

    assert words("") == {"agrees with its totals (weighted least squares)"}
    for changed in ((", non_negative: true",), (", round: true",), ("", ", round: true")):
        (fitted,) = words(*changed)
        assert fitted.startswith("fitted to its totals")


def test_b73_parts_that_no_file_declares_disjoint_add_up(tmp_path: Path) -> None:
    """Three regions at epsilon 1, one query each: 3. Declared disjoint it is 2, since a replaced record can move."""
    regions = ["north", "south", "east"]
    undeclared = [
        f"{{name: {name}, type: histogram, column: sex, epsilon: '1', where: [{{column: region, codes: [{name}]}}]}}"
        for name in regions
    ]
    assert plan_of(tmp_path, *undeclared).cost == Cost.of("3")
    parts = ", ".join(f"{{name: {name}, codes: [{name}]}}" for name in regions)
    declared = [
        f"{{name: {name}, type: histogram, column: sex, epsilon: '1', part: {{of: place, part: {name}}}}}"
        for name in regions
    ]
    text = text_of(*declared).replace(
        "queries:\n", f"partitions:\n  - {{name: place, column: region, parts: [{parts}]}}\nqueries:\n", 1
    )
    path = tmp_path / "declared.yaml"
    path.write_text(text, encoding="utf-8")
    plan = read_statistics(path)[1]
    assert [type(charge.event) for charge in plan.charges] == [PartitionEvent]
    assert plan.cost == Cost.of("2")
