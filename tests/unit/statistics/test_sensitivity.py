"""Claimed sensitivities against every kind of query on many neighbouring files, and against the worst of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from asked import KEY, SIZES, Rows, query_of, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.statistics.answering import value_scores
from trasgo_lib.statistics.counting import count_cells, count_options, keep_bounded, sums
from trasgo_lib.statistics.model import Bounds, QueryPlan

SOUTH = "where: [{column: region, codes: [south]}]"
ADULT = 'where: [{column: age, at_least: "5"}]'
QUERIES = (
    f"{{name: q, type: count, epsilon: '1', {SOUTH}}}",
    "{name: q, type: sum, column: age, epsilon: '1'}",
    "{name: q, type: sum, column: balance, epsilon: '1'}",
    f"{{name: q, type: sum, column: balance, epsilon: '1', {SOUTH}}}",
    "{name: q, type: sum, column: balance, by: [region], epsilon: '1'}",
    "{name: q, type: mean, column: age, by: [region, sex], epsilon: '1'}",
    f"{{name: q, type: mean, column: balance, epsilon: '1', {ADULT}}}",
    "{name: q, type: variance, column: age, epsilon: '1'}",
    f"{{name: q, type: variance, column: balance, epsilon: '1', {SOUTH}}}",
    "{name: q, type: quantile, column: age, probability: '0.3', epsilon: '1'}",
    f"{{name: q, type: median, column: age, epsilon: '1', {SOUTH}}}",
    "{name: q, type: minimum, column: balance, epsilon: '1'}",
    f"{{name: q, type: maximum, column: age, epsilon: '1', {SOUTH}}}",
    "{name: q, type: histogram, column: age, bins: 4, epsilon: '1'}",
    "{name: q, type: histogram, column: born, epsilon: '1'}",
    "{name: q, type: crosstab, by: [region, sex], epsilon: '1'}",
    "{name: q, type: crosstab, by: [region, sex], keys: [[south, f], [north, missing]], epsilon: '1'}",
    "{name: q, type: top, column: region, best: 2, epsilon: '1'}",
    f"{{name: q, type: best, utility: rows, epsilon: '1', candidates: [{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}]}}",
    "{name: q, type: best, utility: split, label: sex, epsilon: '1', "
    f"candidates: [{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}]}}",
    f"{{name: q, type: above, threshold: 2, epsilon: '1', questions: [{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}]}}",
)
BOUNDS = ((1, ""), (3, ""), (3, ", max_rows: 1"), (3, ", max_rows: 2"), (4, ", max_rows: 2, max_groups: 1"))
GROUPED = ("histogram", "crosstab", "top", "by:")


def _exact(query: QueryPlan, source: Rows) -> list[tuple[int, ...]]:
    """Every exact vector that gets noise."""
    if query.options is None:
        counts = count_cells(query, source, KEY)
        return [sums(counts, part.measure, query.frame) for part in query.parts]
    if query.options.rules:
        return [tuple(int(count) for count in count_options(query, source, KEY))]
    counts = count_cells(query, source, KEY)
    if query.options.codes:
        return [tuple(value_scores(counts[0], query.options))]
    return [tuple(int(total) for total in counts.sum(axis=1))]


def _moves(query: QueryPlan, one: Rows, other: Rows) -> list[tuple[int, int, int]]:
    found = []
    for before, after in zip(_exact(query, one), _exact(query, other), strict=True):
        change = [abs(a - b) for a, b in zip(before, after, strict=True)]
        found.append((sum(change), sum(c * c for c in change), max(change)))
    return found


ASKED = [
    pytest.param(text.replace("epsilon: '1'", f"epsilon: '1'{more}", 1), max_rows, id=f"{text}-{max_rows}{more}")
    for max_rows, more in BOUNDS
    for text in QUERIES
    if "max_groups" not in more or any(word in text for word in GROUPED)
]
"""Every query under every bound on contributions; only those with groups have groups to bound."""


@st.composite
def _neighbours(draw: st.DrawFn, max_rows: int) -> tuple[Rows, Rows]:
    """Two files with the same rows per unit that differ in the values of unit 0."""
    sizes = draw(st.lists(st.integers(1, max_rows), min_size=1, max_size=4))
    units = [unit for unit, size in enumerate(sizes) for _ in range(size)]
    order = draw(st.permutations(range(len(units))))
    units = [units[place] for place in order]
    one = {name: [draw(st.integers(0, size - 1)) for _ in units] for name, size in SIZES.items()}
    other = {
        name: [draw(st.integers(0, size - 1)) if unit == 0 else code for unit, code in zip(units, one[name])]
        for name, size in SIZES.items()
    }
    return rows_of(units, **one), rows_of(units, **other)


@pytest.mark.parametrize(("asked", "max_rows"), ASKED)
def test_no_neighbour_moves_a_statistic_further(asked: str, max_rows: int, tmp_path: Path) -> None:
    query = query_of(tmp_path, asked, max_rows)

    @settings(derandomize=True, deadline=None, max_examples=10, database=None)
    @given(_neighbours(max_rows))
    def check(pair: tuple[Rows, Rows]) -> None:
        for (l1, l2, linf), part in zip(_moves(query, *pair), query.parts, strict=True):
            claimed = part.sensitivity
            if part.noise in ("laplace", "gaussian"):
                assert l1 <= claimed.l1 and l2 <= claimed.l2_squared
            else:
                assert linf <= claimed.linf

    check()


@pytest.mark.parametrize("text", QUERIES)
def test_some_neighbour_moves_it_as_far_as_claimed(text: str, tmp_path: Path) -> None:
    """With one row a unit; else noise would be wasted. Pairs of whole domains are gone through one row against five."""
    query = query_of(tmp_path, text)
    rest = {
        "age": [0, 9, 4, 5],
        "balance": [0, 3, 1, 2],
        "region": [0, 1, 1, 2],
        "sex": [0, 1, 0, 1],
        "born": [1, 2, 3, 4],
    }
    columns = [name for name in SIZES if name in text]
    grid = np.stack(np.meshgrid(*[np.arange(SIZES[name]) for name in columns], indexing="ij"), -1).reshape(
        -1, len(columns)
    )
    files = [
        rows_of(
            range(5),
            **{name: [*rest[name], int(codes[columns.index(name)]) if name in columns else 0] for name in SIZES},
        )
        for codes in grid
    ]
    exact = [_exact(query, one) for one in files]
    for place, part in enumerate(query.parts):
        vectors = np.array([one[place] for one in exact])
        gaps = np.abs(vectors[:, None, :] - vectors[None, :, :])
        claimed = part.sensitivity
        if part.noise in ("laplace", "gaussian"):
            assert gaps.sum(-1).max() == claimed.l1
            assert (gaps**2).sum(-1).max() <= claimed.l2_squared
        else:
            assert gaps.max() == claimed.linf


def test_a_cell_moves_by_the_root_of_two(tmp_path: Path) -> None:
    part = query_of(tmp_path, QUERIES[15]).parts[0]
    assert (part.sensitivity.l1, part.sensitivity.l2_squared) == (2, 2)
    bounded = query_of(tmp_path, QUERIES[15].replace("'1'", "'1', max_rows: 2, max_groups: 2"), 5).parts[0]
    assert (bounded.sensitivity.l1, bounded.sensitivity.l2_squared) == (8, 16)
    odd = query_of(tmp_path, QUERIES[15].replace("'1'", "'1', max_rows: 2"), 5).parts[0]
    assert (odd.sensitivity.l1, odd.sensitivity.l2_squared) == (10, 2 * (4 + 4 + 1))


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 3)), max_size=30), st.integers(1, 3), st.integers(1, 3))
def test_what_a_unit_keeps_is_within_its_bounds_and_no_more_is_lost(
    rows: list[tuple[int, int]], most: int, groups: int
) -> None:
    units, cells = (np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1))
    kept = keep_bounded(units, cells, Bounds(most, groups, 30, True), KEY)
    assert not kept[cells < 0].any()
    for unit in set(units.tolist()):
        mine = cells[(units == unit) & (cells >= 0)]
        left = cells[(units == unit) & kept]
        sizes = {cell: int((mine == cell).sum()) for cell in set(mine.tolist())}
        assert len(set(left.tolist())) == min(groups, len(sizes))
        assert all(int((left == cell).sum()) == min(most, sizes[cell]) for cell in set(left.tolist()))


def test_what_one_unit_keeps_does_not_depend_on_others_and_depends_on_the_key() -> None:
    units = np.array([7] * 40, dtype=np.int64)
    cells = np.arange(40, dtype=np.int64)
    alone = keep_bounded(units, cells, Bounds(1, 5, 40, True), KEY)
    among = keep_bounded(np.r_[units, [8] * 6], np.r_[cells, [1] * 6], Bounds(1, 5, 40, True), KEY)
    assert np.array_equal(alone, among[:40])
    reverse = keep_bounded(units, cells[::-1].copy(), Bounds(1, 5, 40, True), KEY)
    assert set(cells[alone]) == set(cells[::-1][reverse]), "groups are chosen by their hash, not by their order"
    assert not np.array_equal(alone, keep_bounded(units, cells, Bounds(1, 5, 40, True), bytes(32)))
    assert len(keep_bounded(units[:0], cells[:0], Bounds(1, 1, 2, True), KEY)) == 0
