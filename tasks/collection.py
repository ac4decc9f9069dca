"""A window of a collection: close it, count its files, publish what follows from the counts."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq
from prefect import task

from tasks.collection_closing import (
    Closing,
    close,
    closing_key,
    read_closing,
    require_over,
    require_same_plan,
    take_inbox,
    too_few,
)
from tasks.collection_session import CollectionRef, CollectionSession, collection_of
from tasks.policies import IDEMPOTENT_IO, PURE, at_boundary
from trasgo_lib.collection import ReportCounts, Tag, check_health, count_table, rows_of, tag_counts
from trasgo_lib.collection.concluding import VersionCounts, conclude
from trasgo_lib.collection.intake import ReportFile
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.statement import CollectionFacts, show_rule
from trasgo_lib.errors import CheckFailedError, Reason, StoreError
from trasgo_lib.release import MANIFEST, publish_package

_LOGGER = logging.getLogger("trasgo")


@task(name="close window", **IDEMPOTENT_IO)
@at_boundary
def close_window(ref: CollectionRef) -> int:
    """Take what lies in the inbox, close the window for good, and fix which files are counted.

    Returns:
        How many parts there are to count.

    Raises:
        ConflictError: the window is still open, or was closed for another collection file.
        InputContractError: no reports.
    """
    session = collection_of(ref)
    if not session.restricted.exists(closing_key(session, ref.window)):
        require_over(session, ref.window)
        take_inbox(session, ref)
        close(session, ref.window)
    closing = read_closing(session, ref.window)
    require_same_plan(session, ref.window, closing)
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
    """
    session = collection_of(ref)
    key = f"{session.prefix(ref.window)}/counts/{part:06d}.json"
    if session.restricted.exists(key):
        return key
    files = read_closing(session, ref.window).parts()[part]
    counted, unknown = count_files(session, ref.window, files)
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
    for file in files:
        table = pq.read_table(io.BytesIO(session.restricted.get(file.key)))
        if (
            table.num_rows != file.reports
            or rows_of(table, Tag(file.alphabet, file.channel), window).num_rows != file.reports
        ):
            raise _not_as_closed(file.key)
        for tag, reports in tag_counts(table).items():
            version = session.plan.version_of(tag)
            if version is None:
                unknown[tag] += reports
                continue
            found = count_table(version.channel, rows_of(table, tag, window))
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
def publish_collection(ref: CollectionRef, keys: list[str]) -> None:
    """Add the counts up, check them, estimate, and publish; the same window again puts the same bytes.

    Raises:
        InputContractError: too few reports.
        CheckFailedError: the reports do not follow their declared channel.
        ConflictError: the store holds other bytes under a key of this version.
    """
    session = collection_of(ref)
    closing = read_closing(session, ref.window)
    counted, unknown = _added_up(session, keys)
    facts = facts_of(session, ref.window, closing, counted)
    _require_healthy(session, facts)
    prefix = session.prefix(ref.window)
    report = _restricted_report(facts, closing, counted, unknown)
    session.restricted.put_once(f"{prefix}/collection_report.json", json.dumps(report, indent=2).encode())
    work = session.work(ref.window)
    staged = stage_collection(facts, work / "staged", session.signing(ref.window))
    publish_package(staged, session.public, prefix)
    for file in staged.files:
        file.path.unlink()
    _LOGGER.info("publish: %s", prefix)


def facts_of(
    session: CollectionSession, window: str, closing: Closing, counted: dict[Tag, ReportCounts]
) -> CollectionFacts:
    """What is published of a window.

    Raises:
        InputContractError: a resolution without a version of enough reports.
    """
    plan, least = session.plan, session.config.show.least_reports
    enough = [tag for tag, counts in counted.items() if counts.reports >= least]
    parts = [
        VersionCounts(version.level, version.alphabet, version.channel, counted[version.tag])
        for version in plan.versions
        if version.tag in enough
    ]
    if {part.level for part in parts} != {version.level for version in plan.versions}:
        raise too_few(window, f"fewer than {least} of some resolution")
    return CollectionFacts(
        plan=plan,
        window=window,
        parts=parts,
        left_out=sorted(tag for tag in counted if tag not in enough),
        tables=conclude(parts, show_rule(plan)),
        health={part.tag: check_health(part.channel, part.counted, part.alphabet) for part in parts},
        created=closing.created,
        library_version=closing.library_version,
        commit=closing.commit,
    )


def is_published(session: CollectionSession, window: str) -> bool:
    """Whether a window is public already."""
    return session.public.exists(f"{session.prefix(window)}/{MANIFEST}")


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


def _require_healthy(session: CollectionSession, facts: CollectionFacts) -> None:
    if session.config.show.on_unhealthy == "publish":
        return
    failed = [check for checks in facts.health.values() for check in checks if not check.is_passed]
    if failed:
        raise CheckFailedError.of(
            Reason.CHECK_FAILED,
            f"reports of window {facts.window}",
            required="reports that follow their declared channel",
            came="; ".join(f"{check.name}: {check.words}" for check in failed),
            fix="Find the clients that answer otherwise; `on_unhealthy: publish` below `show` publishes all the same.",
        )


def _restricted_report(
    facts: CollectionFacts, closing: Closing, counted: dict[Tag, ReportCounts], unknown: Counter[Tag]
) -> dict[str, Any]:
    """For the office: what was refused and why, what was left out, and every health check."""
    return {
        "format": 1,
        "window": facts.window,
        "batches": closing.batches,
        "refused": closing.refused,
        "refused_when_counted": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "refused": dict(counts.refused)}
            for tag, counts in sorted(counted.items())
        ],
        "unknown_versions": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "reports": reports}
            for tag, reports in sorted(unknown.items())
        ],
        "left_out": [
            {"alphabet": tag.alphabet, "channel": tag.channel, "reports": counted[tag].reports}
            for tag in facts.left_out
        ],
        "health": [
            {"channel": tag.channel, "name": check.name, "observed": check.observed, "expected": check.expected,
             "score": check.score, "limit": check.limit, "passed": check.is_passed}
            for tag, checks in facts.health.items()
            for check in checks
        ],
    }  # fmt: skip
