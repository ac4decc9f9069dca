"""What becomes of each declared column: codes, public values, or a count of rows per unit.

All of them see every batch, count what is wrong with it, and say so at the end: a faulty file is read to its end, so
that all faults come at once. None of them keeps a cell it refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data.category_domain import CategoryDomain
from trasgo_lib.data.domain import Domain
from trasgo_lib.data.input_report import ColumnCounts
from trasgo_lib.data.parse import CellRules, Cells, is_text, parse_category, parse_date, parse_number, plain
from trasgo_lib.data.reading import ColumnReading
from trasgo_lib.errors import Fault, InputContractError, Reason

Batch = Mapping[str, pa.Array]
_Parser = Callable[[pa.Array, CellRules, bool], Cells]

_PARSERS: dict[str, _Parser] = {
    "number": lambda column, rules, from_text: parse_number(column, rules, from_text=from_text),
    "point": lambda column, rules, from_text: parse_number(column, rules, from_text=from_text),
    "date": lambda column, rules, _: parse_date(column, rules),
    "category": lambda column, rules, _: parse_category(column, rules),
}

_REQUIRED = {
    "number": "numbers with the declared decimal and thousands marks",
    "point": "latitude and longitude in degrees, with the declared decimal mark",
    "date": "dates in the declared format",
    "category": "labels as text or whole numbers",
}

_FIRST_YEAR, _LAST_YEAR = 1, 9999
"""Years that ISO 8601 writes with four digits, and that every reader of the published CSV file takes."""


class ColumnEncoder:
    """Turns a noised column into codes, batch by batch.

    Args:
        column: how the column is read; it has a domain.
        rules: how its cells are written.
        from_text: whether the source holds text only.
        types: what its file columns are, in words; public.

    Raises:
        ValueError: when the column has no domain.
    """

    def __init__(self, column: ColumnReading, rules: CellRules, from_text: bool, types: str) -> None:
        if column.domain is None:
            raise ValueError("a noised column has a domain")
        self.column = column
        self._domain: Domain = column.domain
        self._coarse: NDArray[np.int32] | None = None
        if column.members:
            # labels of the file are looked up first, and then the place of the label that holds each of them
            self._domain = CategoryDomain([label for _, labels in column.members for label in labels])
            sizes = [len(labels) for _, labels in column.members]
            self._coarse = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        self._absent_code = column.domain.size if column.fill is None else column.fill
        self._rules = rules
        self._from_text = from_text
        self._types = types
        self._rows = 0
        self._missing = 0
        self._clipped = 0
        self._refused: Counter[Reason] = Counter()
        self._refusals: dict[Reason, Fault] = {}

    def add(self, batch: Batch) -> NDArray[np.int32] | None:
        """The codes of the next rows, int32[rows]; None from the first batch on in which something is wrong."""
        parse = _PARSERS[self.column.kind]
        parts = [parse(batch[source], self._rules, self._from_text) for source in self.column.sources]
        cells = _together(parts)
        usable = cells.usable
        rows = len(usable)
        self._rows += rows
        self._missing += int(np.count_nonzero(cells.missing))
        self._refused[Reason.WRONG_TYPE] += int(np.count_nonzero(cells.wrong))
        self._refused[Reason.NON_FINITE] += int(np.count_nonzero(cells.not_finite))
        codes = self._encode([_only(part.values, usable) for part in parts]) if usable.any() else None
        if self._refused.total() or (self._missing and self.column.missing == "error"):
            return None  # the run stops anyway; only the counting goes on
        # codes: int32[rows], 0..size, where size stands for a missing value under `code`
        whole = np.full(rows, self._absent_code, dtype=np.int32)
        if codes is not None:
            whole[usable] = codes if self._coarse is None else self._coarse[codes]
        return whole

    def _encode(self, values: list[Any]) -> NDArray[np.int32] | None:
        clip = self.column.outside == "clip" and self.column.kind != "category"
        try:
            return self._domain.encode(*values, outside="reject")
        except InputContractError as error:
            refusal = error
        if clip and refusal.reason is Reason.OUT_OF_DOMAIN:
            outside = refusal.faults[0].rows or 0
            try:
                codes = self._domain.encode(*values, outside="clip")
            except InputContractError as error:
                refusal = error
            else:
                self._clipped += outside
                return codes
        for fault in refusal.faults:
            self._refused[fault.reason] += fault.rows or 0
            self._refusals.setdefault(fault.reason, fault)
        return None

    def faults(self) -> list[Fault]:
        """What is wrong with the column, with counts."""
        found = []
        if self.column.missing == "error" and self._missing:
            found.append(_no_values(self.column, self._rows) if self._missing == self._rows else self._null_values())
        for reason, rows in self._refused.items():
            if rows:
                template = self._refusals.get(reason) or self._refusal(reason)
                found.append(replace(template, where=self.column.name, rows=rows))
        return found

    def counts(self) -> ColumnCounts:
        """How many values were missing and how many were clipped."""
        return ColumnCounts(self.column.name, self.column.role, self._missing, self._clipped)

    def _null_values(self) -> Fault:
        return _null_values(self.column, self._missing)

    def _refusal(self, reason: Reason) -> Fault:
        if reason is Reason.NON_FINITE:
            return Fault(
                reason=reason,
                where=self.column.name,
                required="finite numbers",
                came="infinite values or NaN",
                fix="Correct the data, or list the text as a missing code and declare a missing policy.",
            )
        return Fault(
            reason=Reason.WRONG_TYPE,
            where=self.column.name,
            required=_REQUIRED[self.column.kind],
            came="cells that are not" if self._from_text else f"a {self._types}",
            fix="Correct the data or the declared type, marks or format; codes for missing values go in missing_codes.",
        )


class PublicColumn:
    """Passes a public column as it is: no trimming, no missing codes, no change of type.

    Args:
        column: how the column is read.
        types: what its file column is, in words; public.
    """

    def __init__(self, column: ColumnReading, types: str) -> None:
        self.column = column
        self._types = types
        self._wrong = 0
        self._out_of_calendar = 0
        self._with_nul = 0
        self._missing = 0

    def add(self, batch: Batch) -> pa.Array | None:
        """The values of the next rows, text as large_string; None where their type cannot be published."""
        values = plain(batch[self.column.sources[0]])
        if not _can_be_public(values.type):
            self._wrong += len(values)
            return None
        self._out_of_calendar += _out_of_calendar(values)
        self._missing += values.null_count
        if not is_text(values.type):
            return values
        texts = values.cast(pa.large_string())
        self._with_nul += int(pc.sum(pc.match_substring(texts, "\0")).as_py() or 0)
        return texts

    def faults(self) -> list[Fault]:
        """What is wrong with the column, with counts."""
        found = []
        if self._wrong:
            found.append(_not_public(self.column.name, self._types, self._wrong))
        if self._out_of_calendar:
            found.append(_not_in_calendar(self.column.name, self._out_of_calendar))
        if self._with_nul:
            found.append(_with_nul(self.column.name, self._with_nul))
        return found

    def counts(self) -> ColumnCounts:
        """How many values were missing."""
        return ColumnCounts(self.column.name, self.column.role, self._missing, 0)


def _together(parts: list[Cells]) -> Cells:
    """The masks of one column, or of a latitude and a longitude: a point is missing when either is."""
    first = parts[0]
    if len(parts) == 1:
        return first
    missing, wrong, not_finite = (
        np.logical_or.reduce([getattr(part, name) for part in parts]) for name in ("missing", "wrong", "not_finite")
    )
    return Cells(None, missing & ~wrong, wrong, not_finite & ~wrong & ~missing)


def _only(values: Any, usable: NDArray[np.bool_]) -> Any:
    if isinstance(values, np.ndarray):
        return values if usable.all() else values[usable]
    return values if usable.all() else pc.filter(values, pa.array(usable))


def _can_be_public(kind: pa.DataType) -> bool:
    """Whether a value of this type comes back from a CSV file as it was: what fails this would fail after a charge."""
    return (
        is_text(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_float32(kind)
        or pa.types.is_float64(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal128(kind)
        or pa.types.is_date(kind)
        or pa.types.is_timestamp(kind)
        or pa.types.is_null(kind)
    )


def _out_of_calendar(values: pa.Array) -> int:
    """How many dates have no year of four digits, which a CSV reader would not take back."""
    kind = values.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return 0
    plain_times = values.cast(pa.timestamp(kind.unit)) if pa.types.is_timestamp(kind) else values
    years = pc.year(plain_times)
    outside = pc.or_(pc.less(years, _FIRST_YEAR), pc.greater(years, _LAST_YEAR))
    return int(pc.sum(outside).as_py() or 0)


def _not_public(name: str, types: str, rows: int) -> Fault:
    return Fault(
        reason=Reason.WRONG_TYPE,
        where=name,
        required="text, numbers (no half floats or 256-bit decimals), Booleans, dates or timestamps as public values",
        came=f"a {types}",
        fix="Convert the column, or declare role: drop.",
        rows=rows,
    )


def _not_in_calendar(name: str, rows: int) -> Fault:
    return Fault(
        reason=Reason.OUT_OF_DOMAIN,
        where=name,
        required=f"dates of the years {_FIRST_YEAR} to {_LAST_YEAR} in a public column",
        came="others",
        fix="Correct the data, convert the column to text, or declare role: drop.",
        rows=rows,
    )


def _with_nul(name: str, rows: int) -> Fault:
    return Fault(
        reason=Reason.OUT_OF_DOMAIN,
        where=name,
        required="texts without the character U+0000 in a public column, since many readers of a CSV file end there",
        came="others",
        fix="Correct the data, or declare role: drop.",
        rows=rows,
    )


def _no_values(column: ColumnReading, rows: int) -> Fault:
    return Fault(
        reason=Reason.NO_VALUES,
        where=column.name,
        required="at least one value",
        came=f"column {column.name!r} has no values",
        fix="Declare role: drop, or a missing policy (code or replace).",
        rows=rows,
    )


def _null_values(column: ColumnReading, rows: int) -> Fault:
    return Fault(
        reason=Reason.NULL_VALUE,
        where=column.name,
        required="a value in every row",
        came="missing values",
        fix="Declare missing: code or missing: {replace: ...}, or correct the data.",
        rows=rows,
    )
