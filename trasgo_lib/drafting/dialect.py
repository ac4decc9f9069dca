"""How a CSV file is written, from its first records: separator, decimal mark, and whether names stand first."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Literal

from trasgo_lib.drafting.prefix import TextPrefix
from trasgo_lib.errors import InputContractError, Reason

_DELIMITERS = (",", ";", "\t", "|")
_MOST_RECORDS = 5_000
_SAMPLE_RECORDS = 200
"""Records that choose the separator."""

_EVEN_SHARE = 0.9
_LONGEST_NAME = 64
"""A longer "name" is more likely a cell."""

_COMMA_DECIMAL = re.compile(r"[-+]?\d+,\d+")
_POINT_DECIMAL = re.compile(r"[-+]?\d+\.\d+")
_POINT_THOUSANDS = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
_COMMA_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+\.\d+")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_DATE = re.compile(
    r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])(\d{1,2}|[A-Za-z]{3,9})\3(\d{4}|\d{2}))"
    r"([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?"
)
_NEARLY_ALL = 0.9

PLACEHOLDERS = frozenset({"?", "na", "n/a", "nan", "null", "none", ".", "-"})
"""Neither values nor names; which of them mean missing is for the questionnaire to say."""

Header = Literal["names", "rows", "unclear"]
"""What the first record holds."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file is written. Public.

    Args:
        encoding: name of its encoding.
        delimiter: field separator.
        decimal: decimal mark.
        thousands: thousands mark, or None.
    """

    encoding: str
    delimiter: str
    decimal: Literal[".", ","]
    thousands: str | None

    def is_number(self, cell: str) -> bool:
        """Whether a cell is written as a number in this file."""
        plain = cell.replace(self.thousands, "") if self.thousands else cell
        return bool(_NUMBER.fullmatch(plain.replace(self.decimal, ".")))

    def is_whole(self, cell: str) -> bool:
        """Whether a cell is written as a whole number; ``25,0`` is one."""
        plain = cell.replace(self.thousands, "") if self.thousands else cell
        whole, _, rest = plain.partition(self.decimal)
        return whole.lstrip("+-").isdigit() and not rest.strip("0")


@dataclass(frozen=True, slots=True)
class CsvSample:
    """The first records of a CSV file.

    Args:
        dialect: how it is written; public.
        records: its first records, cells without blanks around them; private.
        header: what the first record holds, as far as the records tell.
    """

    dialect: CsvDialect
    records: tuple[tuple[str, ...], ...] = field(repr=False)
    header: Header

    def cells(self, position: int, *, named: bool) -> list[str]:
        """Cells of one field that are not empty; private.

        Args:
            position: the field, from 0.
            named: whether the first record holds names and is left out.
        """
        rows = self.records[1:] if named else self.records
        return [row[position] for row in rows if position < len(row) and row[position]]


def is_date(cell: str) -> bool:
    """Whether a cell is written as a day, or a day and a time."""
    return bool(_DATE.fullmatch(cell))


def read_sample(prefix: TextPrefix, path: Path) -> CsvSample:
    """Recognise how a CSV file is written.

    Args:
        prefix: its first characters.
        path: the file, for errors.

    Raises:
        InputContractError: no record ends within the prefix.
    """
    delimiter = max(_DELIMITERS, key=lambda mark: _fitness(_first(prefix, mark, _SAMPLE_RECORDS)))
    records = tuple(_first(prefix, delimiter, _MOST_RECORDS))
    if not records:
        raise InputContractError.of(
            Reason.FILE_UNREADABLE,
            str(path),
            required="a first record that ends within 1 MiB",
            came="a longer one, or a quote that is opened and not closed",
            fix="Check that the file is CSV with one record a line.",
        )
    decimal, thousands = _marks(records, delimiter)
    dialect = CsvDialect(prefix.encoding, delimiter, decimal, thousands)
    return CsvSample(dialect, records, _header(records, dialect))


def _first(prefix: TextPrefix, delimiter: str, most: int) -> list[tuple[str, ...]]:
    """The first records that are not blank; the last of a prefix may be cut off and is left out."""
    found: list[tuple[str, ...]] = []
    reader = csv.reader(StringIO(prefix.text, newline=""), delimiter=delimiter)
    for record in _without_the_last(reader, drop=not prefix.is_whole):
        cells = tuple(cell.strip() for cell in record)
        if any(cells):
            found.append(cells)
        if len(found) == most:
            break
    return found


def _without_the_last(reader: Iterator[list[str]], *, drop: bool) -> Iterator[list[str]]:
    held: list[str] | None = None
    try:
        for record in reader:
            if held is not None:
                yield held
            held = record
    except csv.Error:  # a field of more than 128 KiB: what came before it is whole, what comes after is not looked at
        drop = False
    if held is not None and not drop:
        yield held


def _fitness(records: Sequence[tuple[str, ...]]) -> tuple[bool, bool, int]:
    """How well a separator splits records: the first like most others, most alike, into many fields."""
    if not records:
        return False, False, 0
    fields, alike = Counter(len(record) for record in records).most_common(1)[0]
    return fields > 1 and len(records[0]) == fields, alike >= _EVEN_SHARE * len(records), fields


def _marks(records: Sequence[tuple[str, ...]], delimiter: str) -> tuple[Literal[".", ","], str | None]:
    cells = [cell for record in records for cell in record]
    if any(_POINT_THOUSANDS.fullmatch(cell) for cell in cells) and delimiter != ",":
        return ",", "."
    if any(_COMMA_THOUSANDS.fullmatch(cell) for cell in cells):
        return ".", ","
    commas = sum(bool(_COMMA_DECIMAL.fullmatch(cell)) for cell in cells)
    points = sum(bool(_POINT_DECIMAL.fullmatch(cell)) for cell in cells)
    return ("," if delimiter != "," and commas > points else "."), None


def _header(records: Sequence[tuple[str, ...]], dialect: CsvDialect) -> Header:
    """What the first record holds. A row of text must not pass for names: its cells would stand in the draft."""
    first, rest = records[0], records[1:]
    if any(dialect.is_number(cell) or is_date(cell) for cell in first):
        return "rows" if _alike(first, rest, dialect) else "unclear"
    if any(len(cell) > _LONGEST_NAME or cell.lower() in PLACEHOLDERS for cell in first):
        return "unclear"
    columns = [[row[place] for row in rest if place < len(row) and row[place]] for place in range(len(first))]
    if any(name and name in cells for name, cells in zip(first, columns)):
        return "unclear"
    return "names" if any(name and _measured(cells, dialect) for name, cells in zip(first, columns)) else "unclear"


def _alike(first: Sequence[str], rest: Sequence[Sequence[str]], dialect: CsvDialect) -> bool:
    """Whether no field is text in the first record and measured in the others."""
    for place, cell in enumerate(first):
        below = [row[place] for row in rest if place < len(row) and row[place]]
        if cell and not dialect.is_number(cell) and not is_date(cell) and _measured(below, dialect):
            return False
    return True


def _measured(cells: Sequence[str], dialect: CsvDialect) -> bool:
    """Whether nearly all cells are numbers or dates."""
    measured = sum(dialect.is_number(cell) or is_date(cell) for cell in cells)
    return bool(cells) and measured >= _NEARLY_ALL * len(cells)
