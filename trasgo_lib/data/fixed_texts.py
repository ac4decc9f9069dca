"""Labels of one width, found among texts without hashing them: codes of occupations, regions and the like.

Where all labels take the same number of bytes, eight of these bytes mostly tell them apart. Multiplied, they lead to a
place in a small table that holds a code; every byte of the text is then compared with the label of that code, so a
guess is never believed. It takes half the time of hashing, and what is not matched whole is left to the hash table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

MOST_LABELS = 512
"""More labels rarely fit a table without two of them in one place."""

_CHUNK_ROWS = 2**15
"""Rows matched at a time, so that what lies between stays in the cache."""

_MOST_BITS = 14
"""The largest table has 2**14 places: 128 KiB, a fraction of the second-level cache."""

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD)
"""Odd 64-bit multipliers in common use for hashing; any would do, since collisions are looked for."""

_WINDOWS = ("<u8", "<u4", "<u2", "u1")


@dataclass(frozen=True, slots=True)
class FixedTexts:
    """Distinct labels of one width, with the table that finds them.

    Args:
        width: bytes of every label, at least 1.
        rows: uint8[labels, width].
        at: first byte of the window that tells the labels apart.
        factor: odd multiplier of the window's word.
        shift: bits of the product that are dropped.
        guesses: int64[places], a code at each place; 0 where no label leads.
    """

    width: int
    rows: NDArray[np.uint8] = field(repr=False)
    at: int
    factor: np.uint64
    shift: np.uint64
    guesses: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, labels: Sequence[bytes]) -> Self | None:
        """The table of some labels; None where they differ in width, are too many, or no window tells them apart."""
        widths = {len(label) for label in labels}
        if not 0 < len(labels) <= MOST_LABELS or len(widths) != 1 or 0 in widths:
            return None
        width = widths.pop()
        rows = np.frombuffer(b"".join(labels), dtype=np.uint8).reshape(len(labels), width)
        kind = _window_of(width)
        # from the end: codes mostly differ there
        for at in range(width - kind.itemsize, -1, -1):
            words = _words(rows.data, 0, len(labels), width, at).astype(np.uint64)
            if np.unique(words).size == len(labels):
                return cls._with_table(width, rows, at, words)
        return None

    @classmethod
    def _with_table(cls, width: int, rows: NDArray[np.uint8], at: int, words: NDArray[np.uint64]) -> Self | None:
        for bits in range(max(1, (words.size - 1).bit_length()), _MOST_BITS + 1):
            for factor in map(np.uint64, _FACTORS):
                shift = np.uint64(64 - bits)
                places = (words * factor) >> shift
                if np.unique(places).size == words.size:
                    guesses = np.zeros(1 << bits, dtype=np.int64)
                    guesses[places] = np.arange(words.size)
                    return cls(width, rows, at, factor, shift, guesses)
        return None

    def find(self, texts: pa.Array, kind: type[np.integer] = np.int32) -> NDArray[Any] | None:
        """The code of each text: int[rows]; None when one of them is not among the labels, or takes another width.

        Args:
            texts: pyarrow ``string`` or ``large_string`` array without missing values; private.
            kind: type of the codes, which must be able to hold them.
        """
        _, ends, characters = texts.buffers()
        offsets = np.frombuffer(ends, dtype=np.int64 if texts.type == "large_string" else np.int32)
        offsets = offsets[texts.offset : texts.offset + len(texts) + 1]
        if len(texts) == 0 or int(offsets[-1] - offsets[0]) != self.width * len(texts):
            return None
        for start in range(0, len(texts), _CHUNK_ROWS):
            widths = np.diff(offsets[start : start + _CHUNK_ROWS + 1])
            if widths.min() != self.width or widths.max() != self.width:
                return None
        found = np.empty(len(texts), dtype=kind)
        return found if self._find(characters, int(offsets[0]), found) else None

    def _find(self, characters: Any, first: int, found: NDArray[Any]) -> bool:
        """As ``find``, in a buffer whose texts all have the width and start at a byte; whether all are labels."""
        windows = [(at, _words(self.rows.data, 0, len(self.rows), self.width, at).copy()) for at in self._covering()]
        for start in range(0, found.size, _CHUNK_ROWS):
            part = found[start : start + _CHUNK_ROWS]
            here = first + start * self.width
            places = _words(characters, here, part.size, self.width, self.at).astype(np.uint64)
            places *= self.factor
            places >>= self.shift
            guess = self.guesses.take(places.view(np.int64), mode="clip")
            for at, words in windows:
                if not np.array_equal(
                    words.take(guess, mode="clip"), _words(characters, here, part.size, self.width, at)
                ):
                    return False
            part[:] = guess
        return True

    def _covering(self) -> range | list[int]:
        """Where windows start that together cover every byte; the last two may overlap."""
        step = _window_of(self.width).itemsize
        return [*range(0, self.width - step, step), self.width - step]

    def texts(self, codes: NDArray[np.integer]) -> pa.Array | None:
        """The labels of codes as a pyarrow ``string`` array; None where its offsets would not fit 32 bits.

        Args:
            codes: int[rows], every one of them a label's.
        """
        import pyarrow as pa

        size = self.width * codes.size
        if size >= 2**31:
            return None
        characters = pa.allocate_buffer(size)
        if size:
            whole = np.dtype((np.void, self.width))
            self.rows.view(whole).reshape(-1).take(codes, out=np.frombuffer(characters, dtype=whole), mode="clip")
        offsets = np.arange(0, size + 1, self.width, dtype=np.int32)
        return pa.Array.from_buffers(pa.string(), codes.size, [None, pa.py_buffer(offsets), characters])


def _window_of(width: int) -> np.dtype[Any]:
    return next(kind for kind in map(np.dtype, _WINDOWS) if kind.itemsize <= width)


def _words(characters: Any, first: int, rows: int, width: int, at: int) -> NDArray[np.unsignedinteger]:
    """The window at byte ``at`` of each text, as words that lie where they lie: a view of the buffer."""
    return np.ndarray((rows,), _window_of(width), characters, first + at, (width,))


@lru_cache(maxsize=64)
def fixed_texts(labels: tuple[str, ...]) -> FixedTexts | None:
    """The table of declared labels in UTF-8, made once; None as for ``FixedTexts.of``.

    Args:
        labels: public and distinct.
    """
    return FixedTexts.of([label.encode("utf-8") for label in labels])
