"""Verification of a published collection: channels certified anew, estimates recomputed from the published counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trasgo_lib.collection.concluding import (
    ShowRule,
    VersionCounts,
    conclude,
    split_over_maps,
)
from trasgo_lib.collection.health import HealthCheck, check_health
from trasgo_lib.collection.pages import Told
from trasgo_lib.collection.point_estimates import conclude_points
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.standards import claims_of, period_of
from trasgo_lib.collection.verify_counted import read_lattice, read_parts, read_points
from trasgo_lib.collection.verify_data import verify_drawn, verify_tables
from trasgo_lib.collection.verify_described import verify_described
from trasgo_lib.collection.verify_figures import verify_figures
from trasgo_lib.collection.verify_statement import verify_points, verify_statement
from trasgo_lib.collection.verify_words import verify_words
from trasgo_lib.errors import Reason, TrasgoError, VerificationError
from trasgo_lib.keys import PublicKey
from trasgo_lib.release import STATEMENT, VerificationReport, documents, verify_release
from trasgo_lib.release.collection_file import CHANNELS, COUNTS, points_of
from trasgo_lib.release.crate import CRATE
from trasgo_lib.release.verification import VerificationResult, failed, judge, passed
from trasgo_lib.release.verify_metadata import Published, verify_cells_metadata
from trasgo_lib.storage import ObjectStore

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

    def read(path: str) -> bytes:
        return store.get(_key(prefix, path))

    yield from _verify_release(manifest, found)
    is_span = _is_span(statement["window"])
    yield judge("days of the window", STATEMENT, True, is_span, Reason.SCHEMA_VIOLATION)
    if not is_span:
        return
    try:
        parts, lattice = read_parts(read, counts, channels), read_lattice(read, channels)
        counted = read_points(counts, lattice)
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
    dataset = manifest["dataset"]
    if tables:
        tables = yield from verify_tables(read, dataset, tables, of_points=False)
    if points is not None:
        (table,) = yield from verify_tables(read, points_of(dataset), (points.table,), of_points=True)
        points = replace(points, table=table)
    yield from verify_statement(statement, parts, tables)
    yield from verify_points(statement, lattice, points)
    yield from _verify_names(manifest, statement, counts)
    yield from verify_drawn(read, Told(statement, parts, tables, health_of(parts), points))
    yield from verify_cells_metadata(store, prefix, Published(manifest, {}, statement))
    yield from _verify_claims(store, prefix, manifest, statement)
    shown = (*tables, *(() if points is None else (points.table,)))
    yield from verify_figures(statement, shown, read, manifest)
    yield from verify_described(statement, read, manifest)
    yield from verify_words(statement, read, manifest)


def _verify_release(manifest: dict[str, Any], found: dict[str, Any]) -> Iterator[VerificationResult]:
    named, statement = (manifest["dataset"], manifest["version"]), found[STATEMENT]
    for path in _READS:
        came = (found[path]["dataset"], found[path]["version"])
        yield judge("same release", path, named, came, Reason.SCHEMA_VIOLATION)
    for key in ("created", "library_version", "commit"):
        yield judge(f"same {key}", STATEMENT, manifest[key], statement[key], Reason.SCHEMA_VIOLATION)


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
