"""A published release as its analyst sees it: questions about the private values, answered from public files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import MOST_CELLS, PublishedRows
from trasgo_lib.analysis.crosstabs import crosstab_by_noised, crosstab_by_public, crosstab_of
from trasgo_lib.analysis.lookup import Columns, refused
from trasgo_lib.analysis.modelling import Model, covariate_names, moments_by, moments_of
from trasgo_lib.analysis.placing import Places, quantiles_within
from trasgo_lib.analysis.results import EstimateTable
from trasgo_lib.analysis.tables import SHARE, mean_of, shares_of, within_groups
from trasgo_lib.analysis.usefulness import Possible, judged_variance, require_confidence, require_pearson, too_few
from trasgo_lib.estimation import (
    CONFIDENCE,
    Estimate,
    correlation,
    correlation_within,
    quantile,
    subset_shares,
    variance,
    variance_within,
)

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
    def share(
        self, column: str, value: None = None, by: str | None = None, *, confidence: float = ...
    ) -> EstimateTable: ...
    @overload
    def share(self, column: str, value: object, by: None = None, *, confidence: float = ...) -> Estimate: ...
    @overload
    def share(self, column: str, value: object, by: str, *, confidence: float = ...) -> EstimateTable: ...
    def share(
        self, column: str, value: Value | None = None, by: str | None = None, *, confidence: float = CONFIDENCE
    ) -> Estimate | EstimateTable:
        """Share of the rows that hold a value, or of every value.

        Args:
            column: a noised column.
            value: a declared value or ``MISSING``; a list, range or set for the share of all of them together; None for
                each value on its own.
            by: a column to group by: a public one, or another noised one.
            confidence: of the intervals.

        Returns:
            One estimate for one value without groups, else a table, by value, by group, or by (group, value).

        Raises:
            InputContractError: no such column or value, or a question about a column that this does not answer.
        """
        require_confidence(confidence)
        asked = self._columns.column(column)
        whole = value is None
        names, members = asked.cells() if whole else ((value,), asked.members(value)[:, None])
        if by is None:
            counts = self.data.count(asked)
            given = shares_of(asked, counts, members, confidence)
            if not whole:
                return given[0]
            raw = subset_shares(asked.channel, counts, members, confidence=confidence)
            return EstimateTable.of_whole(
                f"share of {column}",
                self.rows,
                dict(zip(names, raw, strict=True)),
                dict(zip(names, given, strict=True)),
                confidence,
            )
        if self._columns.is_noised(by):
            everyone = np.ones(asked.channel.inputs, dtype=bool)
            found = within_groups(
                self.data, *self._columns.pair(column, by), members.astype(np.float64), everyone, SHARE, confidence
            )
        else:
            groups = self.data.count_by(asked, self._columns.public_group(by))
            found = {group: shares_of(asked, counts, members, confidence) for group, counts in groups.items()}
        table: dict[object, Estimate] = {}
        for group, estimates in found.items():
            for name, estimate in zip(names, estimates, strict=True):
                table[(group, name) if whole else group] = estimate
        return EstimateTable(f"share of {column} by {by}", self.rows, table, confidence=confidence)

    def crosstab(self, a: str, b: str, by: str | None = None, *, confidence: float = CONFIDENCE) -> EstimateTable:
        """Joint shares of two noised columns, by pair of values.

        Args:
            a: a noised column.
            b: another one.
            by: a column to group by: a public one, or another noised one; the shares then add up to 1 in each group.
            confidence: of the intervals.

        Returns:
            A table by pair of values, or by (group, value, value).

        Raises:
            InputContractError: no such column, the same one twice, or too many pairs.
        """
        require_confidence(confidence)
        left, right = self._columns.pair(a, b)
        other = self._columns.group(by, (a, b))
        if other is None:
            return crosstab_of(self.data, left, right, confidence)
        if isinstance(other, str):
            found = crosstab_by_public(self.data, left, right, other, confidence)
        else:
            found = crosstab_by_noised(self.data, left, right, other, confidence)
        return EstimateTable(f"share of {a} and {b} by {by}", self.rows, found, confidence=confidence)

    @overload
    def mean(self, column: str, by: None = None, *, confidence: float = ...) -> Estimate: ...
    @overload
    def mean(self, column: str, by: str, *, confidence: float = ...) -> EstimateTable: ...
    def mean(self, column: str, by: str | None = None, *, confidence: float = CONFIDENCE) -> Estimate | EstimateTable:
        """Mean of a column; of dates, in days since 1970-01-01.

        Args:
            column: a noised column of numbers, dates or whole-number labels.
            by: a column to group by: a public one, or another noised one.
            confidence: of the intervals.

        Raises:
            InputContractError: no such column, or a question about a column that this does not answer.
        """
        require_confidence(confidence)
        asked, numbers = self._columns.numbers(column)
        possible = _range(numbers)
        if by is None:
            return mean_of(asked, numbers, self.data.count(asked), possible, confidence)
        if self._columns.is_noised(by):
            counted = ~np.isnan(numbers)
            functions = np.where(counted, numbers, 0.0)[:, None]
            pair = self._columns.pair(column, by)
            of_groups = within_groups(self.data, *pair, functions, counted, possible, confidence)
            found = {group: estimates[0] for group, estimates in of_groups.items()}
        else:
            groups = self.data.count_by(asked, self._columns.public_group(by))
            found = {group: mean_of(asked, numbers, counts, possible, confidence) for group, counts in groups.items()}
        return EstimateTable(f"mean of {column} by {by}", self.rows, found, confidence=confidence)

    @overload
    def quantile(self, column: str, q: float = ..., by: None = None, *, confidence: float = ...) -> Estimate: ...
    @overload
    def quantile(self, column: str, q: float, by: str, *, confidence: float = ...) -> EstimateTable: ...
    @overload
    def quantile(self, column: str, *, by: str, confidence: float = ...) -> EstimateTable: ...
    def quantile(
        self, column: str, q: float = 0.5, by: str | None = None, *, confidence: float = CONFIDENCE
    ) -> Estimate | EstimateTable:
        """A quantile of a column, by default its median: the least value with a share of q at or below it.

        The interval covers at least what it says. Of numbers in bins the value is interpolated and the interval holds
        whole bins; ``note`` says so.

        Args:
            column: a noised column of numbers, dates (in days since 1970-01-01) or whole-number labels.
            q: share of the values at or below it, between 0 and 1.
            by: a column to group by: a public one, or another noised one.
            confidence: of the intervals.

        Raises:
            InputContractError: no such column, labels, or q out of range.
        """
        require_confidence(confidence)
        asked, numbers = self._columns.numbers(column)
        other, places = self._columns.group(by, (column,)), Places.of(asked, numbers)
        what = f"quantile {q} of {column}"
        ask = partial(quantile, asked.channel, q=q, places=places.of_codes, steps_only=places.keeps_values)
        if other is None:
            found = ask(self.data.count(asked), confidence=confidence)
            return places.estimate(found, what, self.rows, confidence)
        if isinstance(other, str):
            table = {
                group: places.estimate(ask(counts, confidence=confidence), what, int(counts.sum()), confidence)
                for group, counts in self.data.count_by(asked, other).items()
            }
        else:
            table = quantiles_within(self.data, asked, other, places, q, confidence)
        return EstimateTable(f"{what} by {by}", self.rows, table, confidence=confidence)

    @overload
    def variance(self, column: str, by: None = None, *, confidence: float = ...) -> Estimate: ...
    @overload
    def variance(self, column: str, by: str, *, confidence: float = ...) -> EstimateTable: ...
    def variance(
        self, column: str, by: str | None = None, *, confidence: float = CONFIDENCE
    ) -> Estimate | EstimateTable:
        """Variance of a column, in squared units.

        Args:
            column: a noised column of numbers, dates or whole-number labels.
            by: a column to group by: a public one, or another noised one.
            confidence: of the intervals.

        Raises:
            InputContractError: no such column, or labels.
        """
        require_confidence(confidence)
        asked, numbers = self._columns.numbers(column)
        other, possible = self._columns.group(by, (column,)), _range(numbers)
        judge = partial(judged_variance, what=f"variance of {column}", possible=possible, confidence=confidence)
        if other is None:
            counts = self.data.count(asked)
            return judge(too_few(self.rows) or variance(asked.channel, counts, values=numbers, confidence=confidence))
        found = moments_by(self.data, [(asked, numbers)], other, variance_within, confidence)
        table = {group: judge(estimate) for group, estimate in found.items()}
        return EstimateTable(f"variance of {column} by {by}", self.rows, table, confidence=confidence)

    @overload
    def correlation(
        self, a: str, b: str, by: None = None, *, method: str = ..., confidence: float = ...
    ) -> Estimate: ...
    @overload
    def correlation(self, a: str, b: str, by: str, *, method: str = ..., confidence: float = ...) -> EstimateTable: ...
    def correlation(
        self, a: str, b: str, by: str | None = None, *, method: str = "pearson", confidence: float = CONFIDENCE
    ) -> Estimate | EstimateTable:
        """Pearson's correlation of two noised columns over the rows in which both have a value.

        Labels in a declared order count as their place in it, two labels as 0 and 1.

        Args:
            a: a noised column.
            b: another one.
            by: a column to group by: a public one, or another noised one.
            method: ``pearson``; ranks are refused, since the noise moves every rank by an amount that depends on all
                rows, and no decoder of single rows undoes that.
            confidence: of the intervals.

        Raises:
            InputContractError: no such column, labels without an order, the same one twice, or another method.
        """
        require_confidence(confidence)
        left, right = self._columns.pair(a, b)
        require_pearson(method)
        scales = {column.name: column.ranks for column in (left, right)}
        unordered = ", ".join(name for name, ranks in scales.items() if ranks is None)
        if unordered:
            raise refused(unordered, "numbers, dates, or labels with an order", "labels without one", _CROSSTAB)
        other, what = self._columns.group(by, (a, b)), f"correlation of {a} and {b}"
        if other is not None:
            pairs = [(column, scales[column.name]) for column in (left, right)]
            found = moments_by(self.data, pairs, other, correlation_within, confidence)
            table = {group: _CORRELATION.judge(estimate, what, confidence) for group, estimate in found.items()}
            return EstimateTable(f"{what} by {by}", self.rows, table, confidence=confidence)
        if left.channel.outputs * right.channel.outputs > MOST_CELLS:  # no table of pairs: by products of single rows
            estimate = moments_of(
                self.data, [(each, scales[each.name]) for each in (left, right)], correlation_within, confidence
            )
            return _CORRELATION.judge(estimate, what, confidence)
        counts = self.data.count_pairs(left, right)
        estimate = too_few(self.rows) or correlation(
            left.channel,
            right.channel,
            counts,
            left_values=scales[a],
            right_values=scales[b],
            together=left.noise_with(right),
            confidence=confidence,
        )
        return _CORRELATION.judge(estimate, what, confidence)

    def regression(
        self, outcome: str, covariates: str | Sequence[str], by: str | None = None, *, confidence: float = CONFIDENCE
    ) -> EstimateTable:
        """Least squares of one noised column on others, the noise of all of them taken out of it.

        Numbers and dates enter as they are, labels as dummies against the first of them; two labels can be the
        outcome, as 0 and 1. Rows in which every column has a value count. Coefficients describe the population that the
        rows are drawn from (the linear fit to it, whether or not it is a straight line), rows may scatter unevenly.

        Args:
            outcome: a noised column of numbers, dates, whole-number labels or two labels.
            covariates: noised columns.
            by: a column to group by, for a regression in each group: a public one, or another noised one.
            confidence: of the intervals.

        Returns:
            Coefficients by term, ``(intercept)`` first; with groups, by (group, term). Without values, and with the
            reason, where the noise hides how the covariates spread.

        Raises:
            InputContractError: no such column, the same one twice, no covariate, or too many.
        """
        require_confidence(confidence)
        model = Model.of(self._columns, outcome, covariate_names(covariates))
        other = self._columns.group(by, model.names)
        found = model.fit(self.data, other, confidence)
        words = f"{model.what} by {by}" if by else model.what
        return EstimateTable(words, self.rows, found, confidence=confidence)

    @property
    def _columns(self) -> Columns:
        return Columns(self.noised, self.public)

    def __repr__(self) -> str:
        width = max(map(len, (*self.noised, *self.public)))
        lines = [f"release {self.dataset} {self.version}, {self.rows:,} rows"]
        lines += [f"  {name:<{width}}  {column.summary}" for name, column in self.noised.items()]
        lines += [f"  {name:<{width}}  public, as it was" for name in self.public]
        return "\n".join(lines)


_CROSSTAB = "Ask for a crosstab."


def _range(numbers: NDArray[np.float64]) -> Possible:
    return Possible(float(np.nanmin(numbers)), float(np.nanmax(numbers)))
