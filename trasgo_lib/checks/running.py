"""Checks that run over batches: each sees one batch after another and gives one merged result."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Protocol

import pyarrow as pa

from trasgo_lib.checks.expectations import Rule, RuleKind
from trasgo_lib.checks.expected import ExpectedColumn, ExpectedTable
from trasgo_lib.checks.grids import Grid
from trasgo_lib.checks.report import CheckResult
from trasgo_lib.checks.violations import count_violations, typed_columns


class RunningCheck(Protocol):
    """One check that sees batch after batch."""

    def see(self, batch: pa.RecordBatch, outcomes: tuple[bool, ...]) -> None:
        """Take one batch into account; ``outcomes`` are those of the rules."""

    def result(self, rows: int) -> CheckResult:
        """The merged result over all ``rows`` released rows."""


class RuleCheck:
    """A value rule judged by Great Expectations; failing rows are counted only where it fails."""

    def __init__(self, number: int, rule: Rule, expected: ExpectedTable) -> None:
        self._number = number
        self._rule = rule
        self._column = None if rule.column is None else expected.column(rule.column)
        self._failing_batches = 0
        self._failing_rows = 0
        self._batches = 0

    def see(self, batch: pa.RecordBatch, outcomes: tuple[bool, ...]) -> None:
        """Take one batch into account."""
        self._batches += 1
        if not outcomes[self._number]:
            self._failing_batches += 1
            self._failing_rows += count_violations(self._rule, self._column, batch)

    def result(self, rows: int) -> CheckResult:
        """The merged result."""
        of_what = f"of {rows} released rows" if self._column is not None else f"in {self._batches} batches"
        failing = self._failing_rows if self._column is not None else self._failing_batches
        return CheckResult(
            name=result_name(self._rule),
            column=self._rule.column,
            passed=self._batches > 0 and self._failing_batches == 0,
            observed=f"{failing} failing {of_what}",
            limit=_LIMITS[self._rule.kind](self._rule),
        )


def result_name(rule: Rule) -> str:
    """Under which name a rule's result stands in a report."""
    return "batch_rows" if rule.kind == "rows" else rule.kind


_LIMITS: dict[RuleKind, Callable[[Rule], str]] = {
    "columns": lambda rule: "exactly, in this order: " + ", ".join(rule.allowed),
    "rows": lambda rule: f"between {rule.lower} and {rule.upper} rows in a batch",
    "not_null": lambda rule: "no null",
    "between": lambda rule: f"between {_word(rule.lower)} and {_word(rule.upper)}",
    "in_set": lambda rule: f"one of the {len(rule.allowed)} declared codes",
}


def _word(bound: object) -> str:
    return bound.date().isoformat() if isinstance(bound, datetime) else str(bound)


class TypeCheck:
    """The Arrow type: exact, because frame types hide nulls, dates and integer widths."""

    def __init__(self, column: ExpectedColumn) -> None:
        self._column = column
        self._seen: set[str] = set()

    def see(self, batch: pa.RecordBatch, outcomes: tuple[bool, ...]) -> None:
        """Take one batch into account."""
        places = batch.schema.get_all_field_indices(self._column.name)
        self._seen.update(str(batch.schema.field(place).type) for place in places)
        if not places:
            self._seen.add("no such column")

    def result(self, rows: int) -> CheckResult:
        """The merged result."""
        required = str(self._column.type)
        return CheckResult(
            name="types",
            column=self._column.name,
            passed=self._seen == {required},
            observed=", ".join(sorted(self._seen)) or "no batch",
            limit=required,
        )


class GridCheck:
    """Every released value is one the domain can publish: on its step, or a cell centre of its lattice."""

    def __init__(self, unit: str, columns: tuple[ExpectedColumn, ...], grid: Grid) -> None:
        self._unit = unit
        self._columns = columns
        self._grid = grid
        self._off = 0
        self._batches = 0

    def see(self, batch: pa.RecordBatch, outcomes: tuple[bool, ...]) -> None:
        """Take one batch into account."""
        self._batches += 1
        arrays = typed_columns(batch, self._columns)
        self._off += batch.num_rows if arrays is None else self._grid.off_grid(arrays)

    def result(self, rows: int) -> CheckResult:
        """The merged result."""
        return CheckResult(
            name="on_grid",
            column=self._unit,
            passed=self._batches > 0 and self._off == 0,
            observed=f"{self._off} off the grid of {rows} released rows",
            limit=f"one of the {len(self._grid.values)} declared values",
        )


_SHARE_IS_TELLING_FROM_ROWS = 100
"""Fewer released values say nothing about a share; a tiny file must not fail by chance after it was charged."""


_NOT_JUDGED = f"; not judged on fewer than {_SHARE_IS_TELLING_FROM_ROWS} values"


class ShareCheck:
    """The share of released values at the two bounds: too large where noise is as wide as the range."""

    def __init__(self, column: ExpectedColumn, limit: str, grid: Grid) -> None:
        self._column = column
        self._limit = Decimal(limit)
        self._grid = grid
        self._at_bounds = 0
        self._values = 0
        self._readable = True

    def see(self, batch: pa.RecordBatch, outcomes: tuple[bool, ...]) -> None:
        """Take one batch into account."""
        arrays = typed_columns(batch, (self._column,))
        if arrays is None:
            self._readable = False
            return
        at_bounds, values = self._grid.at_bounds(arrays[0])
        self._at_bounds += at_bounds
        self._values += values

    def result(self, rows: int) -> CheckResult:
        """The merged result."""
        share = Decimal(self._at_bounds) / max(self._values, 1)
        too_few = self._values < _SHARE_IS_TELLING_FROM_ROWS
        seen = f"{self._at_bounds} of {self._values} released values at a bound, a share of {share:.4f}"
        return CheckResult(
            name="share_at_bounds",
            column=self._column.name,
            passed=self._readable and (share <= self._limit or too_few),
            observed=seen if self._readable else "column absent or of another type",
            limit=f"a share of at most {self._limit}" + (_NOT_JUDGED if too_few else ""),
        )
