"""Alias tables: exact sampling of integer weights from 64-bit words, in a fixed number of operations.

A table has ``2**b`` columns of equal capacity ``total >> b``. The first ``b`` bits of a draw choose a column, the other
bits decide between the column's own entry and its alias. Every weight is met exactly, because columns are filled in
integers. The number of words and of operations never depends on the outcome, so time says nothing about a draw.
Source: Walker 1977; the filling order is the sweep of Hübschle-Schneider and Sanders 2019 ("Parallel weighted random
sampling", section 4), here written with prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 2**15
"""Rows drawn at a time: words, columns and codes of a chunk stay in the second-level cache (measured 2 to 5 x)."""

_WORD_BITS = 64
_WORD = 2**64
_LOW_WORD = _WORD - 1


def _column_bits(entries: int) -> int:
    """The least number of bits that address every entry; at least 1, so that a capacity fits the word type."""
    return max(1, (entries - 1).bit_length())


def _fill_columns(
    weights: NDArray[Any], capacity: int, columns: int
) -> tuple[NDArray[Any], NDArray[np.int32]]:  # Any: uint64, or object holding Python integers
    """Own share and alias of every column, in exact integers.

    Light entries (below capacity) are topped up by heavy ones in index order. A heavy entry that sinks to its capacity
    or below is itself topped up by the next heavy one. Both orders follow from two prefix sums: the deficit of the
    light entries and the surplus of the heavy ones.
    """
    padded = np.zeros(columns, dtype=weights.dtype)
    padded[: len(weights)] = weights
    full = weights.dtype.type(capacity) if weights.dtype != object else capacity
    is_light = (padded < full).astype(np.bool_)
    light, heavy = np.flatnonzero(is_light), np.flatnonzero(~is_light)
    own = np.full(columns, full, dtype=weights.dtype)
    alias = np.arange(columns, dtype=np.int32)
    if not len(light):
        return own, alias
    deficit = np.cumsum(full - padded[light])  # below total: some column is heavy
    surplus = np.cumsum(padded[heavy] - full)
    before = np.concatenate([np.zeros(1, dtype=weights.dtype), deficit[:-1]])
    own[light] = padded[light]
    alias[light] = heavy[np.searchsorted(surplus, before, side="right")]
    meets = np.searchsorted(deficit, surplus, side="left")
    owed = deficit[meets] - surplus
    owed[surplus == 0] = 0  # heavy entries of exactly the capacity, before the first surplus, top up nobody
    own[heavy] = full - owed
    alias[heavy[:-1]] = heavy[1:]
    _check_columns(own, alias, full, padded)
    return own, alias


def _check_columns(own: NDArray[Any], alias: NDArray[np.int32], full: Any, weights: NDArray[Any]) -> None:
    """Add the columns up again: the certificate speaks about these very weights, so no table may differ from them.

    Raises:
        RuntimeError: a column is over-full, or an entry's shares do not sum to its weight.
    """
    realised = own.copy()
    np.add.at(realised, alias, full - own)  # uint64 sums wrap, hence the bound on every share
    if bool((own > full).any()) or not bool((realised == weights).all()):
        raise RuntimeError("an alias table does not realise its weights")


def _refuse_unless(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _last_own(own: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    """The last word that picks a column's own entry, the column's bits included: one comparison and no mask.

    A share of zero wraps to the last word of the column before, which no word of this column reaches; the first column
    never has a share of zero, because every weight is at least one and padding stands last.
    """
    start = np.arange(own.shape[-1], dtype=np.uint64) << np.uint64(_WORD_BITS - bits)
    return start + own - np.uint64(1)


def _interleave(alias: NDArray[np.int32]) -> NDArray[np.int32]:
    """``[2c]`` is the alias of column ``c`` and ``[2c + 1]`` its own entry: one look-up instead of a branch."""
    pairs = np.empty((*alias.shape[:-1], 2 * alias.shape[-1]), dtype=np.int32)
    pairs[..., 0::2] = alias
    pairs[..., 1::2] = np.arange(alias.shape[-1], dtype=np.int32)
    return pairs


def as_words(weights: Sequence[int] | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Weights as uint64[entries], checked: at least two entries, each at least 1, the sum exactly 2**64.

    Raises:
        ValueError: when a check fails.
    """
    words = np.asarray(weights, dtype=np.uint64)
    _refuse_unless(words.ndim == 1 and len(words) >= 2, "an alias table needs at least two weights")
    _refuse_unless(bool(words.min() >= 1), "every weight is at least 1")
    halves = int((words >> np.uint64(32)).sum()) * 2**32 + int((words & np.uint64(2**32 - 1)).sum())
    _refuse_unless(halves == _WORD, "weights sum to 2**64")
    return words


class AliasTable:
    """One row of weights that sums to 2**64; a draw takes one word.

    Args:
        weights: at least two integers >= 1 that sum to 2**64; public.

    Raises:
        ValueError: when the weights are not such a row.
    """

    __slots__ = ("_last", "_pairs", "_shift", "_size")

    def __init__(self, weights: Sequence[int] | NDArray[np.uint64]) -> None:
        words = as_words(weights)
        bits = _column_bits(len(words))
        own, alias = _fill_columns(words, 1 << (_WORD_BITS - bits), 1 << bits)
        self._size = len(words)
        self._shift = np.uint64(_WORD_BITS - bits)
        self._last = _last_own(own, bits)
        self._pairs = _interleave(alias)

    def draw(self, words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write the entries that the words pick: uint64[rows] -> ``out``, int32[rows]."""
        column = (words >> self._shift).view(np.int64)
        own = words <= self._last.take(column, mode="clip")  # "clip" skips a bounds check; columns are in range
        column += column
        column += own
        self._pairs.take(column, out=out, mode="clip")

    def weights(self) -> NDArray[np.uint64]:
        """The weights that the table realises, summed from its columns: uint64[entries]."""
        columns = len(self._last)
        start = np.arange(columns, dtype=np.uint64) << self._shift
        share = self._last + np.uint64(1) - start
        realised = share.copy()
        np.add.at(realised, self._pairs[0::2], (np.uint64(1) << self._shift) - share)
        return realised[: self._size]

    def columns(self) -> tuple[tuple[int, int], ...]:
        """Per column its own share and its alias, for known-answer tests and channel files."""
        start = np.arange(len(self._last), dtype=np.uint64) << self._shift
        share = self._last + np.uint64(1) - start
        return tuple(zip(share.tolist(), self._pairs[0::2].tolist(), strict=True))


class WideAliasTable:
    """One row of weights that sums to 2**128; a draw takes two words, the first one leading.

    Args:
        weights: at least two integers >= 1 that sum to 2**128; public.

    Raises:
        ValueError: when the weights are not such a row.
    """

    __slots__ = ("_high", "_low", "_pairs", "_shift", "_size")

    def __init__(self, weights: Sequence[int]) -> None:
        entries = np.array([int(weight) for weight in weights], dtype=object)
        _refuse_unless(len(entries) >= 2, "an alias table needs at least two weights")
        _refuse_unless(min(entries) >= 1, "every weight is at least 1")
        _refuse_unless(sum(entries) == _WORD * _WORD, "weights sum to 2**128")
        bits = _column_bits(len(entries))
        own, alias = _fill_columns(entries, 1 << (2 * _WORD_BITS - bits), 1 << bits)
        last = [(column << (2 * _WORD_BITS - bits)) + share - 1 for column, share in enumerate(own)]
        self._size = len(entries)
        self._shift = np.uint64(_WORD_BITS - bits)
        self._high = np.array([value >> _WORD_BITS for value in last], dtype=np.uint64)
        self._low = np.array([value & _LOW_WORD for value in last], dtype=np.uint64)
        self._pairs = _interleave(alias)

    def draw(self, words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write the entries that the words pick: uint64[2 * rows] -> ``out``, int32[rows]."""
        first, second = words[0::2], words[1::2]
        column = (first >> self._shift).view(np.int64)
        high = self._high.take(column, mode="clip")
        own = (first < high) | ((first == high) & (second <= self._low.take(column, mode="clip")))
        column += column
        column += own
        self._pairs.take(column, out=out, mode="clip")

    def weights(self) -> tuple[int, ...]:
        """The weights that the table realises, summed from its columns."""
        shift = int(self._shift) + _WORD_BITS
        realised = [0] * len(self._high)
        ends = zip(self._high.tolist(), self._low.tolist(), self._pairs[0::2].tolist(), strict=True)
        for column, (high, low, alias) in enumerate(ends):
            share = high * _WORD + low + 1 - (column << shift)
            realised[column] += share
            realised[alias] += (1 << shift) - share
        return tuple(realised[: self._size])


class DenseAlias:
    """One table per input code; a draw takes one word.

    Args:
        matrix: uint64[inputs, entries]; every row like the weights of an ``AliasTable``; public.

    Raises:
        ValueError: when a row is not such a row.
    """

    __slots__ = ("_columns", "_last", "_pairs", "_shift", "_size")

    def __init__(self, matrix: NDArray[np.uint64]) -> None:
        rows, self._size = matrix.shape
        bits = _column_bits(self._size)
        self._columns = 1 << bits
        own = np.empty((rows, self._columns), dtype=np.uint64)
        alias = np.empty((rows, self._columns), dtype=np.int32)
        for row in range(rows):
            own[row], alias[row] = _fill_columns(as_words(matrix[row]), 1 << (_WORD_BITS - bits), self._columns)
        self._shift = np.uint64(_WORD_BITS - bits)
        self._last = _last_own(own, bits).reshape(-1)
        self._pairs = _interleave(alias).reshape(-1)

    def draw(self, codes: NDArray[np.int32], words: NDArray[np.uint64], out: NDArray[np.int32]) -> None:
        """Write the entries that the words pick from each code's own table: int32[rows], uint64[rows] -> ``out``."""
        column = (words >> self._shift).view(np.int64)
        column += codes * np.int64(self._columns)
        own = words <= self._last.take(column, mode="clip")
        column += column
        column += own
        self._pairs.take(column, out=out, mode="clip")

    def weights(self, code: int) -> NDArray[np.uint64]:
        """The weights that one code's table realises: uint64[entries]."""
        place = slice(code * self._columns, (code + 1) * self._columns)
        start = np.arange(self._columns, dtype=np.uint64) << self._shift
        share = self._last[place] + np.uint64(1) - start
        realised = share.copy()
        np.add.at(realised, self._pairs[2 * place.start : 2 * place.stop : 2], (np.uint64(1) << self._shift) - share)
        return realised[: self._size]
