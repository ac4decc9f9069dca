"""Labels of one width, found among texts without hashing them: codes of occupations, regions and the like.

Bytes that all labels share are looked at in bulk: the bitwise OR and AND of many texts agree there exactly where all
texts do. Where the others lie within two bytes, these are a place in a table; else eight bytes mostly tell labels
apart, and multiplied they lead to a place that holds a code, whose label every byte is then compared with. So a guess
is never believed; what is not matched whole is left to the hash table, which takes several times as long.
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

_BLOCK_TEXTS = 2**8
"""Texts laid side by side where shared bytes are looked at: rows long enough for vector instructions."""

_MOST_BITS = 14
"""The largest table has 2**14 places: 128 KiB, a fraction of the second-level cache."""

_FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD)
"""Odd 64-bit multipliers in common use for hashing; any would do, since collisions are looked for."""

_WINDOWS = ("<u8", "<u4", "<u2", "u1")

_NARROW = ("u1", "<u2")
"""Windows whose words are places in a table themselves."""


@dataclass(frozen=True, slots=True)
class FixedTexts:
    """Distinct labels of one width, with the table that finds them.

    Args:
        width: bytes of every label, at least 1.
        rows: uint8[labels, width].
        differ: first byte in which labels differ, and the one after the last.
        at: first byte of the window that tells the labels apart.
        window: type of the words there.
        factor: odd multiplier of the window's word; 0 where the word itself is the place.
        shift: bits of the product that are dropped.
        guesses: int16[places], a code at each place; where no label leads, -1 for words, 0 for products.
    """

    width: int
    rows: NDArray[np.uint8] = field(repr=False)
    differ: tuple[int, int]
    at: int
    window: np.dtype[Any]
    factor: np.uint64
    shift: np.uint64
    guesses: NDArray[np.int16] = field(repr=False)

    @classmethod
    def of(cls, labels: Sequence[bytes]) -> Self | None:
        """The table of some labels; None where they differ in width, are too many, or no window tells them apart."""
        widths = {len(label) for label in labels}
        if not 0 < len(labels) <= MOST_LABELS or len(widths) != 1 or 0 in widths:
            return None
        width = widths.pop()
        rows = np.frombuffer(b"".join(labels), dtype=np.uint8).reshape(len(labels), width)
        places = np.flatnonzero((rows != rows[0]).any(axis=0)).tolist() or [0]
        first, last = places[0], places[-1] + 1
        for window in map(np.dtype, _NARROW):
            at = min(first, width - window.itemsize)
            if at >= 0 and last <= at + window.itemsize:
                guesses = np.full(1 << 8 * window.itemsize, -1, dtype=np.int16)
                guesses[_words(rows.data, 0, len(labels), width, at, window)] = np.arange(len(labels))
                return cls(width, rows, (first, last), at, window, np.uint64(0), np.uint64(0), guesses)
        window = _window_of(width)
        # from the end: codes mostly differ there
        for at in range(width - window.itemsize, -1, -1):
            words = _words(rows.data, 0, len(labels), width, at, window).astype(np.uint64)
            if np.unique(words).size == len(labels):
                return cls._with_products(width, rows, (first, last), at, window, words)
        return None

    @classmethod
    def _with_products(
        cls,
        width: int,
        rows: NDArray[np.uint8],
        differ: tuple[int, int],
        at: int,
        window: np.dtype[Any],
        words: NDArray[np.uint64],
    ) -> Self | None:
        for bits in range(max(1, (words.size - 1).bit_length()), _MOST_BITS + 1):
            for factor in map(np.uint64, _FACTORS):
                shift = np.uint64(64 - bits)
                places = (words * factor) >> shift
                if np.unique(places).size == words.size:
                    guesses = np.zeros(1 << bits, dtype=np.int16)
                    guesses[places] = np.arange(words.size)
                    return cls(width, rows, differ, at, window, factor, shift, guesses)
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
        room = np.empty(min(len(texts), _CHUNK_ROWS), dtype=offsets.dtype)
        for start in range(0, len(texts), _CHUNK_ROWS):
            ends = offsets[start : start + _CHUNK_ROWS + 1]
            widths = np.subtract(ends[1:], ends[:-1], out=room[: ends.size - 1])
            if not (widths == self.width).all():
                return None
        found = np.empty(len(texts), dtype=kind)
        return found if self._find(characters, int(offsets[0]), found) else None

    def _find(self, characters: Any, first: int, found: NDArray[Any]) -> bool:
        """As ``find``, in a buffer whose texts all have the width and start at a byte; whether all are labels."""
        shared = _SharedBytes(self.rows[0], self.differ)
        for start in range(0, found.size, _CHUNK_ROWS):
            part = found[start : start + _CHUNK_ROWS]
            here = first + start * self.width
            shared.look_at(np.frombuffer(characters, dtype=np.uint8, count=part.size * self.width, offset=here))
            words = _words(characters, here, part.size, self.width, self.at, self.window)
            if self.factor:
                guess = self._guessed(words, characters, here)
            else:
                guess = self.guesses.take(words.astype(np.intp), mode="clip")
            if guess is None or int(guess.min()) < 0:
                return False
            part[:] = guess
        return shared.agree()

    def _guessed(self, words: NDArray[Any], characters: Any, here: int) -> NDArray[np.int16] | None:
        """Codes by the products of words; None where one text is not the label of its code."""
        places = words.astype(np.uint64)
        places *= self.factor
        places >>= self.shift
        guess = self.guesses.take(places.view(np.int64), mode="clip")
        codes = guess.astype(np.intp)
        for at in self._covering():
            ours = _words(self.rows.data, 0, len(self.rows), self.width, at, self.window).copy()
            texts = words if at == self.at else _words(characters, here, words.size, self.width, at, self.window)
            if not np.array_equal(ours.take(codes, mode="clip"), texts):
                return None
        return guess

    def _covering(self) -> list[int]:
        """Where windows start that together cover every byte in which labels differ; they may overlap."""
        first, last = self.differ
        step = self.window.itemsize
        if self.at <= first and last <= self.at + step:
            return [self.at]
        end = max(step, last)
        return [*range(min(first, end - step), end - step, step), end - step]

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


class _SharedBytes:
    """Whether all texts have the bytes that labels share, told at the end of many looks.

    Args:
        label: uint8[width], one of the labels.
        differ: first byte in which labels differ, and the one after the last; those outside are shared.
    """

    def __init__(self, label: NDArray[np.uint8], differ: tuple[int, int]) -> None:
        self._label, self._differ = label, differ
        # a block of texts side by side: bits that some text has, and bits that every text has, this label among them
        self._some = np.tile(label, _BLOCK_TEXTS)
        self._every = self._some.copy()

    def look_at(self, texts: NDArray[np.uint8]) -> None:
        """Look at some whole texts: uint8[texts * width]."""
        if self._differ == (0, self._label.size):
            return
        whole = texts.size - texts.size % self._some.size
        for part, size in ((texts[:whole], self._some.size), (texts[whole:], self._label.size)):
            if part.size:
                grid = part.reshape(-1, size)
                self._some[:size] |= np.bitwise_or.reduce(grid, axis=0)
                self._every[:size] &= np.bitwise_and.reduce(grid, axis=0)

    def agree(self) -> bool:
        """Whether every text seen had all shared bytes."""
        first, last = self._differ
        sides = (side.reshape(_BLOCK_TEXTS, -1) for side in (self._some, self._every))
        return all(
            bool((side[:, :first] == self._label[:first]).all() and (side[:, last:] == self._label[last:]).all())
            for side in sides
        )


def _window_of(width: int) -> np.dtype[Any]:
    return next(kind for kind in map(np.dtype, _WINDOWS) if kind.itemsize <= width)


def _words(
    characters: Any, first: int, rows: int, width: int, at: int, window: np.dtype[Any]
) -> NDArray[np.unsignedinteger]:
    """The window at byte ``at`` of each text, as words that lie where they lie: a view of the buffer."""
    return np.ndarray((rows,), window, characters, first + at, (width,))


@lru_cache(maxsize=64)
def fixed_texts(labels: tuple[str, ...]) -> FixedTexts | None:
    """The table of declared labels in UTF-8, made once; None as for ``FixedTexts.of``.

    Args:
        labels: public and distinct.
    """
    return FixedTexts.of([label.encode("utf-8") for label in labels])
