"""From counts to what is published of a window: the same function serves the publisher and whoever verifies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.estimating import Floats, Frequencies, combine, estimate
from trasgo_lib.collection.hierarchy import reconcile
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.sizing import REPORTS_PER_CELL
from trasgo_lib.data.cells import cell_text, parents_of
from trasgo_lib.estimation.estimate import normal_point

_DIGITS = 9
"""Significant digits of published figures: far below any error, and above what two machines' libraries differ by."""


@dataclass(frozen=True, slots=True)
class VersionCounts:
    """What was counted of one version in one window.

    Args:
        level: place of its resolution, 0 the coarsest.
        alphabet: its slots.
        channel: what its reports went through.
        counted: their counts.
    """

    level: int
    alphabet: Alphabet
    channel: ReportChannel
    counted: ReportCounts

    @property
    def tag(self) -> Tag:
        """What its reports carry."""
        return Tag(self.alphabet.version, self.channel.version)


@dataclass(frozen=True, slots=True)
class ShowRule:
    """What decides which cells are shown; public.

    Args:
        level: probability that any cell nobody was in is shown.
        confidence: of the intervals.
    """

    level: float
    confidence: float


def split_over_maps(rule: ShowRule, levels: int, *, has_points: bool) -> tuple[ShowRule, ShowRule]:
    """The rule for the maps of cells together, and that for the map of points: the level is that of all maps.

    Args:
        rule: of the window.
        levels: how many resolutions reports of cells have.
        has_points: whether there is a map of points.
    """
    if not has_points:
        return rule, rule
    maps = levels + 1
    return replace(rule, level=rule.level * levels / maps), replace(rule, level=rule.level / maps)


@dataclass(frozen=True, slots=True)
class LevelTable:
    """The estimates of one resolution, as they are published.

    Args:
        alphabet: its slots.
        reports: how many reports its estimates come from.
        weights: of each version, by tag.
        share: float64[slots], unbiased, perhaps negative.
        standard_error: float64[slots].
        low: float64[slots], not clipped.
        high: float64[slots].
        share_on_map: float64[slots], at least 0, together 1; for maps, biased.
        shown: bool[slots].
    """

    alphabet: Alphabet
    reports: int
    weights: Mapping[Tag, float]
    share: Floats = field(repr=False)
    standard_error: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    share_on_map: Floats = field(repr=False)
    shown: NDArray[np.bool_] = field(repr=False)

    def rows(self) -> Iterable[tuple[str, ...]]:
        """The rows of the CSV file, in slot order."""
        names = self.alphabet.names()
        columns = (self.share, self.standard_error, self.low, self.high, self.share_on_map)
        for slot, name in enumerate(names):
            figures = (rounded_text(float(column[slot])) for column in columns)
            yield (str(self.alphabet.resolution), name, *figures, "true" if self.shown[slot] else "false")

    def rounded(self) -> LevelTable:
        """The table with the figures that are published, so that whoever has them draws the same from them."""
        return self.as_told(list(self.rows()))

    def as_told(self, rows: Sequence[Sequence[str]]) -> LevelTable:
        """The same table with the figures of a CSV file, in which everything else that is published is drawn.

        Args:
            rows: its rows for this resolution, in slot order.

        Raises:
            ValueError: other rows, or no figures.
        """
        figures = np.array([[float(figure) for figure in row[2:-1]] for row in rows], dtype=np.float64)
        if figures.shape != (self.alphabet.slots, len(CSV_HEADER) - 3) or not np.isfinite(figures).all():
            raise ValueError("rows of another shape")
        shown = np.array([row[-1] == "true" for row in rows])
        share, error, low, high, on_map = figures.T
        return replace(self, share=share, standard_error=error, low=low, high=high, share_on_map=on_map, shown=shown)


CSV_HEADER = ("resolution", "cell", "share", "standard_error", "low", "high", "share_on_map", "shown")


def rounded_text(value: float) -> str:
    """A figure as it is published, in decimal text."""
    return f"{value:.{_DIGITS}g}"


def conclude(parts: Sequence[VersionCounts], rule: ShowRule) -> tuple[LevelTable, ...]:
    """Estimate every resolution, coarse to fine.

    Versions of one resolution are estimated apart and combined with the weights that are stated; of several
    resolutions, whose reports come from different devices, the estimates are made consistent, and the level is split
    over them: the probability that an empty cell is shown is that of all maps together.

    Args:
        parts: at least one version of every resolution; or none, where points are asked alone.
        rule: what decides which cells are shown.

    Raises:
        InputContractError: a version without reports, or of other slots.
    """
    if not parts:
        return ()
    levels = sorted({part.level for part in parts})
    alphabets = [next(part.alphabet for part in parts if part.level == level) for level in levels]
    found = [
        combine(
            [
                estimate(part.channel, part.counted, tag=part.tag, confidence=rule.confidence)
                for part in parts
                if part.level == level
            ],
            confidence=rule.confidence,
        )
        for level in levels
    ]
    if len(found) == 1:
        return (_alone(alphabets[0], found[0], rule).rounded(),)
    tables = []
    for one, frequencies in zip(reconcile(alphabets, found, rule.level / len(levels)), found, strict=True):
        reach = normal_point(rule.confidence) * one.standard_error
        table = LevelTable(
            one.alphabet, frequencies.reports, frequencies.weights, one.shares, one.standard_error,
            one.shares - reach, one.shares + reach, one.adjusted, _cells_only(one.alphabet, one.shown),
        )  # fmt: skip
        tables.append(table.rounded())
    return tuple(tables)


def _alone(alphabet: Alphabet, found: Frequencies, rule: ShowRule) -> LevelTable:
    return LevelTable(
        alphabet, found.reports, found.weights, found.shares, found.standard_error, found.low, found.high,
        found.adjusted, _cells_only(alphabet, found.shown(rule.level)),
    )  # fmt: skip


def _cells_only(alphabet: Alphabet, shown: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Neither ``other`` nor ``nobody`` is a place on a map."""
    kept = shown.copy()
    kept[len(alphabet.cells) :] = False
    return kept


def parents_in(table: LevelTable, coarser: LevelTable) -> list[str]:
    """The name of the cell of a coarser table that each cell of a finer one lies in."""
    return [cell_text(cell) for cell in parents_of(table.alphabet.cells, coarser.alphabet.resolution).tolist()]


@dataclass(frozen=True, slots=True)
class ReportsPerCell:
    """How many reports there are for each cell, against two rules of thumb.

    Args:
        resolution: of the cells.
        average: reports for each slot.
        is_steady: whether they are at least the first of ``REPORTS_PER_CELL``.
        is_fine: whether they are at least the second.
    """

    resolution: int
    average: float
    is_steady: bool
    is_fine: bool


def reports_per_cell(table: LevelTable) -> ReportsPerCell:
    """The rules of thumb of one resolution."""
    average, (steady, fine) = table.reports / table.alphabet.slots, REPORTS_PER_CELL
    return ReportsPerCell(table.alphabet.resolution, average, average >= steady, average >= fine)


@dataclass(frozen=True, slots=True)
class Linkage:
    """Whether shown cells could be tied to a small population.

    Args:
        resolution: of the cells.
        shown: how many cells are shown.
        least_devices: fewest devices of a shown cell, by the lower ends of intervals; None where none is shown.
        small: shown cells whose lower end is below the stated number.
    """

    resolution: int
    shown: int
    least_devices: int | None
    small: tuple[str, ...]


SMALL_POPULATION = 20
"""Devices below which a cell could be tied to a household or a workplace."""


def linkage(table: LevelTable) -> Linkage:
    """The linkage test of one resolution: it reads published estimates only."""
    devices = np.floor(table.low * table.reports)
    names = table.alphabet.names()
    shown = np.flatnonzero(table.shown)
    least = int(devices[shown].min()) if len(shown) else None
    small = tuple(names[slot] for slot in shown.tolist() if devices[slot] < SMALL_POPULATION)
    return Linkage(table.alphabet.resolution, len(shown), least, small)
