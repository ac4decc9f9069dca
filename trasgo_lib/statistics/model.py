"""Compiled queries: everything that is known of an answer before data is opened. All public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.budget import Cost, LossEvent, cost
from trasgo_lib.config import AnyQuery
from trasgo_lib.plan import ReleasePlan

Measure = Literal["rows", "code", "value", "centred", "square"]
"""What a row adds to a sum, as a whole number of its code: 1; the code; the value in units of ``Frame.unit``; twice the
code less the largest one; the square of that."""

Noise = Literal["laplace", "gaussian", "exponential", "noisy_max", "gumbel", "sparse_vector"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on one column, decided row by row.

    Args:
        unit: the column.
        allowed: one byte for each of its codes, 1 where the row counts.
    """

    unit: str
    allowed: bytes


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one privacy unit can move a statistic, whole numbers of steps.

    Args:
        l1: sum of all changes, at least 1.
        l2_squared: sum of their squares.
        linf: the largest change.
        words: why.
    """

    l1: int
    l2_squared: int
    linf: int
    words: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one privacy unit may contribute to a query.

    Args:
        rows: of one unit, in each group.
        groups: of one unit; 1 where there is no grouping.
        unit_rows: most rows a unit has by the input contract.
        trims: whether some unit may have to leave rows out.
    """

    rows: int
    groups: int
    unit_rows: int
    trims: bool

    @property
    def kept(self) -> int:
        """Most rows of one unit that count."""
        return min(self.rows * self.groups, self.unit_rows)

    @property
    def squares(self) -> int:
        """Largest sum of squared row counts by group: as many full groups as fit, and what is left."""
        full = min(self.groups, self.kept // self.rows)
        rest = self.kept - full * self.rows if full < self.groups else 0
        return full * self.rows**2 + rest**2


@dataclass(frozen=True, slots=True)
class Part:
    """One noisy vector, score list or threshold run of a query.

    Args:
        name: of the part, such as ``sum``.
        measure: what a row adds; ``rows`` for counts and choices.
        sensitivity: of the part.
        noise: its law.
        scale: of the noise, in steps of the statistic.
        claim: what the draw may cost one privacy unit; certified when it is drawn.
        half_width: the noise stays within this many steps with the part's share of 95 %; for choices, by how much the
            score of what is chosen can fall short of the best.
        counts: how many numbers are released.
    """

    name: str
    measure: Measure
    sensitivity: Sensitivity
    noise: Noise
    scale: float
    claim: Epsilon | Rho
    half_width: int
    counts: int = 1


@dataclass(frozen=True, slots=True)
class Frame:
    """The grid of the number a query is about: ``lower + step * code``, codes up to ``largest``.

    Args:
        lower: value of code 0.
        step: distance of neighbours.
        largest: the largest code.
        words: unit of the values.
    """

    lower: Fraction
    step: Fraction
    largest: int
    words: str

    @property
    def unit(self) -> Fraction:
        """The largest number of which every value is a whole multiple."""
        from math import gcd, lcm

        below = lcm(self.lower.denominator, self.step.denominator)
        return Fraction(gcd(int(self.lower * below), int(self.step * below)), below)

    @property
    def upper(self) -> Fraction:
        """The largest value."""
        return self.lower + self.step * self.largest


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a query, declared.

    Args:
        columns: by which rows are grouped; empty for a single cell.
        sizes: number of codes of each.
        labels: of each cell, one label a column.
        cells: for each combination of codes, first column slowest, its cell or -1 where it is not counted.
    """

    columns: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    cells: tuple[int, ...]

    @property
    def covers_all(self) -> bool:
        """Whether every row falls into some cell."""
        return -1 not in self.cells


@dataclass(frozen=True, slots=True)
class Options:
    """What a choice is made among.

    Args:
        labels: as the answer names them.
        codes: code of each candidate value of a number; empty for others.
        rules: conditions of each candidate or question; empty for others.
        label: category that splits are to separate, with its number of codes; None for others.
        probability: of a quantile; 0 for a minimum, 1 for a maximum; None for others.
    """

    labels: tuple[str, ...]
    codes: tuple[int, ...] = ()
    rules: tuple[tuple[Rule, ...], ...] = ()
    label: tuple[str, int] | None = None
    probability: Fraction | None = None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """One query, resolved.

    Args:
        spec: as the file says it.
        rules: which rows count.
        column: the column whose codes matter, or None; and its number of codes.
        size: number of codes of ``column``; 1 without one.
        frame: its grid when it is a number.
        table: the cells.
        options: for choices and thresholds.
        bounds: contributions of one privacy unit.
        is_whole: whether every row counts whatever it holds, so that their number is the public number of rows.
        parts: what is drawn.
        event: what the whole query may tell of one privacy unit.
        digest: SHA-256 over all that fixes the answer's law, hex.
    """

    spec: AnyQuery
    rules: tuple[Rule, ...]
    column: str | None
    size: int
    frame: Frame | None
    table: Table
    options: Options | None
    bounds: Bounds
    is_whole: bool
    parts: tuple[Part, ...]
    event: LossEvent
    digest: str

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @property
    def kind(self) -> str:
        """Its type in the file."""
        return self.spec.type

    @property
    def cost(self) -> Cost:
        """What it costs one privacy unit."""
        return cost(self.event)

    def part(self, name: str) -> Part:
        """The part of that name.

        Raises:
            KeyError: no such part.
        """
        for part in self.parts:
            if part.name == name:
                return part
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Membership:
    """What a partition of public membership asserts of every privacy unit: in how many of its parts it has rows.

    Args:
        name: of the partition.
        column: a declared category.
        parts: codes of each declared part, asked about or not.
        parts_per_unit: most parts in which one unit has rows.
    """

    name: str
    column: str
    parts: tuple[tuple[str, ...], ...]
    parts_per_unit: int


@dataclass(frozen=True, slots=True)
class Charge:
    """What the account pays at once: for a query, for the parts of a partition, or for the whole file.

    Args:
        name: under which it is charged.
        event: what it may tell of one privacy unit.
        digest: SHA-256 over all that fixes the law of what is drawn, hex.
        queries: names of the queries it pays for.
        words: how their losses add up, for people; empty for a single query.
        parts: of a partition, those that were asked about: name, codes of its column, queries.
        membership: of a partition of public membership, what the source is held to; else None.
    """

    name: str
    event: LossEvent
    digest: str
    queries: tuple[str, ...]
    words: str = ""
    parts: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    membership: Membership | None = None


@dataclass(frozen=True, slots=True)
class StatisticsPlan:
    """A statistics file, resolved.

    Args:
        base: source, columns, privacy and places, by the rules of release files; its units have no mechanism.
        queries: in the order of the file.
        rows: declared number of rows, or None.
        charges: what the account pays, every query in one of them.
    """

    base: ReleasePlan
    queries: tuple[QueryPlan, ...]
    rows: int | None
    charges: tuple[Charge, ...]

    @property
    def cost(self) -> Cost:
        """What all queries cost one privacy unit together: the sum of the charges."""
        total = Cost.zero()
        for charge in self.charges:
            total += cost(charge.event, self.base.max_rows)
        return total

    def charge_of(self, query: str) -> Charge:
        """The charge that pays for a query.

        Raises:
            KeyError: no such query.
        """
        for charge in self.charges:
            if query in charge.queries:
                return charge
        raise KeyError(query)

    def query(self, name: str) -> QueryPlan:
        """The query of that name.

        Raises:
            KeyError: no such query.
        """
        for query in self.queries:
            if query.name == name:
                return query
        raise KeyError(name)
