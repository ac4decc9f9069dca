"""The plan's columns as the plain values that ingest takes."""

from __future__ import annotations

from typing import cast

from trasgo_lib.config import CsvOptions, UnitColumn
from trasgo_lib.data import ProductDomain
from trasgo_lib.data.reading import ColumnReading, CsvReading, GroupReading, Kind, SourceReading
from trasgo_lib.plan.model import ReleasePlan, UnitPlan


def source_reading(plan: ReleasePlan) -> SourceReading:
    """How the source of a plan is read.

    Args:
        plan: a compiled plan.
    """
    csv, unit = plan.config.source.csv, plan.config.privacy.unit
    return SourceReading(
        path=plan.source_path,
        format=plan.config.source.format,
        columns=tuple(_column(plan, position) for position in range(len(plan.columns))),
        csv=csv_reading(csv),
        privacy_unit=unit.column if isinstance(unit, UnitColumn) else None,
        max_rows=plan.max_rows,
        row_order=plan.row_order,
        groups=tuple(_group(unit) for unit in plan.units if unit.parts),
    )


def csv_reading(csv: CsvOptions) -> CsvReading:
    """How a CSV file is written, for the ingest room."""
    return CsvReading(
        encoding=csv.encoding,
        delimiter=csv.delimiter,
        decimal=csv.decimal,
        thousands=csv.thousands,
        header=csv.header,
        quote=csv.quote,
        missing=csv.missing,
        trim=csv.trim,
    )


def _group(unit: UnitPlan) -> GroupReading:
    return GroupReading(unit.name, unit.columns, cast(ProductDomain, unit.domain))


def _column(plan: ReleasePlan, position: int) -> ColumnReading:
    column = plan.columns[position]
    if column.unit is None:
        return ColumnReading(name=column.name, sources=column.sources, kind="text", role=column.role)
    unit = plan.unit(column.unit)
    of = unit.part(column.name) if unit.parts else unit
    return ColumnReading(
        name=column.name,
        sources=column.sources,
        kind=cast(Kind, of.type),
        domain=of.domain,
        role=column.role,
        outside=of.outside,
        missing=of.missing,
        fill=of.fill,
        missing_codes=of.missing_codes,
        date_format=of.date_format,
        members=of.members,
    )
