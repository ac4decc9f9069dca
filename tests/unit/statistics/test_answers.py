"""Answers from noisy numbers: exact arithmetic, intervals, consistency, suppression; all of it post-processing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import KEY, plan_of, query_of, rows_of

from trasgo_lib.statistics.answering import Drawn, draw_answer
from trasgo_lib.statistics.answers import Answer, answers_of
from trasgo_lib.statistics.consistency import consistent, noise_variance
from trasgo_lib.statistics.counting import count_cells, sums
from trasgo_lib.statistics.model import StatisticsPlan

SOUTH = "where: [{column: region, codes: [south]}]"


def _answers(plan: StatisticsPlan, rows: int, **parts: dict[str, list[int]]) -> tuple[Answer, ...]:
    drawn = {
        name: Drawn(name, plan.query(name).digest, rows, tuple((part, tuple(n)) for part, n in numbers.items()))
        for name, numbers in parts.items()
    }
    return answers_of(plan, drawn)


def test_sums_and_means_are_in_the_units_of_the_column(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        "{name: total, type: sum, column: balance, epsilon: '1'}",
        f"{{name: south, type: sum, column: balance, epsilon: '1', {SOUTH}}}",
        "{name: middle, type: mean, column: balance, epsilon: '1'}",
        f"{{name: south_mean, type: mean, column: balance, epsilon: '100', {SOUTH}}}",
        "{name: spread, type: variance, column: balance, epsilon: '100'}",
    )
    found = _answers(
        plan,
        10,
        total={"sum": [12]},
        south={"sum": [7]},
        middle={"mean": [12]},
        south_mean={"mean": [5], "rows": [100]},
        spread={"mean": [0], "squares": [50]},
    )
    total, south, middle, south_mean, spread = (answer.cells[0] for answer in found)
    assert (total.value, total.high) == (10 * -2.5 + 12 * 2.5, 5 + 2.5 * plan.queries[0].parts[0].half_width)
    assert south.value == 17.5
    assert middle.value == -2.5 + 2.5 * 1.2
    assert south_mean.value == 1.25 + 1.25 * 0.05
    assert spread.value == 1.25**2 * 5
    for answer in found:
        cell = answer.cells[0]
        assert isinstance(cell.low, (int, float)) and cell.low <= float(cell.value or 0) <= float(cell.high or 0)
        json.dumps(answer.to_json(), allow_nan=False)


def test_what_the_noise_hides_is_withheld_and_means_stay_within_their_bounds(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, f"{{name: q, type: mean, column: age, epsilon: '1', {SOUTH}}}")
    width = plan.queries[0].part("rows").half_width
    hidden = _answers(plan, 10, q={"mean": [5], "rows": [width]})[0].cells[0]
    assert hidden.value is None and "number of rows" in hidden.reason
    cut = _answers(plan, 10, q={"mean": [10**6], "rows": [width + 1]})[0]
    assert cut.cells[0].value == 9 and cut.post_processed == ("cut to the declared bounds",)


def test_an_interval_of_counts_that_are_not_negative_is_in_order_however_low_the_noise(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "{name: q, type: histogram, column: sex, epsilon: '1', non_negative: true}")
    width = plan.queries[0].parts[0].half_width
    (answer,) = _answers(plan, 10, q={"rows": [-width - 5, -1, 20]})
    assert [(cell.low, cell.high) for cell in answer.cells] == [(0, 0), (0, width - 1), (20 - width, 20 + width)]


def test_tables_agree_with_their_totals_and_say_so(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        "{name: t, type: crosstab, by: [region, sex], epsilon: '1', consistent_with: [r, s], round: true,"
        " non_negative: true, suppress_below: '3'}",
        "{name: r, type: histogram, column: region, epsilon: '2'}",
        "{name: s, type: crosstab, by: [sex], epsilon: '1', delta: '1e-9'}",
    )
    cells = [50, -4, 2, 30, 40, 9, 20, 20, 20]
    t, r, s = _answers(plan, 200, t={"rows": cells}, r={"rows": [55, 80, 62]}, s={"rows": [101, 60, 35]})
    assert [cell.value for cell in t.cells][1:3] == [None, None] and "below 3" in t.cells[1].reason
    fitted = "fitted to its totals (weighted least squares); a later step changed it or them"
    assert t.post_processed[0] == fitted and len(t.post_processed) == 4
    assert r.post_processed == s.post_processed == (fitted,)
    assert sum(float(cell.value or 0) for cell in r.cells) == pytest.approx(200)
    assert sum(float(cell.value or 0) for cell in s.cells) == pytest.approx(200)
    assert [cell.noisy for cell in t.cells][:1] == [50]


def test_consistency_is_the_weighted_least_squares_solution(tmp_path: Path) -> None:
    """Against the normal equations of the eliminated problem, and against any small move along the constraint."""
    plan = plan_of(
        tmp_path,
        "{name: t, type: crosstab, by: [region, sex], epsilon: '1', consistent_with: [r]}",
        "{name: r, type: histogram, column: region, epsilon: '2'}",
    )
    t, r = plan.queries
    cells, totals = [5.0, 3.0, 1.0, 7.0, 2.0, 2.0, 4.0, 4.0, 4.0], [10.0, 12.0, 11.0]
    found, sums_ = consistent(t, cells, [(r, totals)], 30)
    assert sum(found) == pytest.approx(30) and sums_[0] == pytest.approx(
        [sum(found[3 * k : 3 * k + 3]) for k in range(3)]
    )

    def loss(x: np.ndarray) -> float:
        rows = x.reshape(3, 3).sum(1)
        return float(
            ((x - cells) ** 2).sum() / noise_variance(t.parts[0])
            + ((rows - totals) ** 2).sum() / noise_variance(r.parts[0])
        )

    best = loss(np.array(found))
    for place in range(8):
        move = np.zeros(9)
        move[place], move[8] = 1e-3, -1e-3
        assert loss(np.array(found) + move) > best < loss(np.array(found) - move)


def test_choices_and_thresholds(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        "{name: top, type: top, column: region, best: 2, epsilon: '1'}",
        "{name: quarter, type: quantile, column: age, probability: '0.25', candidates: ['1', '4'], epsilon: '1'}",
        "{name: over, type: above, threshold: 5, epsilon: '1', questions: "
        f"[{{name: a, {SOUTH}}}, {{name: b, {SOUTH}}}, {{name: c, {SOUTH}}}]}}",
    )
    top, quarter, over = _answers(plan, 9, top={"choice": [2, 0]}, quarter={"choice": [1]}, over={"answers": [0, 1]})
    assert [cell.value for cell in top.cells] == ["east", "north"]
    assert quarter.cells[0].value == "4"
    assert quarter.margin == -(-plan.query("quarter").parts[0].half_width // 4)
    assert [cell.value for cell in over.cells] == [False, True, None]
    assert "not asked" in over.cells[2].reason


def test_a_stored_answer_round_trips_and_belongs_to_its_query(tmp_path: Path) -> None:
    query = query_of(tmp_path, "{name: q, type: variance, column: age, epsilon: '1'}")
    drawn = draw_answer(query, rows_of([0, 1, 2, 3], age=[1, 2, 3, 9]), KEY)
    assert Drawn.from_json(json.loads(json.dumps(drawn.to_json()))) == drawn
    with pytest.raises(ValueError, match="not a stored answer"):
        Drawn.from_json({"format": 2})
    plan = plan_of(tmp_path, "{name: q, type: variance, column: age, epsilon: '1'}")
    with pytest.raises(ValueError, match="another question"):
        answers_of(plan, {"q": replace(drawn, digest="0" * 64)})


def test_exact_sums_use_whole_numbers_also_beyond_what_a_product_of_matrices_holds(tmp_path: Path) -> None:
    query = query_of(tmp_path, f"{{name: q, type: sum, column: balance, epsilon: '1', {SOUTH}}}")
    rows = rows_of([0, 1, 2], balance=[0, 3, 3], region=[1, 1, 0])
    counts = count_cells(query, rows, KEY)
    assert sums(counts, "value", query.frame) == (-1 + 2,)
    huge = counts * (2**60 // 2)
    assert sums(huge, "value", query.frame) == (2**59,)
    with pytest.raises(ValueError, match="62 bits"):
        sums(huge * 4, "square", query.frame)
