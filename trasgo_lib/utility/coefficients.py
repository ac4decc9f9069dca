"""Correlation and association coefficients, exact from integer statistics of one pair of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.utility.discordance import discordant_weight
from trasgo_lib.utility.integer_sums import product_sum, root_ratio
from trasgo_lib.utility.moments import PairMoments
from trasgo_lib.utility.pair_table import PairTable


def pearson(moments: PairMoments) -> float | None:
    """Pearson's r, or None where either column is constant over the common rows.

    Args:
        moments: exact sums; the integers are combined before the only rounding.
    """
    rows = moments.rows
    left = rows * moments.left_squares - moments.left**2
    right = rows * moments.right_squares - moments.right**2
    if left <= 0 or right <= 0:
        return None
    return root_ratio(rows * moments.products - moments.left * moments.right, left, right)


def pearson_of_codes(table: PairTable) -> float | None:
    """Pearson's r with the codes as scores, or None where either column is constant."""
    return pearson(table.moments())


def spearman(table: PairTable) -> float | None:
    """Spearman's rho with average ranks for ties, or None where either column is constant."""
    left, right, counts = table.cells()
    ours, theirs = table.margins()
    rows = product_sum(counts)
    left_ranks, right_ranks = (_centred_ranks(margin, rows) for margin in (ours, theirs))
    left_spread = product_sum(ours, left_ranks, left_ranks)
    right_spread = product_sum(theirs, right_ranks, right_ranks)
    if left_spread == 0 or right_spread == 0:
        return None
    return root_ratio(product_sum(counts, left_ranks[left], right_ranks[right]), left_spread, right_spread)


def _centred_ranks(margin: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Twice the average rank of each code, minus twice the mean rank: whole numbers that sum to 0 over the rows."""
    upto = np.cumsum(margin)
    return upto + (upto - margin) - rows


def kendall(table: PairTable) -> float | None:
    """Kendall's tau-b, or None where either column is constant."""
    _, _, counts = table.cells()
    rows = product_sum(counts)
    pairs = rows * (rows - 1) // 2
    left_ties, right_ties = (_tied_pairs(margin) for margin in table.margins())
    if pairs in (left_ties, right_ties):
        return None
    untied = pairs - left_ties - right_ties + _tied_pairs(counts)
    difference = untied - 2 * discordant_weight(table)
    return root_ratio(difference, pairs - left_ties, pairs - right_ties)


def _tied_pairs(counts: NDArray[np.int64]) -> int:
    return (product_sum(counts, counts) - product_sum(counts)) // 2


def cramers_v(table: PairTable) -> float | None:
    """Cramer's V of two label columns, in 0..1, or None where either is constant.

    Source:
        Cramer (1946), Mathematical Methods of Statistics, 21.9; without bias correction, over labels that occur.
    """
    left, right, counts = table.cells()
    ours, theirs = table.margins()
    rows = product_sum(counts)
    degrees = min(int(np.count_nonzero(ours)), int(np.count_nonzero(theirs))) - 1
    if degrees < 1:
        return None
    shares = counts.astype(np.float64) / ours[left] * counts / theirs[right]
    inertia = math.fsum(shares.tolist()) - 1
    return math.sqrt(min(1.0, max(0.0, inertia / degrees))) if rows else None


def correlation_ratio(table: PairTable) -> float | None:
    """The correlation ratio eta of a label column (left) and a number column (right), or None where one is constant.

    In 0..1: the square root of the share of the number's variance that lies between labels.

    Args:
        table: labels on the left, number codes on the right.

    Source:
        Pearson (1905), On the General Theory of Skew Correlation.
    """
    left, right, counts = table.cells()
    moments = table.moments()
    spread = moments.rows * moments.right_squares - moments.right**2
    starts = np.flatnonzero(np.concatenate([[True], left[1:] != left[:-1]]))  # where a label's cells start
    if spread == 0 or starts.size < 2:
        return None
    members = np.add.reduceat(counts.astype(np.float64), starts)
    means = np.add.reduceat(counts * right.astype(np.float64), starts) / members
    between = math.fsum((members * (means - moments.right / moments.rows) ** 2).tolist())
    return math.sqrt(min(1.0, between / (spread / moments.rows)))


def _fisher_error(rows: int) -> float:
    return 1 / math.sqrt(rows - 3)


def _spearman_error(rows: int) -> float:
    return math.sqrt(1.06 / (rows - 3))


def _kendall_error(rows: int) -> float:
    return math.sqrt((4 * rows + 10) / (9 * rows * (rows - 1)))


@dataclass(frozen=True, slots=True)
class CorrelationMethod:
    """One way to correlate two columns.

    Args:
        name: as in the release file.
        of_table: the coefficient from joint counts.
        of_moments: the coefficient from moments where they suffice, else None.
        standard_error: of the coefficient for unrelated columns, from the number of rows (at least 4).
    """

    name: str
    of_table: Callable[[PairTable], float | None]
    of_moments: Callable[[PairMoments], float | None] | None
    standard_error: Callable[[int], float]


CORRELATIONS: Mapping[str, CorrelationMethod] = {
    "pearson": CorrelationMethod("pearson", pearson_of_codes, pearson, _fisher_error),
    "spearman": CorrelationMethod("spearman", spearman, None, _spearman_error),
    "kendall": CorrelationMethod("kendall", kendall, None, _kendall_error),
}


def correlation_method(name: str) -> CorrelationMethod:
    """Look up a correlation by name.

    Raises:
        ConfigError: an unknown name, with the known ones.
    """
    method = CORRELATIONS.get(name) if isinstance(name, str) else None
    if method is None:
        raise ConfigError.of(
            Reason.UNKNOWN_NAME,
            "correlation method",
            required="one of " + ", ".join(CORRELATIONS),
            came=repr(name),
            fix="Choose one of them.",
        )
    return method
