"""A window of a collection: close it, count its files, publish what follows from the counts."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import pyarrow.parquet as pq
from prefect import task

from tasks.collection_closing import (
    close,
    closing_key,
    read_closing,
    require_over,
    require_same_plan,
    take_inbox,
)
from tasks.collection_corrections import CORRECTS, FILE_CORRECTS, require_place
from tasks.collection_facts import facts_of, require_healthy, restricted_report
from tasks.collection_life import FREE, WindowPlan, begin, life_of_ref, signing_of_window
from tasks.collection_session import CollectionRef, CollectionSession, collection_of
from tasks.policies import IDEMPOTENT_IO, PURE, at_boundary
from tasks.signing import previous_evidence
from tasks.version_life import VersionLife
from tasks.waiting import announce, bring_waiting, put_waiting
from trasgo_lib.collection import ReportCounts, Tag, count_table, rows_of, tag_counts
from trasgo_lib.collection.intake import ReportFile
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.keys import KeyedDigest
from trasgo_lib.release import MANIFEST, StagedPackage, publish_package

_LOGGER = logging.getLogger("trasgo")


@task(name="close window", **IDEMPOTENT_IO)
@at_boundary
def close_window(ref: CollectionRef) -> int:
    """Take what lies in the inbox, close the window for good, and fix which files are counted, on record, too.

    Returns:
        How many parts there are to count.

    Raises:
        ConflictError: the window is still open, was closed for another collection file, or is public and not on record.
        InputContractError: no reports.
    """
    session = collection_of(ref)
    if not session.restricted.exists(closing_key(session, ref.window)):
        require_over(session, ref.window)
        take_inbox(session, ref)
        close(session, ref.window)
    closing = read_closing(session, ref.window)
    require_same_plan(session, ref.window, closing)
    life = life_of_ref(ref)
    begin(life)
    files = KeyedDigest(life.digest_key())
    files.update(closing.to_bytes())
    life.freeze(files.hexdigest())
    _advance(life, "validated", "the window is closed", batches=str(closing.batches))
    parts = len(closing.parts())
    _LOGGER.info("close: window %s, %d parts to count", ref.window, parts)
    return parts


@task(name="count reports", **IDEMPOTENT_IO)
@at_boundary
def count_reports(ref: CollectionRef, part: int) -> str:
    """Count the reports of some files, by version; unknown versions are counted and not read.

    Returns:
        Key of the counts in the restricted root.

    Raises:
        InputContractError: a file that is not one of reports.
        ConflictError: whoever counts has another alphabet file; it would take known reports for unknown ones.
    """
    session = collection_of(ref)
    key = f"{session.prefix(ref.window)}/counts/{part:06d}.json"
    if session.restricted.exists(key):
        return key
    closing = read_closing(session, ref.window)
    require_same_plan(session, ref.window, closing)
    counted, unknown = count_files(session, ref.window, closing.parts()[part])
    document = {
        "format": 1,
        "versions": [[*tag, counts.to_json()] for tag, counts in sorted(counted.items())],
        "unknown": [[*tag, count] for tag, count in sorted(unknown.items())],
    }
    session.restricted.put_once(key, json.dumps(document).encode())
    return key


def count_files(
    session: CollectionSession, window: str, files: Sequence[ReportFile]
) -> tuple[dict[Tag, ReportCounts], Counter[Tag]]:
    """Counts of known versions, and numbers of reports of unknown ones, each by tag."""
    counted: dict[Tag, ReportCounts] = {}
    unknown: Counter[Tag] = Counter()
    shapes = session.plan.shapes
    for file in files:
        table = pq.read_table(io.BytesIO(session.restricted.get(file.key)))
        if (
            table.num_rows != file.reports
            or rows_of(table, Tag(file.alphabet, file.channel), window).num_rows != file.reports
        ):
            raise _not_as_closed(file.key)
        for tag, reports in tag_counts(table).items():
            shape = shapes.get(tag)
            if shape is None:
                unknown[tag] += reports
                continue
            found = count_table(shape, rows_of(table, tag, window))
            counted[tag] = counted[tag] + found if tag in counted else found
    return counted, unknown


def _not_as_closed(key: str) -> StoreError:
    return StoreError.of(
        Reason.DIGEST_MISMATCH,
        key,
        required="the reports that were acknowledged, of one version and this window",
        came="more, fewer or others",
        fix="Restore the file from a backup; nothing is published until then.",
    )


@task(name="publish collection", **PURE)
@at_boundary
def publish_collection(ref: CollectionRef, keys: list[str]) -> Literal["published", "waiting"]:
    """Add the counts up, check them, estimate, and publish, or let the package wait; again puts the same bytes.

    Raises:
        InputContractError: too few reports.
        CheckFailedError: the reports do not follow their declared channel.
        ConflictError: the store holds other bytes under a key of this version.
    """
    session, life = collection_of(ref), life_of_ref(ref)
    closing = read_closing(session, ref.window)
    counted, unknown = _added_up(session, keys)
    facts = facts_of(session, ref.window, closing, counted, life.plan)
    require_healthy(session, facts)
    prefix = session.prefix(ref.window)
    report = restricted_report(facts, closing, counted, unknown)
    session.restricted.put_once(f"{prefix}/collection_report.json", json.dumps(report, indent=2).encode())
    _advance(life, "drawn", "devices drew; their reports are counted", reports=str(facts.answers))
    correction, declared = life.plan.config.release.supersedes, session.config.release.supersedes
    corrects = {
        CORRECTS: "" if correction is None else correction.version,
        FILE_CORRECTS: "" if declared is None else declared.version,
    }
    _advance(life, "checked", "what is published follows from the counts", **corrects, **previous_evidence(life))
    staged = stage_collection(facts, life.work / "staged", signing_of_window(life))
    if life.must_wait():
        put_waiting(life, staged)
        life.remove_work()
        _LOGGER.info("package: %s waits in the restricted root", prefix)
        return "waiting"
    _require_as_recorded(life, staged)
    life.records.require_publishable(life.plan.dataset, life.plan.version, None)
    require_place(session.plan, life, ref.window)
    publish_package(staged, session.public, prefix)
    announce(life, {}, FREE)
    life.remove_work()
    _LOGGER.info("publish: %s", prefix)
    return "published"


@task(name="publish waiting window", **IDEMPOTENT_IO)
@at_boundary
def publish_waiting_window(ref: CollectionRef) -> None:
    """Bring the approved files of a window to the public root; as ``publish_waiting`` of a release."""
    life = life_of_ref(ref)
    require_place(collection_of(ref).plan, life, ref.window)
    bring_waiting(life, FREE)


def _advance(life: VersionLife[WindowPlan], state: str, reason: str, **evidence: str) -> None:
    """Move a window forward; one that was published before, and whose public files were lost, stays where it is."""
    if life.begin().manifest_digest is None:
        life.advance(state, reason, **evidence)


def _require_as_recorded(life: VersionLife[WindowPlan], staged: StagedPackage) -> None:
    """A window whose public files were lost comes back as it was, or not at all."""
    digest = life.begin().manifest_digest
    if digest not in (None, staged.file(MANIFEST).sha256):
        raise ConflictError.of(
            Reason.DIGEST_MISMATCH,
            f"version {life.plan.dataset}/{life.plan.version}",
            required="the manifest that the record says was published",
            came="another one: another signing key, or another version of this library",
            fix="Restore the public files from a copy; `trasgo verify` tells whether it is whole.",
        )


def _added_up(session: CollectionSession, keys: Sequence[str]) -> tuple[dict[Tag, ReportCounts], Counter[Tag]]:
    counted: dict[Tag, ReportCounts] = {}
    unknown: Counter[Tag] = Counter()
    for key in keys:
        document = json.loads(session.restricted.get(key))
        for alphabet, channel, counts in document["versions"]:
            tag, found = Tag(alphabet, channel), ReportCounts.from_json(counts)
            counted[tag] = counted[tag] + found if tag in counted else found
        unknown.update({Tag(alphabet, channel): reports for alphabet, channel, reports in document["unknown"]})
    return counted, unknown
