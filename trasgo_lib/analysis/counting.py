"""Counts of published rows, batch by batch: all that estimators need, in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import MISSING, NoisedColumn, Value
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation import CodeRows

MOST_CELLS = 2**24
"""Counts of two columns jointly: 128 MB of them."""

MOST_GROUPS = 1000
"""More values of a public column than this are an identifier rather than groups."""

Counts = NDArray[np.int64]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class PublishedRows:
    """The data file of a release; read anew for every question, a batch at a time.

    Args:
        open: opens the Parquet file.
    """

    open: Callable[[], pa.NativeFile] = field(repr=False)

    def batches(self, names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The rows of some columns."""
        with self.open() as source, pq.ParquetFile(source) as file:
            yield from file.iter_batches(columns=list(names))

    def count(self, column: NoisedColumn) -> Counts:
        """Rows by published code: int64[outputs]."""
        counts = np.zeros(column.channel.outputs, dtype=np.int64)
        for batch in self.batches((column.name,)):
            counts += np.bincount(column.encode(batch.column(column.name)), minlength=len(counts))
        return counts

    def count_pairs(self, left: NoisedColumn, right: NoisedColumn) -> Counts:
        """Rows by pair of published codes: int64[left outputs, right outputs].

        Raises:
            InputContractError: more than 2**24 pairs.
        """
        shape = left.channel.outputs, right.channel.outputs
        if shape[0] * shape[1] > MOST_CELLS:
            raise _too_many(
                f"{left.name} and {right.name}", f"at most {MOST_CELLS} pairs of values", shape[0] * shape[1]
            )
        counts = np.zeros(shape[0] * shape[1], dtype=np.int64)
        for batch in self.batches((left.name, right.name)):
            ours, theirs = (column.encode(batch.column(column.name)) for column in (left, right))
            counts += np.bincount(ours.astype(np.int64) * shape[1] + theirs, minlength=len(counts))
        return counts.reshape(shape)

    def count_by(self, column: NoisedColumn, public: str) -> dict[Value, Counts]:
        """Rows by published code within each value of a public column, in the order of those values; nulls last.

        Raises:
            InputContractError: more than 1000 values.
        """
        found: dict[Value, Counts] = {}
        for batch in self.batches((column.name, public)):
            codes = column.encode(batch.column(column.name))
            for key, chosen in _groups(batch.column(public)):
                counts = np.bincount(codes[chosen], minlength=column.channel.outputs)
                found[key] = found[key] + counts if key in found else counts
            _require_groups(public, len(found))
        return _in_order(found)

    def rows_of(self, columns: Sequence[NoisedColumn]) -> CodeRows:
        """Released rows of several columns; takes four bytes a row and column where few rows are equal."""
        return self._rows_by(columns, None)[None]

    def rows_by(self, columns: Sequence[NoisedColumn], public: str) -> dict[Value, CodeRows]:
        """The same within each value of a public column, in the order of those values; nulls last.

        Raises:
            InputContractError: more than 1000 values.
        """
        return _in_order(self._rows_by(columns, public))

    def _rows_by(self, columns: Sequence[NoisedColumn], public: str | None) -> dict[Value, CodeRows]:
        sizes = [column.channel.outputs for column in columns]
        found: dict[Value, _Rows] = {}
        for batch in self.batches(
            tuple(dict.fromkeys((*(each.name for each in columns), *((public,) if public else ()))))
        ):
            codes = np.stack([column.encode(batch.column(column.name)) for column in columns], axis=1)
            groups = [(None, slice(None))] if public is None else _groups(batch.column(public))
            for key, chosen in groups:
                found.setdefault(key, _Rows(sizes)).add(codes[chosen])
            _require_groups(str(public), len(found))
        if public is None:
            found.setdefault(None, _Rows(sizes))
        return {key: rows.counted() for key, rows in found.items()}


class _Rows:
    """Rows as they come in, equal ones counted once while there is a whole number for every combination."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = tuple(sizes)
        self._few = prod(sizes) < 2**62
        self._parts: list[tuple[NDArray[np.integer], Counts]] = []
        self._waiting, self._merged = 0, _MERGE_AFTER

    def add(self, codes: NDArray[np.int32]) -> None:
        """Take rows: int32[rows, columns]."""
        if not self._few:
            self._parts.append((codes, np.ones(len(codes), dtype=np.int64)))
            return
        part = np.unique(np.ravel_multi_index(codes.T, self._sizes), return_counts=True)
        self._parts.append(part)
        self._waiting += len(part[0])
        if self._waiting > 2 * self._merged:
            self._merge()

    def counted(self) -> CodeRows:
        """All rows."""
        self._merge()
        if not self._parts:
            return CodeRows(np.zeros((0, len(self._sizes)), dtype=np.int32), np.zeros(0))
        codes, counts = self._parts[0]
        if self._few:
            codes = np.stack(np.unravel_index(codes, self._sizes), axis=1).astype(np.int32)
        return CodeRows(codes, counts.astype(np.float64))

    def _merge(self) -> None:
        if not self._parts:
            return
        codes, counts = (np.concatenate(each) for each in zip(*self._parts, strict=True))
        if self._few:
            codes, inverse = np.unique(codes, return_inverse=True)
            counts = np.bincount(inverse, weights=counts, minlength=len(codes)).astype(np.int64)
        self._parts = [(codes, counts)]
        self._waiting = self._merged = max(_MERGE_AFTER, len(codes))


_MERGE_AFTER = 2**20
"""Different rows that wait before they are merged with those counted already: 16 MB."""


def _groups(public: pa.Array) -> Iterator[tuple[Value, NDArray[np.bool_]]]:
    """The values of a public column and the rows that hold each; nulls and NaN are missing."""
    coded = pc.dictionary_encode(public, null_encoding="encode")
    places = coded.indices.to_numpy(zero_copy_only=False)
    for place, value in enumerate(coded.dictionary.to_pylist()):
        key = MISSING if value is None or value != value else value  # NaN differs from itself
        yield key, places == place


def _in_order(found: dict[Value, Found]) -> dict[Value, Found]:
    named: list[Any] = [key for key in found if key is not MISSING]
    named.sort(key=lambda key: (str(type(key)), key))
    return {key: found[key] for key in (*named, *((MISSING,) if MISSING in found else ()))}


def _require_groups(public: str, groups: int) -> None:
    if groups > MOST_GROUPS:
        raise _too_many(public, f"at most {MOST_GROUPS} values to group by", groups)


def _too_many(where: str, required: str, came: int) -> InputContractError:
    return InputContractError.of(
        Reason.BAD_PARAMETER, where, required=required, came=f"{came} or more", fix="Ask about coarser columns."
    )
