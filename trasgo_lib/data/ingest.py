"""From a source file to private codes: read, validate, shuffle, store; nothing is stored of a file with faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trasgo_lib.data.batches import BatchRef, PrivateCodes, PrivateTable, PublicValues
from trasgo_lib.data.column_encoding import ColumnEncoder, PublicColumn
from trasgo_lib.data.csv_source import CsvSource
from trasgo_lib.data.dates import DateFormat
from trasgo_lib.data.input_report import InputReport, UnitCounts
from trasgo_lib.data.missing import MissingCodes
from trasgo_lib.data.numbers import NumberFormat
from trasgo_lib.data.parquet_source import ParquetSource
from trasgo_lib.data.parse import CellRules
from trasgo_lib.data.reading import ColumnReading, GroupReading, SourceReading
from trasgo_lib.data.store_codes import CodesDigest, ValuesDigest, write_batch, write_values
from trasgo_lib.data.unit_rows import UnitRows
from trasgo_lib.errors import Fault, InputContractError, Reason
from trasgo_lib.noise import Keystream
from trasgo_lib.noise import permutation as keyed_permutation

_Source = CsvSource | ParquetSource
_Column = ColumnEncoder | PublicColumn | UnitRows
_SOURCES: dict[str, type[_Source]] = {"csv": CsvSource, "parquet": ParquetSource}


@dataclass(frozen=True, slots=True)
class _Contents:
    """A source that passed: its columns in memory as codes, and what the report says."""

    rows: int
    input_digest: str
    columns: tuple[_Column, ...]
    report: InputReport


def read_source(
    reading: SourceReading,
    *,
    digest_key: bytes,
    permutation: Callable[[str], Keystream],
    work: Path,
    rows_per_batch: int,
) -> tuple[PrivateTable, InputReport]:
    """Read a source file, check it against its contract, and store it as batches of private codes.

    Args:
        reading: what was declared; public.
        digest_key: account digest key, 32 secret bytes.
        permutation: gives the keystream of the row order (purpose ``permute``) for the keyed input digest.
        work: folder for work files, made with mode 0700; it holds private data afterwards.
        rows_per_batch: rows of each stored batch, at least 1; public. It changes no code and no order.

    Returns:
        References to the stored codes, and a restricted report.

    Raises:
        InputContractError: everything that is wrong with the source, at once, with counts; nothing was stored.
    """
    if rows_per_batch < 1:
        raise ValueError("a batch has at least one row")
    contents = _read(reading, digest_key)
    order = None
    if reading.row_order == "shuffle":
        order = keyed_permutation(permutation(contents.input_digest), contents.rows)
    work.mkdir(parents=True, exist_ok=True, mode=0o700)
    work.chmod(0o700)
    cuts = [slice(first, first + rows_per_batch) for first in range(0, contents.rows, rows_per_batch)]
    store = _Store(work / "private", digest_key, order, cuts)
    units = tuple(store.codes(name, take()) for name, take in _codes_by_unit(reading, contents.columns))
    public = tuple(store.values(column) for column in contents.columns if isinstance(column, PublicColumn))
    return PrivateTable(contents.rows, contents.input_digest, units, public), contents.report


def _codes_by_unit(
    reading: SourceReading, columns: tuple[_Column, ...]
) -> Iterator[tuple[str, Callable[[], NDArray[np.int32]]]]:
    """Every noise unit in release order, with what gives its codes; a group stands where its first column does."""
    encoders = {column.column.name: column for column in columns if isinstance(column, ColumnEncoder)}
    groups = {name: group for group in reading.groups for name in group.columns}
    done: set[str] = set()
    for name, encoder in encoders.items():
        group = groups.get(name)
        if group is None:
            yield name, encoder.take
        elif group.name not in done:
            done.add(group.name)
            yield group.name, partial(_combined, group, [encoders[part] for part in group.columns])


def _combined(group: GroupReading, encoders: list[ColumnEncoder]) -> NDArray[np.int32]:
    """One code a row for the codes of all columns of a group: int32[rows]."""
    return group.domain.encode(*(encoder.take() for encoder in encoders))


def validate_source(reading: SourceReading, *, digest_key: bytes) -> InputReport:
    """Check a source file against its contract, and store nothing.

    Args:
        reading: what was declared; public.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: as ``read_source``.
    """
    return _read(reading, digest_key).report


def _read(reading: SourceReading, digest_key: bytes) -> _Contents:
    with _SOURCES[reading.format](reading, digest_key) as source:
        if not source.match.is_header:
            raise InputContractError(*source.match.faults)
        columns = tuple(_columns(reading, source))
        names = tuple(dict.fromkeys(name for column in columns for name in column.column.sources))
        rows = 0
        broken: tuple[Fault, ...] = ()
        try:
            for rows_here, batch in source.batches(names):
                rows += rows_here
                for column in columns:
                    column.add(batch)
            input_digest, record_faults = source.finish()
        except InputContractError as error:
            broken = error.faults
        if broken:
            # The rest of the file was not read, so counts of its columns would mislead.
            raise InputContractError(*source.match.faults, *broken)
        faults = [*source.match.faults, *record_faults, *(fault for column in columns for fault in column.faults())]
        if rows == 0 and not record_faults:
            faults.append(_no_rows(reading))
        if faults:
            raise InputContractError(*faults)
        return _Contents(rows, input_digest, columns, _report(reading, source, rows, columns))


def _columns(reading: SourceReading, source: _Source) -> Iterator[_Column]:
    """What handles each declared column that stands in the file; dropped columns are not read at all."""
    numbers = NumberFormat(reading.csv.decimal, reading.csv.thousands) if source.text_only else NumberFormat()
    everywhere = reading.csv.missing if source.text_only else ()
    for column in reading.columns:
        if column.role == "drop" or not all(name in source.match.positions for name in column.sources):
            continue
        types = " and a ".join(dict.fromkeys(source.column_type(name) for name in column.sources))
        rules = CellRules(
            numbers=numbers,
            missing=MissingCodes.of((*everywhere, *column.missing_codes), numbers),
            trim=reading.csv.trim and source.text_only,
            dates=None if column.date_format is None else DateFormat(column.date_format),
        )
        yield _handler(column, rules, reading, source.text_only, types)


def _handler(column: ColumnReading, rules: CellRules, reading: SourceReading, from_text: bool, types: str) -> _Column:
    if column.role == "public":
        return PublicColumn(column, types)
    if column.role == "unit":
        return UnitRows(column, rules, reading.max_rows, types)
    return ColumnEncoder(column, rules, from_text, types)


def _report(reading: SourceReading, source: _Source, rows: int, columns: Iterable[_Column]) -> InputReport:
    held = tuple(columns)
    per_unit = next((column.rows_per_unit() for column in held if isinstance(column, UnitRows)), None)
    return InputReport(
        format=reading.format,
        rows=rows,
        row_order=reading.row_order,
        bom_dropped=source.byte_order_mark,
        blank_lines=source.blank_lines,
        columns=tuple(column.counts() for column in held),
        unit=None if per_unit is None else UnitCounts(len(per_unit), int(per_unit.max())),
    )


def _no_rows(reading: SourceReading) -> Fault:
    return Fault(
        reason=Reason.NO_ROWS,
        where=f"source.path {reading.path.name}",
        required="at least one row",
        came="0 rows",
        fix="Check that the file was written completely.",
    )


@dataclass(frozen=True, slots=True)
class _Store:
    """Writes columns in the release's row order, cut into batches."""

    directory: Path
    digest_key: bytes
    order: NDArray[np.int64] | None
    cuts: list[slice]

    def codes(self, unit: str, codes: NDArray[np.int32]) -> PrivateCodes:
        """Store the codes of one noise unit."""
        digest, batches = CodesDigest(self.digest_key), list[BatchRef]()
        for cut in self.cuts:
            part = codes[cut] if self.order is None else codes[self.order[cut]]
            digest.update(part)
            batches.append(write_batch(self.directory, unit, cut.start, part, self.digest_key))
        return PrivateCodes(unit, tuple(batches), digest.hexdigest())

    def values(self, public: PublicColumn) -> PublicValues:
        """Store one public column and let go of it in memory."""
        whole = pa.chunked_array(public.chunks).combine_chunks()
        public.chunks.clear()
        digest, batches = ValuesDigest(self.digest_key), list[BatchRef]()
        for cut in self.cuts:
            rows = slice(cut.start, min(cut.stop, len(whole)))
            part = whole[rows] if self.order is None else whole.take(pa.array(self.order[cut]))
            part = part.cast(pa.string()) if pa.types.is_large_string(part.type) else part
            digest.update(part)
            batches.append(write_values(self.directory, public.column.name, cut.start, part, self.digest_key))
        return PublicValues(public.column.name, tuple(batches), digest.hexdigest())
