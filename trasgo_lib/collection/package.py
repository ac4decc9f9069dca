"""The published package of a window: estimates, counts, channels, alphabets, maps, statement, signature, manifest."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trasgo_lib.collection.concluding import CSV_HEADER, LevelTable
from trasgo_lib.collection.geojson import fault_of, geojson_bytes
from trasgo_lib.collection.pages import Told, map_page, map_svg, report_text
from trasgo_lib.collection.point_estimates import PointPart
from trasgo_lib.collection.standards import crate_facts, standards_of
from trasgo_lib.collection.statement import CollectionFacts, statement_document
from trasgo_lib.data.cells import cell_rings
from trasgo_lib.errors import CheckFailedError, Reason
from trasgo_lib.release import (
    ENVELOPE,
    MANIFEST,
    REPORT,
    SIGNING_KEY,
    STATEMENT,
    SUMS,
    Signing,
    StagedFile,
    StagedPackage,
    documents,
    write_staged,
)
from trasgo_lib.release.collection_file import (
    CHANNELS,
    COUNTS,
    MAP_PAGE,
    POINT_MAP_PAGE,
    alphabet_key,
    geojson_key,
    map_key,
    points_of,
)
from trasgo_lib.release.crate import CRATE, crate_of
from trasgo_lib.release.envelope import envelope_bytes, signed_statement
from trasgo_lib.release.manifest import sums_text
from trasgo_lib.release.package import data_key

_TYPES = {"resolution": pa.int8(), "cell": pa.string(), "shown": pa.bool_()}


def counts_document(facts: CollectionFacts) -> dict[str, Any]:
    """The content of ``data/counts.json``, format 1: what every estimate follows from."""
    return {
        "format": 1,
        "dataset": facts.dataset,
        "version": facts.version,
        "window": facts.window,
        "versions": [
            {
                "alphabet": part.tag.alphabet,
                "channel": part.tag.channel,
                "reports": part.counted.reports,
                "counts": part.counted.counts.tolist(),
            }
            for part in facts.parts
        ],
        **({} if facts.points is None else {"points": _point_counts(facts.points.part)}),
    }


def _point_counts(part: PointPart) -> dict[str, Any]:
    """How many points each lattice cell got, from south to north and west to east."""
    return {
        "lattice": part.lattice.tag.alphabet,
        "channel": part.lattice.tag.channel,
        "reports": part.counted.reports,
        "counts": part.counted.counts.tolist(),
    }


def channels_document(facts: CollectionFacts) -> dict[str, Any]:
    """The content of ``channels.json``, format 1."""
    return {
        "format": 1,
        "dataset": facts.dataset,
        "version": facts.version,
        "versions": [
            {
                "alphabet": part.tag.alphabet,
                "resolution": part.alphabet.resolution,
                "channel": part.channel.to_json(),
            }
            for part in facts.parts
        ],
        # also where too few came to be published: what those that were sent cost is stated
        **({} if facts.plan.point is None else {"points": facts.plan.point.lattice.to_json()}),
    }


def csv_rows(tables: tuple[LevelTable, ...]) -> list[tuple[str, ...]]:
    """The rows of the CSV file, header first; coarse cells before fine ones."""
    return [CSV_HEADER, *(row for table in tables for row in table.rows())]


def csv_bytes(rows: list[tuple[str, ...]]) -> bytes:
    """A CSV file as RFC 4180 has it."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def parquet_table(rows: list[tuple[str, ...]]) -> pa.Table:
    """The rows of the CSV file, header first, with types."""
    columns: dict[str, list[Any]] = {}
    for name, cells in zip(rows[0], zip(*rows[1:], strict=True), strict=True):
        columns[name] = [_READ[name](cell) for cell in cells] if name in _READ else [float(cell) for cell in cells]
    return pa.table(columns, schema=pa.schema([(name, _TYPES.get(name, pa.float64())) for name in rows[0]]))


_READ: dict[str, Any] = {"resolution": int, "cell": str, "shown": lambda cell: cell == "true"}


def stage_collection(facts: CollectionFacts, work: Path, signing: Signing | None) -> StagedPackage:
    """Write every public file, list all of them, and sign the list.

    Args:
        facts: what the window came to.
        work: restricted work folder.
        signing: what the package is signed with, or None.

    Returns:
        The whole package, manifest last.

    Raises:
        CheckFailedError: the forms of the data do not say the same.
    """
    statement = statement_document(facts)
    told = Told(statement, facts.parts, facts.tables, facts.health, facts.points)
    data = [write_staged(key, content, work) for key, content in _data_files(facts).items()]
    described = [write_staged(key, content, work) for key, content in _other_files(facts, told).items()]
    described += standards_of(facts, data, statement, work)
    return _listed(facts, statement, [*data, *described], work, signing)


def drawn_files(told: Told) -> dict[str, bytes]:
    """The report and the maps, by path: what follows from published figures and nothing else."""
    files = {REPORT: report_text(told)}
    if told.tables:
        files[MAP_PAGE] = map_page(told, told.tables[-1])
    files |= {map_key(table.alphabet.resolution): map_svg(told, table) for table in told.tables}
    if told.points is not None:
        table = told.points.table
        files[POINT_MAP_PAGE] = map_page(told, table)
        files[map_key(table.alphabet.resolution, of_points=True)] = map_svg(told, table)
    return {path: text.encode() for path, text in files.items()}


def tables_by_name(
    dataset: str, tables: Sequence[LevelTable], points: LevelTable | None
) -> dict[str, tuple[LevelTable, ...]]:
    """The tables of reports of cells and that of points, each by the name of its data files.

    Args:
        dataset: name of the collection.
        tables: of reports of cells, coarse to fine.
        points: of noised points, or None.
    """
    found = {dataset: tuple(tables)} if tables else {}
    return found if points is None else {**found, points_of(dataset): (points,)}


def _data_files(facts: CollectionFacts) -> dict[str, bytes]:
    named = tables_by_name(facts.dataset, facts.tables, None if facts.points is None else facts.points.table)
    files = dict[str, bytes]()
    for name, tables in named.items():
        rows, written = csv_rows(tables), io.BytesIO()
        pq.write_table(parquet_table(rows), written)
        files |= {data_key(name, "parquet"): written.getvalue(), data_key(name, "csv"): csv_bytes(rows)}
    files[COUNTS] = documents.dump(counts_document(facts), "collection_counts")
    for name, tables in named.items():
        files |= {geojson_key(name, table.alphabet.resolution): geojson_bytes(table) for table in tables}
        _require_equal(files, name, tables)
    return files


def _other_files(facts: CollectionFacts, told: Told) -> dict[str, bytes]:
    point = facts.plan.point
    named = [table.alphabet for table in facts.tables] + ([] if point is None else [point.lattice.alphabet])
    alphabets = {alphabet_key(one.version): documents.dump(one.to_json(), "alphabet") for one in named}
    return {
        CHANNELS: documents.dump(channels_document(facts), "collection_channels"),
        STATEMENT: documents.dump(dict(told.statement), "collection_statement"),
        **alphabets,
        **drawn_files(told),
    }


def _require_equal(files: dict[str, bytes], dataset: str, tables: tuple[LevelTable, ...]) -> None:
    """Each form of the data is read back and held against the table."""
    rows = [tuple(row) for row in csv.reader(io.StringIO(files[data_key(dataset, "csv")].decode(), newline=""))]
    read = pq.read_table(io.BytesIO(files[data_key(dataset, "parquet")]))
    wrong = [] if rows == csv_rows(tables) and read.equals(parquet_table(rows)) else ["CSV and Parquet"]
    for table in tables:
        key = geojson_key(dataset, table.alphabet.resolution)
        if fault_of(json.loads(files[key]), table.rows(), cell_rings(table.alphabet.cells)) is not None:
            wrong.append(key)
    if wrong:
        raise CheckFailedError.of(
            Reason.CHECK_FAILED,
            ", ".join(wrong),
            required="the same figures in every form of the data",
            came="others",
            fix="Nothing was published; report this.",
        )


def _listed(
    facts: CollectionFacts, statement: dict[str, Any], staged: list[StagedFile], work: Path, signing: Signing | None
) -> StagedPackage:
    if signing is not None:
        staged.append(write_staged(SIGNING_KEY, signing.key.public.to_pem(), work))
    crate = crate_of(crate_facts(facts, statement), staged, is_signed=signing is not None)
    staged.append(write_staged(CRATE, documents.dump(crate, "crate"), work))
    staged.append(write_staged(SUMS, sums_text(staged).encode(), work))
    key_id = None if signing is None else signing.key.public.key_id
    manifest = {
        "format": 1,
        "dataset": facts.dataset,
        "version": facts.version,
        "supersedes": None if facts.info.supersedes is None else facts.info.supersedes.version,
        "created": facts.created,
        "rows": facts.answers,
        "columns": list(CSV_HEADER),
        "library_version": facts.library_version,
        "commit": facts.commit,
        "signature": None if key_id is None else {"path": ENVELOPE, "key_id": key_id},
        "files": [
            {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in sorted(staged, key=lambda file: file.key)
        ],
    }
    listing = write_staged(MANIFEST, documents.dump(manifest, "manifest"), work)
    if signing is None or key_id is None:
        return StagedPackage((*staged, listing))
    note = None if facts.info.supersedes is None else facts.info.supersedes.note
    signed = signed_statement(manifest, [*staged, listing], signing.anchors, key_id, note)
    return StagedPackage((*staged, write_staged(ENVELOPE, envelope_bytes(signed, signing.key), work), listing))
