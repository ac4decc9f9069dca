"""Parquet files, read in batches; their types must be the declared ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa
from pyarrow import parquet

from trasgo_lib.data.header import ColumnMatch, match_header
from trasgo_lib.data.reading import SourceReading
from trasgo_lib.data.source_file import SourceFile, changed_while_read
from trasgo_lib.errors import Fault, InputContractError, Reason

_BATCH_ROWS = 1 << 16


class ParquetSource:
    """An opened Parquet file.

    Args:
        reading: what was declared.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: no readable file, or one that is not Parquet.
    """

    def __init__(self, reading: SourceReading, digest_key: bytes) -> None:
        self._name = reading.path.name
        self._file = SourceFile(reading.path, digest_key)
        try:
            self._digest = self._file.digest_whole()
            self._parquet = self._open()
        except InputContractError:
            self._file.close()
            raise
        schema = self._parquet.schema_arrow
        self._types = dict(zip(schema.names, schema.types))
        self.match: ColumnMatch = match_header(schema.names, reading)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def text_only(self) -> bool:
        """False: columns have types of their own."""
        return False

    @property
    def byte_order_mark(self) -> bool:
        """False: only text files have one."""
        return False

    @property
    def blank_lines(self) -> int:
        """Zero: only text files have lines."""
        return 0

    def column_type(self, name: str) -> str:
        """The column's Arrow type in words; public."""
        return f"Parquet column of type {self._types[name]}"

    def batches(self, names: Sequence[str]) -> Iterator[tuple[int, Mapping[str, pa.Array]]]:
        """Rows and cells of the named file columns, batch by batch; private.

        Raises:
            InputContractError: when a page of the file cannot be decoded.
        """
        try:
            for batch in self._parquet.iter_batches(batch_size=_BATCH_ROWS, columns=list(names)):
                yield batch.num_rows, {name: batch.column(name) for name in names}
            return
        except (OSError, ValueError, pa.ArrowException):
            pass  # Arrow's own error may quote what it could not decode
        raise self._unreadable("a file with pages that cannot be decoded")

    def finish(self) -> tuple[str, tuple[Fault, ...]]:
        """Keyed digest of the file (private), and no faults; after the last batch.

        Raises:
            InputContractError: when the file changed while it was read.
        """
        # Parquet is read here and there, so the bytes are digested before and after.
        if self._file.digest_whole() != self._digest:
            raise changed_while_read(self._file.path)
        return self._digest, ()

    def _open(self) -> Any:
        try:
            return parquet.ParquetFile(self._file.stream)
        except (OSError, ValueError, pa.ArrowException):
            pass
        raise self._unreadable("something that is not a Parquet file, or a part of one")

    def _unreadable(self, came: str) -> InputContractError:
        return InputContractError.of(
            Reason.FILE_UNREADABLE,
            f"source.path {self._name}",
            required="a complete Parquet file",
            came=came,
            fix="Check source.format, and that the file was written completely.",
        )
