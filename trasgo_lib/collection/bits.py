"""Independent noisy bits: the product channel behind unary codes, drawn from keyed words.

Bit ``j`` of row ``r`` is 1 with probability ``threshold / 2**64`` exactly. A byte of the row's words decides; where it
equals the threshold's first byte (1 bit in 256), 56 bits of a word of its own decide the rest. So one byte a bit is
drawn and all 64 bits of the threshold count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.noise import Keystream

WORD = 1 << 64
Packed = NDArray[np.uint8]
"""Rows of packed bits, bit ``j`` in byte ``j // 8`` from the low end; bits past the last slot are 0."""

_TIES_FROM = 1 << 59
"""Words from here on decide ties: word ``_TIES_FROM + row * slots + bit``."""

_CHUNK_BYTES = 1 << 19
"""Words of one chunk stay in the second-level cache."""

_LOW_56 = np.uint64((1 << 56) - 1)


def packed_bytes(slots: int) -> int:
    """Bytes of a report of so many bits."""
    return -(-slots // 8)


def words_per_row(slots: int) -> int:
    """64-bit words of a row: one byte a bit, and one word for the bit of the row's own slot."""
    return -(-slots // 8) + 1


def random_bits(keystream: Keystream, rows: NDArray[np.int64], slots: int, threshold: int) -> Packed:
    """Independent bits, each 1 with probability ``threshold / 2**64``: uint8[rows, bytes].

    Args:
        keystream: used for nothing else.
        rows: int64[rows], the global index of each; a row's bits depend on its index alone.
        slots: bits a row.
        threshold: 0 to 2**64 - 1.
    """
    return _draw(keystream, rows, slots, threshold, None)


def unary_bits(
    keystream: Keystream, rows: NDArray[np.int64], slots: int, other: int, places: NDArray[np.int32], own: int
) -> Packed:
    """Independent bits, of which that of each row's own slot has a probability of its own: uint8[rows, bytes].

    Args:
        keystream: used for nothing else.
        rows: int64[rows], the global index of each.
        slots: bits a row.
        other: weight of a 1 for all other slots, out of 2**64.
        places: int32[rows], each row's own slot; private.
        own: weight of a 1 for it.
    """
    return _draw(keystream, rows, slots, other, (places, own))


def _draw(
    keystream: Keystream,
    rows: NDArray[np.int64],
    slots: int,
    threshold: int,
    own: tuple[NDArray[np.int32], int] | None,
) -> Packed:
    out = np.empty((len(rows), packed_bytes(slots)), dtype=np.uint8)
    step = max(1, _CHUNK_BYTES // (8 * words_per_row(slots)))
    for start in range(0, len(rows), step):
        chunk, place = rows[start : start + step], out[start : start + step]
        words = _words(keystream, chunk, words_per_row(slots))
        place[:] = _compared(keystream, words, chunk, slots, threshold)
        if own is not None:
            _set_own(place, own[0][start : start + step], words[:, -1] < np.uint64(own[1]))
    return out


def _words(keystream: Keystream, rows: NDArray[np.int64], stride: int) -> NDArray[np.uint64]:
    """The words of each row: uint64[rows, stride]."""
    first = int(rows[0])
    if int(rows[-1]) - first == len(rows) - 1 and bool((rows[1:] - rows[:-1] == 1).all()):
        words = keystream.words(first * stride, len(rows) * stride)
    else:
        words = keystream.words_at((rows[:, None] * stride + np.arange(stride)).ravel())
    return words.astype("<u8", copy=False).reshape(len(rows), stride)


def _compared(
    keystream: Keystream, words: NDArray[np.uint64], rows: NDArray[np.int64], slots: int, threshold: int
) -> Packed:
    """Bytes below the threshold's first byte are ones; those that equal it are decided by words of their own."""
    drawn = words.view(np.uint8).ravel()
    first = np.uint8(threshold >> 56)
    # one bit a byte, whole words at a time; the last word of a row is cut off
    below = np.packbits(drawn < first, bitorder="little").reshape(len(rows), -1)[:, : packed_bytes(slots)]
    bits: Packed = np.ascontiguousarray(below)
    tied = np.packbits(drawn <= first, bitorder="little").reshape(len(rows), -1)[:, : packed_bytes(slots)] ^ bits
    last = np.uint8(0xFF >> (-slots % 8))
    bits[:, -1] &= last
    tied[:, -1] &= last
    flat = tied.ravel()
    at = np.flatnonzero(flat != 0)
    found = np.flatnonzero(np.unpackbits(flat[at], bitorder="little").view(np.bool_))
    row, column = np.divmod(at[found >> 3], tied.shape[1])
    bit = found & 7
    ties = keystream.words_at(_TIES_FROM + rows[row] * slots + 8 * column + bit)
    is_one = (ties & _LOW_56) < np.uint64(threshold & int(_LOW_56))
    np.bitwise_or.at(bits, (row[is_one], column[is_one]), (1 << bit[is_one]).astype(np.uint8))
    return bits


def _set_own(packed: Packed, places: NDArray[np.int32], is_one: NDArray[np.bool_]) -> None:
    """Write the bit of each row's own slot, in place."""
    mask = np.left_shift(1, places & 7).astype(np.uint8)
    at = np.arange(len(packed)), places >> 3
    packed[at] = (packed[at] & ~mask) | np.where(is_one, mask, np.uint8(0))
