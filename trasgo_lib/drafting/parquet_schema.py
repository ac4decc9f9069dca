"""Columns of a Parquet file, from its schema alone: no value is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trasgo_lib.drafting.guesses import ColumnGuess, Kind, is_identifying
from trasgo_lib.errors import InputContractError, Reason


def parquet_columns(path: Path) -> tuple[ColumnGuess, ...]:
    """What each column of a Parquet file can hold, by its declared type and its name.

    Args:
        path: the file.

    Raises:
        InputContractError: it is not a whole Parquet file, or has no column.
    """
    import pyarrow as pa
    from pyarrow import parquet

    came = "a file without columns"
    try:
        schema = parquet.read_schema(path)
    except (OSError, ValueError, pa.ArrowException):
        schema, came = None, "a part of one"
    if not schema:
        required, fix = "a complete Parquet file", "Check that the file was written completely."
        raise InputContractError.of(Reason.FILE_UNREADABLE, str(path), required=required, came=came, fix=fix)
    return tuple(
        ColumnGuess(field.name, _kind(field.name, field.type), position) for position, field in enumerate(schema, 1)
    )


def _kind(name: str, type_: Any) -> Kind:
    import pyarrow.types as of

    if of.is_dictionary(type_):
        type_ = type_.value_type
    if of.is_date(type_) or of.is_timestamp(type_):
        return "date"
    whole, text = of.is_integer(type_), of.is_string(type_) or of.is_large_string(type_) or of.is_string_view(type_)
    if (whole or text) and is_identifying(name):
        return "identifier"
    if whole or of.is_floating(type_) or of.is_decimal(type_):
        return "number"
    return "category" if text or of.is_boolean(type_) else "other"
