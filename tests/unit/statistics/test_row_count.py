"""What the number of rows decides is decided before anything is charged, and by nothing but that number."""

from __future__ import annotations

from pathlib import Path

import pytest
from asked import plan_of, text_of

from trasgo_lib.errors import ConfigError
from trasgo_lib.statistics import read_statistics
from trasgo_lib.statistics.row_count import require_row_count


def test_a_delta_is_held_against_the_rows_that_there_are_and_not_only_those_declared(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, "{name: q, type: histogram, column: sex, epsilon: '1', delta: '0.0001'}")
    require_row_count(plan, 9_999)
    with pytest.raises(ConfigError, match="query q: required a delta below 1/10000"):
        require_row_count(plan, 10_000)


@pytest.mark.parametrize(
    ("query", "largest"),
    [
        ("type: sum, column: age, epsilon: '1'", 9),
        ("type: sum, column: balance, epsilon: '1', where: [{column: sex, codes: [f]}]", 2),
        ("type: variance, column: age, epsilon: '1'", 81),
        ("type: quantile, column: age, probability: '0.3', epsilon: '1'", 10),
        ("type: histogram, column: sex, epsilon: '1'", 1),
    ],
)
def test_sums_that_might_not_fit_are_refused_whatever_the_values_are(query: str, largest: int, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, f"{{name: q, {query}}}")
    most = (2**62 - 1) // largest
    require_row_count(plan, most)
    with pytest.raises(ConfigError, match="fit 62 bits"):
        require_row_count(plan, most + 1)


def test_the_delta_of_a_plan_in_advance_is_held_against_the_rows_too(tmp_path: Path) -> None:
    path = tmp_path / "people.yaml"
    text = text_of("{name: q, type: histogram, column: sex, epsilon: '1'}")
    path.write_text(
        text.replace("queries:", "composition: {rule: pld, delta: '0.0001'}\nqueries:", 1), encoding="utf-8"
    )
    plan = read_statistics(path)[1]
    require_row_count(plan, 9_999)
    with pytest.raises(ConfigError, match="composition: required a delta below 1/10000"):
        require_row_count(plan, 10_000)
