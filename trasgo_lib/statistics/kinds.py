"""Each kind of query, from what the file says to cells, sensitivities, noise and loss event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import LossEvent
from trasgo_lib.config import (
    AboveQuery,
    AnyQuery,
    BestQuery,
    CountQuery,
    CrosstabQuery,
    ExtremeQuery,
    HistogramQuery,
    KeyPath,
    MeanQuery,
    MedianQuery,
    QuantileQuery,
    SumQuery,
    TopQuery,
    VarianceQuery,
)
from trasgo_lib.errors import Reason
from trasgo_lib.statistics import sensitivity
from trasgo_lib.statistics.budgeting import Budget, Wanted, additive, choice, thresholds
from trasgo_lib.statistics.columns import Columns, single
from trasgo_lib.statistics.model import Bounds, Options, Part, QueryPlan, Table

_Drawn = tuple[tuple[Part, ...], LossEvent]


class QueryContext:
    """One query under way: what its kind fills in, and where its faults go."""

    def __init__(self, spec: AnyQuery, path: KeyPath, columns: Columns, unit_rows: int) -> None:
        self.spec: Any = spec
        self.path, self.columns, self.faults = path, columns, columns.faults
        self.unit_rows = unit_rows
        self.rules = columns.rules(spec.where, (*path, "where"))
        epsilon = None if spec.epsilon is None else Epsilon.parse(spec.epsilon)
        self.budget = Budget(
            epsilon, Delta.parse(spec.delta, zero=True), None if spec.rho is None else Rho.parse(spec.rho)
        )

    def fault(self, key: str, required: str, came: str, fix: str, reason: Reason = Reason.BAD_PARAMETER) -> None:
        """Note a fault at a key of the query."""
        self.faults.add(reason, (*self.path, key), required=required, came=came, fix=fix)

    def bounds(self, grouped: bool) -> Bounds:
        """What one unit may contribute; by default all it has."""
        rows = min(self.spec.max_rows or self.unit_rows, self.unit_rows)
        groups = min(getattr(self.spec, "max_groups", None) or self.unit_rows, self.unit_rows) if grouped else 1
        trims = rows < self.unit_rows or (grouped and groups < self.unit_rows)
        return Bounds(rows, groups, self.unit_rows, trims)

    def plan(self, table: Table, drawn: _Drawn, bounds: Bounds, **more: Any) -> QueryPlan:
        """The compiled query."""
        parts, event = drawn
        found = {"column": None, "size": 1, "frame": None, "options": None, "is_whole": False} | more
        return QueryPlan(
            spec=self.spec,
            rules=self.rules or (),
            table=table,
            bounds=bounds,
            parts=parts,
            event=event,
            digest="",
            **found,
        )


def _count(context: QueryContext) -> QueryPlan | None:
    if not context.spec.where:
        required = "conditions: the number of all rows is public and costs nothing"
        context.fault("type", required, "none", "Add `where`, or read the number of rows in the statement.")
        return None
    bounds = context.bounds(grouped=False)
    wanted = Wanted("rows", "rows", sensitivity.of_rows(bounds, 1), 1)
    return context.plan(single(), additive((wanted,), context.budget), bounds)


def _sum(context: QueryContext) -> QueryPlan | None:
    return _number(context, ("sum",))


def _mean(context: QueryContext) -> QueryPlan | None:
    return _number(context, ("mean",))


def _variance(context: QueryContext) -> QueryPlan | None:
    return _number(context, ("mean", "squares"))


def _number(context: QueryContext, names: tuple[str, ...]) -> QueryPlan | None:
    """Sums of a number, with their count where that is not public."""
    spec = context.spec
    found = context.columns.frame(spec.column, (*context.path, "column"))
    by = getattr(spec, "by", ())
    table = context.columns.table(by, None, context.path) if by else single()
    if found is None or table is None:
        return None
    unit, frame = found
    bounds = context.bounds(grouped=bool(by))
    whole = not spec.where and not by and not bounds.trims
    if frame.largest == 0:
        context.fault("column", "a number with more than one value", "one value", "Its values are public already.")
        return None
    cells = len(table.labels)
    # where every row counts, all that can move is a code; else values around the middle move least
    first = "code" if whole and names != ("mean", "squares") else "value" if names == ("sum",) else "centred"
    measures: dict[str, Any] = {"sum": first, "mean": first, "squares": "square"}
    wanted = [
        Wanted(name, measures[name], sensitivity.of_sums(bounds, frame, measures[name], cells, whole), cells)
        for name in names
    ]
    if names != ("sum",) and not whole:
        wanted.append(Wanted("rows", "rows", sensitivity.of_rows(bounds, cells), cells))
    drawn = additive(tuple(wanted), context.budget)
    return context.plan(table, drawn, bounds, column=unit.name, size=frame.largest + 1, frame=frame, is_whole=whole)


def _histogram(context: QueryContext) -> QueryPlan | None:
    return _counts(context, context.columns.bins(context.spec.column, context.spec.bins, context.path))


def _crosstab(context: QueryContext) -> QueryPlan | None:
    return _counts(context, context.columns.table(context.spec.by, context.spec.keys, context.path))


def _counts(context: QueryContext, table: Table | None) -> QueryPlan | None:
    if table is None:
        return None
    bounds = context.bounds(grouped=True)
    cells = len(table.labels)
    wanted = Wanted("rows", "rows", sensitivity.of_rows(bounds, cells), cells)
    whole = table.covers_all and not context.spec.where and not bounds.trims
    return context.plan(table, additive((wanted,), context.budget), bounds, is_whole=whole)


def _quantile(context: QueryContext) -> QueryPlan | None:
    share = Fraction(context.spec.probability)
    if not 0 < share < 1:
        fix = "Ask for minimum or maximum at the ends."
        context.fault("probability", "a share above 0 and below 1", repr(context.spec.probability), fix)
        return None
    if share.denominator > 10**6:
        context.fault("probability", "at most 6 decimals", repr(context.spec.probability), "Round it.")
        return None
    why = f"moves a score by at most {share.denominator} (rows below and above, weighted by {share})"
    return _value(context, share, share.denominator, why)


def _median(context: QueryContext) -> QueryPlan | None:
    return _value(context, Fraction(1, 2), 2, "moves a score by at most 2 (rows below less rows above)")


def _extreme(context: QueryContext) -> QueryPlan | None:
    share = Fraction(0 if context.spec.type == "minimum" else 1)
    return _value(context, share, 1, "moves a score by at most 1 (rows beyond the candidate, held against 1)")


def _value(context: QueryContext, share: Fraction, per_row: int, why: str) -> QueryPlan | None:
    spec = context.spec
    found = context.columns.frame(spec.column, (*context.path, "column"))
    if found is None:
        return None
    unit, frame = found
    named = context.columns.candidates(unit, frame, spec.candidates, context.path)
    if named is None:
        return None
    if len(named[1]) < 2:
        context.fault("column", "a number with more than one value", "one value", "Its values are public already.")
        return None
    options = Options(named[0], codes=named[1], probability=share)
    bounds = context.bounds(grouped=False)
    drawn = choice(
        "choice", sensitivity.of_scores(bounds, per_row, why), context.budget, len(named[1]), 1, "exponential"
    )
    return context.plan(single(), drawn, bounds, column=unit.name, size=frame.largest + 1, frame=frame, options=options)


def _top(context: QueryContext) -> QueryPlan | None:
    spec = context.spec
    table = context.columns.table([spec.column], None, context.path, "column")
    if table is None:
        return None
    labels = tuple(label[0] for label in table.labels)
    if not spec.best < len(labels):
        context.fault("best", f"less than {len(labels)}, the labels that there are", str(spec.best), "Lower it.")
        return None
    bounds = context.bounds(grouped=True)
    drawn = choice("choice", sensitivity.of_labels(bounds), context.budget, len(labels), spec.best, "noisy_max")
    return context.plan(table, drawn, bounds, options=Options(labels))


def _best(context: QueryContext) -> QueryPlan | None:
    spec = context.spec
    label = None
    if spec.label is not None:
        unit = context.columns.unit(spec.label, (*context.path, "label"))
        if unit is not None and context.columns.labels(unit, (*context.path, "label")) is not None:
            label = (unit.name, context.columns.size(unit))
    options = _conditional(context, "candidates", label)
    if options is None:
        return None
    bounds = context.bounds(grouped=False)
    why = "moves any candidate's utility by at most 1"
    moves = sensitivity.of_scores(bounds, 1, why)
    drawn = choice("choice", moves, context.budget, len(options.labels), 1, "exponential")
    return context.plan(single(), drawn, bounds, options=options)


def _above(context: QueryContext) -> QueryPlan | None:
    spec = context.spec
    options = _conditional(context, "questions", None)
    if spec.cutoff > len(spec.questions):
        context.fault(
            "cutoff", f"at most {len(spec.questions)}, the questions there are", str(spec.cutoff), "Lower it."
        )
    if options is None or context.budget.epsilon is None:
        return None
    bounds = context.bounds(grouped=False)
    moves = sensitivity.of_scores(bounds, 1, "moves any count by at most 1")
    drawn = thresholds("answers", moves, context.budget.epsilon, len(options.labels), spec.cutoff)
    return context.plan(single(), drawn, bounds, options=options)


def _conditional(context: QueryContext, key: str, label: tuple[str, int] | None) -> Options | None:
    before = len(context.faults.found)
    names: list[str] = []
    rules = []
    for place, candidate in enumerate(getattr(context.spec, key)):
        here = (*context.path, key, place)
        if candidate.name in names:
            context.faults.add(
                Reason.BAD_PARAMETER, (*here, "name"), required="each name once", came=candidate.name, fix="Rename it."
            )
        names.append(candidate.name)
        rules.append(context.columns.rules(candidate.where, (*here, "where")) or ())
    return None if len(context.faults.found) > before else Options(tuple(names), rules=tuple(rules), label=label)


KINDS: Mapping[type[AnyQuery], Callable[[QueryContext], QueryPlan | None]] = {
    CountQuery: _count,
    SumQuery: _sum,
    MeanQuery: _mean,
    VarianceQuery: _variance,
    QuantileQuery: _quantile,
    MedianQuery: _median,
    ExtremeQuery: _extreme,
    HistogramQuery: _histogram,
    CrosstabQuery: _crosstab,
    TopQuery: _top,
    BestQuery: _best,
    AboveQuery: _above,
}
"""Each model of a query with what compiles it; None where faults were noted."""
