"""The row order of a release: a keyed shuffle in memory or by buckets, and the cut into batches.

Rows that wait in memory are one bucket. More are scattered over files by the first bits of their words, and each file
is sorted by itself: the same permutation, since it is the order of the words (``trasgo_lib.noise.permutation``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from trasgo_lib.data.row_layout import RowLayout, take
from trasgo_lib.data.spool import BatchFile, Spool, batch_files
from trasgo_lib.noise import Keystream, bucket_of, order_of_bucket

BUCKET_BYTES = 2 << 20
"""Rows sorted together: some 50,000, since moving a text costs five times as much where these outgrow the cache."""

_MOST_BITS = 8
"""At most 256 buckets: each is an open file while rows are scattered."""

_SCATTER_ROWS = 1 << 16
"""Rows told apart by bucket together; as many as stay in the cache."""

_WAITING_BYTES = 48 << 20
"""Rows that wait, told apart, until each bucket gets its share in one write."""

_WORD_BYTES = 8
_WORD = "word"
"""Name of the column of words in a bucket; the others have numbers for names."""


def shuffled(spool: Spool, keystream: Keystream) -> Iterator[pa.RecordBatch]:
    """All rows of a source in the order of ``permutation``, a bucket at a time.

    Args:
        spool: the rows in source order; private.
        keystream: a stream with the purpose ``permute``, used for nothing else.

    Raises:
        StoreError: the disk is full.
    """
    layout = RowLayout.of(spool.schema, spool.with_missing)
    if not spool.is_on_disk:
        whole = _joined(list(spool.batches()))
        order = order_of_bucket(keystream, keystream.words(0, spool.rows), spool.rows)
        yield layout.unpack(take(layout.pack(whole), order))
        return
    bits = bucket_bits(spool.bytes + _WORD_BYTES * spool.rows)
    with batch_files(spool.make_folder(), 1 << bits) as files:
        _scatter(spool, keystream, layout, files, bits)
        spool.discard()
        for file in files:
            parts = list(file.batches())
            file.remove()
            if parts:
                bucket = _joined(parts)
                words = bucket.column(_WORD).to_numpy()
                order = order_of_bucket(keystream, words, spool.rows)
                yield layout.unpack(take(bucket.drop_columns([_WORD]), order))


def bucket_bits(size: int) -> int:
    """How many bits tell the buckets of so many bytes apart: 0 to 8."""
    return min(
        _MOST_BITS, max(0, size - 1).bit_length() - (BUCKET_BYTES - 1).bit_length() if size > BUCKET_BYTES else 0
    )


def _scatter(spool: Spool, keystream: Keystream, layout: RowLayout, files: list[BatchFile], bits: int) -> None:
    """Write each row, packed, and its word into the file of its bucket."""
    first = 0
    waiting: list[tuple[pa.RecordBatch, list[int]]] = []
    for batch in cut(spool.batches(), _SCATTER_ROWS):
        words = keystream.words(first, batch.num_rows)
        buckets = bucket_of(words, bits)
        order = np.argsort(buckets, kind="stable")  # within a bucket rows stay in source order
        ends = np.cumsum(np.bincount(buckets, minlength=len(files)))
        waiting.append((take(layout.pack(batch).append_column(_WORD, pa.array(words)), order), [0, *ends.tolist()]))
        first += batch.num_rows
        if sum(rows.nbytes for rows, _ in waiting) >= _WAITING_BYTES:
            _write(waiting, files)
            waiting.clear()
    _write(waiting, files)


def _write(waiting: list[tuple[pa.RecordBatch, list[int]]], files: list[BatchFile]) -> None:
    for place, file in enumerate(files):
        parts = [rows[ends[place] : ends[place + 1]] for rows, ends in waiting if ends[place + 1] > ends[place]]
        if parts:
            file.add(_joined(parts))


def cut(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of so many each; the last one may be shorter.

    Args:
        batches: of one schema, any sizes.
        rows: rows of each batch, at least 1.
    """
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count < rows:
            continue
        whole = _joined(waiting)
        ready = count - count % rows
        for start in range(0, ready, rows):
            yield whole.slice(start, rows)
        waiting, count = [whole.slice(ready)], count - ready
    if count:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
