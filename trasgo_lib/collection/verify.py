"""Verification of a published collection: channels certified anew, estimates recomputed from the published counts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.building import rebuild_report_channel
from trasgo_lib.collection.concluding import CSV_HEADER, LevelTable, ShowRule, VersionCounts, conclude
from trasgo_lib.collection.counting import ReportCounts
from trasgo_lib.collection.geojson import fault_of
from trasgo_lib.collection.package import parquet_table
from trasgo_lib.collection.verify_statement import verify_statement
from trasgo_lib.data.cells import cell_rings
from trasgo_lib.errors import Reason, TrasgoError, VerificationError
from trasgo_lib.keys import PublicKey
from trasgo_lib.release import STATEMENT, VerificationReport, documents, verify_release
from trasgo_lib.release.collection_file import CHANNELS, COUNTS, alphabet_key, geojson_key
from trasgo_lib.release.package import data_key
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed
from trasgo_lib.storage import ObjectStore

_TOLERANCE = 1e-7
"""Of a standard error: what the last published digit and another machine's library may differ by."""

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
    try:
        parts = _parts(store, prefix, counts, channels)
        yield passed("certificates", CHANNELS, "channels and alphabets that prove what they claim", _CLAIM)
        tables = conclude(parts, ShowRule(float(statement["show"]["level"]), float(statement["show"]["confidence"])))
    except (TrasgoError, ArithmeticError, ValueError, KeyError, TypeError, StopIteration) as error:
        came_text = f"something that cannot be computed with ({type(error).__name__})"
        yield failed("certificates", CHANNELS, "channels, alphabets and counts of each version", came_text, _CLAIM)
        return
    yield from verify_statement(statement, parts, tables)
    window, version = statement["window"]["first_day"], counts["version"]
    yield judge("same window", STATEMENT, counts["window"], window, Reason.SCHEMA_VIOLATION)
    yield judge("version of the window", STATEMENT, True, version.startswith(f"{window}."), Reason.SCHEMA_VIOLATION)
    yield judge("same reports", "manifest.json", manifest["rows"], statement["reports"], Reason.SCHEMA_VIOLATION)
    yield from _verify_data(store, prefix, manifest["dataset"], tables)


_CLAIM = Reason.CLAIM_NOT_CERTIFIED


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
            and (channel.kind == "bits" or int(numbers.sum()) == counted["reports"])
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


def _verify_data(
    store: ObjectStore, prefix: str, dataset: str, tables: tuple[LevelTable, ...]
) -> Iterator[VerificationResult]:
    """The published figures against those that follow from the counts, and every form of them against the others."""
    key = data_key(dataset, "csv")
    try:
        text = store.get(_key(prefix, key)).decode("utf-8")
        rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))]
        came = _difference(rows, tables)
        parquet = pq.read_table(io.BytesIO(store.get(_key(prefix, data_key(dataset, "parquet")))))
        same = parquet.equals(parquet_table(rows))
    except (TrasgoError, UnicodeDecodeError, ValueError, KeyError, IndexError, pa.ArrowException):
        yield failed("estimates", key, "the estimates", "files that cannot be read", Reason.MISSING_FILE)
        return
    required = "the estimates that follow from the counts"
    if came is None:
        yield passed("estimates", key, required, Reason.DIGEST_MISMATCH)
    else:
        yield failed("estimates", key, required, came, Reason.DIGEST_MISMATCH)
    yield judge("CSV equals Parquet", key, True, same, Reason.DIGEST_MISMATCH)
    start = 1
    for table in tables:
        path, cells = geojson_key(dataset, table.alphabet.resolution), table.alphabet.cells
        own = rows[start : start + len(cells)]
        start += table.alphabet.slots
        try:
            fault = fault_of(json.loads(store.get(_key(prefix, path))), own, cell_rings(cells))
        except (TrasgoError, ValueError):
            fault = "a file that cannot be read"
        required = "the shown cells of the CSV file, wound counter-clockwise"
        if fault is None:
            yield passed("GeoJSON equals CSV", path, required, Reason.DIGEST_MISMATCH)
        else:
            yield failed("GeoJSON equals CSV", path, required, fault, Reason.DIGEST_MISMATCH)


def _difference(rows: list[tuple[str, ...]], tables: tuple[LevelTable, ...]) -> str | None:
    """What differs between the CSV file and the recomputed estimates, or None."""
    wanted = [row for table in tables for row in table.rows()]
    if rows[:1] != [CSV_HEADER] or len(rows) != len(wanted) + 1:
        return "other rows"
    place = CSV_HEADER.index("standard_error")
    for row, right in zip(rows[1:], wanted, strict=True):
        if (row[0], row[1], row[-1]) != (right[0], right[1], right[-1]):
            return "another cell, or another decision to show it"
        allowed = _TOLERANCE * float(right[place])
        # no figure at all, as NaN, is not near one
        if not all(
            abs(float(came) - float(figure)) <= allowed for came, figure in zip(row[2:-1], right[2:-1], strict=True)
        ):
            return "another figure"
    return None


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
