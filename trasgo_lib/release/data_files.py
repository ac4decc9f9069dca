"""Writers of the published data files: streaming, one row group a batch, the same bytes for the same codes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from trasgo_lib.data import ReleasedTable
from trasgo_lib.release.decoding import released_batches, released_schema, require_released

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan

_STAGED_MODE = 0o600
"""Staged files are released data, but stay unreadable to others until they are published."""


def write_parquet(path: Path, table: ReleasedTable, plan: ReleasePlan) -> None:
    """Write the published Parquet file: zstd, one row group a batch, column statistics, no frame metadata.

    Args:
        path: staged file, mode 0600; replaced when it exists.
        table: released codes and public values.
        plan: the compiled plan.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when its codes are not those of the plan.
    """
    schema = released_schema(require_released(table, plan), plan)
    # page layout and statistics depend on nothing but the batches, and statistics are of released values
    with (
        create_staged(path) as stream,
        pq.ParquetWriter(stream, schema, version="2.6", compression="zstd", write_statistics=True) as writer,
    ):
        for batch in released_batches(table, plan):
            writer.write_batch(batch, row_group_size=batch.num_rows)


def write_csv(path: Path, table: ReleasedTable, plan: ReleasePlan) -> None:
    """Write the published CSV file: UTF-8, header, text quoted as in RFC 4180, an empty unquoted field for null.

    Args:
        path: staged file, mode 0600; replaced when it exists.
        table: released codes and public values.
        plan: the compiled plan.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when its codes are not those of the plan.
    """
    schema = released_schema(require_released(table, plan), plan)
    options = pacsv.WriteOptions(include_header=True, quoting_style="needed")
    with create_staged(path) as stream, pacsv.CSVWriter(stream, schema, write_options=options) as writer:
        for batch in released_batches(table, plan):
            writer.write_batch(batch)


def read_parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a staged Parquet file as it will be published, one batch a row group."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group).combine_chunks().to_batches()


@contextmanager
def create_staged(path: Path) -> Iterator[BinaryIO]:
    """A new file of mode 0600 at this path, whatever the umask; an older one is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _STAGED_MODE)
    with os.fdopen(handle, "wb") as stream:
        yield stream
