"""Writers of the published data files: streaming, one row group a batch, the same bytes for the same codes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from trasgo_lib.data import ReleasedTable
from trasgo_lib.data.disk import create_private, writing
from trasgo_lib.release.decoding import released_batches, released_schema, require_released

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan


def write_parquet(path: Path, table: ReleasedTable, plan: ReleasePlan) -> Digested:
    """Write the published Parquet file: zstd, one row group a batch, column statistics, no frame metadata.

    Args:
        path: staged file, mode 0600; replaced when it exists.
        table: released codes and public values.
        plan: the compiled plan.

    Returns:
        Digest and length of the bytes that were written.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when its codes are not those of the plan.
        StoreError: the disk is full.
    """
    schema = released_schema(require_released(table, plan), plan)
    # page layout and statistics depend on nothing but the batches, and statistics are of released values
    with (
        create_staged(path) as stream,
        pq.ParquetWriter(stream, schema, version="2.6", compression="zstd", write_statistics=True) as writer,
    ):
        for batch in released_batches(table, plan):
            with writing(path.parent, batch.nbytes):
                writer.write_batch(batch, row_group_size=batch.num_rows)
    return stream.digested()


def write_csv(path: Path, table: ReleasedTable, plan: ReleasePlan) -> Digested:
    """Write the published CSV file: UTF-8, header, text quoted as in RFC 4180, an empty unquoted field for null.

    Args:
        path: staged file, mode 0600; replaced when it exists.
        table: released codes and public values.
        plan: the compiled plan.

    Returns:
        Digest and length of the bytes that were written.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when its codes are not those of the plan.
        StoreError: the disk is full.
    """
    schema = released_schema(require_released(table, plan), plan)
    options = pacsv.WriteOptions(include_header=True, quoting_style="needed")
    with create_staged(path) as stream, pacsv.CSVWriter(stream, schema, write_options=options) as writer:
        for batch in released_batches(table, plan):
            with writing(path.parent, batch.nbytes):
                writer.write_batch(batch)
    return stream.digested()


def read_parquet_batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a staged Parquet file as it will be published, one batch a row group."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group).combine_chunks().to_batches()


@dataclass(frozen=True, slots=True)
class Digested:
    """What went into a file: SHA-256 of its bytes, hex, and how many there are."""

    sha256: str
    bytes: int


class DigestingFile(io.RawIOBase):
    """A file that digests what is written to it, so that nothing needs to be read again.

    Args:
        stream: an opened file, written to from its start.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._bytes = 0

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, data: Any) -> int:
        """Write all of the data."""
        self._stream.write(data)
        self._digest.update(data)
        size = memoryview(data).nbytes
        self._bytes += size
        return size

    def tell(self) -> int:
        """Bytes written so far."""
        return self._bytes

    def flush(self) -> None:
        """Hand over to the system what was written."""
        if not self._stream.closed:
            self._stream.flush()

    def digested(self) -> Digested:
        """Digest and length of everything written."""
        return Digested(self._digest.hexdigest(), self._bytes)


@contextmanager
def create_staged(path: Path) -> Iterator[DigestingFile]:
    """A new file of mode 0600 at this path, whatever the umask; an older one is replaced.

    Staged files are released data, but stay unreadable to others until they are published.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with create_private(path) as stream:
        yield DigestingFile(stream)
