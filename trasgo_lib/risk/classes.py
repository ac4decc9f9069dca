"""Classes: rows with the same values of some columns, counted while batches pass.

A class has one whole number, its values in mixed radix, the last column varying fastest. Counting holds 16 bytes a
distinct class, and up to 80 for a moment while counts are put together: at most 2**24 classes, 1.25 GiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.risk.columns import Readers, RiskColumn

MOST_COMBINATIONS = 2**62
"""Combinations of values that a class number can tell apart."""

MOST_CLASSES = 2**24
"""Distinct classes that are counted; more take more memory than an audit is worth."""

_DENSE_COMBINATIONS = 2**20
"""Up to here every combination has a counter of its own: 8 MiB."""

_LEAST_PENDING = 2**20
"""Classes that wait before they are put together with those counted so far."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classes:
    """Rows by class; private where the rows are.

    Args:
        keys: int64[classes], number of each class, rising.
        counts: int64[classes], its rows, at least 1.
    """

    keys: Integers = field(repr=False)
    counts: Integers = field(repr=False)

    @property
    def rows(self) -> int:
        """Rows of all classes."""
        return int(self.counts.sum())

    def values(self, columns: Sequence[RiskColumn]) -> list[NDArray[np.int32]]:
        """The values of each column, class by class: int32[classes] each.

        Args:
            columns: those that the classes were counted over, in the same order.
        """
        found: list[NDArray[np.int32]] = []
        rest = self.keys
        for column in reversed(columns):
            rest, value = np.divmod(rest, column.size)
            found.append(value.astype(np.int32))
        return found[::-1]


class ClassCounts:
    """Counting under way.

    Args:
        combinations: how many different keys there can be.
    """

    def __init__(self, combinations: int) -> None:
        self._dense = np.zeros(combinations, np.int64) if combinations <= _DENSE_COMBINATIONS else None
        self._whole = Classes(np.empty(0, np.int64), np.empty(0, np.int64))
        self._pending: list[tuple[Integers, Integers]] = []
        self._waiting = 0

    def add(self, keys: Integers) -> None:
        """Count the classes of some rows: int64[rows].

        Raises:
            InputContractError: too many distinct classes.
        """
        if self._dense is not None:
            self._dense += np.bincount(keys, minlength=len(self._dense))
            return
        found, counts = np.unique(keys, return_counts=True)
        self._pending.append((found, counts))
        self._waiting += len(found)
        # merged when as many wait as are known, so that every class is sorted a few times only
        if self._waiting > max(_LEAST_PENDING, len(self._whole.keys)):
            self._merge()

    def classes(self) -> Classes:
        """All rows so far by class.

        Raises:
            InputContractError: too many distinct classes.
        """
        if self._dense is not None:
            keys = np.flatnonzero(self._dense)
            return Classes(keys, self._dense[keys])
        self._merge()
        return self._whole

    def _merge(self) -> None:
        keys = np.concatenate([self._whole.keys, *(found for found, _ in self._pending)])
        counts = np.concatenate([self._whole.counts, *(rows for _, rows in self._pending)])
        # let go before the sort, which needs the room
        self._whole, self._pending, self._waiting = Classes(keys[:0], counts[:0]), [], 0
        if len(keys):
            order = np.argsort(keys, kind="stable")
            keys, counts = keys[order], counts[order]
            starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
            keys, counts = keys[starts], np.add.reduceat(counts, starts)
        if len(keys) > MOST_CLASSES:
            raise _too_many(f"at most {MOST_CLASSES} distinct classes")
        self._whole = Classes(keys, counts)


def count_classes(readers: Readers, columns: Sequence[RiskColumn]) -> Classes:
    """Rows by their values of some columns.

    Args:
        readers: how one version is read.
        columns: at least one.

    Raises:
        InputContractError: too many combinations or distinct classes; without a count.
    """
    counts = ClassCounts(_combinations(columns))
    for keys in class_keys(readers, columns):
        counts.add(keys)
    return counts.classes()


def class_keys(readers: Readers, columns: Sequence[RiskColumn]) -> Iterator[Integers]:
    """The class of every row, batch by batch: int64[rows].

    Raises:
        InputContractError: too many combinations.
    """
    _combinations(columns)
    sources = list(dict.fromkeys(column.source for column in columns))
    for batch in zip(*(readers[source]() for source in sources), strict=True):
        codes = dict(zip(sources, batch, strict=True))
        keys = np.zeros(len(batch[0]), dtype=np.int64)
        for column in columns:
            keys *= column.size
            keys += column.places[codes[column.source]]
        yield keys


def _combinations(columns: Sequence[RiskColumn]) -> int:
    combinations = prod(column.size for column in columns)
    if combinations > MOST_COMBINATIONS:
        raise _too_many("at most 2**62 combinations of values")
    return combinations


def _too_many(required: str) -> InputContractError:
    return InputContractError.of(
        Reason.BAD_PARAMETER,
        "risk",
        required=required,
        came="more",
        fix="Declare risk.bins, or fewer quasi-identifiers.",
    )
