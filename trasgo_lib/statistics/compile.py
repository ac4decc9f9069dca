"""compile: a statistics file with every key, bound, sensitivity, scale and cost resolved, before data is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import Cost, LossEvent, cost, event_to_json
from trasgo_lib.config import (
    AboveQuery,
    AnyQuery,
    BestQuery,
    CountQuery,
    CrosstabQuery,
    ExtremeQuery,
    HistogramQuery,
    KeyPath,
    LoadedStatistics,
    MeanQuery,
    MedianQuery,
    QuantileQuery,
    StatisticsConfig,
    SumQuery,
    TopQuery,
    VarianceQuery,
    load_statistics,
)
from trasgo_lib.errors import Reason
from trasgo_lib.plan import FaultCollector, ReleasePlan, canonical_digest, compile_source
from trasgo_lib.statistics import sensitivity
from trasgo_lib.statistics.budgeting import Budget, Wanted, additive, choice, thresholds
from trasgo_lib.statistics.columns import Columns, single
from trasgo_lib.statistics.consistency import check_consistency
from trasgo_lib.statistics.model import Bounds, Options, Part, QueryPlan, StatisticsPlan, Table

_Drawn = tuple[tuple[Part, ...], LossEvent]
_MOST_COUNTED = 2**24
"""Cells times codes of a query's column: the exact counts are held in memory, 8 bytes each."""


class _Context:
    """One query under way: what its kind fills in, and where its faults go."""

    def __init__(self, spec: AnyQuery, path: KeyPath, columns: Columns, base: ReleasePlan, delta: Delta) -> None:
        self.spec: Any = spec
        self.path, self.columns, self.faults = path, columns, columns.faults
        self.unit_rows = base.max_rows
        self.rules = columns.rules(spec.where, (*path, "where"))
        epsilon = None if spec.epsilon is None else Epsilon.parse(spec.epsilon)
        self.budget = Budget(epsilon, delta, None if spec.rho is None else Rho.parse(spec.rho))

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
            spec=self.spec, rules=self.rules or (), table=table, bounds=bounds, parts=parts, event=event, digest="", **found
        )


def read_statistics(path: Path) -> tuple[LoadedStatistics, StatisticsPlan]:
    """Read and compile a statistics file; opens no data.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    loaded = load_statistics(path)
    return loaded, compile_statistics(loaded)


def compile_statistics(loaded: LoadedStatistics) -> StatisticsPlan:
    """Resolve a statistics file.

    Args:
        loaded: a file of the right shape; public.

    Raises:
        ConfigError: all faults at once.
    """
    faults = FaultCollector(loaded.loaded)
    config = loaded.config
    base = compile_source(loaded.loaded, faults)
    _check_names(config, faults)
    queries: list[QueryPlan] = []
    if base is not None:
        columns = Columns({unit.name: unit for unit in base.units}, faults)
        for position, spec in enumerate(config.queries):
            query = _compile(spec, ("queries", position), columns, base, config)
            if query is not None:
                queries.append(query)
        if len(queries) == len(config.queries):
            check_consistency(queries, faults)
            _check_totals(config, queries, faults)
    faults.raise_all()
    if base is None:
        raise ValueError("columns at fault are refused above")
    digest = canonical_digest(
        {"format": 1, "source": base.digest, "queries": [query.digest for query in queries], "rows": config.rows}
    )
    return StatisticsPlan(replace(base, digest=digest), tuple(queries), config.rows)


def _compile(
    spec: AnyQuery, path: KeyPath, columns: Columns, base: ReleasePlan, config: StatisticsConfig
) -> QueryPlan | None:
    faults = columns.faults
    before = len(faults.found)
    delta = Delta.parse(spec.delta, zero=True)
    context = _Context(spec, path, columns, base, delta)
    _check_budget(context, config.rows)
    _check_bounds(context)
    if len(faults.found) > before:
        # what the kind asks for is judged all the same, with a budget that cannot be the cause of a fault
        context.budget = Budget(Epsilon.parse("1"), Delta(0), None)
    try:
        query = _KINDS[type(spec)](context)
    except ValueError:
        context.fault("epsilon" if spec.epsilon else "rho", "enough for every part", "too little", "Raise it.")
        return None
    if query is None or len(faults.found) > before:
        return None
    if len(query.table.labels) * query.size > _MOST_COUNTED:
        context.fault("type", f"at most {_MOST_COUNTED} cells times values", "more", "Use fewer groups or a coarser step.")
        return None
    return replace(query, digest=_digest(query, base))


def _check_budget(context: _Context, rows: int | None) -> None:
    spec, delta = context.spec, context.budget.delta
    if spec.rho is not None and not delta.units:
        context.fault("rho", "a delta beside rho, at which it is charged", "none", 'Add delta: "1e-9".', Reason.BAD_AMOUNT)
    if not delta.units:
        return
    if rows is None:
        fix = "Add `rows: 28000` at the top of the file: how many rows there are, as everyone may know."
        context.fault("delta", "`rows` beside a delta, which must be below 1/rows", "none", fix, Reason.BAD_AMOUNT)
    elif delta.fraction >= Fraction(1, rows):
        came = f"{delta.text}, which lets one record in {rows} be published as it is"
        fix = "Use a delta far below it, or none."
        context.fault("delta", f"less than 1/{rows}", came, fix, Reason.BAD_AMOUNT)
    additive_kinds = CountQuery | SumQuery | MeanQuery | VarianceQuery | HistogramQuery | CrosstabQuery
    if spec.type == "above" or (spec.rho is None and not isinstance(spec, additive_kinds)):
        fix = "Remove delta." if spec.rho is None else "Write epsilon."
        context.fault("delta", "epsilon alone: choices and thresholds are pure", "a delta", fix, Reason.BAD_AMOUNT)
    elif spec.epsilon is not None and not context.budget.concentrated().units:
        fix = "Raise epsilon or delta."
        context.fault("epsilon", "an epsilon that some noise keeps at this delta", "none", fix, Reason.BAD_AMOUNT)


def _check_bounds(context: _Context) -> None:
    for key in ("max_rows", "max_groups"):
        asked = getattr(context.spec, key, None)
        if asked is not None and asked > context.unit_rows:
            required = f"at most {context.unit_rows}, the rows that privacy.unit lets a unit have"
            context.fault(key, required, str(asked), "Lower it, or leave it out.")


def _count(context: _Context) -> QueryPlan | None:
    if not context.spec.where:
        required = "conditions: the number of all rows is public and costs nothing"
        context.fault("type", required, "none", "Add `where`, or read the number of rows in the statement.")
        return None
    bounds = context.bounds(grouped=False)
    wanted = Wanted("rows", "rows", sensitivity.of_rows(bounds, 1, conditions=True), 1)
    return context.plan(single(), additive((wanted,), context.budget), bounds)


def _sum(context: _Context) -> QueryPlan | None:
    return _number(context, ("sum",))


def _mean(context: _Context) -> QueryPlan | None:
    return _number(context, ("mean",))


def _variance(context: _Context) -> QueryPlan | None:
    return _number(context, ("mean", "squares"))


def _number(context: _Context, names: tuple[str, ...]) -> QueryPlan | None:
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
        wanted.append(Wanted("rows", "rows", sensitivity.of_rows(bounds, cells, bool(spec.where)), cells))
    drawn = additive(tuple(wanted), context.budget)
    return context.plan(table, drawn, bounds, column=unit.name, size=frame.largest + 1, frame=frame, is_whole=whole)


def _histogram(context: _Context) -> QueryPlan | None:
    return _counts(context, context.columns.bins(context.spec.column, context.spec.bins, context.path))


def _crosstab(context: _Context) -> QueryPlan | None:
    return _counts(context, context.columns.table(context.spec.by, context.spec.keys, context.path))


def _counts(context: _Context, table: Table | None) -> QueryPlan | None:
    if table is None:
        return None
    bounds = context.bounds(grouped=True)
    cells = len(table.labels)
    wanted = Wanted("rows", "rows", sensitivity.of_rows(bounds, cells, bool(context.spec.where)), cells)
    whole = table.covers_all and not context.spec.where and not bounds.trims
    return context.plan(table, additive((wanted,), context.budget), bounds, is_whole=whole)


def _quantile(context: _Context) -> QueryPlan | None:
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


def _median(context: _Context) -> QueryPlan | None:
    return _value(context, Fraction(1, 2), 2, "moves a score by at most 2 (rows below less rows above)")


def _extreme(context: _Context) -> QueryPlan | None:
    share = Fraction(0 if context.spec.type == "minimum" else 1)
    return _value(context, share, 1, "moves a score by at most 1 (rows beyond the candidate, held against 1)")


def _value(context: _Context, share: Fraction, per_row: int, why: str) -> QueryPlan | None:
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
    drawn = choice("choice", sensitivity.of_scores(bounds, per_row, why), context.budget, len(named[1]), 1, "exponential")
    return context.plan(
        single(), drawn, bounds, column=unit.name, size=frame.largest + 1, frame=frame, options=options
    )


def _top(context: _Context) -> QueryPlan | None:
    spec = context.spec
    table = context.columns.table([spec.column], None, context.path, "column")
    if table is None:
        return None
    labels = tuple(label[0] for label in table.labels)
    if not spec.best < len(labels):
        context.fault("best", f"less than {len(labels)}, the labels that there are", str(spec.best), "Lower it.")
        return None
    bounds = context.bounds(grouped=True)
    moves = sensitivity.of_rows(bounds, len(labels), bool(spec.where))
    drawn = choice("choice", moves, context.budget, len(labels), spec.best, "noisy_max")
    return context.plan(table, drawn, bounds, options=Options(labels))


def _best(context: _Context) -> QueryPlan | None:
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


def _above(context: _Context) -> QueryPlan | None:
    spec = context.spec
    options = _conditional(context, "questions", None)
    if spec.cutoff > len(spec.questions):
        context.fault("cutoff", f"at most {len(spec.questions)}, the questions there are", str(spec.cutoff), "Lower it.")
    if options is None or context.budget.epsilon is None:
        return None
    bounds = context.bounds(grouped=False)
    moves = sensitivity.of_scores(bounds, 1, "moves any count by at most 1")
    drawn = thresholds("answers", moves, context.budget.epsilon, len(options.labels), spec.cutoff)
    return context.plan(single(), drawn, bounds, options=options)


def _conditional(context: _Context, key: str, label: tuple[str, int] | None) -> Options | None:
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


_KINDS: Mapping[type[AnyQuery], Callable[[_Context], QueryPlan | None]] = {
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


def _check_names(config: StatisticsConfig, faults: FaultCollector) -> None:
    names = [query.name for query in config.queries]
    for position, name in enumerate(names):
        if name in names[:position]:
            path: KeyPath = ("queries", position, "name")
            required, fix = "each query once", "Rename it: a query is charged under its name."
            faults.add(Reason.BAD_PARAMETER, path, required=required, came=f"`{name}` again", fix=fix)
    for key, is_set in (
        ("approvals", config.publish.approvals > 0),
        ("embargo", config.publish.embargo is not None),
    ):
        if is_set:
            path = ("publish", key)
            required, fix = "no approvals and no embargo for answers yet", "Remove it."
            faults.add(Reason.NOT_BUILT_YET, path, required=required, came=f"`{key}`", fix=fix)


def _check_totals(config: StatisticsConfig, queries: list[QueryPlan], faults: FaultCollector) -> None:
    spent = Cost.zero()
    for query in queries:
        spent += query.cost
    cap = Cost.of(config.privacy.epsilon_total, config.privacy.delta_total)
    for key, asked, most in (("epsilon_total", spent.epsilon, cap.epsilon), ("delta_total", spent.delta, cap.delta)):
        if asked.units > most.units:
            faults.add(
                Reason.OVER_TOTAL,
                ("privacy", key),
                required=f"at least {asked.text}, the sum of all queries",
                came=most.text,
                fix="Raise it, ask less, or spend less on a query.",
            )


def _digest(query: QueryPlan, base: ReleasePlan) -> str:
    """Everything that fixes the law of the answer; wording and post-processing are left out."""
    post = {"round", "non_negative", "suppress_below", "consistent_with"}
    return canonical_digest(
        {
            "format": 1,
            "source": base.digest,
            "query": query.spec.model_dump(mode="json", exclude=post),
            "event": event_to_json(query.event),
            "parts": [
                [part.name, part.measure, part.noise, part.scale.hex(), part.claim.text, *_moves(part)]
                for part in query.parts
            ],
        }
    )


def _moves(part: Part) -> tuple[str, ...]:
    one = part.sensitivity
    return tuple(str(number) for number in (one.l1, one.l2_squared, one.linf))


def cost_in_words(event: LossEvent) -> str:
    """What an event costs one privacy unit."""
    spent = cost(event)
    return f"epsilon {spent.epsilon.text}" + (f", delta {spent.delta.text}" if spent.delta.units else "")
