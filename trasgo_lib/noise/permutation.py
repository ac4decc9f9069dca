"""A uniform keyed permutation of rows, as a whole or bucket by bucket.

Rows are sorted by a 64-bit word each. So rows whose words begin with the same bits stand together, and the permutation
of a file larger than memory is that of its buckets, one after the other: the number of buckets changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise.keystream import Keystream

_WORD_BITS = 64
_MOST_BUCKET_BITS = 8
_SCAN_ROWS = 1 << 18
"""Words looked at together where rows tie; 2 MiB."""

Words = NDArray[np.uint64]


def permutation(keystream: Keystream, rows: int) -> NDArray[np.int64]:
    """Source row of every row of the shuffled file: int64[rows], a permutation of 0..rows-1.

    Rows are sorted by a 64-bit word each; rows with equal words are sorted by a second word, so the order in the source
    decides nothing (two rows tie in both with probability 2**-128). Every permutation is equally likely over keys.

    Args:
        keystream: a stream with the purpose ``permute``, used for nothing else.
        rows: number of rows, public, 0 or more.
    """
    return order_of_bucket(keystream, keystream.words(0, rows), rows)


def bucket_of(words: Words, bits: int) -> NDArray[np.uint8]:
    """The bucket of every row, by the first bits of its first word: uint8[rows], 0..2**bits - 1.

    Args:
        words: first words of some rows; row i of the source has word i of the stream.
        bits: how many bits, 0 to 8.

    Raises:
        ValueError: more bits.
    """
    if not 0 <= bits <= _MOST_BUCKET_BITS:
        raise ValueError(f"a bucket is told by at most {_MOST_BUCKET_BITS} bits")
    if bits == 0:
        return np.zeros(len(words), dtype=np.uint8)
    return (words >> np.uint64(_WORD_BITS - bits)).astype(np.uint8)


def order_of_bucket(keystream: Keystream, words: Words, rows: int) -> NDArray[np.int64]:
    """The order of one bucket's rows: int64[len(words)], places in ``words``; ``permutation`` is that of all rows.

    Args:
        keystream: the stream of the permutation.
        words: first words of the bucket's rows in source order; no row outside it has one of them.
        rows: number of rows of the whole file.
    """
    # the place of a row takes the low bits of its word, so that one sort of plain numbers, which is several times as
    # fast as a sort of places, gives the order but for the few rows whose words differ in those bits only
    low = np.uint64((1 << max(0, len(words) - 1).bit_length()) - 1)
    keys = (words & ~low) | np.arange(len(words), dtype=np.uint64)
    keys.sort()
    order = (keys & low).astype(np.int64)
    alike = np.flatnonzero((keys[1:] ^ keys[:-1]) <= low)
    if alike.size:
        spots = np.union1d(alike, alike + 1)
        order[spots] = _by_whole_words(keystream, words, order[spots], rows)
    return order


def _by_whole_words(keystream: Keystream, words: Words, places: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Places by rising word, and by second word where words are equal."""
    found = words[places]
    ranked = np.sort(found)
    tied = ranked[1:][ranked[1:] == ranked[:-1]]
    seconds = np.zeros(len(places), dtype=np.uint64)
    if tied.size:
        # second words come in source order, in which places of a bucket stand
        ours = np.flatnonzero(np.isin(words, tied))
        second = np.concatenate(list(_second_words(keystream, tied, rows)))
        known = np.isin(found, tied)
        seconds[known] = second[np.searchsorted(ours, places[known])]
    return places[np.lexsort((seconds, found))]


def _second_words(keystream: Keystream, tied: Words, rows: int) -> Iterator[Words]:
    """Second words of the rows that have one of the tied words, in source order; places are found by looking again."""
    for first in range(0, rows, _SCAN_ROWS):
        count = min(_SCAN_ROWS, rows - first)
        found = np.isin(keystream.words(first, count), tied)
        if found.any():
            yield keystream.words(rows + first, count)[found]
