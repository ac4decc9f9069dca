"""Counting while batches pass: histograms, pair statistics and displacements of one version of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.coefficients import CorrelationMethod, correlation_ratio, cramers_v
from trasgo_lib.utility.histogram import Histogram
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.loss_rule import Coefficient
from trasgo_lib.utility.moments import PairMoments, Scores
from trasgo_lib.utility.pair_table import PairTable
from trasgo_lib.utility.points import Displacement
from trasgo_lib.utility.table_sizes import parts_of, table_shape

Pair = tuple[LossColumn, LossColumn]


@dataclass(frozen=True, slots=True)
class Batch:
    """The same rows of several units, of this version and of the original."""

    rows: int
    codes: Mapping[str, NDArray[np.int32]] = field(repr=False)
    reference: Mapping[str, NDArray[np.int32]] = field(repr=False)


class Tally:
    """Statistics under way: what one pass over the batches counts. The only mutable value of this room.

    Args:
        fresh: columns whose histograms are wanted.
        pairs: pairs of columns whose coefficients are wanted.
        method: how to correlate.
        rows: rows of the whole table.
        tables: number of pairs of the whole table that need a contingency table; they share the room for tables.
    """

    def __init__(
        self, fresh: Sequence[LossColumn], pairs: Sequence[Pair], method: CorrelationMethod, rows: int, tables: int
    ) -> None:
        self._fresh = fresh
        self._pairs = pairs
        self._method = method
        self._rows = rows
        self._read = {column.name: column for column in [*fresh, *(column for pair in pairs for column in pair)]}
        self.histograms = {column.name: Histogram.empty(_categories(column)) for column in fresh}
        self.displacements: dict[str, Displacement] = {}
        self._moments = {_names(pair): PairMoments() for pair in pairs if not needs_table(pair, method)}
        self._shapes = {_names(pair): table_shape(pair, rows, tables) for pair in pairs if needs_table(pair, method)}
        self._tables: dict[tuple[str, str], PairTable] = {}

    @property
    def units(self) -> tuple[str, ...]:
        """Noise units to be read."""
        return tuple(dict.fromkeys(column.unit for column in self._read.values()))

    @property
    def point_units(self) -> tuple[str, ...]:
        """Units whose original codes are needed as well."""
        return tuple(column.unit for column in self._fresh if column.grid is not None)

    def add(self, batch: Batch) -> int:
        """Count one batch; returns its rows."""
        for column in self._fresh:
            self._count(column, batch)
        scores: dict[str, Scores] = {}
        for pair in self._pairs:
            left, right = pair
            if needs_table(pair, self._method):
                self._count_table(pair, batch)
                continue
            for column in pair:
                if column.name not in scores:
                    scores[column.name] = _scores(_own(column, batch), column.size)
            names = _names(pair)
            self._moments[names] = self._moments[names].merge(PairMoments.of(scores[left.name], scores[right.name]))
        return batch.rows

    def _count(self, column: LossColumn, batch: Batch) -> None:
        codes = _own(column, batch)
        if column.grid is not None:
            Histogram.check(codes, column.size)
            cells = column.grid.cells(codes)
            if column.unit in batch.reference:
                moved = Displacement.of(column.grid.domain, batch.reference[column.unit], codes)
                self.displacements[column.name] = self.displacements.get(column.name, Displacement()).merge(moved)
            counted = Histogram.count(cells, column.grid.size)
        else:
            counted = Histogram.count(codes, column.size)
        self.histograms[column.name] = self.histograms[column.name].merge(counted)

    def _count_table(self, pair: Pair, batch: Batch) -> None:
        left, right = pair
        shape = self._shapes[_names(pair)]
        ours, theirs = parts_of(_own(left, batch), shape.left), parts_of(_own(right, batch), shape.right)
        table = PairTable.count(ours, theirs, shape.sizes, rows=self._rows)
        earlier = self._tables.get(_names(pair))
        self._tables[_names(pair)] = table if earlier is None else earlier.merge(table)

    def coefficients(
        self,
    ) -> tuple[dict[tuple[str, str], Coefficient], dict[tuple[str, str], Coefficient]]:
        """Correlations and associations of the pairs counted."""
        correlations, associations = {}, {}
        for pair in self._pairs:
            names = _names(pair)
            if not needs_table(pair, self._method):
                moments = self._moments[names]
                value = self._method.of_moments(moments) if self._method.of_moments else None
                correlations[names] = Coefficient(value, moments.rows)
                continue
            table = self._tables.get(names) or PairTable.empty(self._shapes[names].sizes)
            correlations[names] = Coefficient(self._method.of_table(table), table.rows)
            if any(column.kind == "label" for column in pair):
                associations[names] = Coefficient(_association(pair, table), table.rows)
        return correlations, associations


def needs_table(pair: Pair, method: CorrelationMethod) -> bool:
    """Whether moments do not say how two columns go together."""
    return method.of_moments is None or any(column.kind == "label" for column in pair)


def _own(column: LossColumn, batch: Batch) -> NDArray[np.int32]:
    return column.own_codes(batch.codes[column.unit])


def _association(pair: Pair, table: PairTable) -> float | None:
    if all(column.kind == "label" for column in pair):
        return cramers_v(table)
    return correlation_ratio(table if pair[0].kind == "label" else table.transposed())


def _names(pair: Pair) -> tuple[str, str]:
    return pair[0].name, pair[1].name


def _categories(column: LossColumn) -> int:
    return column.size if column.grid is None else column.grid.size


def _scores(codes: NDArray[np.int32], size: int) -> Scores:
    return Scores.of(codes, codes < size)
