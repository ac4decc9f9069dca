"""What the published table must look like, derived from the declaration and not from the writer.

The writer takes its types from what decoding returns; this module takes them from the declared domain. The output check
compares the two, so that a fault on either side shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain, ProductDomain

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan, UnitPlan

_SHARE_IS_TELLING_FROM = 10
"""Share of released values at the bounds is judged for domains of at least this many values.

With few values much of any column sits at the ends (two values: all of it), so the share says nothing about noise.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedColumn:
    """One published column.

    Args:
        name: as published.
        type: Arrow type.
        nullable: whether nulls are allowed: public columns, and noised ones whose missing values are a code.
        domain: the declared domain, or None for a public column without one.
        unit: noise unit whose values the column holds, None for a public column; a column of a group stands alone.
        axis: position of the column among those its domain decodes to: 0, or 1 for a point's longitude.
        max_share_at_bounds: decimal text 0..1, or None where the share is not judged.
    """

    name: str
    type: pa.DataType
    nullable: bool
    domain: Domain | None = None
    unit: str | None = None
    axis: int = 0
    max_share_at_bounds: str | None = None


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """Columns that one domain decodes to: a whole noise unit, or one column of a group.

    Args:
        name: of the unit, or of the column of a group.
        columns: released names: one, or two for a point.
        domain: the declared domain.
        nullable: whether a missing value is one of the released codes.
        is_binned: whether only representatives of bins are released.
    """

    name: str
    columns: tuple[str, ...]
    domain: Domain
    nullable: bool
    is_binned: bool = False


def published_parts(name: str, columns: Iterable[str], domain: Domain, nullable: bool) -> tuple[PublishedPart, ...]:
    """What the columns of a noise unit decode to, in the unit's order.

    Args:
        name: of the noise unit.
        columns: its released columns.
        domain: its domain; that of a group knows itself which of its columns may be missing.
        nullable: whether a missing value is one more code beside the domain.
    """
    if not isinstance(domain, ProductDomain):
        return (PublishedPart(name, tuple(columns), domain, nullable),)
    return tuple(
        PublishedPart(part.name, (column,), part.domain, part.missing, part.bins is not None)
        for column, part in zip(columns, domain.parts, strict=True)
    )


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedTable:
    """The published table.

    Args:
        columns: in published order.
        rows: number of rows, public, at least 1.
    """

    columns: tuple[ExpectedColumn, ...]
    rows: int

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema without any metadata."""
        return pa.schema([pa.field(column.name, column.type, nullable=column.nullable) for column in self.columns])

    def column(self, name: str) -> ExpectedColumn:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


def domain_types(domain: Domain) -> tuple[pa.DataType, ...]:
    """Arrow types of the columns a domain is published as: one, or two for points.

    Raises:
        TypeError: for a domain this library does not know.
    """
    if isinstance(domain, NumberDomain):
        return (pa.int64() if domain.values.dtype.kind == "i" else pa.float64(),)
    if isinstance(domain, DateDomain):
        return (pa.date32(),)
    if isinstance(domain, CategoryDomain):
        return (pa.int64() if domain.output == "integer" else pa.string(),)
    if isinstance(domain, (BoxDomain, CellsDomain)):
        return (pa.float64(), pa.float64())
    raise TypeError(f"no published type for a {type(domain).__name__}")


def expected_unit(
    unit: str, columns: Iterable[str], domain: Domain, *, nullable: bool, max_share_at_bounds: str | None = None
) -> tuple[ExpectedColumn, ...]:
    """The published columns of one noise unit.

    Args:
        unit: the unit's name.
        columns: the released column names, as many as the domain decodes to.
        domain: the declared domain.
        nullable: whether a missing value is one of the released codes.
        max_share_at_bounds: decimal text; ignored for labels, points and domains too small to tell.
    """
    ordered = isinstance(domain, (NumberDomain, DateDomain)) and domain.size >= _SHARE_IS_TELLING_FROM
    share = max_share_at_bounds if ordered else None
    types = domain_types(domain)
    return tuple(
        ExpectedColumn(name, kind, nullable, domain, unit, axis, share)
        for axis, (name, kind) in enumerate(zip(columns, types, strict=True))
    )


def expected_table(plan: ReleasePlan, rows: int, public_types: Mapping[str, pa.DataType]) -> ExpectedTable:
    """What the plan declares about the published table.

    Args:
        plan: the compiled plan.
        rows: rows of the release, public.
        public_types: Arrow type of each public column, as it was read from the source.
    """
    share = plan.config.checks.max_share_at_bounds
    noised = {column.name: column for unit in plan.units for column in _expected_columns(unit, share)}
    columns: list[ExpectedColumn] = []
    for column in plan.columns:
        if column.role == "public":
            columns.append(ExpectedColumn(column.name, public_types[column.name], nullable=True))
        elif column.role == "noised":
            columns += [noised[name] for name in column.released]
    return ExpectedTable(tuple(columns), rows)


def _expected_columns(unit: UnitPlan, share: str) -> Iterable[ExpectedColumn]:
    for part in published_parts(unit.name, unit.columns, unit.domain, unit.missing == "code"):
        # representatives of bins do not reach the ends, and in a few bins a large share is no sign of anything
        limit = None if part.is_binned else share
        yield from expected_unit(
            part.name, part.columns, part.domain, nullable=part.nullable, max_share_at_bounds=limit
        )
