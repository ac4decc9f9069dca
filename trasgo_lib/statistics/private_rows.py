"""The stored codes of a source as rows that queries count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import PrivateTable, read_batches, unit_hash_names


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a private table, read batch by batch.

    Args:
        table: references to the stored codes.
        key: account digest key, under which every batch is compared with what was stored; secret.
        unit: the privacy unit's column, or None where each row is one.
    """

    table: PrivateTable
    key: bytes
    unit: str | None = None

    @property
    def rows(self) -> int:
        """Number of rows; public."""
        return self.table.rows

    def batches(self, names: Sequence[str]) -> Iterator[Mapping[str, NDArray[np.int32]]]:
        """Codes of the named columns: int32[rows] each; private."""
        columns = [read_batches(self.table.unit(name), self.key) for name in names]
        for codes in zip(*columns, strict=True):
            yield dict(zip(names, codes, strict=True))

    def units(self) -> Iterator[NDArray[np.int64]]:
        """The keyed hash of each row's privacy unit, in the same batches: int64[rows]; private."""
        if self.unit is None:
            raise ValueError("rows without a unit column have no identifiers")
        halves = [read_batches(self.table.unit(name), self.key) for name in unit_hash_names(self.unit)]
        for first, second in zip(*halves, strict=True):
            pairs = np.ascontiguousarray(np.stack([first, second], axis=1).astype("<i4"))
            yield pairs.view("<i8").reshape(-1).astype(np.int64)
