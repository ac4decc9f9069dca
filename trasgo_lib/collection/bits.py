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
    out = np.empty((len(rows), packed_bytes(slots)), dtype=np.uint8)
    step = max(1, _CHUNK_BYTES // (8 * words_per_row(slots)))
    for start in range(0, len(rows), step):
        out[start : start + step] = _chunk(keystream, rows[start : start + step], slots, threshold)
    return out


def set_own_bits(
    packed: Packed, keystream: Keystream, rows: NDArray[np.int64], places: NDArray[np.int32], slots: int, threshold: int
) -> None:
    """Draw the bit of each row's own slot anew, 1 with probability ``threshold / 2**64``, in place.

    Args:
        packed: as ``random_bits`` gave it for the same rows.
        keystream: the same stream.
        rows: int64[rows].
        places: int32[rows], each row's own slot; private.
        slots: bits a row.
        threshold: 0 to 2**64 - 1.
    """
    stride = words_per_row(slots)
    own = keystream.words_at(rows * stride + (stride - 1)) < np.uint64(threshold)
    byte, mask = places >> 3, (np.uint8(1) << (places & 7).astype(np.uint8)).astype(np.uint8)
    at = np.arange(len(rows)), byte
    packed[at] = (packed[at] & ~mask) | np.where(own, mask, np.uint8(0))


def _chunk(keystream: Keystream, rows: NDArray[np.int64], slots: int, threshold: int) -> Packed:
    stride = words_per_row(slots)
    if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        words = keystream.words(int(rows[0]) * stride, len(rows) * stride).reshape(len(rows), stride)
    else:
        words = keystream.words_at((rows[:, None] * stride + np.arange(stride)).ravel()).reshape(len(rows), stride)
    drawn = words.astype("<u8", copy=False).view(np.uint8)[:, :slots]
    first = np.uint8(threshold >> 56)
    bits = drawn < first
    tied_row, tied_bit = np.nonzero(drawn == first)
    if len(tied_row):
        ties = keystream.words_at(_TIES_FROM + rows[tied_row] * slots + tied_bit)
        bits[tied_row, tied_bit] = (ties & _LOW_56) < np.uint64(threshold & ((1 << 56) - 1))
    return np.packbits(bits, axis=1, bitorder="little")
