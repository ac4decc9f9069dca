"""Rows as single pieces of memory: the columns of fixed width of a batch side by side, so that a row moves in one go.

A row that moves costs a look into memory for each column otherwise, and the shuffle moves every row twice.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_FAST_WIDTHS = (1, 2, 4, 8, 16, 32)
"""Widths of a row that numpy moves by one instruction or two; wider ones are rounded up to words."""

_WORD_BYTES = 8
_BYTE_BITS = 8
_ROWS = "rows"
"""Name of the column of packed rows; the others keep theirs."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """Where each column of a batch stands in a packed row.

    Args:
        schema: of the batches.
        row: structured type of a packed row; its fields are named by the places of their columns.
        apart: places of the columns that are not packed: of varying width, of bits, or with missing values.
    """

    schema: pa.Schema
    row: np.dtype[Any] = field(repr=False)
    apart: tuple[int, ...]

    @classmethod
    def of(cls, schema: pa.Schema, with_missing: Collection[int]) -> RowLayout:
        """The layout of batches of a schema.

        Args:
            schema: of every batch.
            with_missing: places of the columns that have a missing value in some batch.
        """
        widths = {place: _byte_width(kind) for place, kind in enumerate(schema.types) if place not in with_missing}
        # wide ones first, so that each stands at a multiple of its width
        packed = sorted((place for place, width in widths.items() if width), key=lambda place: -widths[place])
        ends = np.cumsum([0, *(widths[place] for place in packed)]).tolist()
        row = np.dtype(
            {
                "names": [str(place) for place in packed],
                "formats": [_bits(widths[place]) for place in packed],
                "offsets": ends[:-1],
                "itemsize": _padded(ends[-1]),
            }
        )
        return cls(schema, row, tuple(place for place in range(len(schema.types)) if place not in packed))

    def pack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows, those columns packed; the packed column comes first."""
        columns = [batch.column(place) for place in self.apart]
        names = [self.schema.names[place] for place in self.apart]
        if self.row.names:
            rows = np.zeros(batch.num_rows, dtype=self.row)
            for name in self.row.names:
                rows[name] = _raw(batch.column(int(name)), self.row[name])
            columns, names = [as_column(rows), *columns], [_ROWS, *names]
        return pa.record_batch(columns, names=names)

    def unpack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as they were before :meth:`pack`."""
        columns = dict(zip(self.apart, batch.columns[1 if self.row.names else 0 :], strict=True))
        if self.row.names:
            rows = as_rows(batch.column(0), self.row)
            for name in self.row.names:
                held = pa.py_buffer(np.ascontiguousarray(rows[name]))
                columns[int(name)] = pa.Array.from_buffers(self.schema.types[int(name)], len(rows), [None, held])
        return pa.record_batch([columns[place] for place in range(len(columns))], schema=self.schema)


def take(batch: pa.RecordBatch, order: NDArray[np.int64]) -> pa.RecordBatch:
    """Rows in another order; columns of fixed width and without missing values by numpy, which is faster.

    Args:
        batch: packed rows, words, and columns that are apart.
        order: places in the batch, every one in range.
    """
    places = pa.array(order)
    return pa.record_batch([_taken(column, order, places) for column in batch.columns], names=batch.schema.names)


def _taken(column: pa.Array, order: NDArray[np.int64], places: pa.Array) -> pa.Array:
    width = 0 if column.null_count else _byte_width(column.type)
    if not width:
        return column.take(places)
    # "clip" spares a buffered copy
    rows = _raw(column, np.dtype((np.void, width))).take(order, mode="clip")
    return pa.Array.from_buffers(column.type, len(order), [None, pa.py_buffer(rows)])


def as_column(rows: NDArray[Any]) -> pa.Array:
    """Packed rows as an Arrow column of as many bytes each, without a copy."""
    return pa.Array.from_buffers(pa.binary(rows.dtype.itemsize), len(rows), [None, pa.py_buffer(rows)])


def as_rows(column: pa.Array, row: np.dtype[Any]) -> NDArray[Any]:
    """The opposite of :func:`as_column`."""
    return _raw(column, row)


def _raw(column: pa.Array, kind: np.dtype[Any]) -> NDArray[Any]:
    """The values of a column of fixed width as bits of that width, where they lie."""
    return np.frombuffer(column.buffers()[1], dtype=kind, count=len(column), offset=column.offset * kind.itemsize)


def _byte_width(kind: pa.DataType) -> int:
    """Bytes of each value; 0 for types of varying width and of bits."""
    is_plain = (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_temporal(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
    return int(kind.bit_width) // _BYTE_BITS if is_plain else 0


def _bits(width: int) -> str:
    return f"<u{width}" if width in (1, 2, 4, 8) else f"V{width}"


def _padded(width: int) -> int:
    fast = next((wide for wide in _FAST_WIDTHS if wide >= width), None)
    return -(-width // _WORD_BYTES) * _WORD_BYTES if fast is None else fast
