"""Sums, squares and products of two columns' scores: all that Pearson's correlation needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.integer_sums import product_sum


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One batch of one column's integer scores, its own sums taken once for all pairs.

    Pearson's correlation does not change when a column is shifted or scaled, so codes serve as scores of numbers.

    Args:
        values: int64[rows]; 0 where missing.
        present: bool[rows], or None where nothing is missing.
        total: sum of the values.
        squares: sum of their squares.
    """

    values: NDArray[np.int64] = field(repr=False)
    present: NDArray[np.bool_] | None = field(repr=False)
    total: int = field(repr=False)
    squares: int = field(repr=False)

    @classmethod
    def of(cls, values: NDArray[np.integer], present: NDArray[np.bool_] | None = None) -> Self:
        """Take the sums of a batch; scores of missing rows are ignored."""
        scores = values.astype(np.int64, copy=False)
        if present is not None and bool(present.all()):
            present = None
        if present is not None:
            scores = np.where(present, scores, 0)
        return cls(scores, present, product_sum(scores), product_sum(scores, scores))


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Exact sums over the rows where both columns are present.

    Args:
        rows: number of such rows.
        left: sum of the left scores.
        right: sum of the right scores.
        left_squares: sum of squares of the left scores.
        right_squares: sum of squares of the right scores.
        products: sum of products.
    """

    rows: int = 0
    left: int = field(default=0, repr=False)
    right: int = field(default=0, repr=False)
    left_squares: int = field(default=0, repr=False)
    right_squares: int = field(default=0, repr=False)
    products: int = field(default=0, repr=False)

    @classmethod
    def of(cls, left: Scores, right: Scores) -> Self:
        """The moments of one batch of two columns, row by row."""
        if left.present is None and right.present is None:
            return cls(
                left.values.size,
                left.total,
                right.total,
                left.squares,
                right.squares,
                product_sum(left.values, right.values),
            )
        here = _both(left.present, right.present)
        ours, theirs = left.values[here], right.values[here]
        return cls(
            ours.size,
            product_sum(ours),
            product_sum(theirs),
            product_sum(ours, ours),
            product_sum(theirs, theirs),
            product_sum(ours, theirs),
        )

    def merge(self, other: Self) -> Self:
        """The moments of both batches together."""
        return type(self)(
            self.rows + other.rows,
            self.left + other.left,
            self.right + other.right,
            self.left_squares + other.left_squares,
            self.right_squares + other.right_squares,
            self.products + other.products,
        )


def _both(left: NDArray[np.bool_] | None, right: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    if left is None or right is None:
        return np.asarray(left if right is None else right, dtype=np.bool_)
    return left & right
