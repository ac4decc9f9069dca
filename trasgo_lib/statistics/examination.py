"""What is unwise in a statistics file that is right: told from the file and public arithmetic alone, with its line."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trasgo_lib.config import KeyPath, LoadedConfig
from trasgo_lib.drafting.findings import Finding, Weight
from trasgo_lib.statistics.model import QueryPlan, StatisticsPlan

_WELL_BELOW = 10
"""A delta should be below one in the number of rows by at least this factor."""

_LOUD = Fraction(1, 4)
"""Half-width of a mean as a share of its range, or of a choice as a share of the rows, from which it says little."""

_COUNTS = frozenset({"histogram", "crosstab"})


def examine_queries(loaded: LoadedConfig, plan: StatisticsPlan) -> Iterator[Finding]:
    """Everything about queries that is allowed, and that a careful colleague would ask about.

    Args:
        loaded: the statistics file.
        plan: its plan.
    """
    if plan.rows is None:
        fix = "Add `rows: 28000` at the top of the file: how many rows there are, as everyone may know."
        words = "no `rows`: how far means and choices are off, and whether tables drown in noise, cannot be told"
        yield Finding(Weight.LOOK, words, fix, 1, 1)
    for place, query in enumerate(plan.queries):
        yield from _delta(loaded, plan.rows, place, query)
        yield from _noise(loaded, plan.rows, place, query)
        yield from _threshold(loaded, place, query)


def _at(loaded: LoadedConfig, place: int, query: QueryPlan, key: str, words: str, fix: str) -> Finding:
    path: KeyPath = ("queries", place, key)
    mark = loaded.document.mark(path)
    return Finding(Weight.LOOK, f"query {query.name}: {words}", fix, mark.line, mark.column)


def _delta(loaded: LoadedConfig, rows: int | None, place: int, query: QueryPlan) -> Iterator[Finding]:
    delta = query.cost.delta
    if rows is not None and delta.units and delta.fraction * rows * _WELL_BELOW >= 1:
        words = f"delta {delta.text} is not far below one in {rows:,} rows"
        yield _at(loaded, place, query, "delta", words, "Lower it: 1e-9 costs little more noise.")


def _noise(loaded: LoadedConfig, rows: int | None, place: int, query: QueryPlan) -> Iterator[Finding]:
    if rows is None:
        return
    part, key = query.parts[0], "epsilon" if query.spec.epsilon is not None else "rho"
    fix = "Spend more on it, ask for fewer cells, or declare a narrower range."
    if query.kind in _COUNTS and part.half_width * part.counts >= rows:
        words = (
            f"the noise of a cell is up to {part.half_width} rows, and {rows:,} rows over {part.counts} cells are less"
        )
        yield _at(loaded, place, query, key, words, fix)
    elif query.kind == "mean" and query.frame is not None and query.is_whole:
        off = Fraction(part.half_width, rows * query.frame.largest)
        if off >= _LOUD:
            words = f"the noise of the mean is up to {float(off):.2g} of the range of {query.column}"
            yield _at(loaded, place, query, key, words, fix)
    elif query.options is not None and query.options.codes:
        per_row = 1 if query.options.probability is None else query.options.probability.denominator
        if Fraction(part.half_width, per_row) >= _LOUD * rows:
            words = f"the choice can be off by {-(-part.half_width // per_row):,} of {rows:,} rows"
            yield _at(loaded, place, query, key, words, "Spend more on it, or declare fewer candidates.")


def _threshold(loaded: LoadedConfig, place: int, query: QueryPlan) -> Iterator[Finding]:
    least = getattr(query.spec, "suppress_below", None)
    width = query.parts[0].half_width
    if least is not None and Fraction(least) < width:
        words = f"cells are withheld below {least}, and the noise is up to {width} rows: empty cells can be told"
        yield _at(loaded, place, query, "suppress_below", words, f"Write at least {width}, or spend more.")
