"""Codes and public values on disk: one Arrow file a batch, readable by its owner only, with keyed digests.

Digests are HMAC-SHA256 under the account digest key, because a plain digest lets someone who knows all rows but one
test the last. The digest of a whole column does not depend on how it was cut into batches.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.batches import BatchRef
from trasgo_lib.data.disk import create_private, writing
from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.keys import KeyedDigest

CODE_COLUMN = "code"
CODE_BYTES = 4
"""A stored code is an int32."""

VALUE_COLUMN = "value"
_READABLE_STEM_CHARACTERS = 60
"""File names stay below the 255 bytes that every file system takes; the short digest keeps long names apart."""


class StoredColumn(Protocol):
    """Anything whose rows stand in consecutive batches."""

    @property
    def batches(self) -> tuple[BatchRef, ...]:
        """Consecutive batches from row 0."""


class CodesDigest:
    """Keyed digest of a column of codes, fed batch by batch.

    Args:
        key: account digest key, 32 secret bytes.
    """

    __slots__ = ("_digest",)

    def __init__(self, key: bytes) -> None:
        self._digest = KeyedDigest(key)

    def update(self, codes: NDArray[np.int32]) -> None:
        """Add the next rows: int32[rows]."""
        self._digest.update(np.ascontiguousarray(codes, dtype="<i4").tobytes())

    def hexdigest(self) -> str:
        """The digest of all rows so far, hex; private."""
        return self._digest.hexdigest()


class ValuesDigest:
    """Keyed digest of a column of public values, fed batch by batch.

    The text form of the values and their lengths (-1 for a missing value) are digested apart, so that neither moving a
    character from one row to the next nor the batching goes unnoticed or matters.

    Args:
        key: account digest key, 32 secret bytes.
    """

    __slots__ = ("_key", "_lengths", "_text")

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._lengths = KeyedDigest(key)
        self._text = KeyedDigest(key)

    def update(self, values: pa.Array) -> None:
        """Add the next rows: any Arrow type that casts to text."""
        text = values.cast(pa.large_string())
        lengths = pc.fill_null(pc.binary_length(text), -1).to_numpy(zero_copy_only=False)
        self._lengths.update(lengths.astype("<i8").tobytes())
        self._text.update(_joined(text.drop_null()))

    def hexdigest(self) -> str:
        """The digest of all rows so far, hex; private."""
        whole = KeyedDigest(self._key)
        whole.update(f"{self._lengths.hexdigest()}:{self._text.hexdigest()}".encode("ascii"))
        return whole.hexdigest()


def _joined(text: pa.Array) -> memoryview:
    """All bytes of a large_string array without missing values, one after the other."""
    _, offsets, characters = text.buffers()
    if characters is None or len(text) == 0:
        return memoryview(b"")
    ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return memoryview(characters)[ends[0] : ends[-1]]


def codes_digest(batches: Iterable[NDArray[np.int32]], key: bytes) -> str:
    """Keyed digest of all codes of a column, hex, whatever the batching; private.

    Args:
        batches: int32[rows] arrays in row order; private or released.
        key: account digest key, 32 secret bytes.
    """
    digest = CodesDigest(key)
    for codes in batches:
        digest.update(codes)
    return digest.hexdigest()


def values_digest(batches: Iterable[pa.Array], key: bytes) -> str:
    """Keyed digest of all values of a public column, hex, whatever the batching.

    Args:
        batches: Arrow arrays in row order.
        key: account digest key, 32 secret bytes.
    """
    digest = ValuesDigest(key)
    for values in batches:
        digest.update(values)
    return digest.hexdigest()


def write_batch(directory: Path, stem: str, first_row: int, codes: NDArray[np.int32], key: bytes) -> BatchRef:
    """Store one batch of codes; writing the same batch again replaces it whole.

    Args:
        directory: folder for work files; made with mode 0700 when absent.
        stem: name of the noise unit (any text; what a file name cannot hold is escaped); public.
        first_row: global index of the batch's first row.
        codes: int32[rows], at least one row; private or released.
        key: account digest key, 32 secret bytes.

    Raises:
        TypeError: when the codes are not a flat int32 array.
        ValueError: when there is no row.
    """
    if codes.dtype != np.int32 or codes.ndim != 1:
        raise TypeError("codes are a flat int32 array")
    return _write(directory, stem, first_row, CODE_COLUMN, pa.array(codes), codes_digest([codes], key))


def write_values(directory: Path, stem: str, first_row: int, values: pa.Array, key: bytes) -> BatchRef:
    """Store one batch of a public column; as ``write_batch``, for any Arrow type that casts to text."""
    return _write(directory, stem, first_row, VALUE_COLUMN, values, values_digest([values], key))


def _write(directory: Path, stem: str, first_row: int, column: str, values: pa.Array, digest: str) -> BatchRef:
    if len(values) == 0:
        raise ValueError("a batch has at least one row")
    path = directory / _file_name(stem, first_row)
    # Written beside its name and moved there: a reader never meets half a file, and a retry replaces a whole one.
    # Of two workers that draw the same, since one was taken for lost, each has a file of its own.
    partial = path.with_suffix(f".{platform.node()}-{os.getpid()}.partial")
    table = pa.record_batch([values], names=[column])
    with writing(directory, table.nbytes):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with create_private(partial) as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_batch(table)
        partial.replace(path)
    return BatchRef(path=str(path), first_row=first_row, rows=len(values), digest=digest)


def _file_name(stem: str, first_row: int) -> str:
    readable = quote(stem, safe="")[:_READABLE_STEM_CHARACTERS]
    return f"{readable}-{sha256(stem.encode('utf-8')).hexdigest()[:8]}-{first_row:015d}.arrow"


def read_batch(ref: BatchRef, key: bytes | None = None) -> NDArray[np.int32]:
    """The codes of one batch: int32[rows], not writable.

    Args:
        ref: where the batch stands.
        key: account digest key; when given, the digest is recomputed and compared.

    Raises:
        StoreError: when the file is absent or is not what was written.
    """
    column = _read(ref, CODE_COLUMN)
    if column.type != pa.int32() or column.null_count:
        raise _not_as_written(ref, Reason.DIGEST_MISMATCH)
    codes: NDArray[np.int32] = column.to_numpy()
    if key is not None and codes_digest([codes], key) != ref.digest:
        raise _not_as_written(ref, Reason.DIGEST_MISMATCH)
    return codes


def read_values(ref: BatchRef, key: bytes | None = None) -> pa.Array:
    """The values of one batch of a public column; as ``read_batch``."""
    values = _read(ref, VALUE_COLUMN)
    if key is not None and values_digest([values], key) != ref.digest:
        raise _not_as_written(ref, Reason.DIGEST_MISMATCH)
    return values


def read_batches(column: StoredColumn, key: bytes | None = None) -> Iterator[NDArray[np.int32]]:
    """All codes of a noise unit, batch by batch, in row order."""
    for ref in column.batches:
        yield read_batch(ref, key)


def remove_batches(column: StoredColumn) -> None:
    """Take the files of a draw off the disk; what is gone already is passed over.

    Args:
        column: a draw that a newer one of its unit supersedes; it can be drawn again from the key.
    """
    for ref in column.batches:
        Path(ref.path).unlink(missing_ok=True)


def read_codes(column: StoredColumn | Sequence[BatchRef], key: bytes | None = None) -> NDArray[np.int32]:
    """All codes of a noise unit at once: int32[rows]; for tests and small files, since it holds the whole column."""
    batches = column if isinstance(column, Sequence) else column.batches
    return np.concatenate([np.empty(0, dtype=np.int32), *(read_batch(ref, key) for ref in batches)])


def read_value_batches(column: StoredColumn, key: bytes | None = None) -> Iterator[pa.Array]:
    """All values of a public column, batch by batch, in row order."""
    for ref in column.batches:
        yield read_values(ref, key)


def _read(ref: BatchRef, column: str) -> pa.Array:
    reason = None
    try:
        with pa.OSFile(ref.path) as stream, pa.ipc.open_file(stream) as reader:
            table = reader.read_all()
    except FileNotFoundError:
        reason = Reason.MISSING_FILE
    except (pa.ArrowException, OSError):
        reason = Reason.DIGEST_MISMATCH
    # Raised outside the handler: the third-party error must not hang on ours as its context.
    if reason is not None:
        raise _not_as_written(ref, reason)
    if table.column_names != [column] or table.num_rows != ref.rows:
        raise _not_as_written(ref, Reason.DIGEST_MISMATCH)
    return table.column(0).combine_chunks()


def _not_as_written(ref: BatchRef, reason: Reason) -> StoreError:
    came = "no such file" if reason is Reason.MISSING_FILE else "a file that was changed after it was written"
    return StoreError.of(
        reason,
        ref.path,
        required="the batch that was stored there",
        came=came,
        fix="Run the release again; the same draws are made from the key.",
    )
