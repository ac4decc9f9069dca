"""From released codes to published columns, batch by batch; private types are refused at run time.

The only way into a published file: whatever is not a :class:`ReleasedTable` of :class:`ReleasedCodes` and
:class:`PublicValues` raises before a file is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data import BatchRef, PublicValues, ReleasedCodes, ReleasedTable, read_batch, read_values
from trasgo_lib.errors import CheckFailedError, Reason

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan, UnitPlan


def require_released(table: object, plan: ReleasePlan) -> ReleasedTable:
    """The table, once it is known to hold released codes and public values only, those of the plan.

    Raises:
        TypeError: for anything else; a private table in particular, also one dressed up as a released one.
        CheckFailedError: when its units or public columns are not those of the plan.
    """
    if type(table) is not ReleasedTable:
        raise TypeError(f"only a ReleasedTable is written to the public root, not a {type(table).__name__}")
    for codes in table.units:
        if type(codes) is not ReleasedCodes:
            raise TypeError(f"only ReleasedCodes are written to the public root, not {type(codes).__name__}")
    for values in table.public:
        if type(values) is not PublicValues:
            raise TypeError(f"only PublicValues pass unchanged to the public root, not {type(values).__name__}")
    declared = sorted(unit.name for unit in plan.units), sorted(_public_names(plan))
    came = sorted(codes.unit for codes in table.units), sorted(values.column for values in table.public)
    if came != declared:
        raise _inconsistent("the noise units and public columns of the plan", "others")
    return table


def public_types(table: ReleasedTable) -> dict[str, pa.DataType]:
    """Arrow type of each public column as it is published; dictionaries are published as their values."""
    return {values.column: _plain_type(read_values(values.batches[0]).type) for values in table.public}


def released_schema(table: ReleasedTable, plan: ReleasePlan) -> pa.Schema:
    """Arrow schema of the published table: columns in plan order, no metadata."""
    types = public_types(table)
    fields: list[pa.Field] = []
    for column in plan.columns:
        if column.role == "public":
            fields.append(pa.field(column.name, types[column.name]))
        elif column.role == "noised" and column.unit is not None:
            unit = plan.unit(column.unit)
            pairs = zip(unit.columns, _decoded_types(unit), strict=True)
            fields += [pa.field(name, kind, nullable=unit.missing == "code") for name, kind in pairs]
    return pa.schema(fields)


def released_batches(table: ReleasedTable, plan: ReleasePlan) -> Iterator[pa.RecordBatch]:
    """The published rows in row order, cut where the codes are cut.

    Args:
        table: released codes and public values; nothing else is accepted.
        plan: the compiled plan.

    Raises:
        TypeError: when the table is not a released one.
        CheckFailedError: when units disagree about rows, or a code is outside its domain.
    """
    released = require_released(table, plan)
    schema = released_schema(released, plan)
    public = {values.column: values for values in released.public}
    cuts = _common_cuts(released)
    for place in range(len(cuts)):
        arrays: list[pa.Array] = []
        for column in plan.columns:
            if column.role == "public":
                values = read_values(public[column.name].batches[place])
                arrays.append(values.cast(schema.field(column.name).type))
            elif column.role == "noised" and column.unit is not None:
                unit = plan.unit(column.unit)
                arrays += decode_unit(unit, read_batch(released.unit(unit.name).batches[place]))
        yield pa.record_batch(arrays, schema=schema)


def decode_unit(unit: UnitPlan, codes: NDArray[np.int32]) -> list[pa.Array]:
    """Published columns of released codes; the missing code becomes null.

    Args:
        unit: the noise unit.
        codes: int32[rows], released, 0..size (the last one only where missing is a code).

    Raises:
        CheckFailedError: a code outside the domain, with no value in the message.
    """
    missing = codes == unit.domain.size if unit.missing == "code" else np.zeros(len(codes), dtype=bool)
    inside = np.where(missing, 0, codes).astype(np.int32)
    if len(inside) and (int(inside.min()) < 0 or int(inside.max()) >= unit.domain.size):
        raise _inconsistent(f"codes 0..{unit.domain.size - 1} in {unit.name}", "codes outside them")
    return [_masked(part, missing) for part in _decode(unit, inside)]


def _decode(unit: UnitPlan, codes: NDArray[np.int32]) -> list[pa.Array]:
    decoded: Any = unit.domain.decode(codes)
    parts = decoded if isinstance(decoded, tuple) else (decoded,)
    return [part if isinstance(part, pa.Array) else pa.array(part) for part in parts]


def _decoded_types(unit: UnitPlan) -> list[pa.DataType]:
    """Types as decoding gives them; the output check holds them against the declaration."""
    return [part.type for part in _decode(unit, np.zeros(1, dtype=np.int32))]


def _masked(values: pa.Array, missing: NDArray[np.bool_]) -> pa.Array:
    return pc.if_else(pa.array(missing), pa.scalar(None, values.type), values) if missing.any() else values


def _common_cuts(table: ReleasedTable) -> list[tuple[int, int]]:
    columns: tuple[ReleasedCodes | PublicValues, ...] = (*table.units, *table.public)
    cuts = {tuple(_cut(ref) for ref in column.batches) for column in columns}
    if len(cuts) != 1:
        raise _inconsistent("the same batches in every column", "batches that differ")
    (common,) = cuts
    first = 0
    for first_row, rows in common:
        if first_row != first:
            raise _inconsistent("consecutive batches from row 0", "a gap or an overlap")
        first += rows
    if first != table.rows:
        raise _inconsistent(f"{table.rows} rows", f"{first} rows")
    return list(common)


def _cut(ref: BatchRef) -> tuple[int, int]:
    return ref.first_row, ref.rows


def _public_names(plan: ReleasePlan) -> list[str]:
    return [column.name for column in plan.columns if column.role == "public"]


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _inconsistent(required: str, came: str) -> CheckFailedError:
    return CheckFailedError.of(
        Reason.INTERNAL,
        "released table",
        required=required,
        came=came,
        fix="Nothing was published. Run again; if it stays, report it.",
    )
