"""Shares and means from counts of released rows, judged before they are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import Counts, PublishedRows
from trasgo_lib.analysis.lookup import refused
from trasgo_lib.analysis.usefulness import Possible, too_few, too_rare
from trasgo_lib.estimation import Estimate, conditional_means, mean, subset_shares

MOST_SHARES = 2**16
"""Entries of a table of shares; each is decoded and judged on its own."""

COARSER = "Ask about coarser columns."

SHARE = Possible(0.0, 1.0)


def shares_of(
    asked: NoisedColumn, counts: Counts, members: NDArray[np.bool_], confidence: float
) -> tuple[Estimate, ...]:
    """Shares of sets of codes, judged.

    Args:
        asked: the column.
        counts: released rows by code.
        members: bool[inputs, sets].
        confidence: of the intervals.
    """
    rows = int(counts.sum())
    few = too_few(rows)
    if few is not None:
        return (few,) * int(members.shape[1])
    raw = subset_shares(asked.channel, counts, members, confidence=confidence)
    held = counts @ members
    judged = (
        too_rare(int(count), rows) or SHARE.judge(estimate, f"share of {asked.name}", confidence)
        for estimate, count in zip(raw, held, strict=True)
    )
    return tuple(judged)


def mean_of(
    asked: NoisedColumn,
    numbers: NDArray[np.float64],
    counts: Counts,
    possible: Possible,
    confidence: float,
) -> Estimate:
    """A mean, judged.

    Args:
        asked: the column.
        numbers: float64[inputs], what its codes count as, NaN for missing.
        counts: released rows by code.
        possible: the range of its numbers.
        confidence: of the interval.
    """
    found = too_few(int(counts.sum())) or mean(asked.channel, counts, values=numbers, confidence=confidence)
    return possible.judge(found, f"mean of {asked.name}", confidence)


def within_groups(
    data: PublishedRows,
    asked: NoisedColumn,
    other: NoisedColumn,
    functions: NDArray[np.float64],
    counted: NDArray[np.bool_],
    possible: Possible,
    confidence: float,
) -> dict[Value, tuple[Estimate, ...]]:
    """Means of functions within each value of another noised column, judged.

    Args:
        data: the released rows.
        asked: the column.
        other: the column to group by.
        functions: float64[inputs, m], averaged; 0 where not counted.
        counted: bool[inputs], the codes whose rows count.
        possible: the range of the functions.
        confidence: of the intervals.

    Raises:
        InputContractError: too many entries or pairs of values.
    """
    groups, members = other.cells()
    if len(groups) * functions.shape[1] > MOST_SHARES:
        raise refused(other.name, f"at most {MOST_SHARES} entries", f"{len(groups) * functions.shape[1]}", COARSER)
    table = data.count_pairs(asked, other)
    few = too_few(int(table.sum()))
    raw = conditional_means(
        asked.channel,
        other.channel,
        table,
        functions,
        counted,
        members,
        together=asked.noise_with(other),
        confidence=confidence,
    )
    return {
        group: tuple(
            few or possible.judge(one, f"{asked.name} where {other.name} is {group}", confidence) for one in estimates
        )
        for group, estimates in zip(groups, raw, strict=True)
    }
