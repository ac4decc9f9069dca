"""A published release as its analyst sees it: questions about the private values, answered from public files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import Counts, PublishedRows
from trasgo_lib.analysis.results import EstimateTable
from trasgo_lib.analysis.usefulness import Possible, too_few, too_rare
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation import (
    Estimate,
    conditional_means,
    correlation,
    joint_subset_shares,
    mean,
    subset_shares,
    variance,
)

MOST_SHARES = 2**16
"""Entries of a table of shares; each is decoded and judged on its own."""

FLAT = "the noise hides how far the values spread"

_SHARE = Possible(0.0, 1.0)
_CORRELATION = Possible(-1.0, 1.0)


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """An opened release; made by :func:`open_release`.

    Every answer is about the population that the rows were drawn from: its interval counts the draw of the rows and
    the noise. Rows with a missing value are left out of means, variances and correlations and are a value of their own
    in shares. An answer that would be noise is withheld, with the reason in its place; one that is mostly noise comes
    with a ``NoiseWarning``.

    Args:
        location: where it was opened.
        dataset: name of the data set.
        version: its version.
        rows: number of rows.
        noised: the noised columns by name.
        public: names of the columns that were published unchanged.
        data: the published rows.
    """

    location: str
    dataset: str
    version: str
    rows: int
    noised: Mapping[str, NoisedColumn]
    public: tuple[str, ...]
    data: PublishedRows = field(repr=False)

    @overload
    def share(self, column: str, value: None = None, by: str | None = None) -> EstimateTable: ...
    @overload
    def share(self, column: str, value: object, by: None = None) -> Estimate: ...
    @overload
    def share(self, column: str, value: object, by: str) -> EstimateTable: ...
    def share(self, column: str, value: Value | None = None, by: str | None = None) -> Estimate | EstimateTable:
        """Share of the rows that hold a value, or of every value.

        Args:
            column: a noised column.
            value: a declared value or ``MISSING``; a list, range or set for the share of all of them together; None for
                each value on its own.
            by: a column to group by: a public one, or another noised one.

        Returns:
            One estimate for one value without groups, else a table, by value, by group, or by (group, value).

        Raises:
            InputContractError: no such column or value, or a question about a column that this does not answer.
        """
        asked = self._column(column)
        whole = value is None
        names, members = asked.cells() if whole else ((value,), asked.members(value)[:, None])
        if by is None:
            counts = self.data.count(asked)
            given = self._shares(asked, counts, members)
            if not whole:
                return given[0]
            raw = subset_shares(asked.channel, counts, members)
            return EstimateTable.of_whole(
                f"share of {column}",
                self.rows,
                dict(zip(names, raw, strict=True)),
                dict(zip(names, given, strict=True)),
            )
        if by in self.noised:
            everyone = np.ones(asked.channel.inputs, dtype=bool)
            found = self._within(asked, by, members.astype(np.float64), everyone, _SHARE)
        else:
            found = {group: self._shares(asked, counts, members) for group, counts in self._groups(asked, by).items()}
        table: dict[object, Estimate] = {}
        for group, estimates in found.items():
            for name, estimate in zip(names, estimates, strict=True):
                table[(group, name) if whole else group] = estimate
        return EstimateTable(f"share of {column} by {by}", self.rows, table)

    def crosstab(self, a: str, b: str) -> EstimateTable:
        """Joint shares of two noised columns, by pair of values.

        Args:
            a: a noised column.
            b: another one.

        Raises:
            InputContractError: no such column, the same one twice, or too many pairs.
        """
        left, right = self._pair(a, b)
        (ours, our_members), (theirs, their_members) = left.cells(), right.cells()
        if len(ours) * len(theirs) > MOST_SHARES:
            raise _refused(f"{a} and {b}", f"at most {MOST_SHARES} pairs", f"{len(ours) * len(theirs)}", _COARSER)
        table = self.data.count_pairs(left, right)
        raw = joint_subset_shares(
            left.channel, right.channel, table, our_members, their_members, together=left.noise_with(right)
        )
        held = (our_members.T.astype(np.float64) @ table @ their_members.astype(np.float64)).ravel()
        given = [
            too_few(self.rows) or too_rare(int(count), self.rows) or _SHARE.judge(estimate, f"share of {a} and {b}")
            for estimate, count in zip(raw, held, strict=True)
        ]
        names = [(mine, other) for mine in ours for other in theirs]
        return EstimateTable.of_whole(
            f"share of {a} and {b}", self.rows, dict(zip(names, raw, strict=True)), dict(zip(names, given, strict=True))
        )

    @overload
    def mean(self, column: str, by: None = None) -> Estimate: ...
    @overload
    def mean(self, column: str, by: str) -> EstimateTable: ...
    def mean(self, column: str, by: str | None = None) -> Estimate | EstimateTable:
        """Mean of a column; of dates, in days since 1970-01-01.

        Args:
            column: a noised column of numbers, dates or whole-number labels.
            by: a column to group by: a public one, or another noised one.

        Raises:
            InputContractError: no such column, or a question about a column that this does not answer.
        """
        asked, numbers = self._numbers(column)
        possible = _range(numbers)
        if by is None:
            return self._mean(asked, numbers, self.data.count(asked), possible)
        if by in self.noised:
            counted = ~np.isnan(numbers)
            of_groups = self._within(asked, by, np.where(counted, numbers, 0.0)[:, None], counted, possible)
            found = {group: estimates[0] for group, estimates in of_groups.items()}
        else:
            groups = self._groups(asked, by)
            found = {group: self._mean(asked, numbers, counts, possible) for group, counts in groups.items()}
        return EstimateTable(f"mean of {column} by {by}", self.rows, found)

    def variance(self, column: str) -> Estimate:
        """Variance of a column, in squared units.

        Args:
            column: a noised column of numbers, dates or whole-number labels.

        Raises:
            InputContractError: no such column, or labels.
        """
        asked, numbers = self._numbers(column)
        found = too_few(self.rows) or variance(asked.channel, self.data.count(asked), values=numbers)
        if found.value is not None and found.value <= 0:
            return Estimate.none(FLAT)
        possible = _range(numbers)
        return Possible(0.0, (possible.high - possible.low) ** 2 / 4).judge(found, f"variance of {column}")

    def correlation(self, a: str, b: str) -> Estimate:
        """Pearson's correlation of two noised columns over the rows in which both have a value.

        Labels in a declared order count as their place in it, two labels as 0 and 1.

        Args:
            a: a noised column.
            b: another one.

        Raises:
            InputContractError: no such column, labels without an order, the same one twice, or too many pairs of
                values.
        """
        left, right = self._pair(a, b)
        scales = {column.name: column.ranks for column in (left, right)}
        unordered = ", ".join(name for name, ranks in scales.items() if ranks is None)
        if unordered:
            raise _refused(unordered, "numbers, dates, or labels with an order", "labels without one", _CROSSTAB)
        table = self.data.count_pairs(left, right)
        found = too_few(self.rows) or correlation(
            left.channel,
            right.channel,
            table,
            left_values=scales[a],
            right_values=scales[b],
            together=left.noise_with(right),
        )
        return _CORRELATION.judge(found, f"correlation of {a} and {b}")

    def _shares(self, asked: NoisedColumn, counts: Counts, members: NDArray[np.bool_]) -> tuple[Estimate, ...]:
        rows = int(counts.sum())
        few = too_few(rows)
        if few is not None:
            return (few,) * int(members.shape[1])
        raw = subset_shares(asked.channel, counts, members)
        held = counts @ members
        judged = (
            too_rare(int(count), rows) or _SHARE.judge(estimate, f"share of {asked.name}")
            for estimate, count in zip(raw, held, strict=True)
        )
        return tuple(judged)

    def _mean(self, asked: NoisedColumn, numbers: NDArray[np.float64], counts: Counts, possible: Possible) -> Estimate:
        found = too_few(int(counts.sum())) or mean(asked.channel, counts, values=numbers)
        return possible.judge(found, f"mean of {asked.name}")

    def _groups(self, asked: NoisedColumn, by: str) -> Mapping[Value, Counts]:
        if by not in self.public:
            raise self._unknown(by)
        return self.data.count_by(asked, by)

    def _within(
        self,
        asked: NoisedColumn,
        by: str,
        functions: NDArray[np.float64],
        counted: NDArray[np.bool_],
        possible: Possible,
    ) -> dict[Value, tuple[Estimate, ...]]:
        """Means of functions within each value of another noised column."""
        column, other = self._pair(asked.name, by)
        groups, members = other.cells()
        if len(groups) * functions.shape[1] > MOST_SHARES:
            raise _refused(by, f"at most {MOST_SHARES} entries", f"{len(groups) * functions.shape[1]}", _COARSER)
        table = self.data.count_pairs(column, other)
        few = too_few(self.rows)
        raw = conditional_means(
            column.channel, other.channel, table, functions, counted, members, together=column.noise_with(other)
        )
        return {
            group: tuple(few or possible.judge(one, f"{asked.name} where {by} is {group}") for one in estimates)
            for group, estimates in zip(groups, raw, strict=True)
        }

    def _column(self, name: str) -> NoisedColumn:
        column = self.noised.get(name)
        if column is None:
            raise self._unknown(name)
        if column.is_place:
            fix = "Count the cells themselves; their noise is in channel.json."
            raise _refused(name, "a column of numbers, dates or labels", "half of a point", fix)
        return column

    def _numbers(self, name: str) -> tuple[NoisedColumn, NDArray[np.float64]]:
        column = self._column(name)
        numbers = column.numbers
        if numbers is None:
            raise _refused(name, "numbers, dates or whole-number labels", "labels", "Ask for shares.")
        return column, numbers

    def _pair(self, a: str, b: str) -> tuple[NoisedColumn, NoisedColumn]:
        left, right = self._column(a), self._column(b)
        if a == b:
            raise _refused(f"{a} and {b}", "two columns", "the same column twice", "Ask about two columns.")
        return left, right

    def _unknown(self, name: str) -> InputContractError:
        if name in self.public:
            fix = "Published unchanged: read it from the data file, or name it under by."
            return _refused(name, "a noised column", "a public one", fix)
        known = ", ".join((*self.noised, *self.public))
        return InputContractError.of(
            Reason.MISSING_COLUMN, name, required=f"one of {known}", came="no such column", fix="Check the name."
        )

    def __repr__(self) -> str:
        width = max(map(len, (*self.noised, *self.public)))
        lines = [f"release {self.dataset} {self.version}, {self.rows:,} rows"]
        lines += [f"  {name:<{width}}  {column.summary}" for name, column in self.noised.items()]
        lines += [f"  {name:<{width}}  public, as it was" for name in self.public]
        return "\n".join(lines)


_COARSER = "Ask about coarser columns."
_CROSSTAB = "Ask for a crosstab."


def _range(numbers: NDArray[np.float64]) -> Possible:
    return Possible(float(np.nanmin(numbers)), float(np.nanmax(numbers)))


def _refused(where: str, required: str, came: str, fix: str) -> InputContractError:
    return InputContractError.of(Reason.BAD_PARAMETER, where, required=required, came=came, fix=fix)
