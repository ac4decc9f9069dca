"""The risk audit as plain tables: title, head and rows of text, for any kind of report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trasgo_lib.reporting.markdown import cell, section, table

RiskTable = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Title, head, rows; every row has as many cells as the head."""

RISK_NOTES = (
    "Descriptive: it decided nothing, neither a level nor the publication, and it changes no epsilon. What protects the"
    " people in this release is the epsilon of its statement, which holds, for what the statement says it covers,"
    " whatever stands here.",
    "k and the measures built on it speak of tables whose rows are true. A released row is not: every value of it may"
    " be noise, so a row that is alone with its values need not be anyone's, and a row among many is not safer for"
    " that. Noise spreads rows over more combinations or gathers them in fewer; k goes down or up at the same epsilon."
    " Measures of the released rows tell what someone sees who takes them for true ones.",
    "The linkage attack is the other way round: it knows the noise, and shows what an attacker achieves who knows the"
    " true quasi-identifiers. It is one attack; the bounds beside it hold for all that use the draws of"
    " these columns.",
)
"""What a reader must know before the figures."""

_MEASURES = (
    ("alpha of (alpha, k)-anonymity", "alpha"),
    ("distinct l-diversity", "distinct_l"),
    ("entropy l-diversity", "entropy_l"),
    ("c of recursive (c, l)-diversity, l as above", "recursive_c"),
    ("basic beta-likeness", "basic_beta"),
    ("enhanced beta-likeness", "enhanced_beta"),
    ("t-closeness", "t"),
    ("delta-disclosure", "delta"),
    ("delta-disclosure, values that occur", "delta_present"),
)

_ABSENT = {
    "recursive_c": "none: l is 1",
    "enhanced_beta": "none: no beta will do",
    "delta": "none: a class lacks a value",
}
"""Why a measure has no number."""

_ATTACKERS = {
    "likelihood": "most likely row, by the channels",
    "posterior": "most likely row, and how common its values are",
    "nearest": "nearest row, the noise not known",
}


def risk_tables(risk: Mapping[str, Any]) -> list[RiskTable]:
    """The audit as tables; private.

    Args:
        risk: the audit as strict JSON, the value of ``risk`` in ``risk_audit.json``.
    """
    if "not_computed" in risk:
        return [("Risk audit", ("what", "value"), [("not computed", str(risk["not_computed"]))])]
    tables = [
        ("Columns", ("what", "columns"), list(_columns(risk))),
        ("Classes of quasi-identifiers", ("what", "original", "released"), list(_sizes(risk))),
        ("Classes by size", ("rows of a class", *_by_size_head()), list(_by_size(risk))),
    ]
    for name in risk["sensitive"]:
        title = f"What classes tell of {name}"
        tables.append((title, ("measure", "original", "released"), list(_measures(risk, name))))
    head = ("attacker", "share picked out", "95 % interval", "times chance")
    tables.append(("Record linkage", head, list(_attacks(risk["linkage"]))))
    tables.append(("What bounds record linkage", ("what", "value"), list(_bounds(risk["linkage"]))))
    if risk["inference"]:
        head = ("column", "guessed without the release", "guessed, the row being known", "at most, by epsilon")
        tables.append(("Attribute inference", head, list(_guesses(risk))))
    return tables


def risk_section(risk: Mapping[str, Any]) -> list[str]:
    """The audit as lines of markdown; private.

    Args:
        risk: the audit as strict JSON.
    """
    lines = section("Risk audit", *RISK_NOTES)
    for title, head, rows in risk_tables(risk):
        lines += [f"### {cell(title)}", "", *table(head, rows)]
    return lines


def _columns(risk: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for title, key in (("quasi-identifiers", "quasi_identifiers"), ("sensitive", "sensitive")):
        words = (f"{name} ({risk['possible_values'][name]} values)" for name in risk[key])
        yield title, ", ".join(words) or "none"


def _sizes(risk: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    sides = [risk[version]["classes"] for version in ("original", "released")]
    for title, key in (
        ("rows", "rows"),
        ("distinct combinations", "classes"),
        ("k: rows of the smallest class", "k"),
        ("median rows of a class", "median"),
        ("rows alone in their class", "unique_rows"),
    ):
        yield title, *(_shown(side[key]) for side in sides)
    yield "share of rows alone in their class", *(_percent(side["unique_rows"] / side["rows"]) for side in sides)


def _by_size_head() -> tuple[str, ...]:
    return "original classes", "original rows", "released classes", "released rows"


def _by_size(risk: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    sides = [
        {(entry["least"], entry["most"]): entry for entry in risk[version]["classes"]["brackets"]}
        for version in ("original", "released")
    ]
    for least, most in sorted({*sides[0], *sides[1]}, key=lambda bracket: int(bracket[0])):
        title = f"{least} or more" if most is None else (str(least) if most == least else f"{least} to {most}")
        counts = (str(side.get((least, most), {}).get(key, 0)) for side in sides for key in ("classes", "rows"))
        yield title, *counts


def _measures(risk: Mapping[str, Any], name: str) -> Iterator[tuple[str, ...]]:
    sides = [risk[version]["sensitive"][name] for version in ("original", "released")]
    for title, key in _MEASURES:
        words = title
        if key == "t":
            words += ", by steps through the values" if sides[0]["is_ordered"] else ", every move alike"
        yield words, *(_ABSENT[key] if side[key] is None else _shown(side[key]) for side in sides)


def _attacks(linkage: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for attack in linkage["attacks"]:
        interval = f"{_percent(attack['low'])} to {_percent(attack['high'])}"
        if linkage["targets"] == linkage["rows"]:
            interval = "all rows were tried"
        times = f"{attack['share'] / linkage['chance']:.3g}"
        yield _ATTACKERS.get(attack["name"], attack["name"]), _percent(attack["share"]), interval, times


def _bounds(linkage: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    yield "records tried, of rows", f"{linkage['targets']} of {linkage['rows']}"
    yield "distinct rows to choose from", str(linkage["candidates"])
    yield "chance (1/n)", _percent(linkage["chance"])
    if linkage["epsilon"] is None:
        yield "bound by epsilon", f"none: {linkage['reason']}"
        return
    yield "epsilon of the quasi-identifiers together", _shown(linkage["epsilon"])
    yield "at most, whatever is known of the others", _percent(linkage["bound"])
    yield "at most on average, the others being a random sample to the attacker", _percent(linkage["bound_target_only"])


def _guesses(risk: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for entry in risk["inference"]:
        shares = ((entry["released_share"], "too many values"), (entry["bound"], "none"))
        words = (absent if share is None else _percent(share) for share, absent in shares)
        yield entry["name"], _percent(entry["prior_share"]), *words


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _shown(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.5g}"
