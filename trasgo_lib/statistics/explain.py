"""A statistics plan in words: for every query sensitivity, noise, half-width and cost, before data is opened."""

from __future__ import annotations

from fractions import Fraction

from trasgo_lib.amounts import Rho
from trasgo_lib.budget import cost, event_to_json
from trasgo_lib.statistics.model import Part, QueryPlan, StatisticsPlan
from trasgo_lib.statistics.partitions import charge_documents
from trasgo_lib.statistics.question import asked_document, question_in_words

_LAWS = {
    "laplace": "discrete Laplace",
    "gaussian": "discrete Gaussian",
    "exponential": "Gumbel (exponential mechanism)",
    "noisy_max": "exponential (report noisy max)",
    "gumbel": "Gumbel",
    "sparse_vector": "discrete Laplace, threshold noised once (sparse vector)",
}


def explain_statistics(plan: StatisticsPlan) -> dict[str, object]:
    """The plan as strict JSON; all of it public."""
    base = plan.base
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "account": base.account,
        "unit": base.privacy_unit,
        "max_rows": base.max_rows,
        "plan_digest": base.digest,
        "cost": plan.cost.to_json(),
        "epsilon_total": base.epsilon_total.text,
        "delta_total": base.delta_total.text,
        "queries": [query_document(query, plan.rows) for query in plan.queries],
        **shared_charges(plan),
    }


def shared_charges(plan: StatisticsPlan) -> dict[str, object]:
    """Charges for several queries at once, for plans and statements; nothing where every query pays for itself."""
    found = charge_documents(plan.charges, plan.base.max_rows)
    return {"charges": found} if found else {}


def query_document(query: QueryPlan, rows: int | None) -> dict[str, object]:
    """One query: what is drawn, how noisy it is, why, and what it costs.

    Args:
        query: the compiled query.
        rows: declared number of rows, for half-widths of means; None when none is declared.
    """
    return {
        "name": query.name,
        "type": query.kind,
        "in_words": question_in_words(query),
        "asked": asked_document(query),
        "numbers": sum(part.counts for part in query.parts),
        "bounds": {"rows": query.bounds.rows, "groups": query.bounds.groups},
        "cost": query.cost.to_json(),
        "event": event_to_json(query.event),
        "half_width": half_width_in_words(query, rows),
        "parts": [_part_document(part) for part in query.parts],
    }


def _part_document(part: Part) -> dict[str, object]:
    claim = {"rho" if isinstance(part.claim, Rho) else "epsilon": part.claim.text}
    return {
        "name": part.name,
        "sensitivity": {
            "l1": str(part.sensitivity.l1),
            "l2_squared": str(part.sensitivity.l2_squared),
            "largest": str(part.sensitivity.linf),
            "words": part.sensitivity.words,
        },
        "noise": part.noise,
        "scale": part.scale,
        "half_width_steps": str(part.half_width),
        "claim": claim,
    }


def half_width_in_words(query: QueryPlan, rows: int | None) -> str:
    """How far the answer can be off with probability 95 %, as far as that is known before data is opened."""
    part, frame = query.parts[0], query.frame
    if query.options is not None:
        return _choice_in_words(query, part)
    if query.kind in ("count", "histogram", "crosstab"):
        return f"off by at most {part.half_width} rows" + (" in each cell" if part.counts > 1 else "")
    if frame is None:
        return ""
    unit = f" {frame.words}" if frame.words else ""
    if query.kind == "sum":
        step = frame.step if part.measure == "code" else frame.unit
        return f"off by at most {_short(step * part.half_width)}{unit}" + (" in each group" if part.counts > 1 else "")
    if query.kind == "mean":
        step = frame.step if part.measure == "code" else frame.step / 2
        if query.is_whole and rows is not None:
            return f"off by at most {_short(step * part.half_width / rows)}{unit} at {rows} rows"
        return f"off by at most {_short(step * part.half_width)}{unit} over the number of rows" + (
            "" if query.is_whole else f", whose own noise is {query.part('rows').half_width} rows"
        )
    second = (frame.step / 2) ** 2 * query.part("squares").half_width
    return f"off by at most {_short(second)}{unit} squared over the number of rows, and what the mean is off"


def _choice_in_words(query: QueryPlan, part: Part) -> str:
    options = query.options
    if part.noise == "sparse_vector":
        return f"every count is held against the threshold to within {part.half_width} rows"
    per_row = 1 if options is None or options.probability is None else options.probability.denominator
    rows = -(-part.half_width // per_row)
    if options is not None and options.codes:
        return f"at most {rows} more rows between it and the right place than from the best candidate"
    return f"at most {rows} rows behind the best"


def render_statistics(plan: StatisticsPlan) -> str:
    """The plan as text for a terminal."""
    base = plan.base
    unit = "row" if base.privacy_unit == "row" else f"{base.privacy_unit} (at most {base.max_rows} rows)"
    lines = [
        f"Statistics {base.dataset}/{base.version}, account {base.account}, privacy unit: {unit}",
        f"All queries together cost epsilon {plan.cost.epsilon.text} of {base.epsilon_total.text}"
        + (f", delta {plan.cost.delta.text} of {base.delta_total.text}" if plan.cost.delta.units else "")
        + ". No data was opened.",
    ]
    for charge in plan.charges:
        if charge.words:
            price = cost(charge.event, base.max_rows)
            delta = f", delta {price.delta.text}" if price.delta.units else ""
            lines.append(f"Together, {', '.join(charge.queries)}: epsilon {price.epsilon.text}{delta}; {charge.words}.")
    for query in plan.queries:
        lines += ["", *_query_lines(query, plan.rows)]
    lines += [
        "",
        "Neighbours: files with the same rows per unit, in which one unit's values are replaced. Each answer is drawn",
        "once, stored in the restricted root before it is used, and served from there at no cost when run again.",
    ]
    return "\n".join(lines)


def _query_lines(query: QueryPlan, rows: int | None) -> list[str]:
    cost = f"epsilon {query.cost.epsilon.text}" + (f", delta {query.cost.delta.text}" if query.cost.delta.units else "")
    count = sum(part.counts for part in query.parts if query.options is None)
    lines = [f"{query.name} ({query.kind}" + (f", {count} numbers" if count > 1 else "") + f"): {cost}"]
    lines.append(f"  {question_in_words(query)}.")
    for part in query.parts:
        moves = part.sensitivity
        name = f"  {part.name}: " if len(query.parts) > 1 else "  "
        measured = (
            f"largest change {moves.linf}"
            if query.options is not None
            else f"L1 {moves.l1}, L2 {_root(moves.l2_squared)}"
        )
        lines.append(f"{name}sensitivity {measured}: {moves.words}")
        lines.append(f"{name}noise {_LAWS[part.noise]}, scale {part.scale:.6g}")
    lines.append(f"  with 95 %: {half_width_in_words(query, rows)}")
    return lines


def _root(squared: int) -> str:
    root = squared**0.5
    return str(round(root)) if round(root) ** 2 == squared else f"{root:.6g}"


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
