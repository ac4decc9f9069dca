"""From noisy whole numbers to published answers with intervals: post-processing, which costs nothing.

Nothing here sees private data. Intervals hold the statistic with probability 95 % or more, each by itself; they count
the noise and nothing else: not the draw of a sample, not rows of a unit that were left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from trasgo_lib.statistics.answering import Drawn
from trasgo_lib.statistics.consistency import consistent, totals_of
from trasgo_lib.statistics.model import Frame, Part, QueryPlan, StatisticsPlan

Number = Fraction | int
_COUNTS = frozenset({"count", "histogram", "crosstab"})
_AGREES = "agrees with its totals (weighted least squares)"
_FITTED = "fitted to its totals (weighted least squares); a later step changed it or them"


@dataclass(frozen=True, slots=True)
class Cell:
    """One published number or choice.

    Args:
        key: labels of the cell by column; empty without groups.
        value: what is published; None where it is withheld.
        noisy: the same before any post-processing that the file asks for; None where there is none.
        low: lower end of the 95 % interval, or None.
        high: its upper end, or None.
        reason: why it is withheld, else empty.
    """

    key: tuple[tuple[str, str], ...]
    value: float | int | str | bool | None
    noisy: float | int | None = None
    low: float | int | None = None
    high: float | int | None = None
    reason: str = ""

    def to_json(self) -> dict[str, object]:
        """Strict JSON."""
        named: dict[str, object] = {
            "key": dict(self.key),
            "value": self.value,
            "noisy": self.noisy,
            "low": self.low,
            "high": self.high,
        }
        if self.reason:
            named["reason"] = self.reason
        return named


@dataclass(frozen=True, slots=True)
class Answer:
    """The published answer of one query.

    Args:
        query: what was asked.
        cells: its numbers or choices.
        margin: for choices, how many rows the choice can be off, and for thresholds how many a count can, with 95 %.
        post_processed: what was done to the noisy numbers, in words; empty for none.
    """

    query: QueryPlan
    cells: tuple[Cell, ...]
    margin: int | None
    post_processed: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Strict JSON: the answer alone; noise and cost are in the statement."""
        return {
            "name": self.query.name,
            "type": self.query.kind,
            "cells": [cell.to_json() for cell in self.cells],
            "margin_rows": self.margin,
            "post_processed": list(self.post_processed),
        }


def answers_of(plan: StatisticsPlan, drawn: Mapping[str, Drawn]) -> tuple[Answer, ...]:
    """Every answer of a plan, in its order.

    Args:
        plan: the compiled plan.
        drawn: what was drawn, by query.

    Raises:
        ValueError: something was drawn for another query than the plan's.
    """
    for query in plan.queries:
        if drawn[query.name].digest != query.digest:
            raise ValueError(f"what was drawn for {query.name} answers another question")
    agreed = _agreed(plan, drawn)
    return tuple(_answer(query, drawn[query.name], agreed.get(query.name)) for query in plan.queries)


@dataclass(frozen=True, slots=True)
class _Agreed:
    """New values of a table or of one of its totals, and what was done to them, in words."""

    values: list[float]
    words: str


def _agreed(plan: StatisticsPlan, drawn: Mapping[str, Drawn]) -> dict[str, _Agreed]:
    """New values of tables and their totals, where the file asks for consistency."""
    found: dict[str, _Agreed] = {}
    for query in plan.queries:
        names = totals_of(query)
        if not names:
            continue
        totals = [(plan.query(name), [float(x) for x in drawn[name].numbers("rows")]) for name in names]
        own = drawn[query.name]
        cells, sums = consistent(query, [float(x) for x in own.numbers("rows")], totals, own.rows)
        together = (query, *(total for total, _ in totals))
        words = _FITTED if any(_is_moved(one) for one in together) else _AGREES
        for name, values in zip((query.name, *names), (cells, *sums), strict=True):
            found[name] = _Agreed(values, words)
    return found


def _is_moved(query: QueryPlan) -> bool:
    """Whether counts are changed once more after they were made to agree."""
    return getattr(query.spec, "non_negative", False) or getattr(query.spec, "round", False)


def _answer(query: QueryPlan, drawn: Drawn, agreed: _Agreed | None) -> Answer:
    if query.options is not None:
        cells, margin = _chosen(query, drawn)
        return Answer(query, cells, margin, ())
    if query.kind in _COUNTS:
        return _counts(query, drawn, agreed)
    keys = _keys(query)
    make = _NUMBERS[query.kind]
    cells = tuple(make(query, drawn, place, key) for place, key in enumerate(keys))
    cut = ("cut to the declared bounds",) if query.kind in ("mean", "variance") else ()
    return Answer(query, cells, None, cut)


def _keys(query: QueryPlan) -> list[tuple[tuple[str, str], ...]]:
    return [tuple(zip(query.table.columns, labels, strict=True)) for labels in query.table.labels]


def _counts(query: QueryPlan, drawn: Drawn, agreed: _Agreed | None) -> Answer:
    spec, part = query.spec, query.parts[0]
    floor, whole = getattr(spec, "non_negative", False), getattr(spec, "round", False)
    least = getattr(spec, "suppress_below", None)
    noisy = drawn.numbers("rows")
    cells = []
    for place, key in enumerate(_keys(query)):
        value: float | int = noisy[place] if agreed is None else agreed.values[place]
        value = max(0, value) if floor else value
        value = round(value) if whole else value
        # no count is below 0, so an end that is moved to 0 keeps the true one; the value stays between the ends
        low, high = noisy[place] - part.half_width, noisy[place] + part.half_width
        low = max(0, low) if floor else low
        if least is not None and noisy[place] < Fraction(least):
            cells.append(Cell(key, None, reason=f"the noisy count is below {least}"))
        else:
            cells.append(Cell(key, value, noisy[place], min(value, low), max(value, high)))
    done = (
        ("" if agreed is None else agreed.words, agreed is not None),
        ("numbers below 0 are 0", floor),
        ("rounded to whole numbers", whole),
        (f"noisy counts below {least} are withheld", least is not None),
    )
    return Answer(query, tuple(cells), None, tuple(words for words, is_done in done if is_done))


def _sum(query: QueryPlan, drawn: Drawn, place: int, key: tuple[tuple[str, str], ...]) -> Cell:
    frame, part, total = _frame(query), query.part("sum"), drawn.numbers("sum")[place]
    start, unit = (frame.lower * drawn.rows, frame.step) if part.measure == "code" else (Fraction(0), frame.unit)
    ends = (start + unit * (total + move) for move in (0, -part.half_width, part.half_width))
    value, low, high = (_plain(end) for end in ends)
    return Cell(key, value, value, low, high)


def _mean(query: QueryPlan, drawn: Drawn, place: int, key: tuple[tuple[str, str], ...]) -> Cell:
    frame, part, total = _frame(query), query.part("mean"), drawn.numbers("mean")[place]
    if query.is_whole:
        ends = [frame.lower + frame.step * Fraction(total + move, drawn.rows) for move in _moves(part)]
        return _cut(key, ends, frame.lower, frame.upper)
    rows = _row_range(query, drawn, place)
    if rows is None:
        return _hidden(key)
    value = Fraction(total, rows[0])
    corners = [Fraction(total + move, count) for move in _moves(part) for count in rows[1:]]
    middle, half = (frame.lower + frame.upper) / 2, frame.step / 2
    ends = [middle + half * ratio for ratio in (value, min(corners), max(corners))]
    return _cut(key, ends, frame.lower, frame.upper)


def _variance(query: QueryPlan, drawn: Drawn, place: int, key: tuple[tuple[str, str], ...]) -> Cell:
    """Mean of squares less square of the mean, both around the middle of the range, with all parts at their worst."""
    frame, first, second = _frame(query), query.part("mean"), query.part("squares")
    rows = (drawn.rows,) * 3 if query.is_whole else _row_range(query, drawn, place)
    if rows is None:
        return _hidden(key)
    total, squares = drawn.numbers("mean")[place], drawn.numbers("squares")[place]
    means = [Fraction(total + move, count) for move in _moves(first) for count in rows[1:]]
    seconds = [Fraction(squares + move, count) for move in _moves(second) for count in rows[1:]]
    largest = max(abs(mean) for mean in means)
    least = Fraction(0) if min(means) <= 0 <= max(means) else min(abs(mean) for mean in means)
    value = Fraction(squares, rows[0]) - Fraction(total, rows[0]) ** 2
    scale = (frame.step / 2) ** 2
    ends = [scale * end for end in (value, min(seconds) - largest**2, max(seconds) - least**2)]
    return _cut(key, ends, Fraction(0), ((frame.upper - frame.lower) / 2) ** 2)


def _moves(part: Part) -> tuple[int, int, int]:
    return 0, -part.half_width, part.half_width


def _row_range(query: QueryPlan, drawn: Drawn, place: int) -> tuple[int, int, int] | None:
    """The noisy number of rows with its ends; None when the noise does not tell it from none."""
    part, rows = query.part("rows"), drawn.numbers("rows")[place]
    low = rows - part.half_width
    return None if low < 1 else (rows, low, rows + part.half_width)


def _hidden(key: tuple[tuple[str, str], ...]) -> Cell:
    return Cell(key, None, reason="the noise does not tell the number of rows from none")


def _cut(key: tuple[tuple[str, str], ...], ends: Sequence[Fraction], least: Fraction, most: Fraction) -> Cell:
    """Value and interval cut to what is possible; the statistic is possible, so the interval keeps it."""
    value, low, high = (_plain(min(max(end, least), most)) for end in ends)
    return Cell(key, value, _plain(ends[0]), low, high)


def _chosen(query: QueryPlan, drawn: Drawn) -> tuple[tuple[Cell, ...], int]:
    options, part = query.options, query.parts[0]
    numbers = drawn.numbers(part.name)
    if options is None:
        raise ValueError(f"{query.name} chooses nothing")
    if part.noise == "sparse_vector":
        asked = dict(zip(options.labels, (number == 1 for number in numbers), strict=False))
        cells = [
            Cell(
                (("question", name),),
                asked.get(name),
                reason="" if name in asked else "not asked: the cutoff was reached",
            )
            for name in options.labels
        ]
        return tuple(cells), part.half_width
    chosen = tuple(Cell((("rank", str(rank)),), options.labels[place]) for rank, place in enumerate(numbers, 1))
    per_row = options.probability.denominator if options.probability is not None else 1
    return chosen, ceil(Fraction(part.half_width, per_row))


def _frame(query: QueryPlan) -> Frame:
    if query.frame is None:
        raise ValueError(f"{query.name} is not about a number")
    return query.frame


def _plain(value: Number) -> float | int:
    exact = Fraction(value)
    return int(exact) if exact.denominator == 1 else float(exact)


_NUMBERS: Mapping[str, Callable[[QueryPlan, Drawn, int, tuple[tuple[str, str], ...]], Cell]] = {
    "sum": _sum,
    "mean": _mean,
    "variance": _variance,
}
