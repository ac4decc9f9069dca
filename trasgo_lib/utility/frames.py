"""Reading columns of pandas or pyarrow frames, and refusing to compare what cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.utility.whole_numbers import narrowed

if TYPE_CHECKING:
    import pandas as pd

Frame: TypeAlias = "pd.DataFrame | pa.Table | pa.RecordBatch"
"""A frame of either library; only the columns asked for are read."""

Column: TypeAlias = "pd.Series | pa.Array | pa.ChunkedArray | NDArray[Any] | Sequence[Any]"
"""One column of either library, or any sequence; None and NaN are missing."""

ValueKind = Literal["number", "boolean", "label", "time", "empty"]


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """One column read from a frame; private.

    Args:
        name: for errors.
        kind: number, boolean, label, time, or empty where there is no value at all.
        values: pyarrow array without chunks; times as int64 microseconds, nulls where missing; labels that came as a
            dictionary stay one where it lists each of its labels once.
        narrow: numbers without a missing one that are whole and from 0 to 65535, in one or two bytes each; else None.
    """

    name: str
    kind: ValueKind
    values: pa.Array = field(repr=False)
    narrow: NDArray[np.uint8] | NDArray[np.uint16] | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """Number of rows, missing ones included."""
        return len(self.values)

    @property
    def value_type(self) -> pa.DataType:
        """Type of the values, of a dictionary that of its labels."""
        kind = self.values.type
        return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_frame_column(frame: Frame, name: str, side: str) -> ReadColumn:
    """Read one column of a frame.

    Args:
        frame: pandas or pyarrow frame.
        name: the column.
        side: ``original`` or ``released``, for errors.

    Raises:
        InputContractError: a column that is absent or there twice, or holds something else than one type of values.
    """
    names = column_names(frame)
    if names.count(name) != 1:
        raise InputContractError.of(
            Reason.DUPLICATE_COLUMN if name in names else Reason.MISSING_COLUMN,
            name,
            required=f"one column of that name in the {side} frame",
            came=f"{names.count(name)} among {', '.join(map(str, names))}",
            fix="Name columns that both frames have.",
        )
    return read_column(frame[name], name)


def column_names(frame: Frame) -> list[str]:
    """Names of the columns, in order."""
    return list(
        getattr(frame, "column_names", None) or getattr(getattr(frame, "schema", None), "names", None) or frame.columns
    )


def read_column(values: Column, name: str) -> ReadColumn:
    """Read one column.

    Args:
        values: pandas, pyarrow, numpy or any sequence; private.
        name: for errors.

    Raises:
        InputContractError: values of several types, or of a type that is neither number, text, Boolean nor time.
    """
    try:
        array = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else _as_arrow(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Arrow quotes the offending value, so its message must not travel
        raise wrong_type(name, "values of several types, or numbers of more than 64 bits") from None
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        if _lists_labels(array.dictionary):
            return ReadColumn(name, "empty" if array.null_count == len(array) else "label", _of_large_texts(array))
        array = array.dictionary_decode()
    kind = _kind(array.type)
    if kind is None:
        raise wrong_type(name, str(array.type))
    if kind == "time":
        stamps = pa.timestamp("us") if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type) else array.type
        array = array.cast(stamps, safe=False).cast(pa.int64(), safe=False)
    elif kind == "label":
        array = array.cast(pa.large_string())
    elif pa.types.is_decimal(array.type) or pa.types.is_float16(array.type) or pa.types.is_float32(array.type):
        array = array.cast(pa.float64(), safe=False)
    narrow = narrowed(array.to_numpy()) if kind == "number" and array.null_count == 0 and len(array) else None
    if pa.types.is_floating(array.type) and narrow is None and not _is_plain(array):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), pc.add(array, 0.0))  # -0.0 becomes 0.0
    if kind != "empty" and array.null_count == len(array):
        kind = "empty"
    return ReadColumn(name, kind, array, narrow)


def _lists_labels(dictionary: pa.Array) -> bool:
    return (
        _kind(dictionary.type) == "label" and not dictionary.null_count and len(dictionary.unique()) == len(dictionary)
    )


def _of_large_texts(array: pa.DictionaryArray) -> pa.Array:
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.large_string())
    return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.large_string()))


def _as_arrow(values: Column) -> pa.Array | pa.ChunkedArray:
    """NaN is missing; plain floats are taken as they are, and looked at afterwards."""
    if getattr(values, "dtype", None) == np.float64:
        plain = np.asarray(values)
        if plain.ndim == 1:
            return pa.array(plain)
    return pa.array(values, from_pandas=True)


def _is_plain(array: pa.Array) -> bool:
    """Whether there is neither a null nor a NaN nor anything that may be -0.0: two looks instead of two copies."""
    if array.null_count or len(array) == 0:
        return False
    values = array.to_numpy()
    return not np.isnan(values.min()) and not bool(np.signbit(values).any())


def _kind(kind: pa.DataType) -> ValueKind | None:
    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "label"
    if types.is_timestamp(kind) or types.is_date(kind) or types.is_duration(kind) or types.is_time(kind):
        return "time"
    return "empty" if types.is_null(kind) else None


def wrong_type(name: str, came: str) -> InputContractError:
    """The error for a column of another type than its partner or order."""
    return InputContractError.of(
        Reason.WRONG_TYPE,
        name,
        required="one column of numbers, texts, Booleans or times",
        came=came,
        fix="Give both columns the declared type first.",
    )


def check_comparable(original: ReadColumn, released: ReadColumn) -> None:
    """Refuse to compare columns of different kinds or lengths.

    Raises:
        InputContractError: numbers against texts and the like, or a different number of rows.
    """
    if original.rows != released.rows:
        raise InputContractError.of(
            Reason.ROW_MISMATCH,
            original.name,
            required="as many released rows as original rows",
            came=f"{original.rows} original and {released.rows} released rows",
            fix="Compare a release with the file it was made from.",
        )
    if original.kind != released.kind and "empty" not in (original.kind, released.kind):
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            original.name,
            required="the same type in both columns",
            came=f"{original.kind} in the original and {released.kind} in the release",
            fix="Give both columns the declared type first.",
        )


def refuse_infinite(values: NDArray[Any], name: str) -> None:
    """Refuse numbers that are not finite.

    Raises:
        InputContractError: with their count.
    """
    infinite = int(np.count_nonzero(~np.isfinite(values)))
    if infinite:
        raise InputContractError.of(
            Reason.NON_FINITE, name, required="finite numbers", came="infinite ones", fix="Correct them.", rows=infinite
        )
