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

_PRODUCT_ROWS = 2**13
"""Rows multiplied at a time: eight columns of float64 fill half a second-level cache."""

_PAIR_ROWS = 2**19
"""Rows counted two by two at a time; fewer than a quarter of them are counted one by one."""

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


def narrowed(values: NDArray[Any]) -> NDArray[np.uint8] | NDArray[np.uint16] | None:
    """Whole numbers from 0 to 65535 in one or two bytes each; None as soon as one is something else.

    Bits are compared and not values, so -0.0 and NaN are something else, too.

    Args:
        values: int[rows] or float[rows]; private.
    """
    for kind in (np.uint8, np.uint16):
        found = _in_bytes_of(values, kind)
        if found is not None:
            return found
    return None


def _in_bytes_of(values: NDArray[Any], kind: type[np.uint8 | np.uint16]) -> NDArray[Any] | None:
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        return None
    if values.dtype.kind == "i" and values.size and values.min() < 0:
        return None  # -3 in one byte has the bits of 253
    bits = np.dtype(f"i{values.dtype.itemsize}")
    found = np.empty(values.size, dtype=kind)
    again = np.empty(min(values.size, CHUNK_ROWS), dtype=values.dtype)
    with np.errstate(invalid="ignore"):  # whatever a number that does not fit becomes, it is not that number
        for start in range(0, values.size, CHUNK_ROWS):
            part, room = values[start : start + CHUNK_ROWS], found[start : start + CHUNK_ROWS]
            np.copyto(room, part, casting="unsafe")
            back = again[: part.size]
            np.copyto(back, room)
            if not (back.view(bits) == part.view(bits)).all():
                return None
    return found


def narrow_kind(most: int) -> type[np.uint8 | np.uint16 | np.int64]:
    """The narrowest type in which codes up to ``most`` are kept."""
    return np.uint8 if most < 2**8 else np.uint16 if most < SHORT_RANGE else np.int64


def whole_scores(values: NDArray[Any]) -> NDArray[np.unsignedinteger] | None:
    """Distances from the least value, with the powers of two that all share taken out; None where that is no short way.

    Args:
        values: numbers without NaN, not empty; private.

    Returns:
        One or two bytes a row.
    """
    ends = short_range(values)
    if ends is None:
        return None
    scores: NDArray[np.unsignedinteger] = np.empty(values.size, dtype=narrow_kind(ends[1] - ends[0]))
    start = used = 0
    for part in offsets(values, ends[0]):
        if part is None:
            return None
        scores[start : start + part.size] = part
        used |= int(np.bitwise_or.reduce(part))
        start += part.size
    shift = (used & -used).bit_length() - 1
    if shift > 0:
        scores >>= scores.dtype.type(shift)
    return scores.astype(narrow_kind((ends[1] - ends[0]) >> max(0, shift)), copy=False)


def look_up(table: NDArray[Any], places: NDArray[np.integer]) -> NDArray[Any]:
    """``table[places]``, a chunk at a time; every place must be in the table."""
    found = np.empty(places.size, dtype=table.dtype)
    for start in range(0, places.size, CHUNK_ROWS):
        stop = start + CHUNK_ROWS
        table.take(places[start:stop], out=found[start:stop], mode="clip")  # "clip" spares a buffered copy
    return found


def count_bytes(values: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How often each byte occurs: int64[256].

    Two rows are counted as one number of two bytes, which halves the look-ups; its two bytes are then told apart.

    Args:
        values: private.
    """
    counts = np.zeros(2**8, dtype=np.int64)
    for start in range(0, values.size, _PAIR_ROWS):
        part = values[start : start + _PAIR_ROWS]
        even = part.size & ~1 if part.size >= _PAIR_ROWS // 4 else 0
        if even:
            grid = np.bincount(part[:even].view(np.uint16), minlength=2**16).reshape(2**8, 2**8)
            counts += grid.sum(axis=0) + grid.sum(axis=1)
        counts += np.bincount(part[even:], minlength=2**8)
    return counts


def count_whole(columns: Sequence[NDArray[Any]]) -> list[NDArray[np.int64]] | None:
    """How often each whole number between the ends of all columns occurs in each; None where that is no short way.

    Args:
        columns: numbers without NaN, none of them empty; private.
    """
    ends = short_range(*columns)
    if ends is None:
        return None
    counts = [_counted(values, ends[0], ends[1] - ends[0] + 1) for values in columns]
    known = [count for count in counts if count is not None]
    return known if len(known) == len(counts) else None


def _counted(values: NDArray[Any], least: int, size: int) -> NDArray[np.int64] | None:
    counts = np.zeros(size, dtype=np.int64)
    if values.dtype == np.uint8:
        first, stop = max(least, 0), min(least + size, 2**8)
        counts[first - least : stop - least] = count_bytes(np.ascontiguousarray(values))[first:stop]
        return counts
    for part in offsets(values, least):
        if part is None:
            return None
        counts += np.bincount(part, minlength=size)
    return counts


def sums_of_pairs(columns: Sequence[NDArray[np.unsignedinteger]]) -> tuple[list[int], NDArray[np.int64]] | None:
    """Exact sums of every column, and of the products of every two; None where they may not fit 64 bits.

    Chunks are multiplied as float64 matrices. Their sums stay below 2**53, so no order of adding can round them.

    Args:
        columns: scores of one or two bytes, of as many rows each; private.
    """
    rows = columns[0].size if columns else 0
    if rows.bit_length() + 2 * (SHORT_RANGE - 1).bit_length() > _SUM_BITS:
        return None
    totals = [int(column.sum(dtype=np.int64)) for column in columns]
    sums = np.zeros((len(columns), len(columns)), dtype=np.int64)
    room = np.empty((len(columns), min(rows, _PRODUCT_ROWS)), dtype=np.float64)
    for start in range(0, rows, _PRODUCT_ROWS):
        part = room[:, : min(rows - start, _PRODUCT_ROWS)]
        for place, column in enumerate(columns):
            part[place] = column[start : start + _PRODUCT_ROWS]
        sums += (part @ part.T).astype(np.int64)
    return totals, sums
