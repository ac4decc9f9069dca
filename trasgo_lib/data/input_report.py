"""The restricted report on an input: counts and reason codes, never a cell value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from trasgo_lib.data.reading import ColumnRole, RowOrder, SourceFormat
from trasgo_lib.errors import InputContractError


@dataclass(frozen=True, slots=True)
class ColumnCounts:
    """What was counted in one column; private.

    Args:
        name: the column's name; public.
        role: its declared role; public.
        missing: rows without a value.
        clipped: rows whose value was moved to the nearest one in the domain.
    """

    name: str
    role: ColumnRole
    missing: int
    clipped: int


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """What was counted of the privacy unit; private.

    Args:
        units: number of distinct units.
        most_rows: most rows of one unit.
    """

    units: int
    most_rows: int


@dataclass(frozen=True, slots=True)
class InputReport:
    """What ingest found in a source that passed its contract; for the restricted root.

    Args:
        format: ``csv`` or ``parquet``.
        rows: number of rows (public: it is not protected).
        row_order: ``shuffle`` or ``source``.
        bom_dropped: whether the file began with a byte-order mark, which was dropped.
        blank_lines: lines of nothing but blanks that were passed over; wholly empty lines are not counted.
        columns: one entry a declared column that was read, in declared order.
        unit: counts of the privacy unit, or None when each row is one.
    """

    format: SourceFormat
    rows: int
    row_order: RowOrder
    bom_dropped: bool
    blank_lines: int
    columns: tuple[ColumnCounts, ...]
    unit: UnitCounts | None

    def column(self, name: str) -> ColumnCounts:
        """The counts of one column."""
        return next(counts for counts in self.columns if counts.name == name)

    def to_json(self) -> dict[str, Any]:
        """The report as strict JSON with ``format`` 1; restricted."""
        return {
            "format": 1,
            "passed": True,
            "source_format": self.format,
            "rows": self.rows,
            "row_order": self.row_order,
            "bom_dropped": self.bom_dropped,
            "blank_lines": self.blank_lines,
            "columns": [asdict(counts) for counts in self.columns],
            "unit": None if self.unit is None else asdict(self.unit),
            "faults": [],
        }


def refused_report(error: InputContractError) -> dict[str, Any]:
    """The report on a source that broke its contract, as strict JSON with ``format`` 1; restricted, it holds counts."""
    return {
        "format": 1,
        "passed": False,
        "faults": [
            {
                "reason": fault.reason.value,
                "where": fault.where,
                "required": fault.required,
                "came": fault.came,
                "fix": fault.fix,
                "rows": fault.rows,
            }
            for fault in error.faults
        ],
    }
