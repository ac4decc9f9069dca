"""Cells to values of the declared type, whole columns at a time.

Text becomes a value only when all of it fits the declared form: types come from the declaration, never from a guess,
and a cell that does not fit is counted, never repaired. Arrow columns that already have a type must have the declared
one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.dates import DateFormat
from trasgo_lib.data.missing import MissingCodes
from trasgo_lib.data.numbers import NumberFormat

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Cells:
    """One column of one batch, parsed; private.

    Args:
        values: int64, float64, datetime64[D] or a text array, one entry a row; void where a mask is set.
        missing: bool[rows], no value.
        wrong: bool[rows], a value of another type.
        not_finite: bool[rows], infinite or not a number.
    """

    values: Any
    missing: Mask
    wrong: Mask
    not_finite: Mask

    @property
    def usable(self) -> Mask:
        """bool[rows]: rows that hold a value of the declared type."""
        return ~(self.missing | self.wrong | self.not_finite)


@dataclass(frozen=True, slots=True)
class CellRules:
    """How the cells of one column are written; public.

    Args:
        numbers: marks of numbers written as text.
        missing: what means "no value".
        trim: whether blanks around text are dropped.
        dates: how dates are written as text, or None when none is declared.
    """

    numbers: NumberFormat
    missing: MissingCodes
    trim: bool
    dates: DateFormat | None = None


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def plain(column: pa.Array) -> pa.Array:
    """The column without dictionary encoding."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def parse_number(column: pa.Array, rules: CellRules, *, from_text: bool) -> Cells:
    """Read a column declared as number.

    Args:
        column: text (CSV) or an Arrow number column (Parquet); private.
        rules: how cells are written.
        from_text: whether the source holds text only; a text column of a typed source has the wrong type.
    """
    column = plain(column)
    kind = column.type
    if from_text and is_text(kind):
        text, missing = _text_and_missing(column, rules)
        values, wrong = rules.numbers.parse(text)
        return _numbers(values, missing, wrong, rules)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return _numbers(_number_values(column), _mask(column.is_null()), _none(len(column)), rules)
    return _of_no_use(column)


def parse_date(column: pa.Array, rules: CellRules) -> Cells:
    """Read a column declared as date: text in the declared format, or an Arrow date or timestamp column.

    A timestamp with a time zone gives the day in that zone.
    """
    column = plain(column)
    kind = column.type
    if is_text(kind) and rules.dates is not None:
        text, missing = _text_and_missing(column, rules)
        days, wrong = rules.dates.parse(text)
        return Cells(days, missing, wrong, _none(len(column)))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        local = pc.local_timestamp(column) if pa.types.is_timestamp(kind) and kind.tz is not None else column
        days = local.to_numpy(zero_copy_only=False).astype("datetime64[D]")
        missing = rules.missing.among_text(pa.array(np.datetime_as_string(days))) | np.isnat(days)
        return Cells(days, missing, _none(len(column)), _none(len(column)))
    return _of_no_use(column)


def parse_category(column: pa.Array, rules: CellRules) -> Cells:
    """Read a column declared as category: text, or whole numbers and Booleans as the labels they are written as.

    A float column is taken when every value in it is whole, since other programs store whole numbers with gaps so.
    """
    column = plain(column)
    kind = column.type
    rows = len(column)
    if is_text(kind):
        text, missing = _text_and_missing(column, rules)
        return Cells(text, missing, _none(rows), _none(rows))
    if pa.types.is_floating(kind):
        floats = _number_values(column)
        null = _mask(column.is_null())
        whole = np.isfinite(floats) & (floats == np.rint(floats)) & (np.abs(floats) < 2.0**63)
        numbers = pa.array(np.where(whole, floats, 0.0).astype(np.int64)).cast(pa.string())
        missing = null | rules.missing.among_numbers(floats)
        return Cells(numbers, missing, np.isfinite(floats) & ~whole & ~missing, ~np.isfinite(floats) & ~missing)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        text, missing = _text_and_missing(column.cast(pa.string()), rules)
        return Cells(text, missing, _none(rows), _none(rows))
    return _of_no_use(column)


def _text_and_missing(column: pa.Array, rules: CellRules) -> tuple[pa.Array, Mask]:
    trimmed = pc.utf8_trim_whitespace(column.cast(pa.string()))
    missing = _mask(trimmed.is_null()) | rules.missing.among_text(trimmed)
    text = trimmed if rules.trim else column.cast(pa.string())
    return pc.if_else(pa.array(missing), pa.scalar(None, pa.string()), text), missing


def _number_values(column: pa.Array) -> NDArray[Any]:
    kind = column.type
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    values = column.fill_null(pa.scalar(0, kind) if not pa.types.is_float16(kind) else np.float16(0)).to_numpy()
    whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
    return np.asarray(values, dtype=np.int64 if whole else np.float64)


def _numbers(values: NDArray[Any], missing: Mask, wrong: Mask, rules: CellRules) -> Cells:
    missing = missing | (rules.missing.among_numbers(values) & ~wrong)
    not_finite = ~np.isfinite(values) & ~missing & ~wrong
    return Cells(values, missing, wrong, not_finite)


def _of_no_use(column: pa.Array) -> Cells:
    """A column of another type; an Arrow null column says nothing of its type and is missing throughout."""
    empty, full = _none(len(column)), np.ones(len(column), dtype=np.bool_)
    nothing = pa.types.is_null(column.type)
    return Cells(np.zeros(len(column)), full if nothing else empty, empty if nothing else full, empty)


def _none(rows: int) -> Mask:
    return np.zeros(rows, dtype=np.bool_)


def _mask(column: pa.Array) -> Mask:
    mask: Mask = column.to_numpy(zero_copy_only=False)
    return mask
