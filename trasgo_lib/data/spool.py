"""The rows of a source between reading and storing: in memory while they are few, else in one private file.

The row order needs the digest of the whole source, so no row can be stored before the last one was read. What waits
here is codes and public values, batch by batch in source order; it is removed as soon as the rows are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa

from trasgo_lib.data.disk import create_private, private_folder, writing
from trasgo_lib.errors import StoreError

MEMORY_BYTES = 64 << 20
"""Rows that are held in memory; more wait on the disk. It changes no order and no stored byte."""


class Spool:
    """Batches of one schema, kept in the order in which they came.

    ``schema`` is that of the batches, None before the first; ``with_missing`` holds the places of the columns in which
    one of them has a missing value.

    Args:
        folder: for files, made only when they are needed and removed at the end.
        memory_bytes: how much is held in memory; public.
    """

    def __init__(self, folder: Path, memory_bytes: int = MEMORY_BYTES) -> None:
        self.folder = folder
        self.rows = 0
        self.bytes = 0
        self.schema: pa.Schema = None
        self.with_missing: set[int] = set()
        self._memory_bytes = memory_bytes
        self._held: list[pa.RecordBatch] = []
        self._file: BatchFile | None = None
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()
        for folder in reversed(self._made):
            with suppress(OSError):  # it holds something else by now
                folder.rmdir()

    @property
    def is_on_disk(self) -> bool:
        """Whether there are too many rows for memory."""
        return self._file is not None

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep the next rows.

        Raises:
            StoreError: the disk is full.
        """
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        self.schema = batch.schema
        self.with_missing |= {place for place, column in enumerate(batch.columns) if column.null_count}
        if self._file is None and self.bytes > self._memory_bytes:
            self._file = BatchFile(self.make_folder() / "source.rows")
            for held in self._held:
                self._file.add(held)
            self._held.clear()
        if self._file is None:
            self._held.append(batch)
        else:
            self._file.add(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything that was added, in order."""
        if self._file is None:
            yield from self._held
        else:
            yield from self._file.batches()

    def discard(self) -> None:
        """Forget every row, on disk too."""
        self._held.clear()
        if self._file is not None:
            self._file.remove()

    def make_folder(self) -> Path:
        """The folder for files, made with those above it where they are absent."""
        absent = [folder for folder in (self.folder, *self.folder.parents) if not folder.exists()]
        self._made += reversed(absent)
        private_folder(self.folder)
        return self.folder


class BatchFile:
    """A private file of batches of one schema: written once, then read once.

    Args:
        path: the file; made when the first batch comes, mode 0600.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stream: BinaryIO | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the next rows.

        Raises:
            StoreError: the disk is full.
        """
        with writing(self.path.parent, batch.nbytes):
            if self._stream is None:
                self._stream = create_private(self.path)
                self._writer = pa.ipc.new_stream(self._stream, batch.schema)
            self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Everything that was written, in order; nothing can be added afterwards."""
        if self._stream is None:
            return
        self._close()
        with pa.OSFile(str(self.path)) as stream, pa.ipc.open_stream(stream) as reader:
            yield from reader

    def remove(self) -> None:
        """Delete the file."""
        with suppress(OSError, StoreError, pa.ArrowException):  # what was not written whole is not wanted
            self._close()
        self.path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._stream is not None and not self._stream.closed:
            with writing(self.path.parent, 0), self._stream:
                self._writer.close()


@contextmanager
def batch_files(folder: Path, count: int) -> Iterator[list[BatchFile]]:
    """So many private files of batches; all of them are removed at the end.

    Args:
        folder: where they stand; it exists.
        count: how many; each holds one open file while it is written.
    """
    with ExitStack() as stack:
        files = [BatchFile(folder / f"bucket-{number:05d}.rows") for number in range(count)]
        for file in files:
            stack.callback(file.remove)
        yield files
