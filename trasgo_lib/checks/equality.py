"""Whether two published data files hold the same rows: the CSV file read back as the Parquet file's types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self, TypeAlias

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from trasgo_lib.checks.report import CheckResult
from trasgo_lib.data.source_file import whole_line_ends

_BLOCK_BYTES = 1 << 22
"""CSV is read in blocks of this size, so memory does not grow with the file; no published row comes near it."""


DataSource: TypeAlias = Path | pa.NativeFile
"""A file on disk, or bytes that were fetched from a store."""


def csv_equals_parquet(csv_path: DataSource, parquet_path: DataSource) -> CheckResult:
    """Compare the two files row by row, column by column, exactly, nulls and empty texts apart.

    Args:
        csv_path: staged or published CSV file.
        parquet_path: the Parquet file beside it; its schema says how CSV cells are read.

    Returns:
        A result that counts rows and names differing columns; a file that cannot be read fails it.
    """
    try:
        with pq.ParquetFile(parquet_path) as parquet:
            rows, differing = _compare(csv_path, parquet)
        observed = f"{rows} equal rows" if not differing else "difference in " + ", ".join(sorted(differing))
        passed = not differing
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, OSError):
        # what Arrow says about a cell it cannot read would quote that cell
        observed, passed = "a file that cannot be read as the declared columns", False
    return CheckResult(
        name="csv_equals_parquet", column=None, passed=passed, observed=observed, limit="the same rows in both files"
    )


def parquet_equals_parquet(published_path: DataSource, redrawn_path: DataSource) -> CheckResult:
    """Compare two Parquet files row by row, column by column, exactly; how they are encoded does not matter.

    Args:
        published_path: the published file.
        redrawn_path: what a redraw gave.

    Returns:
        A result that counts rows and names differing columns; a file that cannot be read fails it.
    """
    try:
        with pq.ParquetFile(published_path) as published, pq.ParquetFile(redrawn_path) as redrawn:
            schema = published.schema_arrow
            if not schema.equals(redrawn.schema_arrow):
                rows, differing = 0, {"names or types of the columns"}
            else:
                rows, differing = _compare_rows(published.iter_batches(), redrawn.iter_batches(), schema)
        observed = f"{rows} equal rows" if not differing else "difference in " + ", ".join(sorted(differing))
        passed = not differing
    except (pa.ArrowException, OSError):
        observed, passed = "a file that cannot be read", False
    return CheckResult(
        name="parquet_equals_parquet", column=None, passed=passed, observed=observed, limit="the same rows in both"
    )


def _compare(csv_path: DataSource, parquet: pq.ParquetFile) -> tuple[int, set[str]]:
    schema = parquet.schema_arrow
    return _compare_rows(parquet.iter_batches(), read_csv_batches(csv_path, schema), schema)


def _compare_rows(
    left_batches: Iterator[pa.RecordBatch], right_batches: Iterator[pa.RecordBatch], schema: pa.Schema
) -> tuple[int, set[str]]:
    """Equal rows before the first difference, and the columns that differ there."""
    left, right = _Rows(left_batches, schema), _Rows(right_batches, schema)
    rows = 0
    while (count := min(left.ready(), right.ready())) > 0:
        ours, theirs = left.take(count), right.take(count)
        differing = {name for name in schema.names if not _same(ours.column(name), theirs.column(name))}
        if differing:
            return rows, differing
        rows += count
    return rows, {"the number of rows"} if left.ready() or right.ready() else set()


def read_csv_batches(path: DataSource, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A published CSV file as batches of the given types.

    An empty field without quotes is a null, a quoted one is empty text.

    Raises:
        pyarrow.ArrowInvalid: when the header or a cell does not fit the schema.
    """
    types = {field.name: field.type for field in schema}
    convert = pacsv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    reading = pacsv.ReadOptions(block_size=_BLOCK_BYTES)
    # in a file of one column a blank line is a null
    parsing = pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(schema) > 1)
    with (
        _CsvBytes(path) as blocks,
        pacsv.open_csv(blocks, read_options=reading, parse_options=parsing, convert_options=convert) as reader,
    ):
        try:
            if _header(reader) != schema.names:
                raise pa.ArrowInvalid("the CSV header differs from the declared columns")
            yield from reader
        finally:
            # Arrow reads ahead in threads of its own: none may still want this file when the command is over
            blocks.end()
            with suppress(pa.ArrowException, StopIteration):
                while True:
                    reader.read_next_batch()


class _CsvBytes:
    """A file as Arrow's CSV parser must be given it; see ``whole_line_ends``."""

    def __init__(self, source: DataSource) -> None:
        self._stream: BinaryIO | pa.NativeFile = source.open("rb") if isinstance(source, Path) else source
        self._is_ours = isinstance(source, Path)
        self._kept = b""
        self._is_over = False
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        if self._is_ours:
            self._stream.close()

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, empty only at the end."""
        if self._is_over:
            return b""
        block = self._kept + self._stream.read(size - len(self._kept) if size > 0 else size)
        taken = block[: whole_line_ends(block)]
        self._kept = block[len(taken) :]
        return taken

    def end(self) -> None:
        """Give nothing more."""
        self._is_over = True

    def close(self) -> None:
        """Called by Arrow; the file is closed by whoever opened it."""
        self.closed = True


def _header(reader: pacsv.CSVStreamingReader) -> list[str] | None:
    """The names in a CSV file's first line, or None where it is not UTF-8, which Arrow checks in cells only."""
    try:
        return list(reader.schema.names)
    except UnicodeDecodeError:
        return None


class _Rows:
    """Re-cuts an iterator of batches: takes any number of rows that are at hand."""

    def __init__(self, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
        self._batches = batches
        self._names = schema.names
        self._batch: pa.RecordBatch | None = None

    def ready(self) -> int:
        """Rows at hand, reading on when there are none; 0 at the end."""
        while self._batch is None or self._batch.num_rows == 0:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return 0
        return int(self._batch.num_rows)

    def take(self, count: int) -> pa.RecordBatch:
        """The next ``count`` rows; no more than ``ready`` said."""
        if self._batch is None:
            raise ValueError("no rows are at hand")
        taken, self._batch = self._batch.slice(0, count), self._batch.slice(count)
        return taken


def _same(ours: pa.Array, theirs: pa.Array) -> bool:
    if ours.equals(theirs):
        return True
    # NaN differs from itself; in a public column from a Parquet source it must still count as the same
    bits = _BITS.get(ours.type)
    return bits is not None and bool(ours.view(bits).equals(theirs.view(bits)))


_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
"""Integer type of the same width, by float type."""
