"""Columns of whole numbers in a short range, taken a chunk at a time: no sort, and nothing that leaves the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CHUNK_ROWS = 2**15
"""Rows taken at a time. A chunk's sums of products of 16-bit scores stay below 2**47, hence exact as floats."""

SHORT_RANGE = 2**16
"""Ranges shorter than this are their own codes."""

_EXACT = 2**53
"""Whole numbers up to here are float64 values."""

_SUM_BITS = 62


def short_range(*columns: NDArray[Any]) -> tuple[int, int] | None:
    """Least and largest value of all columns together when they may be whole numbers in a short range.

    Args:
        columns: numbers without NaN, none of them empty; private.

    Returns:
        None where the ends are not whole, not exact as float64, or too far apart.
    """
    ends = [(values.min().item(), values.max().item()) for values in columns]
    least, most = min(end[0] for end in ends), max(end[1] for end in ends)
    if not -_EXACT <= least <= most <= _EXACT or least != int(least) or most != int(most):
        return None
    return (int(least), int(most)) if most - least < SHORT_RANGE else None


def offsets(values: NDArray[Any], least: int) -> Iterator[NDArray[np.int64] | None]:
    """Chunk by chunk the distance from ``least``, int64[rows]; None instead of a chunk that holds a fraction.

    Args:
        values: numbers between the ends that ``short_range`` gave.
        least: the lower one of them.
    """
    for start in range(0, values.size, CHUNK_ROWS):
        part = values[start : start + CHUNK_ROWS]
        whole = part.astype(np.int64)
        if part.dtype.kind == "f" and not np.array_equal(whole, part):
            yield None
            return
        whole -= least
        yield whole


def whole_scores(values: NDArray[Any]) -> NDArray[np.int64] | None:
    """Distances from the least value, with the powers of two that all share taken out; None where that is no short way.

    Args:
        values: numbers without NaN, not empty; private.
    """
    ends = short_range(values)
    if ends is None:
        return None
    scores, start, used = np.empty(values.size, dtype=np.int64), 0, 0
    for part in offsets(values, ends[0]):
        if part is None:
            return None
        scores[start : start + part.size] = part
        used |= int(np.bitwise_or.reduce(part))
        start += part.size
    shift = (used & -used).bit_length() - 1
    if shift > 0:
        scores >>= shift
    return scores


def look_up(table: NDArray[np.int64], places: NDArray[np.integer]) -> NDArray[np.int64]:
    """``table[places]``, a chunk at a time; every place must be in the table."""
    found = np.empty(places.size, dtype=np.int64)
    for start in range(0, places.size, CHUNK_ROWS):
        stop = start + CHUNK_ROWS
        table.take(places[start:stop], out=found[start:stop], mode="clip")  # "clip" spares a buffered copy
    return found


def count_whole(columns: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]] | None:
    """How often each whole number between the ends of all columns occurs in each; None where that is no short way.

    Args:
        columns: numbers without NaN, none of them empty; private.
    """
    ends = short_range(*columns)
    if ends is None:
        return None
    counts = [np.zeros(ends[1] - ends[0] + 1, dtype=np.int64) for _ in columns]
    for values, count in zip(columns, counts, strict=True):
        for part in offsets(values, ends[0]):
            if part is None:
                return None
            count += np.bincount(part, minlength=count.size)
    return counts


def products_of_pairs(columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64] | None:
    """Exact sums of products of every two columns, int64[columns, columns]; None where they might not fit.

    Chunks are multiplied as float64 matrices. Their sums stay below 2**53, so no order of adding can round them.

    Args:
        columns: scores in ``0..SHORT_RANGE-1`` of as many rows each; private.
    """
    rows = columns[0].size if columns else 0
    if rows.bit_length() + 2 * (SHORT_RANGE - 1).bit_length() > _SUM_BITS:
        return None
    sums = np.zeros((len(columns), len(columns)), dtype=np.int64)
    for start in range(0, rows, CHUNK_ROWS):
        part = np.stack([column[start : start + CHUNK_ROWS] for column in columns]).astype(np.float64)
        sums += (part @ part.T).astype(np.int64)
    return sums
