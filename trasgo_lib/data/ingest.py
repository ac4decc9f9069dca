"""From a source file to private codes: read, validate, shuffle, store, one batch at a time.

Nothing stays stored of a file with faults. Memory does not grow with the rows: see ``trasgo_lib.data.spool``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trasgo_lib.data.batches import PrivateTable
from trasgo_lib.data.column_encoding import ColumnEncoder, PublicColumn
from trasgo_lib.data.csv_source import CsvSource
from trasgo_lib.data.dates import DateFormat
from trasgo_lib.data.disk import private_folder, require_room
from trasgo_lib.data.input_report import InputReport, UnitCounts
from trasgo_lib.data.missing import MissingCodes
from trasgo_lib.data.numbers import NumberFormat
from trasgo_lib.data.parquet_source import ParquetSource
from trasgo_lib.data.parse import CellRules
from trasgo_lib.data.private_store import PrivateStore
from trasgo_lib.data.reading import ColumnReading, GroupReading, SourceReading
from trasgo_lib.data.row_order import cut, shuffled
from trasgo_lib.data.spool import MEMORY_BYTES, Spool
from trasgo_lib.data.store_codes import CODE_BYTES
from trasgo_lib.data.unit_rows import UnitRows
from trasgo_lib.errors import Fault, InputContractError, Reason
from trasgo_lib.noise import Keystream

_Source = CsvSource | ParquetSource
_Column = ColumnEncoder | PublicColumn | UnitRows
_SOURCES: dict[str, type[_Source]] = {"csv": CsvSource, "parquet": ParquetSource}


@dataclass(frozen=True, slots=True)
class _Contents:
    """A source that passed, its rows apart, and what the report says."""

    rows: int
    input_digest: str
    report: InputReport


@dataclass(frozen=True, slots=True)
class _Unit:
    """One noise unit: its columns' names, and the group's domain where it is one."""

    name: str
    columns: tuple[str, ...]
    group: GroupReading | None
    size: int

    def codes(self, by_column: Mapping[str, Any]) -> pa.Array:
        """The unit's codes of one batch, in the narrowest type that holds them all."""
        parts = [by_column[name] for name in self.columns]
        codes = parts[0] if self.group is None else self.group.domain.encode(*parts)
        return pa.array(codes.astype(_narrow(self.size)))


@dataclass(frozen=True, slots=True)
class _UnitHash:
    """One half of the keyed hash of each row's privacy unit: codes are 32 bits, hashes 64."""

    name: str
    columns: tuple[str, ...]
    half: int

    def codes(self, by_column: Mapping[str, Any]) -> pa.Array:
        """The half: int32[rows]."""
        hashes: NDArray[np.int64] = by_column[self.columns[0]]
        return pa.array(np.ascontiguousarray(hashes.astype("<i8").view("<i4").reshape(-1, 2)[:, self.half]))


def unit_hash_names(column: str) -> tuple[str, str]:
    """Under which names the two halves of the hashes of a unit column are stored.

    Args:
        column: the privacy unit's column.
    """
    return f"{column}/hash, first half", f"{column}/hash, second half"


def _narrow(largest: int) -> type[np.integer]:
    """The type in which codes wait; they are stored as int32."""
    return next((kind for kind in (np.uint8, np.uint16) if largest <= np.iinfo(kind).max), np.int32)


def read_source(
    reading: SourceReading,
    *,
    digest_key: bytes,
    permutation: Callable[[str], Keystream],
    work: Path,
    rows_per_batch: int,
    memory_bytes: int = MEMORY_BYTES,
) -> tuple[PrivateTable, InputReport]:
    """Read a source file, check it against its contract, and store it as batches of private codes.

    Args:
        reading: what was declared; public.
        digest_key: account digest key, 32 secret bytes.
        permutation: gives the keystream of the row order (purpose ``permute``) for the keyed input digest.
        work: folder for work files, made with mode 0700; it holds private data afterwards.
        rows_per_batch: rows of each stored batch, at least 1; public. It changes no code and no order.
        memory_bytes: rows held in memory while the source is read; more wait in a private file below ``work`` and are
            shuffled by buckets. It changes nothing else.

    Returns:
        References to the stored codes, and a restricted report.

    Raises:
        InputContractError: everything that is wrong with the source, at once, with counts; nothing stays stored.
        StoreError: the disk has no room, with the bytes needed and the bytes free.
    """
    if rows_per_batch < 1:
        raise ValueError("a batch has at least one row")
    units = _units(reading)
    public = [column.name for column in reading.columns if column.role == "public"]
    with Spool(work / "rows", memory_bytes) as spool:
        contents = _read(reading, digest_key, spool)
        require_room(work, spool.bytes * (2 if spool.is_on_disk else 1) + CODE_BYTES * contents.rows * len(units))
        private_folder(work)
        is_shuffled = reading.row_order == "shuffle"
        ordered = shuffled(spool, permutation(contents.input_digest)) if is_shuffled else spool.batches()
        store = PrivateStore(work / "private", digest_key, [unit.name for unit in units], public)
        for batch in cut(ordered, rows_per_batch):
            store.add(batch)
    stored, passed = store.columns()
    return PrivateTable(contents.rows, contents.input_digest, stored, passed), contents.report


def _units(reading: SourceReading) -> tuple[_Unit | _UnitHash, ...]:
    """Every noise unit in release order; a group stands where its first column does."""
    groups = {name: group for group in reading.groups for name in group.columns}
    units: dict[str, _Unit] = {}
    for column in reading.columns:
        if column.domain is None:
            continue
        group = groups.get(column.name)
        if group is None:
            units[column.name] = _Unit(column.name, (column.name,), None, column.domain.size)
        else:
            units.setdefault(group.name, _Unit(group.name, tuple(group.columns), group, group.domain.size))
    hashes: tuple[_UnitHash, ...] = ()
    if reading.keeps_units and reading.privacy_unit is not None:
        unit = reading.privacy_unit
        hashes = tuple(_UnitHash(name, (unit,), half) for half, name in enumerate(unit_hash_names(unit)))
    return (*units.values(), *hashes)


def validate_source(reading: SourceReading, *, digest_key: bytes) -> InputReport:
    """Check a source file against its contract, and store nothing.

    Args:
        reading: what was declared; public.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: as ``read_source``.
    """
    return _read(reading, digest_key).report


def _read(reading: SourceReading, digest_key: bytes, spool: Spool | None = None) -> _Contents:
    with _SOURCES[reading.format](reading, digest_key) as source:
        if not source.match.is_header:
            raise InputContractError(*source.match.faults)
        columns = tuple(_columns(reading, source, digest_key if reading.keeps_units else None))
        names = tuple(dict.fromkeys(name for column in columns for name in column.column.sources))
        rows = 0
        waits = None if spool is None else _Waiting(spool, _units(reading), columns)
        broken: tuple[Fault, ...] = ()
        try:
            for rows_here, batch in source.batches(names):
                rows += rows_here
                found = [(column.column.name, column.add(batch)) for column in columns]
                if waits is not None and not waits.add(found):
                    waits = None  # something is wrong: the rest is read to count what else is
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
        return _Contents(rows, input_digest, _report(reading, source, rows, columns))


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Puts batches of codes and public values into the spool, as long as nothing is wrong with them."""

    spool: Spool
    units: tuple[_Unit | _UnitHash, ...]
    columns: Sequence[_Column]

    def add(self, found: list[tuple[str, NDArray[np.int32] | pa.Array | None]]) -> bool:
        """Keep one batch; False, and nothing is kept any more, when a column gave none."""
        by_name = dict(found)
        kept = [column for column in self.columns if not isinstance(column, UnitRows)]
        hashed = [unit.columns[0] for unit in self.units if isinstance(unit, _UnitHash)]
        if any(by_name[name] is None for name in (*(column.column.name for column in kept), *hashed)):
            self.spool.discard()
            return False
        arrays = [unit.codes(by_name) for unit in self.units if all(name in by_name for name in unit.columns)]
        arrays += [by_name[column.column.name] for column in kept if isinstance(column, PublicColumn)]
        self.spool.add(pa.record_batch(arrays, names=[str(place) for place in range(len(arrays))]))
        return True


def _columns(reading: SourceReading, source: _Source, hash_key: bytes | None) -> Iterator[_Column]:
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
        if column.role == "unit":
            yield UnitRows(column, rules, reading.max_rows, types, hash_key)
        else:
            yield _handler(column, rules, source.text_only, types)


def _handler(column: ColumnReading, rules: CellRules, from_text: bool, types: str) -> _Column:
    if column.role == "public":
        return PublicColumn(column, types)
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
