"""How many rows each privacy unit has; its identifiers are counted and never stored, at most a keyed hash of them."""

from __future__ import annotations

import hmac

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.column_encoding import Batch
from trasgo_lib.data.input_report import ColumnCounts
from trasgo_lib.data.parse import CellRules, is_text, plain
from trasgo_lib.data.reading import ColumnReading
from trasgo_lib.errors import Fault, Reason

_COUNTS_KEPT_APART = 64
"""Batches counted before their counts are merged; merging each time would be quadratic in the number of units."""


class UnitRows:
    """Counts rows per unit, batch by batch.

    Args:
        column: the column with role ``unit``.
        rules: how its cells are written.
        max_rows: most rows a unit may have.
        types: what its file column is, in words; public.
        hash_key: secret key under which each row's unit is hashed; None where no hash is wanted.
    """

    def __init__(
        self, column: ColumnReading, rules: CellRules, max_rows: int, types: str, hash_key: bytes | None = None
    ) -> None:
        self._hash_key = hash_key
        self.column = column
        self._rules = rules
        self._max_rows = max_rows
        self._types = types
        self._counts: list[pa.Table] = []
        self._missing = 0
        self._wrong = 0

    def add(self, batch: Batch) -> NDArray[np.int64] | None:
        """Count the next rows, and give the hash of each one's unit where it is wanted: int64[rows], private."""
        ids = plain(batch[self.column.sources[0]])
        kind = ids.type
        if not (is_text(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
            self._wrong += len(ids)
            return None
        text = ids.cast(pa.string())
        trimmed = pc.utf8_trim_whitespace(text)
        missing = trimmed.is_null().to_numpy(zero_copy_only=False) | self._rules.missing.among_text(trimmed)
        self._missing += int(np.count_nonzero(missing))
        known = trimmed if self._rules.trim else text
        counted = pc.value_counts(pc.filter(known, pa.array(~missing)))
        self._counts.append(pa.table({"unit": counted.field("values"), "rows": counted.field("counts")}))
        if len(self._counts) >= _COUNTS_KEPT_APART:
            self._merge()
        return None if self._hash_key is None or missing.any() else _hashes(known, self._hash_key)

    def rows_per_unit(self) -> NDArray[np.int64]:
        """Rows of each unit, in no particular order: int64[units]; private."""
        self._merge()
        if not self._counts:
            return np.zeros(0, dtype=np.int64)
        rows: NDArray[np.int64] = self._counts[0].column("rows").to_numpy()
        return rows

    def faults(self) -> list[Fault]:
        """What is wrong with the column, with counts."""
        rows = self.rows_per_unit()
        over = rows[rows > self._max_rows]
        found = []
        if self._wrong:
            found.append(self._fault(Reason.WRONG_TYPE, "text or whole numbers", f"a {self._types}", self._wrong))
        if self._missing:
            found.append(self._fault(Reason.NULL_VALUE, "a unit in every row", "missing values", self._missing))
        if len(over):
            required, came = f"at most {self._max_rows} rows of one unit", "units with more"
            found.append(self._fault(Reason.TOO_MANY_ROWS_PER_UNIT, required, came, int(over.sum())))
        return found

    def counts(self) -> ColumnCounts:
        """How many identifiers were missing."""
        return ColumnCounts(self.column.name, self.column.role, self._missing, 0)

    def _merge(self) -> None:
        if len(self._counts) > 1:
            merged = pa.concat_tables(self._counts).group_by("unit").aggregate([("rows", "sum")])
            self._counts = [merged.rename_columns({"unit": "unit", "rows_sum": "rows"})]

    def _fault(self, reason: Reason, required: str, came: str, rows: int) -> Fault:
        fix = {
            Reason.WRONG_TYPE: "Convert the column.",
            Reason.NULL_VALUE: "Correct the data: a row without a unit cannot be protected as one.",
        }.get(reason, "Raise privacy.unit.max_rows (everything is charged that many times), or correct the data.")
        return Fault(reason=reason, where=self.column.name, required=required, came=came, fix=fix, rows=rows)


_HASH_BYTES = 8
"""Two units of a million share a hash with probability 3e-8; they then count as one, which bounds both, never less."""


def _hashes(names: pa.Array, key: bytes) -> NDArray[np.int64]:
    """HMAC-SHA256 of each name under a key, cut to 64 bits: int64[rows]."""
    coded = pc.dictionary_encode(names)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    digests = b"".join(
        hmac.digest(key, b"privacy unit:" + name.encode(), "sha256")[:_HASH_BYTES]
        for name in coded.dictionary.to_pylist()
    )
    hashes: NDArray[np.int64] = np.frombuffer(digests, dtype="<i8").astype(np.int64)
    rows: NDArray[np.int64] = hashes[coded.indices.to_numpy(zero_copy_only=False)]
    return rows
