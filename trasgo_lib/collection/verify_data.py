"""The published figures of a window against those that follow from its counts, in every form and page they stand in."""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

import trasgo_lib
from trasgo_lib.collection.concluding import CSV_HEADER, LevelTable
from trasgo_lib.collection.geojson import geojson_bytes
from trasgo_lib.collection.package import csv_bytes, drawn_files, parquet_table
from trasgo_lib.collection.pages import Told
from trasgo_lib.collection.verify_counted import Read
from trasgo_lib.collection.verify_figures import held_by_digest
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import REPORT
from trasgo_lib.release.collection_file import geojson_key
from trasgo_lib.release.package import data_key
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed

_TOLERANCE = 1e-7
"""Of a standard error: what the last published digit and another machine's library may differ by."""

_TOLERANCE_OF_POINTS = 1e-3
"""The same of points, whose figures are published to the fifth digit of their standard error."""


def verify_tables(
    read: Read, name: str, tables: tuple[LevelTable, ...], *, of_points: bool
) -> Generator[VerificationResult, None, tuple[LevelTable, ...]]:
    """Check the data files of reports or of points.

    Args:
        read: the content of a file of the package.
        name: of the data files.
        tables: what follows from the counts.
        of_points: whether they are of points, whose figures have fewer digits.

    Returns:
        The tables with the published figures, from which everything else was drawn; where these differ, as they came.
    """
    rows, required = _told_rows(read, name), "the estimates that follow from the counts"
    differing = _difference(rows, tables, _TOLERANCE_OF_POINTS if of_points else _TOLERANCE)
    if differing is None:
        yield passed("estimates", data_key(name, "csv"), required, Reason.DIGEST_MISMATCH)
        tables = _as_told(tables, rows)
    else:
        yield failed("estimates", data_key(name, "csv"), required, differing, Reason.DIGEST_MISMATCH)
    yield from _verify_data(read, name, rows, tables)
    return tables


def _told_rows(read: Read, dataset: str) -> list[tuple[str, ...]]:
    """The rows of the CSV file, header first; none when it cannot be read."""
    try:
        text = read(data_key(dataset, "csv")).decode("utf-8")
        return [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
    except (TrasgoError, UnicodeDecodeError, csv.Error):
        return []


def _as_told(tables: tuple[LevelTable, ...], rows: list[tuple[str, ...]]) -> tuple[LevelTable, ...]:
    """The tables with the published figures, from which everything else was drawn."""
    found, start = [], 1
    for table in tables:
        found.append(table.as_told(rows[start : start + table.alphabet.slots]))
        start += table.alphabet.slots
    return tuple(found)


def _verify_data(
    read: Read, dataset: str, rows: list[tuple[str, ...]], tables: tuple[LevelTable, ...]
) -> Iterator[VerificationResult]:
    """Every form of the data is made again from the figures of the CSV file, and compared byte for byte."""
    try:
        written = pq.read_table(io.BytesIO(read(data_key(dataset, "parquet"))))
        same = written.equals(parquet_table(rows))
    except (TrasgoError, ValueError, KeyError, IndexError, pa.ArrowException):
        same = False
    yield judge("CSV equals Parquet", data_key(dataset, "parquet"), True, same, Reason.DIGEST_MISMATCH)
    wanted = {data_key(dataset, "csv"): csv_bytes(rows)}
    wanted |= {geojson_key(dataset, table.alphabet.resolution): geojson_bytes(table) for table in tables}
    for path, content in wanted.items():
        yield _made_again(read, path, content, "the file as it follows from the published figures")


def verify_drawn(read: Read, told: Told) -> Iterator[VerificationResult]:
    """Report and maps are drawn again from published figures and statement.

    Their words and shades are those of a version of this library, so those of another version are held by their digests
    only, which is noted; what the figures are is asked of every version.

    Args:
        read: the content of a file of the package.
        told: what pages are drawn from.
    """
    if told.statement["library_version"] != trasgo_lib.__version__:
        yield held_by_digest(told.statement, "report and maps")
        return
    try:
        drawn = drawn_files(told)
    except (KeyError, TypeError, ValueError) as error:  # a statement that leaves out what its figures need
        came = f"{type(error).__name__} while drawing it"
        yield failed("made again", REPORT, "a statement from which pages can be drawn", came, Reason.SCHEMA_VIOLATION)
        return
    for path, content in drawn.items():
        yield _made_again(read, path, content, "the page as it is drawn from the published figures")


def _made_again(read: Read, path: str, content: bytes, required: str) -> VerificationResult:
    try:
        found = read(path)
    except TrasgoError:
        return failed("made again", path, required, "no such file", Reason.MISSING_FILE)
    if found == content:
        return passed("made again", path, required, Reason.DIGEST_MISMATCH)
    return failed("made again", path, required, "another one", Reason.DIGEST_MISMATCH)


def _difference(
    rows: list[tuple[str, ...]], tables: tuple[LevelTable, ...], tolerance: float = _TOLERANCE
) -> str | None:
    """What differs between the CSV file and the recomputed estimates, or None."""
    wanted = [row for table in tables for row in table.rows()]
    if rows[:1] != [CSV_HEADER] or len(rows) != len(wanted) + 1:
        return "other rows"
    try:
        pairs = zip(rows[1:], wanted, strict=True)
        return next(filter(None, (_differs(row, right, tolerance) for row, right in pairs)), None)
    except (ValueError, IndexError):
        return "no figures"


def _differs(row: tuple[str, ...], right: tuple[str, ...], tolerance: float) -> str | None:
    if (row[0], row[1], row[-1]) != (right[0], right[1], right[-1]):
        return "another cell, or another decision to show it"
    allowed = tolerance * float(right[CSV_HEADER.index("standard_error")])
    pairs = zip(row[2:-1], right[2:-1], strict=True)
    # no figure at all, as NaN, is not near one
    return None if all(abs(float(came) - float(figure)) <= allowed for came, figure in pairs) else "another figure"
