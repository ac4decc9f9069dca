"""Columns read from frames as codes by rank and exact integer scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.fixed_texts import FixedTexts
from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.utility.frames import ReadColumn, refuse_infinite, wrong_type
from trasgo_lib.utility.whole_numbers import look_up, narrow_kind, whole_scores

_SAMPLE_ROWS = 4096
"""Rows in which the labels of a column are looked for; where a later row has another one, all rows are hashed."""

_MANTISSA_BITS = 53
"""Scores keep as many bits as a float64 does, so a column of whole numbers up to 2**53 is scored without rounding."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column ready to be correlated; private.

    Args:
        codes: int[rows] in the order of the values; ``size`` means missing; one or two bytes each where they fit.
        size: number of codes.
        scores: int[rows], proportional to value minus smallest value, likewise.
        present: bool[rows], or None where nothing is missing.
    """

    codes: NDArray[np.integer] = field(repr=False)
    size: int
    scores: NDArray[np.integer] = field(repr=False)
    present: NDArray[np.bool_] | None = field(repr=False)


def code_numbers(column: ReadColumn) -> CodedColumn:
    """Codes by rank and exact scores of numbers, Booleans or times.

    Raises:
        InputContractError: infinite numbers, with their count.
    """
    if column.narrow is not None:
        scores = whole_scores(column.narrow)
        if scores is not None:
            return CodedColumn(scores, int(scores.max()) + 1, scores, None)
    present = _present(column.values)
    values = _filled(column)
    scores = whole_scores(values) if values.size and column.kind != "empty" else None
    if scores is not None:
        size = int(scores.max()) + 1
        if column.values.null_count == 0:
            return CodedColumn(scores, size, scores, None)
        wide = scores.astype(np.int64)
        return CodedColumn(np.where(present, wide, size), size, np.where(present, wide, 0), present)
    known = values[present]
    if known.size == 0:
        nothing = np.zeros(values.size, dtype=np.int64)
        return CodedColumn(nothing + 1, 1, nothing, present)
    if values.dtype.kind == "f":
        refuse_infinite(known, column.name)
    exact = _scores(values, known)
    distinct, codes = np.unique(values, return_inverse=True)
    size, codes = distinct.size, codes.astype(np.int64, copy=False)
    if column.values.null_count == 0:
        return CodedColumn(codes, size, exact, None)
    return CodedColumn(np.where(present, codes, size), size, np.where(present, exact, 0), present)


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
    if order is None:
        fixed = _of_fixed_width(original, released)
        if fixed is not None:
            return fixed
    kind = (original if original.kind != "empty" else released).value_type
    sides = [_encoded(column.values, kind) for column in (original, released)]
    if order is None:
        listed = pa.concat_arrays([side.dictionary for side in sides]).unique()
        listed = listed.take(pc.sort_indices(listed))
    else:
        try:
            listed = pa.array(list(order)).cast(kind)
        except (pa.ArrowException, TypeError, ValueError):
            raise wrong_type(original.name, "a category order of another type than the column") from None
    return _code_labels(sides[0], listed, original.name), _code_labels(sides[1], listed, released.name)


def _encoded(values: pa.Array, kind: pa.DataType) -> pa.DictionaryArray:
    if isinstance(values, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(values.indices, values.dictionary.cast(kind))
    return values.cast(kind).dictionary_encode()


def _of_fixed_width(original: ReadColumn, released: ReadColumn) -> tuple[CodedColumn, CodedColumn] | None:
    """Codes of labels of one width that all occur in the first rows; None where they are something else."""
    sides = [column.values for column in (original, released)]
    table = table_of_sample(sides)
    if table is None:
        return None
    size = len(table.rows)
    codes = [table.find(side, narrow_kind(size)) for side in sides]
    if codes[0] is None or codes[1] is None:
        return None
    return CodedColumn(codes[0], size, codes[0], None), CodedColumn(codes[1], size, codes[1], None)


def table_of_sample(sides: Sequence[pa.Array]) -> FixedTexts | None:
    """The table of the texts in the first rows, in sorted order; None where texts are of several widths, or many.

    Args:
        sides: columns of labels; private.
    """
    if not all(pa.types.is_large_string(side.type) and len(side) and not side.null_count for side in sides):
        return None
    labels = pa.concat_arrays([side[:_SAMPLE_ROWS] for side in sides]).unique()
    return FixedTexts.of(sorted(label.encode("utf-8") for label in labels.to_pylist()))


def _code_labels(values: pa.DictionaryArray, listed: pa.Array, name: str) -> CodedColumn:
    present = _present(values) if values.null_count else None
    # table: int[own labels + 1], places in the list; the last one is that of missing values
    places = pc.index_in(values.dictionary, value_set=listed).fill_null(-1).to_numpy(zero_copy_only=False)
    table = np.append(places.astype(np.int64), len(listed))
    if table.min() >= 0:
        table = table.astype(narrow_kind(len(listed)))
    index = values.indices.cast(pa.int64()).fill_null(len(places)) if values.null_count else values.indices
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
    scores = codes if present is None else np.where(present, codes, 0)
    return CodedColumn(codes, len(listed), scores, present)
