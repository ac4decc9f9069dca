"""What a query asks, in words and as it is published: enough for anyone to derive its sensitivity again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trasgo_lib.config import Condition
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.statistics.model import QueryPlan

_NOT_ASKED = {"name", "type", "epsilon", "delta", "rho"}
"""Keys of a query that stand elsewhere in the statement."""


def asked_document(query: QueryPlan) -> dict[str, Any]:
    """What the statistics file asks, as strict JSON; keys that were left out are left out."""
    told = query.spec.model_dump(mode="json", exclude=_NOT_ASKED, exclude_defaults=True)
    return {key: _plain(value) for key, value in told.items()}


def column_documents(base: ReleasePlan) -> list[dict[str, Any]]:
    """The declared columns: what every condition, cell, bound and candidate refers to.

    Args:
        base: source and columns of the plan.
    """
    return [
        {
            "name": unit.name,
            "type": unit.type,
            "domain": unit.domain.describe(),
            "missing": unit.missing,
            "outside": unit.outside,
        }
        for unit in base.units
    ]


def question_in_words(query: QueryPlan) -> str:
    """The question as a sentence without its full stop."""
    words = _WORDS[query.kind](query)
    by = getattr(query.spec, "by", ())
    if by and query.kind != "crosstab":
        words += f", by {_listed(by)}"
    if query.spec.where:
        joined = " where" if query.kind == "count" else ", of the rows where"
        words += f"{joined} {_conditions(query.spec.where)}"
    if query.bounds.trims:
        rows = "1 row" if query.bounds.rows == 1 else f"{query.bounds.rows} rows"
        groups = "" if query.bounds.groups >= query.bounds.unit_rows else f" in at most {query.bounds.groups} groups"
        words += f"; of each privacy unit at most {rows} count{groups}"
    return words


def _spec(query: QueryPlan) -> Any:
    """What the file says; which keys it has follows from the query's kind."""
    return query.spec


def _column(query: QueryPlan) -> str:
    unit = "" if query.frame is None or not query.frame.words else f" ({query.frame.words})"
    return f"{_spec(query).column}{unit}"


def _count(query: QueryPlan) -> str:
    return "How many rows there are"


def _histogram(query: QueryPlan) -> str:
    bins = f", in {_spec(query).bins} equal bins" if _spec(query).bins else ""
    return f"How many rows have each value of {_column(query)}{bins}"


def _crosstab(query: QueryPlan) -> str:
    some = "the declared combinations" if _spec(query).keys else "each combination"
    return (
        f"How many rows have {some} of {_listed(_spec(query).by)}" if len(_spec(query).by) > 1 else _histogram_of(query)
    )


def _histogram_of(query: QueryPlan) -> str:
    return f"How many rows have each value of {_spec(query).by[0]}"


def _quantile(query: QueryPlan) -> str:
    return f"The value of {_column(query)} below which a share of {_spec(query).probability} of the rows lies"


def _top(query: QueryPlan) -> str:
    best = _spec(query).best
    labels = "The most frequent label" if best == 1 else f"The {best} most frequent labels, most frequent first,"
    return f"{labels} of {_spec(query).column}"


def _best(query: QueryPlan) -> str:
    names = _listed([candidate.name for candidate in _spec(query).candidates])
    if _spec(query).utility == "rows":
        return f"Which condition is met by most rows: {names}"
    how = "most rows of the commonest label on each side"
    return f"Which condition separates the labels of {_spec(query).label} best ({how}): {names}"


def _above(query: QueryPlan) -> str:
    spec = _spec(query)
    end = "the first one above" if spec.cutoff == 1 else f"{spec.cutoff} were above"
    return f"Which of {len(spec.questions)} counts, asked in order until {end}, lie above {spec.threshold} rows"


def _conditions(conditions: Sequence[Condition]) -> str:
    return " and ".join(_condition(one) for one in conditions)


def _condition(one: Condition) -> str:
    if one.codes is not None:
        return f"{one.column} is {_listed(one.codes, 'or')}"
    ends = [f"at least {one.at_least}"] if one.at_least is not None else []
    ends += [f"at most {one.at_most}"] if one.at_most is not None else []
    return f"{one.column} is {' and '.join(ends)}"


def _listed(names: Sequence[str], last: str = "and") -> str:
    plain = [str(name) for name in names]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} {last} {plain[-1]}"


def _plain(value: Any) -> Any:
    """Conditions without the keys that they leave out."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items() if entry is not None and entry != []}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


_WORDS: Mapping[str, Callable[[QueryPlan], str]] = {
    "count": _count,
    "sum": lambda query: f"The sum of {_column(query)}",
    "mean": lambda query: f"The mean of {_column(query)}",
    "variance": lambda query: f"The variance of {_column(query)}",
    "quantile": _quantile,
    "median": lambda query: f"The median of {_column(query)}",
    "minimum": lambda query: f"The candidate next to the smallest value of {_column(query)}",
    "maximum": lambda query: f"The candidate next to the largest value of {_column(query)}",
    "histogram": _histogram,
    "crosstab": _crosstab,
    "top": _top,
    "best": _best,
    "above": _above,
}
