"""Verification of the published values: cells that were asked for, intervals of the stated width, words that hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isclose
from typing import Any

from trasgo_lib.errors import Reason
from trasgo_lib.release.verification import VerificationResult, judge
from trasgo_lib.release.verify_sensitivity import Question

_COUNTS = frozenset({"count", "histogram", "crosstab"})
_CUT = frozenset({"mean", "variance"})
_CLOSE = 1e-9
"""Ends are exact fractions that were rounded to float64 once."""

Cell = Mapping[str, Any]


def verify_values(
    query: Mapping[str, Any], answer: Mapping[str, Any], question: Question
) -> Iterator[VerificationResult]:
    """Hold the values of one query against its question and its noise.

    Args:
        query: its entry in the statement.
        answer: its entry in the answers.
        question: what was asked.
    """
    name = str(query["name"])
    cells: list[Cell] = answer["cells"]
    yield _keys(name, cells, question)
    is_ordered = all(
        cell["low"] <= cell["value"] <= cell["high"] for cell in cells if cell["low"] is not None and _is_number(cell)
    )
    yield judge("values lie in their intervals", name, True, is_ordered, Reason.SCHEMA_VIOLATION)
    if question.kind in _COUNTS:
        yield from _counts(name, query, answer, question)
    elif question.kind == "sum":
        yield from _sums(name, query, cells, question)
    elif question.kind in _CUT:
        # cut to their bounds, and over a noisy number of rows that is not published by itself
        has_cut = not cells or "cut to the declared bounds" in answer["post_processed"]
        yield judge("what was done is said", name, True, has_cut, Reason.SCHEMA_VIOLATION)
    else:
        chosen = [cell["value"] for cell in cells]
        options = set(question.options)
        known = question.kind == "above" or all(value in options for value in chosen)
        once = question.kind == "above" or len(set(chosen)) == len(chosen)
        yield judge("chosen among the declared", name, (True, True), (known, once), Reason.SCHEMA_VIOLATION)
        if question.kind == "above":
            stops = _stops(chosen, int(question.asked.get("cutoff", 1)))
            yield judge("stops at its cutoff", name, True, stops, Reason.CLAIM_NOT_CERTIFIED)
        width = int(query["parts"][0]["half_width_steps"])
        per_row = _per_row(question)
        yield judge("margin", name, -(-width // per_row), answer["margin_rows"], Reason.SCHEMA_VIOLATION)


def _stops(answers: list[Any], cutoff: int) -> bool:
    """Whether nothing was answered after the last answer above that was paid for."""
    above = [place for place, answer in enumerate(answers) if answer is True]
    asked = answers[: above[cutoff - 1] + 1] if len(above) >= cutoff else answers
    later = answers[len(asked) :]
    return all(isinstance(answer, bool) for answer in asked) and all(answer is None for answer in later)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell["value"], int | float) and not isinstance(cell["value"], bool)


def _per_row(question: Question) -> int:
    if question.kind == "median":
        return 2
    return Fraction(question.asked["probability"]).denominator if question.kind == "quantile" else 1


def _keys(name: str, cells: list[Cell], question: Question) -> VerificationResult:
    """Cells as asked for, in order: none is left out because of what it holds, and none is added."""
    found = [tuple(cell["key"].items()) for cell in cells]
    wanted: list[tuple[tuple[str, str], ...]]
    if question.kind == "above":
        wanted = [(("question", option),) for option in question.options]
    elif question.kind in ("quantile", "median", "minimum", "maximum", "best", "top"):
        wanted = [(("rank", str(rank)),) for rank in range(1, int(question.asked.get("best", 1)) + 1)]
    elif question.cells is None:
        names = {key for cell in cells for key in cell["key"]}
        came = (len(cells), sorted(names), len(set(found)))
        required = (question.numbers, [question.asked["column"]], question.numbers)
        return judge("cells", name, required, came, Reason.SCHEMA_VIOLATION)
    else:
        wanted = [tuple(zip(question.by, labels, strict=True)) for labels in question.cells]
    return judge("cells", name, True, found == wanted, Reason.SCHEMA_VIOLATION)


def _counts(
    name: str, query: Mapping[str, Any], answer: Mapping[str, Any], question: Question
) -> Iterator[VerificationResult]:
    """Intervals are the noisy count, its half-width either way; moved to 0 and out to the value where that is said."""
    asked, width = question.asked, int(query["parts"][0]["half_width_steps"])
    floor, least = bool(asked.get("non_negative")), asked.get("suppress_below")
    words = " ".join(answer["post_processed"])
    said = ("below 0 are 0" in words, "rounded" in words, "are withheld" in words)
    done = (floor, bool(asked.get("round")), least is not None)
    yield judge("what was done is said", name, done, said, Reason.SCHEMA_VIOLATION)
    is_whole, is_honest, is_plain = True, True, True
    for cell in answer["cells"]:
        if cell["value"] is None:
            is_honest &= least is not None and cell["noisy"] is None
            continue
        value, noisy = cell["value"], cell["noisy"]
        low = max(0, noisy - width) if floor else noisy - width
        is_honest &= (cell["low"], cell["high"]) == (min(value, low), max(value, noisy + width))
        is_honest &= least is None or noisy >= Fraction(least)
        is_whole &= not asked.get("round") or value == int(value)
        is_plain &= bool(answer["post_processed"]) or value == noisy
        is_plain &= not floor or value >= 0
    yield judge("intervals of the stated noise", name, True, is_honest, Reason.SCHEMA_VIOLATION)
    yield judge("values as they are said to be", name, (True, True), (is_whole, is_plain), Reason.SCHEMA_VIOLATION)


def _sums(name: str, query: Mapping[str, Any], cells: list[Cell], question: Question) -> Iterator[VerificationResult]:
    reach = float(question.unit * int(query["parts"][0]["half_width_steps"]))
    is_honest = all(
        cell["value"] == cell["noisy"]
        and isclose(cell["value"] - cell["low"], reach, rel_tol=_CLOSE, abs_tol=_CLOSE * abs(cell["value"]))
        and isclose(cell["high"] - cell["value"], reach, rel_tol=_CLOSE, abs_tol=_CLOSE * abs(cell["value"]))
        for cell in cells
    )
    yield judge("intervals of the stated noise", name, True, is_honest, Reason.SCHEMA_VIOLATION)
