"""Tables that agree with their totals: weighted least squares over noisy answers, which is free.

Source: Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through consistency"
(2010); by Gauss and Markov the result has the least variance among linear unbiased ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.config import CrosstabQuery, KeyPath
from trasgo_lib.errors import Reason
from trasgo_lib.plan import FaultCollector
from trasgo_lib.statistics.model import Part, QueryPlan

MOST_CELLS = 2000
"""Cells of a table that is made consistent: its equations are solved as one dense system."""

_COUNTS = frozenset({"count", "histogram", "crosstab"})


def totals_of(query: QueryPlan) -> tuple[str, ...]:
    """The queries that a table is made consistent with."""
    return query.spec.consistent_with if isinstance(query.spec, CrosstabQuery) else ()


def check_consistency(queries: Sequence[QueryPlan], faults: FaultCollector) -> None:
    """Refuse totals that are no totals of their table, or of two tables."""
    known = {query.name: query for query in queries}
    claimed: dict[str, str] = {}
    for position, query in enumerate(queries):
        for place, name in enumerate(totals_of(query)):
            path: KeyPath = ("queries", position, "consistent_with", place)
            came = _wrong(query, known.get(name), claimed.get(name))
            claimed.setdefault(name, query.name)
            if came is not None:
                required = (
                    "counts, histograms without bins or whole tables over some of the columns of this whole table, "
                    "with the same conditions and every row of a unit, each total of one table"
                )
                faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix="Correct or remove it.")


def _wrong(table: QueryPlan, total: QueryPlan | None, claimed: str | None) -> str | None:
    if total is None:
        return "no such query"
    if total.kind not in _COUNTS or total.name == table.name:
        return f"a {total.kind}" if total.name != table.name else "the table itself"
    if claimed is not None:
        return f"a total of {claimed} already"
    if not set(total.table.columns) <= set(table.table.columns):
        return "other columns"
    if set(total.rules) != set(table.rules):
        return "other conditions"
    if table.bounds.trims or total.bounds.trims:
        return "rows of a unit that are left out"
    if not (table.table.covers_all and total.table.covers_all) or _is_binned(total):
        return "combinations that are not counted"
    return "a table of too many cells" if len(table.table.labels) > MOST_CELLS else None


def _is_binned(query: QueryPlan) -> bool:
    return bool(query.table.columns) and len(query.table.labels) != int(np.prod(query.table.sizes))


def consistent(
    table: QueryPlan, values: Sequence[float], totals: Sequence[tuple[QueryPlan, Sequence[float]]], rows: int
) -> tuple[list[float], list[list[float]]]:
    """The table nearest to its noisy cells and totals, each weighed by the precision of its noise.

    Args:
        table: the query of the cells.
        values: its noisy cells.
        totals: further queries with their noisy answers.
        rows: number of rows, public; the table adds up to it where every row counts.

    Returns:
        New cells, and new answers of each total.
    """
    cells = len(values)
    weight = 1 / noise_variance(table.parts[0])
    left: NDArray[np.float64] = np.eye(cells) * weight
    right = np.asarray(values, dtype=np.float64) * weight
    maps = []
    for query, answers in totals:
        matrix, precision = _matrix(table, query), 1 / noise_variance(query.parts[0])
        left += matrix.T @ matrix * precision
        right += matrix.T @ np.asarray(answers, dtype=np.float64) * precision
        maps.append(matrix)
    if table.is_whole:
        ones = np.ones((cells, 1))
        left = np.block([[left, ones], [ones.T, np.zeros((1, 1))]])
        right = np.append(right, float(rows))
    solved = np.linalg.solve(left, right)[:cells]
    return solved.tolist(), [(matrix @ solved).tolist() for matrix in maps]


def noise_variance(part: Part) -> float:
    """Variance of a part's noise, in steps squared."""
    if part.noise == "gaussian":
        return part.scale**2
    ratio = exp(-1 / part.scale)
    return 2 * ratio / (1 - ratio) ** 2


def _matrix(table: QueryPlan, total: QueryPlan) -> NDArray[np.float64]:
    """Which cells add up to which total: float64[totals, cells]."""
    places = [table.table.columns.index(column) for column in total.table.columns]
    known = {labels: place for place, labels in enumerate(total.table.labels)}
    matrix = np.zeros((len(known), len(table.table.labels)))
    for cell, labels in enumerate(table.table.labels):
        matrix[known[tuple(labels[place] for place in places)], cell] = 1.0
    return matrix
