"""Verification of a published collection: channels certified anew, estimates recomputed from the published counts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import trasgo_lib
from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.building import rebuild_report_channel
from trasgo_lib.collection.concluding import (
    CSV_HEADER,
    LevelTable,
    ShowRule,
    VersionCounts,
    conclude,
    split_over_maps,
)
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.geojson import geojson_bytes
from trasgo_lib.collection.health import HealthCheck, check_health
from trasgo_lib.collection.package import csv_bytes, drawn_files, parquet_table, tables_by_name
from trasgo_lib.collection.pages import Told
from trasgo_lib.collection.point_estimates import PointPart, conclude_points
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.standards import claims_of, period_of
from trasgo_lib.collection.verify_described import verify_described
from trasgo_lib.collection.verify_figures import held_by_digest, verify_figures
from trasgo_lib.collection.verify_statement import verify_points, verify_statement
from trasgo_lib.collection.verify_words import verify_words
from trasgo_lib.errors import Reason, TrasgoError, VerificationError
from trasgo_lib.keys import PublicKey
from trasgo_lib.release import REPORT, STATEMENT, VerificationReport, documents, verify_release
from trasgo_lib.release.collection_file import CHANNELS, COUNTS, alphabet_key, geojson_key, points_of
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.package import data_key
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed
from trasgo_lib.release.verify_metadata import Published, verify_cells_metadata
from trasgo_lib.storage import ObjectStore

_TOLERANCE = 1e-7
"""Of a standard error: what the last published digit and another machine's library may differ by."""

_TOLERANCE_OF_POINTS = 1e-3
"""The same of points, whose figures are published to the fifth digit of their standard error."""

_READS = {COUNTS: "collection_counts", CHANNELS: "collection_channels", STATEMENT: "collection_statement"}


def verify_collection(place: str | Path | ObjectStore, keys: Sequence[PublicKey] = ()) -> VerificationReport:
    """Check a published window from its public files alone; as ``verify_release``."""
    return verify_release(place, keys=keys, collections=verify_counts)


def verify_counts(store: ObjectStore, prefix: str, manifest: dict[str, Any]) -> Iterator[VerificationResult]:
    """Check what a collection says against what follows from its counts.

    Args:
        store: where the package stands.
        prefix: its prefix; empty when the store's root is the package.
        manifest: the parsed manifest.
    """
    found: dict[str, Any] = {}
    for path, schema in _READS.items():
        yield _read(store, prefix, path, schema, found)
    if len(found) < len(_READS):
        return
    counts, channels, statement = (found[path] for path in _READS)
    named = (manifest["dataset"], manifest["version"])
    for path in _READS:
        came = (found[path]["dataset"], found[path]["version"])
        yield judge("same release", path, named, came, Reason.SCHEMA_VIOLATION)
    for key in ("created", "library_version", "commit"):
        yield judge(f"same {key}", STATEMENT, manifest[key], statement[key], Reason.SCHEMA_VIOLATION)
    is_span = _is_span(statement["window"])
    yield judge("days of the window", STATEMENT, True, is_span, Reason.SCHEMA_VIOLATION)
    if not is_span:
        return
    try:
        parts, lattice = _parts(store, prefix, counts, channels), _lattice(store, prefix, channels)
        counted = _points(counts, lattice)
        yield passed("certificates", CHANNELS, "channels and alphabets that prove what they claim", _CLAIM)
        levels, show = len({part.level for part in parts}), statement["show"]
        rule = ShowRule(float(show["level"]), float(show["confidence"]))
        of_cells, of_points = split_over_maps(rule, levels, has_points=counted is not None)
        tables = conclude(parts, of_cells)
        points = None if counted is None else conclude_points(counted, of_points)
    except (TrasgoError, ArithmeticError, ValueError, KeyError, TypeError, StopIteration) as error:
        came_text = f"something that cannot be computed with ({type(error).__name__})"
        yield failed("certificates", CHANNELS, "channels, alphabets and counts of each version", came_text, _CLAIM)
        return
    told = dict[str, tuple[LevelTable, ...]]()
    named_tables = tables_by_name(manifest["dataset"], tables, None if points is None else points.table)
    for name, own in named_tables.items():
        rows, required = _told_rows(store, prefix, name), "the estimates that follow from the counts"
        tolerance = _TOLERANCE if name == manifest["dataset"] else _TOLERANCE_OF_POINTS
        differing = _difference(rows, own, tolerance)
        if differing is None:
            yield passed("estimates", data_key(name, "csv"), required, Reason.DIGEST_MISMATCH)
            told[name] = _as_told(own, rows)
        else:
            yield failed("estimates", data_key(name, "csv"), required, differing, Reason.DIGEST_MISMATCH)
            told[name] = own
        yield from _verify_data(store, prefix, name, rows, told[name])
    tables = told.get(manifest["dataset"], ())
    if points is not None:
        points = replace(points, table=told[points_of(manifest["dataset"])][0])
    yield from verify_statement(statement, parts, tables)
    yield from verify_points(statement, lattice, points)
    yield from _verify_names(manifest, statement, counts)
    yield from _verify_drawn(store, prefix, Told(statement, parts, tables, health_of(parts), points))
    yield from verify_cells_metadata(store, prefix, Published(manifest, {}, statement))
    yield from _verify_claims(store, prefix, manifest, statement)
    shown = (*tables, *(() if points is None else (points.table,)))
    yield from verify_figures(statement, shown, lambda path: store.get(_key(prefix, path)), manifest)
    yield from verify_described(statement, lambda path: store.get(_key(prefix, path)), manifest)
    yield from verify_words(statement, lambda path: store.get(_key(prefix, path)), manifest)


def _verify_names(
    manifest: dict[str, Any], statement: dict[str, Any], counts: dict[str, Any]
) -> Iterator[VerificationResult]:
    corrected = (statement["supersedes"] or {}).get("version")
    yield judge("same superseded version", STATEMENT, manifest["supersedes"], corrected, Reason.SCHEMA_VIOLATION)
    window, version = statement["window"]["first_day"], counts["version"]
    yield judge("same window", STATEMENT, counts["window"], window, Reason.SCHEMA_VIOLATION)
    yield judge("version of the window", STATEMENT, True, version.startswith(f"{window}."), Reason.SCHEMA_VIOLATION)
    answers = statement["reports"] + counts.get("points", {"reports": 0})["reports"]
    yield judge("same reports", "manifest.json", manifest["rows"], answers, Reason.SCHEMA_VIOLATION)


_CLAIM = Reason.CLAIM_NOT_CERTIFIED


def _is_span(window: dict[str, Any]) -> bool:
    """Whether a stated window has days of the calendar."""
    try:
        period_of(window["first_day"], window["days"])
    except (ValueError, OverflowError):
        return False
    return True


def _parts(
    store: ObjectStore, prefix: str, counts: dict[str, Any], channels: dict[str, Any]
) -> tuple[VersionCounts, ...]:
    """What was counted of each version; channels and alphabets are certified on the way."""
    resolutions = sorted({one["resolution"] for one in channels["versions"]})
    parts = []
    for told, counted in zip(channels["versions"], counts["versions"], strict=True):
        alphabet = Alphabet.from_json(
            documents.parse(store.get(_key(prefix, alphabet_key(told["alphabet"]))), "alphabet")
        )
        channel = rebuild_report_channel(told["channel"])
        numbers = np.array(counted["counts"], dtype=np.int64)
        part = VersionCounts(
            resolutions.index(told["resolution"]), alphabet, channel,
            ReportCounts(channel.kind, numbers, counted["reports"], {}),
        )  # fmt: skip
        sound = (
            tuple(part.tag)
            == (counted["alphabet"], counted["channel"])
            == (told["alphabet"], told["channel"]["version"])
            and alphabet.slots == channel.slots == len(numbers)
            and alphabet.resolution == told["resolution"]
            and bool((numbers <= counted["reports"]).all())
            and (channel.kind == "bits" or sum(numbers.tolist()) == counted["reports"])
        )
        if not sound:
            raise ValueError("versions, slots and counts do not belong together")
        parts.append(part)
    levels = {part.level: part.alphabet.version for part in parts}
    if any(levels[part.level] != part.alphabet.version for part in parts):
        raise ValueError("one resolution has one alphabet")
    if len({part.tag for part in parts}) < len(parts):
        raise ValueError("each version is counted once")
    return tuple(parts)


def _lattice(store: ObjectStore, prefix: str, channels: dict[str, Any]) -> PointLattice | None:
    """The lattice and noise that devices were asked for points with, certified anew."""
    if "points" not in channels:
        return None
    told = channels["points"]
    alphabet = Alphabet.from_json(documents.parse(store.get(_key(prefix, alphabet_key(told["alphabet"]))), "alphabet"))
    if alphabet.has_nobody:
        raise ValueError("nobody is asked for points of nobody")
    return PointLattice.from_json(told, alphabet)


def _points(counts: dict[str, Any], lattice: PointLattice | None) -> PointPart | None:
    """What was counted of points."""
    if "points" not in counts:
        if not counts["versions"]:
            raise ValueError("neither reports nor points")
        return None
    counted = counts["points"]
    numbers = np.array(counted["counts"], dtype=np.int64)
    sound = (
        lattice is not None
        and tuple(lattice.tag) == (counted["lattice"], counted["channel"])
        and len(numbers) == lattice.domain.size
        and sum(numbers.tolist()) == counted["reports"]  # of whole numbers without end: a sum of int64 wraps
    )
    if lattice is None or not sound:
        raise ValueError("lattice, points and counts do not belong together")
    return PointPart(lattice, ReportCounts("slot", numbers, counted["reports"], {}))


def _told_rows(store: ObjectStore, prefix: str, dataset: str) -> list[tuple[str, ...]]:
    """The rows of the CSV file, header first; none when it cannot be read."""
    try:
        text = store.get(_key(prefix, data_key(dataset, "csv"))).decode("utf-8")
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
    store: ObjectStore, prefix: str, dataset: str, rows: list[tuple[str, ...]], tables: tuple[LevelTable, ...]
) -> Iterator[VerificationResult]:
    """Every form of the data is made again from the figures of the CSV file, and compared byte for byte."""
    try:
        written = pq.read_table(io.BytesIO(store.get(_key(prefix, data_key(dataset, "parquet")))))
        same = written.equals(parquet_table(rows))
    except (TrasgoError, ValueError, KeyError, IndexError, pa.ArrowException):
        same = False
    yield judge("CSV equals Parquet", data_key(dataset, "parquet"), True, same, Reason.DIGEST_MISMATCH)
    wanted = {data_key(dataset, "csv"): csv_bytes(rows)}
    wanted |= {geojson_key(dataset, table.alphabet.resolution): geojson_bytes(table) for table in tables}
    for path, content in wanted.items():
        yield _made_again(store, prefix, path, content, "the file as it follows from the published figures")


def _verify_drawn(store: ObjectStore, prefix: str, told: Told) -> Iterator[VerificationResult]:
    """Report and maps are drawn again from published figures and statement.

    Their words and shades are those of a version of this library, so those of another version are held by their digests
    only, which is noted; what the figures are is asked of every version.
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
        yield _made_again(store, prefix, path, content, "the page as it is drawn from the published figures")


def _made_again(store: ObjectStore, prefix: str, path: str, content: bytes, required: str) -> VerificationResult:
    try:
        found = store.get(_key(prefix, path))
    except TrasgoError:
        return failed("made again", path, required, "no such file", Reason.MISSING_FILE)
    if found == content:
        return passed("made again", path, required, Reason.DIGEST_MISMATCH)
    return failed("made again", path, required, "another one", Reason.DIGEST_MISMATCH)


def _verify_claims(
    store: ObjectStore, prefix: str, manifest: dict[str, Any], statement: dict[str, Any]
) -> Iterator[VerificationResult]:
    """The amounts that research metadata repeat are those of the statement."""
    if not any(entry["path"] == CRATE for entry in manifest["files"]):
        return
    try:
        graph = documents.parse(store.get(_key(prefix, CRATE)), "crate")["@graph"]
        came = {one["name"]: one["value"] for one in graph if one["@type"] == "PropertyValue"}
    except (TrasgoError, KeyError, TypeError):
        return  # told by the check of its digests
    required = {name: amount for name, amount in claims_of(statement).items() if amount != "0"}
    yield judge("amounts", CRATE, required, came, Reason.CLAIM_NOT_CERTIFIED)


def health_of(parts: Sequence[VersionCounts]) -> dict[Tag, tuple[HealthCheck, ...]]:
    """The checks of each version's counts."""
    return {part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts}


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


def _read(store: ObjectStore, prefix: str, path: str, schema: str, found: dict[str, Any]) -> VerificationResult:
    required = f"strict JSON of {schema}.schema.json"
    try:
        found[path] = documents.parse(store.get(_key(prefix, path)), schema)
    except VerificationError as error:
        fault = error.faults[0]
        return failed("schema", path, fault.required, fault.came, fault.reason)
    except TrasgoError as error:
        return failed("schema", path, required, str(error.reason), Reason.MISSING_FILE)
    return passed("schema", path, required, Reason.SCHEMA_VIOLATION)


def _key(prefix: str, path: str) -> str:
    return f"{prefix}/{path}" if prefix else path
