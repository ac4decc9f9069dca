"""What to read and how, as plain values: the ingest room knows nothing of the release file or the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trasgo_lib.data.domain import Domain
    from trasgo_lib.data.product_domain import ProductDomain

Kind = Literal["number", "date", "category", "point", "text"]
ColumnRole = Literal["noised", "public", "drop", "unit"]
Outside = Literal["clip", "reject"]
MissingPolicy = Literal["error", "code", "replace"]
RowOrder = Literal["shuffle", "source"]
SourceFormat = Literal["csv", "parquet"]


@dataclass(frozen=True, slots=True)
class CsvReading:
    """How a CSV file is written; all public.

    Args:
        encoding: name of a text encoding Python knows; a byte that does not fit it is an error.
        delimiter: one character.
        decimal: decimal mark, one character.
        thousands: thousands mark, one character, or None when numbers carry none.
        header: whether the first record names the columns; otherwise fields stand in the order of the declaration.
        quote: quoting character, doubled inside a quoted field, or None when nothing is quoted.
        missing: cells that mean "no value" in every column that is not public, compared after trimming.
        trim: whether blanks around header names and cells are dropped (never in public columns).
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    thousands: str | None = None
    header: bool = True
    quote: str | None = '"'
    missing: tuple[str, ...] = ("",)
    trim: bool = True


@dataclass(frozen=True, slots=True)
class ColumnReading:
    """How one declared column is read; all public.

    Args:
        name: the column's name, which is also the name of its codes in the private table.
        sources: its columns in the file: one, or latitude and longitude for a point.
        kind: declared type.
        domain: declared domain; None unless the role is ``noised``.
        role: ``noised`` columns become codes, ``public`` ones pass unchanged, ``drop`` is not read, ``unit`` is counted
            against ``max_rows`` and not stored.
        outside: what happens to a value outside the domain; ``clip`` never applies to a category.
        missing: ``error``, ``code`` (a missing value becomes the code ``domain.size``) or ``replace`` (by ``fill``).
        fill: the code that replaces a missing value, ``0..domain.size - 1``; None unless ``missing`` is ``replace``.
        missing_codes: further cells that mean "no value" in this column.
        date_format: how dates are written as text, such as ``%d/%m/%Y``; not needed for Parquet date columns.
        members: for a category whose labels are coarsened as they are read: each label of the domain with the labels
            of the file that it holds; empty where the file holds the domain's own labels.
    """

    name: str
    sources: tuple[str, ...]
    kind: Kind
    domain: Domain | None = None
    role: ColumnRole = "noised"
    outside: Outside = "reject"
    missing: MissingPolicy = "error"
    fill: int | None = None
    missing_codes: tuple[str, ...] = ()
    date_format: str | None = None
    members: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupReading:
    """Noised columns whose codes are stored as one; all public.

    Args:
        name: name of the group's codes in the private table.
        columns: names of its columns, in the order of the domain's parts.
        domain: the product of their domains.
    """

    name: str
    columns: tuple[str, ...]
    domain: ProductDomain


@dataclass(frozen=True, slots=True)
class SourceReading:
    """How one source file is read; all public.

    Args:
        path: the file.
        format: ``csv`` or ``parquet``.
        columns: every column of the file, in the order of the release; a column not named here stops the run.
        csv: how the CSV file is written; not used for Parquet.
        privacy_unit: name of the column with role ``unit``, or None when each row is its own unit.
        max_rows: most rows one unit may have, at least 1; not used without a unit column.
        row_order: ``shuffle`` (uniform keyed permutation) or ``source``.
        groups: columns that are noised as one; a column in none is a noise unit by itself.
        keeps_units: whether a keyed hash of each row's privacy unit is stored beside its codes, for central queries
            that bound what a unit contributes; else identifiers are counted and never stored.
    """

    path: Path
    format: SourceFormat
    columns: tuple[ColumnReading, ...]
    csv: CsvReading = CsvReading()
    privacy_unit: str | None = None
    max_rows: int = 1
    row_order: RowOrder = "shuffle"
    groups: tuple[GroupReading, ...] = ()
    keeps_units: bool = False

    def __post_init__(self) -> None:
        if self.keeps_units and self.privacy_unit is None:
            raise ValueError("only a privacy unit with a column has identifiers to keep")
        units = tuple(column.name for column in self.columns if column.role == "unit")
        if units != (() if self.privacy_unit is None else (self.privacy_unit,)):
            raise ValueError("the privacy unit is the one column with role unit")
        if any((column.domain is None) != (column.role != "noised") for column in self.columns):
            raise ValueError("noised columns, and no others, have a domain")
        if any((column.fill is None) != (column.missing != "replace") for column in self.columns):
            raise ValueError("a fill code goes with missing: replace, and with nothing else")
        noised = {column.name for column in self.columns if column.role == "noised"}
        grouped = [name for group in self.groups for name in group.columns]
        if len(set(grouped)) != len(grouped) or not noised.issuperset(grouped):
            raise ValueError("a group holds noised columns, each in one group")

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of all declared file columns, each once, in declared order."""
        return tuple(dict.fromkeys(source for column in self.columns for source in column.sources))
