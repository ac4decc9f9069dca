"""The divergences of one column: what notebooks, audits and other programs call."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data import Domain
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.utility.coding import table_of_sample
from trasgo_lib.utility.distinct_values import count_distinct
from trasgo_lib.utility.divergences import Divergence, divergence_of_counts
from trasgo_lib.utility.frames import Column, ReadColumn, check_comparable, read_column, refuse_infinite
from trasgo_lib.utility.histogram import Histogram, equal_bins
from trasgo_lib.utility.whole_numbers import count_bytes, count_whole

DEFAULT_BINS = 10
"""Bins of a number's divergences where none are declared: two samples of a hundred rows of one law stay below 0.3."""

_SAMPLE_ROWS = 4096
"""Enough rows to tell a column of a few values from one where nearly every row has its own."""


def divergence(
    original_column: Column, released_column: Column, domain: Domain | None = None, bins: int = DEFAULT_BINS
) -> Divergence:
    """How far a released column's distribution is from the original's.

    Missing values are a category of their own.

    Args:
        original_column: pandas, pyarrow or any sequence; private.
        released_column: as many rows of the same type.
        domain: the declared domain; numbers and days are then cut into ``bins`` equal parts of it, values outside
            count at its ends. None: each distinct value is a category.
        bins: number of parts, at least 1; public.

    Returns:
        ``.tvd``, ``.js``, ``.kl`` (natural logarithm) and ``.lost``; kl is None where the release lost a category.

    Raises:
        ConfigError: a domain of points, which take two columns, or a bad number of bins.
        InputContractError: unequal row counts or types, or values that the domain refuses.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ConfigError.of(
            Reason.BAD_PARAMETER, "bins", required="a whole number, at least 1", came=repr(bins), fix="Correct it."
        )
    ours, theirs = read_column(original_column, "original column"), read_column(released_column, "released column")
    check_comparable(ours, theirs)
    if domain is None:
        return divergence_of_counts(*_count_values(ours, theirs))
    if domain.kind not in _DOMAIN_VALUES:
        raise ConfigError.of(
            Reason.BAD_DOMAIN,
            "domain",
            required="a domain of " + ", ".join(_DOMAIN_VALUES),
            came=domain.kind,
            fix="Compare points through the release itself.",
        )
    parts = None if domain.kind == "category" else equal_bins(domain.size, bins)
    return divergence_of_counts(*(_count_codes(side, domain).binned(parts) for side in (ours, theirs)))


_DOMAIN_VALUES = ("number", "date", "category")


def _count_values(ours: ReadColumn, theirs: ReadColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counts of each distinct value of either column, missing included."""
    for column in (ours, theirs):
        if column.narrow is None and pa.types.is_floating(column.values.type):
            refuse_infinite(column.values.drop_null().to_numpy(), column.name)
    short = _count_whole(ours, theirs) or _count_fixed(ours, theirs)
    if short is not None:
        return short
    kind = ours.values.type
    if ours.kind == theirs.kind == "number" and kind == theirs.values.type and _is_mostly_distinct(ours.values):
        sides = [column.values.drop_null().to_numpy() for column in (ours, theirs)]
        return _with_missing(count_distinct(*sides), ours, theirs)
    values, tallies = zip(*(_tally(column.values) for column in (ours, theirs)), strict=True)
    kind = values[0].type if values[0].type == values[1].type else _common_type(ours, theirs)
    joined = pa.concat_arrays([side.cast(kind, safe=False) for side in values])
    place = joined.dictionary_encode(null_encoding="encode").indices.to_numpy()
    counts = np.zeros((2, int(place.max(initial=-1)) + 1), dtype=np.int64)
    start = len(values[0])
    np.add.at(counts[0], place[:start], tallies[0])
    np.add.at(counts[1], place[start:], tallies[1])
    return counts[0], counts[1]


def _tally(values: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The values that occur, missing included, and how often."""
    if not isinstance(values, pa.DictionaryArray):
        found = pc.value_counts(values)
        return found.field("values"), found.field("counts").to_numpy()
    counts = np.bincount(values.indices.drop_null().to_numpy(), minlength=len(values.dictionary))
    counts = np.append(counts, values.null_count)
    used = np.flatnonzero(counts)
    return pa.concat_arrays([values.dictionary, pa.nulls(1, values.dictionary.type)]).take(pa.array(used)), counts[used]


def _count_fixed(ours: ReadColumn, theirs: ReadColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Counts of labels of one width that all occur in the first rows; None where the columns are something else."""
    sides = [column.values for column in (ours, theirs)]
    table = table_of_sample(sides)
    if table is None or len(table.rows) > 2**8:
        return None
    codes = [table.find(side, np.uint8) for side in sides]
    if codes[0] is None or codes[1] is None:
        return None
    return count_bytes(codes[0]), count_bytes(codes[1])


def _count_whole(ours: ReadColumn, theirs: ReadColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Counts of whole numbers in a short range, missing last; None where the columns are something else."""
    if not ours.kind == theirs.kind == "number" or ours.rows == 0:
        return None
    counts = count_whole(
        [column.values.drop_null().to_numpy() if column.narrow is None else column.narrow for column in (ours, theirs)]
    )
    if counts is None:
        return None
    return _with_missing((counts[0], counts[1]), ours, theirs)


def _with_missing(
    counts: tuple[NDArray[np.int64], NDArray[np.int64]], ours: ReadColumn, theirs: ReadColumn
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.append(counts[0], ours.values.null_count), np.append(counts[1], theirs.values.null_count)


def _is_mostly_distinct(values: pa.Array) -> bool:
    """Whether sorting will be faster than hashing, judged by the first rows; both give the same counts."""
    sample = values[:_SAMPLE_ROWS]
    return 2 * int(pc.count_distinct(sample).as_py()) > len(sample)


def _common_type(ours: ReadColumn, theirs: ReadColumn) -> pa.DataType:
    if ours.kind == "empty" or theirs.kind == "empty":
        return theirs.value_type if ours.kind == "empty" else ours.value_type
    kinds = {ours.value_type, theirs.value_type}
    if any(pa.types.is_floating(kind) for kind in kinds):
        return pa.float64()
    return pa.int64() if pa.uint64() not in kinds else pa.uint64()


def _count_codes(column: ReadColumn, domain: Domain) -> Histogram:
    values = column.values
    if isinstance(values, pa.DictionaryArray) and domain.kind != "category":
        values = values.dictionary_decode()
    known = values.drop_null()
    if column.kind == "empty":
        return Histogram(np.append(np.zeros(domain.size, dtype=np.int64), column.rows))
    expected = {"number": ("number",), "date": ("time",), "category": ("label", "number", "boolean")}[domain.kind]
    if column.kind not in expected:
        raise InputContractError.of(
            Reason.WRONG_TYPE,
            column.name,
            required=f"values of a {domain.kind} domain",
            came=f"a {column.kind} column",
            fix="Give the column its declared type first.",
        )
    if domain.kind == "number":
        codes = domain.encode(known.to_numpy(zero_copy_only=False))
    elif domain.kind == "date":
        codes = domain.encode(known.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False))
    else:
        codes = domain.encode(_as_labels(known, column.name))
    counted = Histogram.count(codes, domain.size)
    return counted.merge(Histogram(np.append(np.zeros(domain.size, dtype=np.int64), len(column.values) - len(known))))


def _as_labels(values: pa.Array, name: str) -> pa.Array:
    """Labels as text; whole numbers that a null turned into floats are whole numbers again."""
    if pa.types.is_floating(values.type):
        try:
            values = values.cast(pa.int64())
        except pa.ArrowInvalid:
            raise InputContractError.of(
                Reason.WRONG_TYPE, name, required="labels", came="fractions", fix="Declare the column as a number."
            ) from None
    return values if isinstance(values, pa.DictionaryArray) else values.cast(pa.string())
