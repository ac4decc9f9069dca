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

from trasgo_lib.checks import PublishedPart, published_parts
from trasgo_lib.data import (
    BatchRef,
    ProductDomain,
    PublicValues,
    ReleasedCodes,
    ReleasedTable,
    read_batch,
    read_values,
)
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
    noised = {field.name: field for unit in plan.units for field in _decoded_fields(unit)}
    fields: list[pa.Field] = []
    for column in plan.columns:
        if column.role == "public":
            fields.append(pa.field(column.name, types[column.name]))
        elif column.role == "noised":
            fields += [noised[name] for name in column.released]
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
        noised = _decoded_columns(released, plan, place)
        arrays: list[pa.Array] = []
        for column in plan.columns:
            if column.role == "public":
                values = read_values(public[column.name].batches[place])
                arrays.append(values.cast(schema.field(column.name).type))
            elif column.role == "noised":
                arrays += [noised[name] for name in column.released]
        yield pa.record_batch(arrays, schema=schema)


def _decoded_columns(released: ReleasedTable, plan: ReleasePlan, place: int) -> dict[str, pa.Array]:
    """Every noised column of one batch, by name."""
    decoded: dict[str, pa.Array] = {}
    for unit in plan.units:
        arrays = decode_unit(unit, read_batch(released.unit(unit.name).batches[place]))
        decoded |= zip(unit.columns, arrays, strict=True)
    return decoded


def decode_unit(unit: UnitPlan, codes: NDArray[np.int32]) -> list[pa.Array]:
    """Published columns of released codes, in the unit's order; a missing code becomes null.

    Args:
        unit: the noise unit.
        codes: int32[rows], released, 0..size (the last one only where missing is a code).

    Raises:
        CheckFailedError: a code outside the domain, with no value in the message.
    """
    last = unit.domain.size - (unit.missing != "code")
    if len(codes) and (int(codes.min()) < 0 or int(codes.max()) > last):
        raise _inconsistent(f"codes 0..{last} in {unit.name}", "codes outside them")
    # a group's code stands for one code of each of its columns
    by_part = unit.domain.decode(codes) if isinstance(unit.domain, ProductDomain) else (codes,)
    return [array for part, own in zip(_parts(unit), by_part, strict=True) for array in _decode(part, own)]


def _parts(unit: UnitPlan) -> tuple[PublishedPart, ...]:
    return published_parts(unit.name, unit.columns, unit.domain, unit.missing == "code")


def _decode(part: PublishedPart, codes: NDArray[np.int32]) -> list[pa.Array]:
    missing = codes == part.domain.size
    decoded: Any = part.domain.decode(np.where(missing, 0, codes).astype(np.int32))
    arrays = decoded if isinstance(decoded, tuple) else (decoded,)
    return [_masked(array if isinstance(array, pa.Array) else pa.array(array), missing) for array in arrays]


def _decoded_fields(unit: UnitPlan) -> Iterator[pa.Field]:
    """Types as decoding gives them; the output check holds them against the declaration."""
    for part in _parts(unit):
        arrays = _decode(part, np.zeros(1, dtype=np.int32))
        for name, array in zip(part.columns, arrays, strict=True):
            yield pa.field(name, array.type, nullable=part.nullable)


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
