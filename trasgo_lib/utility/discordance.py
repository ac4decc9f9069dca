"""How many pairs of rows a table orders in opposite ways: the one hard part of Kendall's tau."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.integer_sums import product_sum
from trasgo_lib.utility.pair_table import PairTable


def discordant_weight(table: PairTable) -> int:
    """Number of pairs of rows where the left code rises and the right code falls.

    Args:
        table: joint counts; dense tables take O(cells), sparse ones O(cells * log(right codes)).
    """
    grid = table.grid()
    return _from_grid(grid) if grid is not None else _from_cells(*table.cells()[1:], table.sizes[1])


def _from_grid(grid: NDArray[np.int64]) -> int:
    above = np.zeros_like(grid)
    np.cumsum(grid[:-1], axis=0, out=above[1:])  # rows with a smaller left code, by right code
    upto = np.cumsum(above, axis=1)
    greater = upto[:, -1:] - upto  # of these, the ones with a greater right code
    return product_sum(grid.ravel(), greater.ravel())


def _from_cells(codes: NDArray[np.int64], weights: NDArray[np.int64], size: int) -> int:
    """Weighted inversions of ``codes``, which come by rising left code and, within one, by rising right code.

    Two codes first differ at one binary digit. Digit by digit from the highest, codes that agree so far stand
    together, in their first order; among them each 0 is out of order with every 1 before it. Ties on the left rise on
    the right, so they add nothing. As many vector passes as the codes have digits, and no pass over rows in Python.
    """
    first = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=size))])  # where a code starts when sorted
    total = 0
    for digit in reversed(range((size - 1).bit_length())):
        one = ((codes >> digit) & 1).astype(np.bool_)
        start = first[(codes >> (digit + 1)) << (digit + 1)]  # where the codes that agree so far start
        before = np.concatenate([[0], np.cumsum(np.where(one, weights, 0))])
        zeros = np.flatnonzero(~one)
        total += product_sum(weights[zeros], before[zeros] - before[start[zeros]])
        ones_before = np.concatenate([[0], np.cumsum(one)])
        behind = ones_before[:-1] - ones_before[start]  # ones before each position among those that agree so far
        position = np.arange(codes.size)
        target = np.where(one, first[(codes >> digit) << digit] + behind, position - behind)
        moved_codes, moved_weights = np.empty_like(codes), np.empty_like(weights)
        moved_codes[target], moved_weights[target] = codes, weights
        codes, weights = moved_codes, moved_weights
    return total
