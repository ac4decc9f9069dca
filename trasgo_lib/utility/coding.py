"""Columns read from frames as codes by rank and exact integer scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.utility.frames import ReadColumn, refuse_infinite, wrong_type
from trasgo_lib.utility.whole_numbers import look_up, whole_scores

_MANTISSA_BITS = 53
"""Scores keep as many bits as a float64 does, so a column of whole numbers up to 2**53 is scored without rounding."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column ready to be correlated; private.

    Args:
        codes: int64[rows] in the order of the values; ``size`` means missing.
        size: number of codes.
        scores: int64[rows], proportional to value minus smallest value.
        present: bool[rows].
    """

    codes: NDArray[np.int64] = field(repr=False)
    size: int
    scores: NDArray[np.int64] = field(repr=False)
    present: NDArray[np.bool_] = field(repr=False)


def code_numbers(column: ReadColumn) -> CodedColumn:
    """Codes by rank and exact scores of numbers, Booleans or times.

    Raises:
        InputContractError: infinite numbers, with their count.
    """
    present = _present(column.values)
    values = _filled(column)
    scores = whole_scores(values) if values.size and column.kind != "empty" else None
    if scores is not None:
        size = int(scores.max()) + 1
        if column.values.null_count == 0:
            return CodedColumn(scores, size, scores, present)
        return CodedColumn(np.where(present, scores, size), size, np.where(present, scores, 0), present)
    known = values[present]
    if known.size == 0:
        nothing = np.zeros(values.size, dtype=np.int64)
        return CodedColumn(nothing + 1, 1, nothing, present)
    if values.dtype.kind == "f":
        refuse_infinite(known, column.name)
    scores = _scores(values, known)
    distinct, codes = np.unique(values, return_inverse=True)
    size, codes = distinct.size, codes.astype(np.int64, copy=False)
    return CodedColumn(np.where(present, codes, size), size, np.where(present, scores, 0), present)


def _present(values: pa.Array) -> NDArray[np.bool_]:
    if values.null_count == 0:
        return np.ones(len(values), dtype=np.bool_)
    return np.asarray(values.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _filled(column: ReadColumn) -> NDArray[Any]:
    """The values with a value of the column itself in place of missing ones, so that no score grows."""
    values = column.values.cast(pa.int8()) if column.kind == "boolean" else column.values
    if column.kind == "empty":
        return np.zeros(column.rows, dtype=np.int64)
    if values.null_count:
        values = values.fill_null(pc.min(values))
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _scores(values: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Value minus smallest value, as whole numbers below 2**53 of the largest unit that fits them all."""
    if values.dtype.kind in "iu":
        smallest, largest = int(known.min()), int(known.max())
        # modular 64-bit arithmetic: right for any span, also one that an int64 cannot hold
        wide = values.astype(np.uint64) - np.uint64(smallest % 2**64)
        scores = (wide >> np.uint64(max(0, (largest - smallest).bit_length() - _MANTISSA_BITS))).astype(np.int64)
    else:
        # halved first, since the span of two large numbers may overflow
        span = float(known.max()) / 2 - float(known.min()) / 2
        exponent = _MANTISSA_BITS - 2 - int(np.frexp(span)[1]) if span else 0
        scores = np.rint(np.ldexp(values, exponent) - np.ldexp(known.min(), exponent)).astype(np.int64)
    used = int(np.bitwise_or.reduce(scores))
    return scores >> ((used & -used).bit_length() - 1) if used else scores


def code_labels(
    original: ReadColumn, released: ReadColumn, order: Sequence[Any] | None
) -> tuple[CodedColumn, CodedColumn]:
    """Codes of labels, the same on both sides.

    Args:
        original: text, or any kind with a declared order.
        released: likewise.
        order: the labels in order, public; None: sorted.

    Raises:
        InputContractError: a value that the order does not list, with the count.
    """
    kind = original.values.type if original.kind != "empty" else released.values.type
    sides = [column.values.cast(kind).dictionary_encode() for column in (original, released)]
    if order is None:
        listed = pa.concat_arrays([side.dictionary for side in sides]).unique()
        listed = listed.take(pc.sort_indices(listed))
    else:
        try:
            listed = pa.array(list(order)).cast(kind)
        except (pa.ArrowException, TypeError, ValueError):
            raise wrong_type(original.name, "a category order of another type than the column") from None
    return _code_labels(sides[0], listed, original.name), _code_labels(sides[1], listed, released.name)


def _code_labels(values: pa.DictionaryArray, listed: pa.Array, name: str) -> CodedColumn:
    present = _present(values)
    # table: int64[own labels + 1], places in the list; the last one is that of missing values
    places = pc.index_in(values.dictionary, value_set=listed).fill_null(-1).to_numpy(zero_copy_only=False)
    table = np.append(places.astype(np.int64), len(listed))
    index = values.indices.fill_null(len(places)) if values.null_count else values.indices
    codes = look_up(table, index.to_numpy(zero_copy_only=False))
    unknown = int(np.count_nonzero(codes < 0)) if table.min() < 0 else 0
    if unknown:
        raise InputContractError.of(
            Reason.OUT_OF_DOMAIN,
            name,
            required="values that the category order lists",
            came="other values",
            fix="List every label in category_order.",
            rows=unknown,
        )
    scores = codes if values.null_count == 0 else np.where(present, codes, 0)
    return CodedColumn(codes, len(listed), scores, present)
