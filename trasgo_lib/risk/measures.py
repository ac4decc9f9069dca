"""Anonymity measures of one version of a table, from its classes.

A class is the rows with the same quasi-identifiers. Definitions follow the papers; where pyCANON 1.3.6 computes
something else, the field says so, and the parity test compares what both define alike.

Sources: k-anonymity, Sweeney 2002; (alpha, k)-anonymity, Wong et al. 2006; distinct, entropy and recursive
(c, l)-diversity, Machanavajjhala et al. 2007; t-closeness, Li et al. 2007; beta-likeness, Cao and Karras 2012;
delta-disclosure privacy, Brickell and Shmatikov 2008.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.risk.classes import Classes, Integers

Floats = NDArray[np.float64]

SIZE_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Least sizes of the brackets in which class sizes are told."""

_PART_ENTRIES = 2**20
"""Values of classes that are looked at together: about 150 MiB."""


@dataclass(frozen=True, slots=True)
class SizeBracket:
    """Classes of similar size.

    Args:
        least: smallest size.
        most: largest size; None without an end.
        classes: how many classes.
        rows: how many rows they hold.
    """

    least: int
    most: int | None
    classes: int
    rows: int


@dataclass(frozen=True, slots=True)
class ClassSizes:
    """How large the classes of one version are; private where its rows are.

    Args:
        rows: rows of the table.
        classes: distinct combinations of quasi-identifiers.
        k: rows of the smallest class: the table is k-anonymous for this k and no larger one.
        median: median over classes.
        unique_rows: rows that are alone in their class.
        brackets: the distribution, without empty brackets.
    """

    rows: int
    classes: int
    k: int
    median: float
    unique_rows: int
    brackets: tuple[SizeBracket, ...]


@dataclass(frozen=True, slots=True)
class SensitiveMeasures:
    """What classes tell of one sensitive column; private where the rows are.

    Args:
        alpha: largest share of one value in a class, of (alpha, k)-anonymity.
        distinct_l: fewest distinct values in a class.
        entropy_l: least exponential of a class's entropy. pyCANON rounds it down to a whole number, 2 at times to 1.
        recursive_c: least c for ``distinct_l``: with any c above it the table is recursively (c, distinct_l)-diverse;
            None where ``distinct_l`` is 1. pyCANON sorts counts the other way round, so its c is another number.
        basic_beta: largest relative gain of a value's share in a class over its share in the table.
        enhanced_beta: least beta of enhanced beta-likeness; None where no beta will do, since some value gains more
            than the logarithm that the definition allows whatever beta is. pyCANON gives a number there, too.
        t: largest earth mover's distance between a class and the table.
        is_ordered: whether t moves mass step by step through the declared values (missing last), else every move
            costs 1. pyCANON's steps are those of the values that occur.
        delta: delta of delta-disclosure privacy, strictly above which any number will do; None where a class lacks a
            value that the table has, since its logarithm is infinite.
        delta_present: the same over values that the class has: what pyCANON gives.
    """

    alpha: float
    distinct_l: int
    entropy_l: float
    recursive_c: float | None
    basic_beta: float
    enhanced_beta: float | None
    t: float
    is_ordered: bool
    delta: float | None
    delta_present: float


def class_sizes(classes: Classes) -> ClassSizes:
    """Sizes of the classes of quasi-identifiers.

    Args:
        classes: rows by quasi-identifiers; at least one row.
    """
    sizes = classes.counts
    ends = (*SIZE_STEPS[1:], None)
    brackets = []
    for least, end in zip(SIZE_STEPS, ends, strict=True):
        inside = sizes[(sizes >= least) & (sizes < end if end is not None else True)]
        if len(inside):
            most = None if end is None else end - 1
            brackets.append(SizeBracket(least, most, len(inside), int(inside.sum())))
    unique = int((sizes == 1).sum())
    return ClassSizes(classes.rows, len(sizes), int(sizes.min()), float(np.median(sizes)), unique, tuple(brackets))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Rows by class and value, sorted by both: one entry for each value that a class has.

    Args:
        starts: int64[classes], first entry of each class.
        values: int64[entries].
        counts: int64[entries].
        owner: int64[entries], place of the entry's class.
        totals: int64[classes], rows of each class.
        overall: float64[values], share of each declared value in the table.
    """

    starts: Integers = field(repr=False)
    values: Integers = field(repr=False)
    counts: Integers = field(repr=False)
    owner: Integers = field(repr=False)
    totals: Integers = field(repr=False)
    overall: Floats = field(repr=False)

    @classmethod
    def of(cls, joint: Classes, size: int, overall: Floats) -> _Cells:
        group, values = np.divmod(joint.keys, size)
        is_first = np.append(True, group[1:] != group[:-1])
        starts = np.flatnonzero(is_first)
        totals = np.add.reduceat(joint.counts, starts)
        return cls(starts, values, joint.counts, np.cumsum(is_first) - 1, totals, overall)

    @property
    def shares(self) -> Floats:
        """Share of each entry in its class: float64[entries]."""
        found: Floats = self.counts / self.totals[self.owner]
        return found


def sensitive_measures(joint: Classes, size: int, *, is_ordered: bool) -> SensitiveMeasures:
    """Measures of one sensitive column.

    Args:
        joint: rows by quasi-identifiers and, varying fastest, the sensitive value; at least one row.
        size: how many values the column can have.
        is_ordered: whether their order means something.
    """
    overall = np.zeros(size)
    for part in _parts(joint, size):
        overall += np.bincount(part.keys % size, weights=part.counts, minlength=size)
    overall /= joint.rows
    found = [_extremes(_Cells.of(part, size, overall), is_ordered=is_ordered) for part in _parts(joint, size)]
    distinct = min(part.distinct for part in found)
    logarithm = max(part.logarithm for part in found)
    basic = max(0.0, *(part.gain for part in found))
    return SensitiveMeasures(
        alpha=max(part.share for part in found),
        distinct_l=distinct,
        entropy_l=float(np.exp(max(0.0, min(part.entropy for part in found)))),
        recursive_c=None
        if distinct < 2
        else max(_recursive_c(_Cells.of(part, size, overall), distinct) for part in _parts(joint, size)),
        basic_beta=basic,
        enhanced_beta=basic if all(part.is_allowed for part in found) else None,
        t=max(part.distance for part in found),
        is_ordered=is_ordered,
        delta=None if distinct < np.count_nonzero(overall) else logarithm,
        delta_present=logarithm,
    )


def _parts(joint: Classes, size: int) -> Iterator[Classes]:
    """Whole classes, so many at a time that what is computed of them takes little memory."""
    first = 0
    while first < len(joint.keys):
        newest = int(joint.keys[min(first + _PART_ENTRIES, len(joint.keys)) - 1])
        end = int(np.searchsorted(joint.keys, (newest // size + 1) * size))
        yield Classes(joint.keys[first:end], joint.counts[first:end])
        first = end


@dataclass(frozen=True, slots=True)
class _Extremes:
    """The worst of some classes."""

    share: float
    distinct: int
    entropy: float
    gain: float
    is_allowed: bool
    logarithm: float
    distance: float


def _extremes(cells: _Cells, *, is_ordered: bool) -> _Extremes:
    shares, overall = cells.shares, cells.overall[cells.values]
    gains = shares / overall - 1.0
    return _Extremes(
        share=float(shares.max()),
        distinct=int(np.diff(np.append(cells.starts, len(cells.values))).min()),
        entropy=float(-np.add.reduceat(shares * np.log(shares), cells.starts).max()),
        gain=float(gains.max()),
        is_allowed=bool(np.all(gains <= -np.log(overall))),
        logarithm=float(np.abs(np.log(shares / overall)).max()),
        distance=float(np.max(_steps(cells) if is_ordered else _moved(cells))),
    )


def _recursive_c(cells: _Cells, least: int) -> float:
    """Largest, over classes, of the most frequent value's rows over those of the ``least``-th and all rarer ones."""
    order = np.lexsort((-cells.counts, cells.owner))
    sums = np.concatenate([[0], np.cumsum(cells.counts[order])])
    more_frequent = sums[cells.starts + least - 1] - sums[cells.starts]
    return float(np.max(cells.counts[order][cells.starts] / (cells.totals - more_frequent)))


def _moved(cells: _Cells) -> Floats:
    """Half the sum of absolute differences between each class and the table: float64[classes]."""
    overall = cells.overall[cells.values]
    here = np.add.reduceat(np.abs(cells.shares - overall), cells.starts)
    # values that the class lacks differ by their whole share
    absent = 1.0 - np.add.reduceat(overall, cells.starts)
    found: Floats = (here + np.maximum(absent, 0.0)) / 2
    return found


def _steps(cells: _Cells) -> Floats:
    """Mean absolute difference of the cumulated shares over the steps between values: float64[classes].

    A class's cumulated share is constant from one of its values to the next. Over such a stretch the table's, which
    rises, lies below it up to some place and above it from there on, so prefix sums give the stretch at once.
    """
    size = len(cells.overall)
    if size < 2:
        return np.zeros(len(cells.starts))
    table = np.minimum(np.cumsum(cells.overall), 1.0)[:-1]  # float64[size - 1], one for each step
    sums = np.concatenate([[0.0], np.cumsum(table)])
    last = np.append(cells.starts[1:], len(cells.values)) - 1
    begin = np.minimum(cells.values, size - 1)
    end = np.append(cells.values[1:], size - 1)
    end[last] = size - 1
    running = np.cumsum(cells.counts)
    before = np.concatenate([[0], running])[cells.starts]
    level = (running - before[cells.owner]) / cells.totals[cells.owner]
    turn = np.clip(np.searchsorted(table, level), begin, end)
    below = level * (turn - begin) - (sums[turn] - sums[begin])
    above = (sums[end] - sums[turn]) - level * (end - turn)
    apart = np.add.reduceat(below + above, cells.starts) + sums[cells.values[cells.starts]]
    found: Floats = np.maximum(apart, 0.0) / (size - 1)
    return found
