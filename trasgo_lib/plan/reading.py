"""The plan's columns as the plain values that ingest takes."""

from __future__ import annotations

from trasgo_lib.config import UnitColumn
from trasgo_lib.data.reading import ColumnReading, CsvReading, SourceReading
from trasgo_lib.plan.model import ReleasePlan


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
        csv=CsvReading(
            encoding=csv.encoding,
            delimiter=csv.delimiter,
            decimal=csv.decimal,
            thousands=csv.thousands,
            header=csv.header,
            quote=csv.quote,
            missing=csv.missing,
            trim=csv.trim,
        ),
        privacy_unit=unit.column if isinstance(unit, UnitColumn) else None,
        max_rows=plan.max_rows,
        row_order=plan.row_order,
    )


def _column(plan: ReleasePlan, position: int) -> ColumnReading:
    column = plan.columns[position]
    if column.unit is None:
        return ColumnReading(name=column.name, sources=column.sources, kind="text", role=column.role)
    unit = plan.unit(column.unit)
    return ColumnReading(
        name=column.name,
        sources=column.sources,
        kind=unit.type,
        domain=unit.domain,
        role=column.role,
        outside=unit.outside,
        missing=unit.missing,
        fill=unit.fill,
        missing_codes=unit.missing_codes,
        date_format=unit.date_format,
    )
