"""How fine contingency tables are, so that all of them together stay within a stated size whatever the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.histogram import equal_bins
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.pair_table import DENSE_CELLS

MOST_TABLE_BYTES = 512 << 20
"""All tables of one version together; the original and the release are never counted side by side. Ten numbers of 1,221
values each are counted code by code; of more values, too, as long as there are at most 745,654 rows."""

_DENSE_CELL_BYTES = 8
_SPARSE_CELL_BYTES = 16
_FEWEST_PARTS = 64
"""A column that must be cut keeps at least this many parts; the rest of the room goes to the other column."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """How two columns are counted together; public.

    Args:
        left: int32[left size], the part of each code, or None where every code counts.
        right: likewise.
        sizes: codes or parts on either side, missing not counted.
    """

    left: NDArray[np.int32] | None = field(repr=False)
    right: NDArray[np.int32] | None = field(repr=False)
    sizes: tuple[int, int]

    @property
    def is_exact(self) -> bool:
        """Whether every code counts."""
        return self.left is None and self.right is None


def table_shape(pair: tuple[LossColumn, LossColumn], rows: int, tables: int) -> TableShape:
    """The table of a pair: of its codes while that fits, else of equal parts of both domains in declared order.

    Args:
        pair: the columns.
        rows: rows of the whole table; no more cells can occur.
        tables: number of tables that share the room; the same for every version, or versions could not be compared.
    """
    room = MOST_TABLE_BYTES // max(1, tables)
    sizes = (pair[0].size, pair[1].size)
    cells = sizes[0] * sizes[1]
    if cells <= min(DENSE_CELLS, room // _DENSE_CELL_BYTES) or min(rows, cells) * _SPARSE_CELL_BYTES <= room:
        return TableShape(None, None, sizes)
    side = max(_FEWEST_PARTS, math.isqrt(room // _DENSE_CELL_BYTES))
    # what a small domain leaves goes to the other one
    whole = min(sizes)
    longer = side if whole > side else max(side, room // _DENSE_CELL_BYTES // whole)
    parts = [min(size, longer) for size in sizes]
    bins = [None if own == size else equal_bins(size, own) for size, own in zip(sizes, parts)]
    return TableShape(bins[0], bins[1], (parts[0], parts[1]))


def parts_of(codes: NDArray[np.int32], bins: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """The part of every row's code: int32[rows]; the code that means missing stays the one behind the last part."""
    if bins is None:
        return codes
    return np.append(bins, bins[-1] + 1).astype(np.int32)[codes]


def on_parts(
    columns: Sequence[LossColumn], pairs: Sequence[tuple[LossColumn, LossColumn]], rows: int
) -> tuple[str, ...]:
    """Names of the columns of which some table is one of parts and not of codes, in release order."""
    shapes = [(pair, table_shape(pair, rows, len(pairs))) for pair in pairs]
    cut = {pair[0].name for pair, shape in shapes if shape.left is not None}
    cut |= {pair[1].name for pair, shape in shapes if shape.right is not None}
    return tuple(column.name for column in columns if column.name in cut)
