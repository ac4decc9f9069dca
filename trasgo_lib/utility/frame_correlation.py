"""The correlation loss of whole frames: what notebooks, audits and other programs call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.utility.coding import CodedColumn, code_labels, code_numbers
from trasgo_lib.utility.coefficients import (
    CorrelationMethod,
    correlation_method,
    correlation_ratio,
    cramers_v,
)
from trasgo_lib.utility.frames import (
    Frame,
    ReadColumn,
    check_comparable,
    column_names,
    read_frame_column,
)
from trasgo_lib.utility.loss_rule import Coefficient, CorrelationLoss, PairLoss, correlation_loss_of
from trasgo_lib.utility.moments import PairMoments, Scores
from trasgo_lib.utility.pair_table import PairTable
from trasgo_lib.utility.whole_numbers import sums_of_pairs


def correlation_loss(
    original: Frame,
    released: Frame,
    features: Sequence[str] | None = None,
    method: str = "pearson",
    category_order: Mapping[str, Sequence[Any]] | None = None,
) -> CorrelationLoss:
    """How much of the correlations between columns a release lost, in percent.

    ``100 * mean |r_ij - r'_ij| / mean |r_ij|`` over the pairs of columns. Nulls are left out pair by pair. The order
    of the rows changes nothing, as long as both frames keep theirs.

    Args:
        original: pandas or pyarrow frame; private.
        released: frame of as many rows, with the same column names; other columns are not read.
        features: columns to correlate; None: all of the original's.
        method: ``pearson``, ``spearman`` (average ranks) or ``kendall`` (tau-b).
        category_order: labels in order, by column; a text column without one is coded by sorted label, and also
            measured by Cramer's V and the correlation ratio (``.association``).

    Returns:
        ``.percent``, ``.reliable``, ``.reason``, ``.per_column``; a percent that means nothing is None with a reason.

    Raises:
        ConfigError: an unknown method or a feature named twice.
        InputContractError: missing columns, unequal row counts or types, infinite numbers, unlisted labels.

    Source:
        trasgoDP documentation, "Privacy-utility trade-off metrics"; reliability: Fisher (1921); Fieller, Hartley and
        Pearson (1957) for ranks; Kendall (1938) for tau.
    """
    how = correlation_method(method)
    names = _features(original, features)
    order = category_order or {}
    before: dict[str, CodedColumn] = {}
    after: dict[str, CodedColumn] = {}
    labels = []
    for name in names:
        ours, theirs = read_frame_column(original, name, "original"), read_frame_column(released, name, "released")
        check_comparable(ours, theirs)
        before[name], after[name] = _code(ours, theirs, order.get(name))
        if "label" in (ours.kind, theirs.kind) and name not in order:
            labels.append(name)
    ours_all, theirs_all = _FrameStatistics(before, how, labels), _FrameStatistics(after, how, labels)
    pairs, associations = [], []
    for left, right in combinations(names, 2):
        pairs.append(PairLoss(left, right, ours_all.coefficient(left, right), theirs_all.coefficient(left, right)))
        if left in labels or right in labels:
            associations.append(
                PairLoss(left, right, ours_all.association(left, right), theirs_all.association(left, right))
            )
    return correlation_loss_of(
        names,
        pairs,
        associations,
        how,
        constant_before=ours_all.constant,
        constant_after=theirs_all.constant,
        labels=labels,
    )


def _features(original: Frame, features: Sequence[str] | None) -> list[str]:
    names = column_names(original) if features is None else list(features)
    if isinstance(features, str) or len(set(names)) != len(names):
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "features",
            required="a list of different column names",
            came=repr(features) if isinstance(features, str) else ", ".join(map(str, names)),
            fix="Name every column once.",
        )
    return names


def _code(ours: ReadColumn, theirs: ReadColumn, order: Sequence[Any] | None) -> tuple[CodedColumn, CodedColumn]:
    if order is not None or "label" in (ours.kind, theirs.kind):
        return code_labels(ours, theirs, order)
    return code_numbers(ours), code_numbers(theirs)


class _FrameStatistics:
    """Coefficients of one frame's coded columns."""

    def __init__(self, columns: Mapping[str, CodedColumn], method: CorrelationMethod, labels: Sequence[str]) -> None:
        self._columns = columns
        self._method = method
        self._labels = set(labels)
        self._scores: dict[str, Scores] = {}
        self._moments = self._known_moments() if method.of_moments is not None else {}

    def _known_moments(self) -> dict[tuple[str, str], PairMoments]:
        """Moments of all pairs of complete columns of small scores, taken in one pass."""
        short: dict[str, NDArray[np.unsignedinteger]] = {
            name: cast("NDArray[np.unsignedinteger]", column.scores)
            for name, column in self._columns.items()
            if column.present is None and column.scores.dtype.kind == "u"
        }
        found = sums_of_pairs([*short.values()])
        if found is None:
            return {}
        totals, sums = found
        places = list(enumerate(short.items()))
        return {
            (left, right): PairMoments(
                scores.size, totals[i], totals[j], int(sums[i, i]), int(sums[j, j]), int(sums[i, j])
            )
            for i, (left, scores) in places
            for j, (right, _) in places
        }

    def _moments_of(self, left: str, right: str) -> PairMoments:
        known = self._moments.get((left, right))
        return PairMoments.of(self._scores_of(left), self._scores_of(right)) if known is None else known

    def _scores_of(self, name: str) -> Scores:
        if name not in self._scores:
            self._scores[name] = Scores.of(self._columns[name].scores, self._columns[name].present)
        return self._scores[name]

    @property
    def constant(self) -> list[str]:
        """Columns without two different values."""
        return [name for name, column in self._columns.items() if _is_constant(column)]

    def coefficient(self, left: str, right: str) -> Coefficient:
        """The correlation of two columns."""
        if self._method.of_moments is not None:
            moments = self._moments_of(left, right)
            return Coefficient(self._method.of_moments(moments), moments.rows)
        table = self._table(left, right)
        return Coefficient(self._method.of_table(table), table.rows)

    def association(self, left: str, right: str) -> Coefficient:
        """Cramer's V of two label columns, the correlation ratio of a label and a number."""
        if left in self._labels and right in self._labels:
            table = self._table(left, right)
            return Coefficient(cramers_v(table), table.rows)
        table = self._table(left, right) if left in self._labels else self._table(right, left)
        return Coefficient(correlation_ratio(table), table.rows)

    def _table(self, left: str, right: str) -> PairTable:
        ours, theirs = self._columns[left], self._columns[right]
        return PairTable.count(ours.codes, theirs.codes, (ours.size, theirs.size))


def _is_constant(column: CodedColumn) -> bool:
    known = column.codes if column.present is None else column.codes[column.present]
    return known.size == 0 or bool(known.min() == known.max())
