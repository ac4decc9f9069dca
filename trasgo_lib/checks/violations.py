"""Counting the released rows that break a rule; used only where a rule already failed."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from trasgo_lib.checks.expectations import Rule, RuleKind
from trasgo_lib.checks.expected import ExpectedColumn


def typed_columns(batch: pa.RecordBatch, columns: tuple[ExpectedColumn, ...]) -> tuple[pa.Array, ...] | None:
    """The named columns, or None when one is absent, repeated or has another type."""
    arrays = []
    for column in columns:
        places = batch.schema.get_all_field_indices(column.name)
        if len(places) != 1 or batch.schema.field(places[0]).type != column.type:
            return None
        arrays.append(batch.column(places[0]))
    return tuple(arrays)


def count_violations(rule: Rule, column: ExpectedColumn | None, batch: pa.RecordBatch) -> int:
    """How many rows of a batch break a rule; all of them where the column cannot be read as declared."""
    arrays = None if column is None else typed_columns(batch, (column,))
    return batch.num_rows if arrays is None else _COUNTS[rule.kind](rule, arrays[0])


def _nulls(rule: Rule, array: pa.Array) -> int:
    # a frame does not tell NaN from null, so the failing rule may have seen either
    nan = pc.sum(pc.is_nan(array)).as_py() or 0 if pa.types.is_floating(array.type) else 0
    return int(array.null_count + nan)


def _outside(rule: Rule, array: pa.Array) -> int:
    lower, upper = pa.scalar(rule.lower), pa.scalar(rule.upper)
    inside = pc.and_(pc.greater_equal(array, lower), pc.less_equal(array, upper))
    return int(pc.sum(pc.invert(inside)).as_py() or 0)


def _not_in_set(rule: Rule, array: pa.Array) -> int:
    known = pc.is_in(array, value_set=pa.array(rule.allowed, type=array.type))
    return len(array) - int(array.null_count) - int(pc.sum(known).as_py() or 0)


_COUNTS: dict[RuleKind, Callable[[Rule, pa.Array], int]] = {
    "not_null": _nulls,
    "between": _outside,
    "in_set": _not_in_set,
}
