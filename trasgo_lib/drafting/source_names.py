"""Whether a source file's columns are those that are declared: names only, no row is looked at."""

from __future__ import annotations

from pathlib import Path

from trasgo_lib.config import Document, Source, declared_sources, source_as_written
from trasgo_lib.data.csv_source import CsvSource
from trasgo_lib.data.header import ColumnMatch, match_header
from trasgo_lib.data.reading import ColumnReading, SourceReading
from trasgo_lib.drafting.findings import Finding, Weight, must
from trasgo_lib.drafting.parquet_schema import parquet_columns
from trasgo_lib.drafting.prefix import read_prefix
from trasgo_lib.errors import InputContractError
from trasgo_lib.plan.reading import csv_reading

_PUBLIC_KEY = bytes(32)
"""The reader wants a key for digests; none is made of so little of a file."""


def examine_source(document: Document, folder: Path) -> list[Finding]:
    """Look whether the source is there and has the declared columns.

    Args:
        document: a release file, which may have faults and undecided keys.
        folder: the release file's folder.
    """
    source, names = source_as_written(document.value), declared_sources(document.value)
    if source is None or not names:
        return []
    path = (folder / source.path).resolve()
    mark = document.mark(("source", "path"))
    try:
        read_prefix(path)
    except InputContractError as error:
        came = error.faults[0].came
        words, fix = f"source {path.name}: {came}", "Bring the file, or correct source.path. A rehearsal needs none."
        return [Finding(Weight.FIX, words, fix, mark.line, mark.column)]
    try:
        match = _matched(source, names, path)
    except InputContractError as error:
        return must(error.faults)
    if match.faults:
        return must(match.faults, f"source {path.name}")
    declared = "declared column" if len(names) == 1 else f"{len(names)} declared columns"
    return [Finding(Weight.FINE, f"source {path.name}: has the {declared} and no other")]


def _matched(source: Source, names: tuple[str, ...], path: Path) -> ColumnMatch:
    columns = tuple(ColumnReading(name=name, sources=(name,), kind="text", role="drop") for name in names)
    reading = SourceReading(path=path, format=source.format, columns=columns, csv=csv_reading(source.csv))
    if source.format == "csv":
        with CsvSource(reading, _PUBLIC_KEY) as opened:
            return opened.match
    return match_header([column.name for column in parquet_columns(path)], reading)
