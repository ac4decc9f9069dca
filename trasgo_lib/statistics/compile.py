"""compile: a statistics file with every key, bound, sensitivity, scale and cost resolved, before data is opened."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import Cost, cost, event_to_json
from trasgo_lib.config import (
    AnyQuery,
    CountQuery,
    CrosstabQuery,
    HistogramQuery,
    KeyPath,
    LoadedConfig,
    LoadedStatistics,
    MeanQuery,
    StatisticsConfig,
    SumQuery,
    VarianceQuery,
    holds_queries,
    load_statistics,
)
from trasgo_lib.errors import Reason
from trasgo_lib.plan import FaultCollector, ReleasePlan, canonical_digest, compile_source, read_plan
from trasgo_lib.statistics.budgeting import Budget
from trasgo_lib.statistics.columns import Columns
from trasgo_lib.statistics.consistency import check_consistency
from trasgo_lib.statistics.kinds import KINDS, QueryContext
from trasgo_lib.statistics.model import Charge, Part, QueryPlan, StatisticsPlan
from trasgo_lib.statistics.partitions import (
    charges_or_fault,
    check_composition,
    check_partitions,
    with_part,
)

_MOST_COUNTED = 2**24
"""Cells times codes of a query's column: the exact counts are held in memory, 8 bytes each."""


def read_statistics(path: Path) -> tuple[LoadedStatistics, StatisticsPlan]:
    """Read and compile a statistics file; opens no data.

    Raises:
        ConfigError: all faults at once, each with line, column, key, what was required, what came, what to do.
    """
    loaded = load_statistics(path)
    return loaded, compile_statistics(loaded)


def read_either(path: Path) -> tuple[LoadedConfig, ReleasePlan, StatisticsPlan | None]:
    """Read and compile a release file or a statistics file; what a version, its account and its places need of either.

    Raises:
        ConfigError: as ``read_statistics`` and ``read_plan``.
    """
    if holds_queries(path):
        loaded, statistics = read_statistics(path)
        return loaded.loaded, statistics.base, statistics
    release, plan = read_plan(path)
    return release, plan, None


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
    charges: tuple[Charge, ...] = ()
    if base is not None:
        columns = Columns({unit.name: unit for unit in base.units}, faults)
        before = len(faults.found)
        check_partitions(config, columns, base.max_rows)
        is_parted = len(faults.found) == before
        check_composition(config, queries, columns)
        for position, spec in enumerate(config.queries):
            query = _compile(
                with_part(spec, config) if is_parted else spec, ("queries", position), columns, base, config
            )
            if query is not None:
                queries.append(query)
        if len(queries) == len(config.queries) and not faults.found:
            check_consistency(queries, faults)
            charges = charges_or_fault(config, queries, columns, base.max_rows)
            _check_totals(config, charges, base.max_rows, faults)
    faults.raise_all()
    if base is None:
        raise ValueError("columns at fault are refused above")
    shared = {"charges": [charge.digest for charge in charges if charge.words]}
    asked = [query.digest for query in queries]
    digest = canonical_digest(
        {
            "format": 1,
            "source": base.digest,
            "queries": asked,
            "rows": config.rows,
            **(shared if shared["charges"] else {}),
        }
    )
    return StatisticsPlan(replace(base, digest=digest), tuple(queries), config.rows, charges)


def _compile(
    spec: AnyQuery, path: KeyPath, columns: Columns, base: ReleasePlan, config: StatisticsConfig
) -> QueryPlan | None:
    faults = columns.faults
    before = len(faults.found)
    context = QueryContext(spec, path, columns, base.max_rows)
    _check_budget(context, config.rows)
    _check_bounds(context)
    if len(faults.found) > before:
        # what the kind asks for is judged all the same, with a budget that cannot be the cause of a fault
        context.budget = Budget(Epsilon.parse("1"), Delta(0), None)
    try:
        query = KINDS[type(spec)](context)
    except ValueError:
        context.fault("epsilon" if spec.epsilon else "rho", "enough for every part", "too little", "Raise it.")
        return None
    if query is None or len(faults.found) > before:
        return None
    if len(query.table.labels) * query.size > _MOST_COUNTED:
        context.fault(
            "type", f"at most {_MOST_COUNTED} cells times values", "more", "Use fewer groups or a coarser step."
        )
        return None
    return replace(query, digest=_digest(query, base))


def _check_budget(context: QueryContext, rows: int | None) -> None:
    spec, delta = context.spec, context.budget.delta
    if spec.rho is not None and not delta.units:
        context.fault(
            "rho", "a delta beside rho, at which it is charged", "none", 'Add delta: "1e-9".', Reason.BAD_AMOUNT
        )
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


def _check_bounds(context: QueryContext) -> None:
    for key in ("max_rows", "max_groups"):
        asked = getattr(context.spec, key, None)
        if asked is not None and asked > context.unit_rows:
            required = f"at most {context.unit_rows}, the rows that privacy.unit lets a unit have"
            context.fault(key, required, str(asked), "Lower it, or leave it out.")


def _check_names(config: StatisticsConfig, faults: FaultCollector) -> None:
    names = [query.name for query in config.queries]
    for position, name in enumerate(names):
        if name in names[:position]:
            path: KeyPath = ("queries", position, "name")
            required, fix = "each query once", "Rename it: a query is charged under its name."
            faults.add(Reason.BAD_PARAMETER, path, required=required, came=f"`{name}` again", fix=fix)


def _check_totals(config: StatisticsConfig, charges: tuple[Charge, ...], max_rows: int, faults: FaultCollector) -> None:
    spent = Cost.zero()
    for charge in charges:
        spent += cost(charge.event, max_rows)
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
    if query.spec.part is None:
        post.add("part")  # digests from before there were parts stay
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
