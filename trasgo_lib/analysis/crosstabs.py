"""Joint shares of two noised columns, whole or by group, judged before they are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import Counts, PublishedRows
from trasgo_lib.analysis.lookup import refused
from trasgo_lib.analysis.results import EstimateTable
from trasgo_lib.analysis.tables import COARSER, MOST_SHARES, SHARE
from trasgo_lib.analysis.usefulness import too_few, too_rare
from trasgo_lib.estimation import CodeRows, Estimate, Factor, Products, joint_shares_within, joint_subset_shares

MOST_PAIRS_WITHIN = 1024
"""Pairs of values within a noised group: each takes a product of every row's decoders."""


def crosstab_of(data: PublishedRows, left: NoisedColumn, right: NoisedColumn, confidence: float) -> EstimateTable:
    """Joint shares of all rows, and the distribution nearest to them.

    Args:
        data: the released rows.
        left: a column.
        right: another one.
        confidence: of the intervals.

    Raises:
        InputContractError: too many pairs.
    """
    names: list[object] = [*_names(left, right, MOST_SHARES)]
    what = _what(left, right)
    table = data.count_pairs(left, right)
    raw, given = _judged(left, right, table, what, confidence)
    whole, told = dict(zip(names, raw, strict=True)), dict(zip(names, given, strict=True))
    return EstimateTable.of_whole(what, int(table.sum()), whole, told, confidence)


def crosstab_by_public(
    data: PublishedRows, left: NoisedColumn, right: NoisedColumn, by: str, confidence: float
) -> dict[object, Estimate]:
    """Joint shares within each value of a public column, by (group, value, value).

    Args:
        data: the released rows.
        left: a column.
        right: another one.
        by: the public column.
        confidence: of the intervals.

    Raises:
        InputContractError: too many pairs or groups.
    """
    names = _names(left, right, MOST_SHARES)
    found: dict[object, Estimate] = {}
    for group, rows in data.rows_by([left, right], by).items():
        what = f"{_what(left, right)} where {by} is {group}"
        _, given = _judged(left, right, _table(left, right, rows), what, confidence)
        found |= _keyed(group, names, given)
    return found


def crosstab_by_noised(
    data: PublishedRows, left: NoisedColumn, right: NoisedColumn, by: NoisedColumn, confidence: float
) -> dict[object, Estimate]:
    """Joint shares within each value of another noised column, by (group, value, value).

    Args:
        data: the released rows.
        left: a column.
        right: another one.
        by: a third one.
        confidence: of the intervals.

    Raises:
        InputContractError: too many pairs.
    """
    names = _names(left, right, MOST_PAIRS_WITHIN)
    found: dict[object, Estimate] = {}
    rows = data.rows_of([by, left, right])
    few = too_few(int(rows.rows))
    groups, members = by.cells()
    for place, group in enumerate(groups):
        what = f"{_what(left, right)} where {by.name} is {group}"
        factors = [_factor(by, members[:, place], members[:, :0]), *(_whole_factor(one) for one in (left, right))]
        reason = next((factor for factor in factors if isinstance(factor, str)), None)
        if few is not None or reason is not None:
            given: Sequence[Estimate] = (few or Estimate.none(str(reason)),) * len(names)
        else:
            known = [factor for factor in factors if isinstance(factor, Factor)]
            raw = joint_shares_within(Products(known, rows), confidence)
            given = tuple(SHARE.judge(one, what, confidence) for one in raw)
        found |= _keyed(group, names, given)
    return found


def _names(left: NoisedColumn, right: NoisedColumn, most: int) -> list[tuple[Value, Value]]:
    ours, theirs = left.cells()[0], right.cells()[0]
    if len(ours) * len(theirs) > most:
        raise refused(f"{left.name} and {right.name}", f"at most {most} pairs", f"{len(ours) * len(theirs)}", COARSER)
    return [(mine, other) for mine in ours for other in theirs]


def _what(left: NoisedColumn, right: NoisedColumn) -> str:
    return f"share of {left.name} and {right.name}"


def _judged(
    left: NoisedColumn, right: NoisedColumn, table: Counts, what: str, confidence: float
) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
    """Shares as they were decoded, and what is given of them."""
    ours, theirs, rows = left.cells()[1], right.cells()[1], int(table.sum())
    few = too_few(rows)
    if few is not None:
        none = (few,) * int(ours.shape[1] * theirs.shape[1])
        return none, none
    raw = joint_subset_shares(
        left.channel, right.channel, table, ours, theirs, together=left.noise_with(right), confidence=confidence
    )
    held = (ours.T.astype(np.float64) @ table @ theirs.astype(np.float64)).ravel()
    return raw, tuple(
        too_rare(int(count), rows) or SHARE.judge(estimate, what, confidence)
        for estimate, count in zip(raw, held, strict=True)
    )


def _table(left: NoisedColumn, right: NoisedColumn, rows: CodeRows) -> Counts:
    """Rows by pair of published codes: int64[left outputs, right outputs]."""
    shape = left.channel.outputs, right.channel.outputs
    places = np.ravel_multi_index((rows.codes[:, 0], rows.codes[:, 1]), shape)
    counted = np.bincount(places, weights=rows.counts, minlength=shape[0] * shape[1])
    return counted.astype(np.int64).reshape(shape)


def _whole_factor(column: NoisedColumn) -> Factor | str:
    return _factor(column, np.ones(column.channel.inputs, dtype=bool), column.cells()[1])


def _factor(column: NoisedColumn, counted: NDArray[np.bool_], members: NDArray[np.bool_]) -> Factor | str:
    found = Factor.of_sets(column.channel, counted, members)
    return found if isinstance(found, str) else found.in_group(column.unit, column.noise_with(column))


def _keyed(group: Value, names: Iterable[tuple[Value, Value]], given: Sequence[Estimate]) -> dict[object, Estimate]:
    return {(group, *pair): estimate for pair, estimate in zip(names, given, strict=True)}
