"""Two derivations of every sensitivity: the one that answers, and the one by which anyone verifies."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from asked import KEY, plan_of, rows_of

from trasgo_lib.release.verify_sensitivity import derive, question_of
from trasgo_lib.statistics.answering import value_scores
from trasgo_lib.statistics.counting import count_cells, count_options, sums
from trasgo_lib.statistics.explain import query_document
from trasgo_lib.statistics.model import QueryPlan, StatisticsPlan
from trasgo_lib.statistics.question import column_documents

SOUTH = "where: [{column: region, codes: [south]}]"
OLD = 'where: [{column: age, at_least: "5"}]'
OPTIONS = f"[{{name: a, {SOUTH}}}, {{name: b, {OLD}}}]"
ASKED = (
    f"{{name: q, type: count, epsilon: '1', {SOUTH}}}",
    "{name: q, type: sum, column: balance, epsilon: '1'}",
    f"{{name: q, type: sum, column: balance, epsilon: '1', {SOUTH}}}",
    "{name: q, type: sum, column: balance, by: [region], epsilon: '1'}",
    "{name: q, type: mean, column: age, epsilon: '1'}",
    "{name: q, type: mean, column: age, by: [sex], epsilon: '1'}",
    f"{{name: q, type: mean, column: age, epsilon: '1', {SOUTH}}}",
    "{name: q, type: variance, column: age, epsilon: '1'}",
    f"{{name: q, type: variance, column: balance, epsilon: '1', {SOUTH}}}",
    "{name: q, type: histogram, column: region, epsilon: '1'}",
    "{name: q, type: histogram, column: age, bins: 3, epsilon: '1'}",
    "{name: q, type: histogram, column: born, epsilon: '1', delta: '1e-6'}",
    "{name: q, type: crosstab, by: [region, sex], epsilon: '1'}",
    "{name: q, type: crosstab, by: [region, sex], keys: [[north, f], [south, m]], epsilon: '1'}",
    "{name: q, type: quantile, column: age, probability: '0.3', epsilon: '1'}",
    "{name: q, type: median, column: age, candidates: ['1', '4'], epsilon: '1'}",
    "{name: q, type: minimum, column: balance, epsilon: '1'}",
    "{name: q, type: maximum, column: age, epsilon: '1'}",
    "{name: q, type: top, column: region, best: 2, epsilon: '1'}",
    f"{{name: q, type: best, utility: rows, epsilon: '1', candidates: {OPTIONS}}}",
    f"{{name: q, type: best, utility: split, label: sex, epsilon: '1', candidates: {OPTIONS}}}",
    f"{{name: q, type: above, threshold: 2, cutoff: 2, epsilon: '1', questions: {OPTIONS}}}",
)
GROUPED = ("histogram", "crosstab", "top")


def _published(plan: StatisticsPlan) -> tuple[QueryPlan, dict[str, object]]:
    """A query and its entry in the statement, with what the statement says of columns and units."""
    (query,) = plan.queries
    statement = {"columns": column_documents(plan.base), "max_rows": plan.base.max_rows}
    return query, {"entry": query_document(query, plan.rows), "statement": statement}


@pytest.mark.parametrize("max_rows", [1, 4])
@pytest.mark.parametrize("text", ASKED)
def test_both_derivations_agree(text: str, max_rows: int, tmp_path: Path) -> None:
    bounds = [""]
    if max_rows > 1:
        bounds.append(", max_rows: 2")
        if any(f"type: {kind}" in text for kind in GROUPED):
            bounds += [", max_groups: 2", ", max_rows: 3, max_groups: 1", ", max_rows: 2, max_groups: 3"]
    for more in bounds:
        query, told = _published(plan_of(tmp_path, text[:-1] + more + "}", max_rows=max_rows))
        entry, statement = told["entry"], told["statement"]
        question = question_of(entry, statement)  # type: ignore[arg-type]
        found = {name: (m.l1, m.l2_squared, m.largest, m.numbers) for name, m in derive(question).items()}
        stated = {
            part.name: (part.sensitivity.l1, part.sensitivity.l2_squared, part.sensitivity.linf, part.counts)
            for part in query.parts
        }
        assert found == stated, more
        assert (question.rows, question.groups) == (query.bounds.rows, query.bounds.groups)


@pytest.mark.parametrize("text", ASKED)
def test_no_neighbour_of_a_small_file_moves_an_answer_further_than_was_derived(text: str, tmp_path: Path) -> None:
    """Every value of one row against every other, beside four fixed rows; some pair comes to at least half of it."""
    query, told = _published(plan_of(tmp_path, text))
    derived = derive(question_of(told["entry"], told["statement"]))  # type: ignore[arg-type]
    vectors = [_exact(query, age, region, sex) for age, region, sex in product((0, 2, 5, 9), range(3), range(3))]
    for name, moves in derived.items():
        values = np.array([vector[name] for vector in vectors], dtype=np.int64)
        gaps = np.abs(values[:, None, :] - values[None, :, :])
        assert gaps.sum(axis=2).max() <= moves.l1 or query.options is not None
        assert (gaps**2).sum(axis=2).max() <= moves.l2_squared or query.options is not None
        assert moves.largest / 2 <= gaps.max() <= moves.largest


def _exact(query: QueryPlan, age: int, region: int, sex: int) -> dict[str, tuple[int, ...]]:
    rows = rows_of(
        [0, 1, 2, 3, 4],
        age=[age, 1, 4, 9, 0],
        balance=[age % 4, 1, 2, 3, 0],
        region=[region, 1, 1, 2, 0],
        sex=[sex, 0, 1, 1, 2],
        born=[age, 1, 4, 9, 0],
    )
    if query.options is not None and query.options.rules:
        return {query.parts[0].name: tuple(int(n) for n in count_options(query, rows, KEY))}
    counts = count_cells(query, rows, KEY)
    if query.options is not None and query.options.codes:
        return {"choice": tuple(value_scores(counts[0], query.options))}
    if query.options is not None:
        return {"choice": tuple(int(n) for n in counts.sum(axis=1))}
    return {part.name: sums(counts, part.measure, query.frame) for part in query.parts}
