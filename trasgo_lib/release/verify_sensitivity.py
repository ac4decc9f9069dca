"""What a query's noise has to be, derived a second time from what was asked: never from a sensitivity that is stated.

An auditor's own derivation, from the published question (type, bounds, contributions of a unit) under the published
neighbours: same rows per unit, the values of one unit replaced. It shares no code with the room that answered; a test
holds both against each other, and against every neighbour of small files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm, prod
from typing import Any

from trasgo_lib.data import CategoryDomain, Domain, NumberDomain, domain_from_description

MISSING = "missing"
_GROUPED = frozenset({"histogram", "crosstab", "top"})
"""Kinds that are always by group; sums and means are where they say ``by``."""


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column as the statement publishes it.

    Args:
        domain: its domain.
        has_missing: whether missing values are one more label.
    """

    domain: Domain
    has_missing: bool

    @property
    def size(self) -> int:
        """Codes, with the one for missing values."""
        return self.domain.size + self.has_missing

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of a category.

        Raises:
            ValueError: it is none.
        """
        if not isinstance(self.domain, CategoryDomain):
            raise ValueError("groups are made of categories")
        return (*(str(code) for code in self.domain.codes), *((MISSING,) if self.has_missing else ()))


@dataclass(frozen=True, slots=True)
class Moves:
    """By how much one privacy unit can move a part: sum of changes, sum of squares, largest; and how many numbers."""

    l1: int
    l2_squared: int
    largest: int
    numbers: int


@dataclass(frozen=True, slots=True)
class Question:
    """A published question.

    Args:
        kind: its type.
        asked: what the statistics file asked, as published.
        columns: the declared columns by name.
        unit_rows: most rows of a privacy unit.
    """

    kind: str
    asked: Mapping[str, Any]
    columns: Mapping[str, Column]
    unit_rows: int

    @property
    def by(self) -> tuple[str, ...]:
        """The columns whose labels make its groups."""
        if self.kind in ("histogram", "top"):
            return (self.asked["column"],)
        return tuple(self.asked.get("by", ()))

    @property
    def rows(self) -> int:
        """Rows of a unit that count in each group."""
        return min(int(self.asked.get("max_rows", self.unit_rows)), self.unit_rows)

    @property
    def groups(self) -> int:
        """Groups that a unit may count in."""
        if self.kind not in _GROUPED and not self.by:
            return 1
        return min(int(self.asked.get("max_groups", self.unit_rows)), self.unit_rows)

    @property
    def kept(self) -> int:
        """Rows of a unit that count."""
        return min(self.rows * self.groups, self.unit_rows)

    @property
    def squares(self) -> int:
        """The largest sum of squares of a unit's rows by group: full groups first, the rest in one more."""
        full, rest = divmod(self.kept, self.rows)
        full, rest = min(full, self.groups), rest if full < self.groups else 0
        return full * self.rows * self.rows + rest * rest

    @property
    def counts_everyone(self) -> bool:
        """Whether every row counts whatever it holds, so that only values move and no count does."""
        trims = self.rows < self.unit_rows or (self.groups < self.unit_rows and self.kind in _GROUPED)
        return not (self.asked.get("where") or self.by or trims)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...] | None:
        """The labels of each cell; None where they are bins of a number or a date, of which only the count is held."""
        if self.kind not in _GROUPED and not self.by:
            return ((),)
        if "keys" in self.asked:
            return tuple(tuple(key) for key in self.asked["keys"])
        columns = [self.columns[name] for name in self.by]
        if any(not isinstance(column.domain, CategoryDomain) for column in columns):
            return None
        return tuple(product(*(column.labels for column in columns)))

    @property
    def numbers(self) -> int:
        """How many cells there are."""
        if "keys" in self.asked:
            return len(self.asked["keys"])
        sizes = [self.columns[name].size for name in self.by]
        if self.kind == "histogram" and "bins" in self.asked:
            column = self.columns[self.asked["column"]]
            return int(self.asked["bins"]) + column.has_missing
        return prod(sizes)

    @property
    def number(self) -> NumberDomain:
        """The grid of the number it is about.

        Raises:
            ValueError: it is about none.
        """
        found = self.columns[self.asked["column"]].domain
        if not isinstance(found, NumberDomain):
            raise ValueError("sums, means and quantiles are of numbers")
        return found

    @property
    def grid(self) -> tuple[Fraction, Fraction, int]:
        """Lower bound, step and largest code of its number."""
        number = self.number
        return Fraction(number.lower), Fraction(number.step), number.size - 1

    @property
    def unit(self) -> Fraction:
        """The value of one step of a sum: the largest number of which every value that can be added is a multiple."""
        lower, step, _ = self.grid
        if self.counts_everyone:
            return step
        below = lcm(lower.denominator, step.denominator)
        return Fraction(gcd(int(lower * below), int(step * below)), below)

    @property
    def options(self) -> tuple[str, ...]:
        """What a choice was made among, as the answer names it."""
        if self.kind == "top":
            return self.columns[self.asked["column"]].labels
        if self.kind in ("best", "above"):
            return tuple(one["name"] for one in self.asked["candidates" if self.kind == "best" else "questions"])
        if "candidates" in self.asked:
            return tuple(self.asked["candidates"])
        number = self.number
        import numpy as np

        return tuple(str(value) for value in number.decode(np.arange(number.size, dtype=np.int32)).tolist())


def question_of(query: Mapping[str, Any], statement: Mapping[str, Any]) -> Question:
    """The question of a published query.

    Args:
        query: its entry in the statement.
        statement: the statement, whose columns are declared.

    Raises:
        TrasgoError, KeyError, ValueError, TypeError: it cannot be read.
    """
    columns = {
        entry["name"]: Column(domain_from_description(entry["domain"]), entry["missing"] == "code")
        for entry in statement["columns"]
    }
    return Question(query["type"], query["asked"], columns, int(statement["max_rows"]))


def derive(question: Question) -> dict[str, Moves]:
    """The parts that a question is answered with, and how far one privacy unit moves each.

    Raises:
        KeyError: an unknown type of query.
    """
    return _KINDS[question.kind](question)


def _counts(question: Question) -> dict[str, Moves]:
    return {"rows": _rows(question)}


def _rows(question: Question) -> Moves:
    kept, cells = question.kept, question.numbers
    if cells == 1:
        return Moves(kept, kept**2, kept, 1)
    # a row leaves one cell and enters another
    return Moves(2 * kept, 2 * question.squares, min(question.rows, kept), cells)


def _sum(question: Question) -> dict[str, Moves]:
    lower, step, largest = question.grid
    if question.counts_everyone:
        return {"sum": _ranged(question, 0, largest)}
    unit = question.unit
    return {"sum": _ranged(question, int(lower / unit), int((lower + step * largest) / unit))}


def _mean(question: Question) -> dict[str, Moves]:
    largest = question.grid[2]
    if question.counts_everyone:
        return {"mean": _ranged(question, 0, largest)}
    return {"mean": _ranged(question, -largest, largest), "rows": _rows(question)}


def _variance(question: Question) -> dict[str, Moves]:
    largest = question.grid[2]
    parts = {
        "mean": _ranged(question, -largest, largest),
        "squares": _ranged(question, largest % 2, largest * largest),
    }
    return parts if question.counts_everyone else {**parts, "rows": _rows(question)}


def _ranged(question: Question, low: int, high: int) -> Moves:
    """Sums of whole numbers from ``low`` to ``high`` a row."""
    kept = question.kept
    if question.numbers == 1:
        # where not every row counts, a row can also add nothing
        reach = high - low if question.counts_everyone else max(high, 0) - min(low, 0)
        return Moves(kept * reach, (kept * reach) ** 2, kept * reach, 1)
    size = max(abs(low), abs(high))
    # in one cell a row can go from one end to the other where both signs occur
    signed = 4 if low < 0 < high else 2
    in_one_cell = 2 * min(question.rows, kept) * size
    l1 = 2 * kept * size
    return Moves(l1, signed * question.squares * size * size, min(l1, in_one_cell), question.numbers)


def _scored(question: Question) -> dict[str, Moves]:
    """Quantiles and extremes: a row's score is (q - p) below and p above, for the probability p / q."""
    share = {"median": Fraction(1, 2), "minimum": Fraction(0), "maximum": Fraction(1)}.get(question.kind)
    if share is None:
        share = Fraction(question.asked["probability"])
    move = question.kept * share.denominator
    return {"choice": Moves(move, move**2, move, 1)}


def _top(question: Question) -> dict[str, Moves]:
    kept = question.kept
    return {"choice": Moves(2 * kept, 2 * question.squares, min(question.rows, kept), int(question.asked["best"]))}


def _best(question: Question) -> dict[str, Moves]:
    return {"choice": Moves(question.kept, question.kept**2, question.kept, 1)}


def _above(question: Question) -> dict[str, Moves]:
    return {"answers": Moves(question.kept, question.kept**2, question.kept, len(question.asked["questions"]))}


_KINDS: Mapping[str, Callable[[Question], dict[str, Moves]]] = {
    "count": _counts,
    "histogram": _counts,
    "crosstab": _counts,
    "sum": _sum,
    "mean": _mean,
    "variance": _variance,
    "quantile": _scored,
    "median": _scored,
    "minimum": _scored,
    "maximum": _scored,
    "top": _top,
    "best": _best,
    "above": _above,
}
