"""Declared disjoint parts: which rows a query of a part is about, and what the account is charged for all parts.

Neighbours differ in the values of one unit. Where membership is protected, a replaced record can leave one part and
enter another, so both lose: a unit of m rows loses what the 2 m costliest parts lose. Where membership is public,
neighbours keep it (the statement says that the part is not protected), and a unit loses what the parts it lies in lose:
the costliest ``parts_per_unit`` of them.

Source: McSherry, "Privacy integrated queries" (2009), Theorem 4, which is for records added or taken out; CONTRIBUTING
has the proof for replaced ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from trasgo_lib.amounts import Delta
from trasgo_lib.budget import FixedPartitionEvent, LossEvent, PartitionEvent, event_to_json
from trasgo_lib.config import AnyQuery, Condition, KeyPath, StatisticsConfig, closest
from trasgo_lib.data import CategoryDomain
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.plan import canonical_digest
from trasgo_lib.reporting import wording
from trasgo_lib.statistics.columns import Columns
from trasgo_lib.statistics.model import Charge, Membership, QueryPlan, StatisticsPlan


def check_partitions(config: StatisticsConfig, columns: Columns, max_rows: int) -> None:
    """Note every partition that is none: of an unknown column or code, overlapping, or twice.

    Args:
        config: the statistics file.
        columns: its declared columns, and where faults go.
        max_rows: most rows of one privacy unit.
    """
    names = [one.name for one in config.partitions]
    for place, one in enumerate(config.partitions):
        path: KeyPath = ("partitions", place)
        if one.name in names[:place]:
            columns.faults.add(
                Reason.BAD_PARAMETER,
                (*path, "name"),
                required="each partition once",
                came=f"`{one.name}` again",
                fix="Rename it.",
            )
        if one.membership == "public" and one.parts_per_unit > min(max_rows, len(one.parts)):
            columns.faults.add(
                Reason.BAD_PARAMETER,
                (*path, "parts_per_unit"),
                required=f"at most {min(max_rows, len(one.parts))}: a unit has at most {max_rows} rows",
                came=str(one.parts_per_unit),
                fix="Lower it.",
            )
        _check_codes(config, place, columns)
    for place, query in enumerate(config.queries):
        _check_part(query, ("queries", place, "part"), config, columns)


def _check_codes(config: StatisticsConfig, place: int, columns: Columns) -> None:
    one, path = config.partitions[place], ("partitions", place)
    unit = columns.unit(one.column, (*path, "column"))
    if unit is None:
        return
    labels = columns.labels(unit, (*path, "column")) if isinstance(unit.domain, CategoryDomain) else None
    if labels is None:
        if not isinstance(unit.domain, CategoryDomain):
            required, fix = "a category, whose codes are declared", "Partition the rows by a category."
            columns.faults.add(
                Reason.BAD_PARAMETER, (*path, "column"), required=required, came=f"a {unit.type}", fix=fix
            )
        return
    part_names = [part.name for part in one.parts]
    seen: dict[str, str] = {}
    for number, part in enumerate(one.parts):
        here: KeyPath = (*path, "parts", number)
        if part.name in part_names[:number]:
            required, fix = "each part once", "Rename it."
            columns.faults.add(
                Reason.BAD_PARAMETER, (*here, "name"), required=required, came=f"`{part.name}` again", fix=fix
            )
        for place_of_code, code in enumerate(part.codes):
            at: KeyPath = (*here, "codes", place_of_code)
            if code not in labels:
                columns.faults.add(
                    Reason.UNKNOWN_NAME,
                    at,
                    required=f"a declared code of {one.column}: {', '.join(labels)}",
                    came=f"`{code}`",
                    fix=f"{closest(code, labels)}Correct it.",
                )
            elif code in seen:
                columns.faults.add(
                    Reason.BAD_PARAMETER,
                    at,
                    required="parts that are disjoint",
                    came=f"`{code}` in {seen[code]} and in {part.name}",
                    fix="Put it into one of them, or ask without a partition and pay the sum.",
                )
            seen.setdefault(code, part.name)


def _check_part(query: AnyQuery, path: KeyPath, config: StatisticsConfig, columns: Columns) -> None:
    if query.part is None:
        return
    known = {one.name: [part.name for part in one.parts] for one in config.partitions}
    if query.part.of not in known:
        required = f"a declared partition ({', '.join(known) or 'none is declared'})"
        came, at = f"`{query.part.of}`", (*path, "of")
    elif query.part.part not in known[query.part.of]:
        required = f"a part of {query.part.of}: {', '.join(known[query.part.of])}"
        came, at = f"`{query.part.part}`", (*path, "part")
    else:
        return
    columns.faults.add(Reason.UNKNOWN_NAME, at, required=required, came=came, fix="Correct it.")


def with_part(query: AnyQuery, config: StatisticsConfig) -> AnyQuery:
    """The query with its part as one more condition, so that no row outside the part can count."""
    if query.part is None:
        return query
    for one in config.partitions:
        for part in one.parts:
            if (one.name, part.name) == (query.part.of, query.part.part):
                within = Condition(column=one.column, codes=part.codes)
                return query.model_copy(update={"where": (*query.where, within)})
    return query


def charges_of(config: StatisticsConfig, queries: Sequence[QueryPlan], max_rows: int) -> tuple[Charge, ...]:
    """What the account pays: each query by itself, the queries of a partition at once, or the whole file at once.

    Args:
        config: the statistics file.
        queries: compiled, all of them.
        max_rows: most rows of one privacy unit.

    Raises:
        BudgetError: a draw whose distribution is not known, under ``composition: pld``.
    """
    if config.composition is not None:
        return (_whole(queries, Delta.parse(config.composition.delta)),)
    charges, paid = [], set()
    for query in queries:
        part = query.spec.part
        if part is None:
            charges.append(Charge(query.name, query.event, query.digest, (query.name,)))
        elif part.of not in paid:
            paid.add(part.of)
            charges.append(_partition(part.of, config, queries, max_rows))
    return tuple(charges)


def _partition(name: str, config: StatisticsConfig, queries: Sequence[QueryPlan], max_rows: int) -> Charge:
    spec = next(one for one in config.partitions if one.name == name)
    asked = [query for query in queries if query.spec.part is not None and query.spec.part.of == name]
    by_part: dict[str, tuple[LossEvent, ...]] = {}
    for query in asked:
        if query.spec.part is not None:
            by_part[query.spec.part.part] = (*by_part.get(query.spec.part.part, ()), query.event)
    drawn = tuple((part.name, by_part[part.name]) for part in spec.parts if part.name in by_part)
    event: LossEvent
    held: Membership | None = None
    if spec.membership == "public":
        held = Membership(name, spec.column, tuple(part.codes for part in spec.parts), spec.parts_per_unit)
        event = FixedPartitionEvent(name, spec.parts_per_unit, drawn)
        several = "its one part" if spec.parts_per_unit == 1 else f"at most {spec.parts_per_unit} parts"
        words = (
            f"parts of {name}: in which a unit lies is public and not protected, and it is asserted that its rows lie"
            f" in {several}; the costliest {'part is' if spec.parts_per_unit == 1 else 'of them are'} charged"
        )
    else:
        event = PartitionEvent(name, drawn)
        words = (
            f"parts of {name}: a replaced unit of at most {max_rows} rows may leave its parts for others, so the "
            f"{2 * max_rows} costliest are charged"
        )
    parts = tuple(
        (part.name, part.codes, tuple(q.name for q in asked if q.spec.part and q.spec.part.part == part.name))
        for part in spec.parts
        if part.name in by_part
    )
    names = tuple(query.name for query in asked)
    return Charge(f"partition {name}", event, _digest(event, asked), names, words, parts, held)


def _whole(queries: Sequence[QueryPlan], delta: Delta) -> Charge:
    from trasgo_lib.budget.composition import declared_plan

    event = declared_plan([query.event for query in queries], delta)
    words = f"all {len(queries)} queries were declared in advance and are charged once: privacy loss distributions"
    return Charge("declared plan", event, _digest(event, queries), tuple(query.name for query in queries), words)


def _digest(event: LossEvent, queries: Sequence[QueryPlan]) -> str:
    return canonical_digest(
        {"format": 1, "event": event_to_json(event), "queries": [[query.name, query.digest] for query in queries]}
    )


def check_composition(config: StatisticsConfig, queries: Sequence[QueryPlan], columns: Columns) -> None:
    """Note what a composition in advance does not know: queries with a delta, or of a part; and a delta too large."""
    if config.composition is None:
        return
    delta, path = Delta.parse(config.composition.delta), ("composition", "delta")
    if config.rows is None:
        required, fix = "`rows` beside a delta, which must be below 1/rows", "Add `rows`, as everyone may know it."
        columns.faults.add(Reason.BAD_AMOUNT, path, required=required, came="none", fix=fix)
    elif delta.fraction * config.rows >= 1:
        required, fix = f"less than 1/{config.rows}", "Use a delta far below it."
        columns.faults.add(Reason.BAD_AMOUNT, path, required=required, came=delta.text, fix=fix)
    for place, query in enumerate(config.queries):
        for key, is_set in (("part", query.part is not None), ("delta", float(query.delta) > 0)):
            if is_set:
                columns.faults.add(
                    Reason.BAD_PARAMETER,
                    ("queries", place, key),
                    required="queries with an epsilon alone beside composition: pld",
                    came=f"a {key}",
                    fix=f"Remove {key}, or remove `composition`.",
                )


def charges_or_fault(
    config: StatisticsConfig, queries: Sequence[QueryPlan], columns: Columns, max_rows: int
) -> tuple[Charge, ...]:
    """The charges; none with a fault noted where distributions are not known."""
    try:
        return charges_of(config, queries, max_rows)
    except BudgetError as error:
        fault = error.faults[0]
        columns.faults.add(
            Reason.BAD_PARAMETER, ("composition",), required=fault.required, came=fault.came, fix=fault.fix
        )
        return ()


def charge_documents(charges: Sequence[Charge], max_rows: int) -> list[dict[str, object]]:
    """Charges for more than one query, as plans and statements show them."""
    from trasgo_lib.budget import cost

    return [
        {
            "name": one.name,
            "queries": list(one.queries),
            "event": event_to_json(one.event),
            "cost": cost(one.event, max_rows).to_json(),
            "in_words": one.words,
            **({"parts": _parts_document(one)} if one.parts else {}),
        }
        for one in charges
        if one.words
    ]


def _parts_document(charge: Charge) -> list[dict[str, object]]:
    return [{"name": name, "codes": list(codes), "queries": list(queries)} for name, codes, queries in charge.parts]


def kept_parts(plan: StatisticsPlan) -> str:
    """What neighbours keep beside their rows: the parts they lie in, where membership is public; else nothing."""
    kept = _public(plan)
    return f", and it keeps its parts of {', '.join(kept)}" if kept else ""


def guarantee_of_parts(plan: StatisticsPlan) -> str:
    """What the guarantee leaves open where membership is public, as one more sentence; else nothing."""
    kept = ", ".join(_public(plan))
    told = f" The other file keeps the unit in its parts of {kept}: someone who does not know them is not kept from"
    return f"{told} learning them, and two records of different parts are told apart more easily." if kept else ""


def _public(plan: StatisticsPlan) -> list[str]:
    return [one.event.name for one in plan.charges if isinstance(one.event, FixedPartitionEvent)]


def uncovered_parts(plan: StatisticsPlan) -> tuple[str, ...]:
    """What the guarantee does not cover because of parts, one entry each."""
    public = [f"in which parts of {name} a unit has rows" for name in _public(plan)]
    of_file = wording.partition_words(plan.base).strip()
    return (*public, *([of_file] if of_file else []))
