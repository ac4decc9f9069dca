"""Output checks over an iterator of batches; what each batch shows is merged into one report.

Only released bytes and the public declaration are read. Every result is a count or a share, never a value: were noise
missing, a released value would be a private one.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from trasgo_lib.checks.expectations import BatchValidator, Rule
from trasgo_lib.checks.expected import ExpectedColumn, ExpectedTable
from trasgo_lib.checks.grids import Grid, grid_of, published_labels
from trasgo_lib.checks.report import CheckReport, CheckResult
from trasgo_lib.checks.running import GridCheck, RuleCheck, RunningCheck, ShareCheck, TypeCheck
from trasgo_lib.data import CategoryDomain


def check_batches(expected: ExpectedTable, batches: Iterable[pa.RecordBatch]) -> CheckReport:
    """Check the batches that will be published against the declaration.

    Args:
        expected: what the plan declares.
        batches: released batches in row order, as read back from the staged file; one pass.

    Returns:
        One result a check and column: columns and their order, types, rows, nulls, ranges, sets, grids, share of
        released values at the bounds.
    """
    grids = {unit: grid for unit, grid in _grids(expected) if grid is not None}
    rules = rules_of(expected)
    validator = BatchValidator(rules)
    checks: list[RunningCheck] = [RuleCheck(number, rule, expected) for number, rule in enumerate(rules)]
    checks += [TypeCheck(column) for column in expected.columns]
    checks += [GridCheck(unit, _columns_of(expected, unit), grid) for unit, grid in grids.items()]
    checks += [
        ShareCheck(column, column.max_share_at_bounds, grids[column.unit or column.name])
        for column in expected.columns
        if column.max_share_at_bounds is not None
    ]
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        outcomes = validator.outcomes(batch)
        for check in checks:
            check.see(batch, outcomes)
    return CheckReport((_rows_result(expected.rows, rows), *(check.result(rows) for check in checks)))


def _grids(expected: ExpectedTable) -> Iterable[tuple[str, Grid | None]]:
    for column in expected.columns:
        if column.domain is not None and column.axis == 0:
            yield column.unit or column.name, grid_of(column.domain)


def _columns_of(expected: ExpectedTable, unit: str) -> tuple[ExpectedColumn, ...]:
    return tuple(column for column in expected.columns if (column.unit or column.name) == unit)


def rules_of(expected: ExpectedTable) -> tuple[Rule, ...]:
    """What Great Expectations is asked about every batch, in the order of the report.

    Args:
        expected: what the plan declares.
    """
    grids = {unit: grid for unit, grid in _grids(expected) if grid is not None}
    rules = [
        Rule("columns", allowed=tuple(column.name for column in expected.columns)),
        Rule("rows", lower=1, upper=max(expected.rows, 1)),
    ]
    for column in expected.columns:
        if not column.nullable:
            rules.append(Rule("not_null", column.name))
        if isinstance(column.domain, CategoryDomain):
            rules.append(Rule("in_set", column.name, allowed=published_labels(column.domain)))
        elif column.domain is not None:
            lower, upper = grids[column.unit or column.name].bounds(column.axis)
            rules.append(Rule("between", column.name, lower, upper))
    return tuple(rules)


def _rows_result(required: int, seen: int) -> CheckResult:
    return CheckResult(
        name="rows",
        column=None,
        passed=seen == required and seen > 0,
        observed=f"{seen} released rows",
        limit=f"{required} rows, at least 1",
    )
