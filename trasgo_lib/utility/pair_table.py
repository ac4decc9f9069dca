"""Joint counts of two columns' codes: what rank correlations and associations come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.integer_sums import product_sum
from trasgo_lib.utility.moments import PairMoments

DENSE_CELLS = 4_000_000
"""Largest dense table: 32 MB of counts. Beyond it only the cells that occur are held."""

_CELLS_PER_ROW = 4
"""A dense table is worth its cells only while rows fill it; with few rows the cells that occur are cheaper."""

_FEW_CELLS = 2**16
"""Below this a dense table is cheap whatever the rows."""

_CHUNK_ROWS = 2**16
"""Rows counted at a time where the table is small: as many as it may have cells."""


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """A contingency table over the rows where both columns are present; mergeable over batches.

    Args:
        sizes: number of codes on the left and on the right, missing not counted.
        keys: int64[cells], rising, ``left * sizes[1] + right`` of the cells that occur; None for a dense table.
        counts: int64[cells], or int64[sizes[0] * sizes[1]] in row-major order for a dense table.
    """

    sizes: tuple[int, int]
    keys: NDArray[np.int64] | None = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)

    @classmethod
    def count(
        cls, left: NDArray[np.integer], right: NDArray[np.integer], sizes: tuple[int, int], rows: int | None = None
    ) -> Self:
        """Count one batch.

        Args:
            left: int[rows] in ``0..sizes[0]``, the highest meaning missing; the row is then left out.
            right: int[rows] in ``0..sizes[1]``, likewise.
            sizes: number of codes of each.
            rows: rows of the whole table, which decide its form: tables to be merged need the same number. None: the
                batch is the whole table.
        """
        cells = sizes[0] * sizes[1]
        dense = cells <= min(DENSE_CELLS, _CELLS_PER_ROW * (left.size if rows is None else rows) + _FEW_CELLS)
        if dense and cells <= _FEW_CELLS:
            return cls(sizes, None, _count_few(left, right, sizes))
        keys = left.astype(np.int64) * sizes[1] + right
        missing = (left == sizes[0]) | (right == sizes[1])
        if bool(missing.any()):
            keys = keys[~missing]
        if dense:
            return cls(sizes, None, np.bincount(keys, minlength=cells).astype(np.int64, copy=False))
        return cls(sizes, *_group(np.sort(keys), None))

    @classmethod
    def empty(cls, sizes: tuple[int, int]) -> Self:
        """The table of no rows, in sparse form."""
        return cls(sizes, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def transposed(self) -> Self:
        """Left and right exchanged."""
        grid = self.grid()
        sizes = (self.sizes[1], self.sizes[0])
        if grid is not None:
            return type(self)(sizes, None, np.ascontiguousarray(grid.T).ravel())
        left, right, counts = self.cells()
        keys = right * sizes[1] + left
        order = np.argsort(keys)
        return type(self)(sizes, keys[order], counts[order])

    def merge(self, other: Self) -> Self:
        """The counts of both, which are over the same codes and in the same form."""
        if self.keys is None or other.keys is None:
            return type(self)(self.sizes, None, self.counts + other.counts)
        keys = np.concatenate([self.keys, other.keys])
        order = np.argsort(keys, kind="stable")
        return type(self)(self.sizes, *_group(keys[order], np.concatenate([self.counts, other.counts])[order]))

    @property
    def rows(self) -> int:
        """Number of rows counted."""
        return product_sum(self.counts)

    def cells(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The cells that occur: left codes, right codes and counts, by left and then by right code."""
        if self.keys is None:
            keys = np.flatnonzero(self.counts).astype(np.int64, copy=False)
            counts = self.counts[keys]
        else:
            keys, counts = self.keys, self.counts
        left, right = np.divmod(keys, self.sizes[1])
        return left, right, counts

    def grid(self) -> NDArray[np.int64] | None:
        """The dense table, int64[sizes], or None for a sparse one."""
        return None if self.keys is not None else self.counts.reshape(self.sizes)

    def margins(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts of the left and of the right codes over the rows in the table."""
        grid = self.grid()
        if grid is not None:
            return grid.sum(axis=1), grid.sum(axis=0)
        left, right, counts = self.cells()
        ours, theirs = (np.zeros(size, dtype=np.int64) for size in self.sizes)
        np.add.at(ours, left, counts)
        np.add.at(theirs, right, counts)
        return ours, theirs

    def moments(self) -> PairMoments:
        """The moments of the codes taken as scores."""
        left, right, counts = self.cells()
        return PairMoments(
            product_sum(counts),
            product_sum(counts, left),
            product_sum(counts, right),
            product_sum(counts, left, left),
            product_sum(counts, right, right),
            product_sum(counts, left, right),
        )


def _count_few(left: NDArray[np.integer], right: NDArray[np.integer], sizes: tuple[int, int]) -> NDArray[np.int64]:
    """Dense counts of a small table, a chunk of rows at a time, so that the keys stay in the cache."""
    counts = np.zeros(sizes[0] * sizes[1], dtype=np.int64)
    # keys of two bytes where codes are narrow; those of missing rows may wrap around, and are left out
    is_narrow = sizes[1] < _FEW_CELLS and all(
        codes.dtype.kind == "u" and codes.dtype.itemsize <= 2 for codes in (left, right)
    )
    room = np.empty(min(_CHUNK_ROWS, left.size), dtype=np.uint16 if is_narrow else np.int64)
    for start in range(0, left.size, _CHUNK_ROWS):
        ours, theirs = left[start : start + _CHUNK_ROWS], right[start : start + _CHUNK_ROWS]
        keys = np.multiply(ours, sizes[1], out=room[: ours.size], dtype=room.dtype)
        keys += theirs
        if ours.max() == sizes[0] or theirs.max() == sizes[1]:
            keys = keys[(ours != sizes[0]) & (theirs != sizes[1])]
        counts += np.bincount(keys, minlength=counts.size)
    return counts


def _group(keys: NDArray[np.int64], counts: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted keys with repeats -> keys without repeats and their counts."""
    if keys.size == 0:
        return keys, np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    if counts is None:
        return keys[starts], np.diff(np.append(starts, keys.size)).astype(np.int64, copy=False)
    return keys[starts], np.add.reduceat(counts, starts)
