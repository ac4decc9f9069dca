"""Counts of published rows, batch by batch: all that estimators need, in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import MISSING, NoisedColumn, Value
from trasgo_lib.errors import InputContractError, Reason

MOST_CELLS = 2**24
"""Counts of two columns jointly: 128 MB of them."""

MOST_GROUPS = 1000
"""More values of a public column than this are an identifier rather than groups."""

Counts = NDArray[np.int64]


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
            coded = pc.dictionary_encode(batch.column(public), null_encoding="encode")
            codes, places = column.encode(batch.column(column.name)), coded.indices.to_numpy(zero_copy_only=False)
            for place, value in enumerate(coded.dictionary.to_pylist()):
                counts = np.bincount(codes[places == place], minlength=column.channel.outputs)
                key = MISSING if value is None or value != value else value  # NaN differs from itself
                found[key] = found[key] + counts if key in found else counts
            if len(found) > MOST_GROUPS:
                raise _too_many(public, f"at most {MOST_GROUPS} values to group by", len(found))
        named = sorted((key for key in found if key is not MISSING), key=lambda key: (str(type(key)), key))
        return {key: found[key] for key in (*named, *((MISSING,) if MISSING in found else ()))}


def _too_many(where: str, required: str, came: int) -> InputContractError:
    return InputContractError.of(
        Reason.BAD_PARAMETER, where, required=required, came=f"{came} or more", fix="Ask about coarser columns."
    )
