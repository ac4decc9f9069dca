"""A window of a collection: close it, count its files, publish what follows from the counts."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from prefect import task

import trasgo_lib
from tasks.collection_session import CollectionRef, CollectionSession, collection_of, collector_key, resolve
from tasks.made_with import source_revision
from tasks.policies import IDEMPOTENT_IO, PURE, at_boundary
from tasks.stores import open_root
from trasgo_lib.collection import ReportCounts, Tag, check_health, count_table, rows_of, tag_counts
from trasgo_lib.collection.concluding import VersionCounts, conclude
from trasgo_lib.collection.intake import Refusal, ReportFile, Submission
from trasgo_lib.collection.package import stage_collection
from trasgo_lib.collection.statement import CollectionFacts, show_rule
from trasgo_lib.errors import CheckFailedError, ConflictError, InputContractError, Reason, StoreError
from trasgo_lib.release import MANIFEST, publish_package

_LOGGER = logging.getLogger("trasgo")

_REPORTS_A_PART = 1 << 18
"""Reports that one task counts: seconds of work, and some 30 MB of the widest bits usual."""

_FILES_GROUP = "files"
"""The client group of batches that came as files."""

_LINES_AT_ONCE = 64
_NOT_NOW = (Refusal.STORE_UNREACHABLE, Refusal.BUSY)
"""What a client would send again; a window must not be closed over it."""


@dataclass(frozen=True, slots=True)
class Closing:
    """What a window was closed with; written once, so that a run again counts the same files.

    Args:
        created: when, ISO 8601 with a time zone.
        plan_digest: of the collection file it is published by.
        files: the files of reports.
        refused: reports that were not taken, by reason.
        batches: batches that were taken.
        library_version: version of this library.
        commit: source revision, or ``unknown``.
    """

    created: str
    plan_digest: str
    files: tuple[ReportFile, ...]
    refused: dict[str, int]
    batches: int
    library_version: str
    commit: str

    def parts(self) -> tuple[tuple[ReportFile, ...], ...]:
        """The files in groups of so many reports, one for each task."""
        groups: list[list[ReportFile]] = []
        reports = _REPORTS_A_PART
        for file in self.files:
            if reports >= _REPORTS_A_PART:
                groups.append([])
                reports = 0
            groups[-1].append(file)
            reports += file.reports
        return tuple(tuple(group) for group in groups)

    def to_bytes(self) -> bytes:
        """As it is stored."""
        document = {
            "format": 1,
            "created": self.created,
            "plan_digest": self.plan_digest,
            "files": [[one.key, one.alphabet, one.channel, one.reports] for one in self.files],
            "refused": self.refused,
            "batches": self.batches,
            "library_version": self.library_version,
            "commit": self.commit,
        }
        return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Closing:
        """What ``to_bytes`` wrote."""
        told = json.loads(stored)
        files = tuple(ReportFile(*one) for one in told["files"])
        texts = (told["created"], told["plan_digest"], files, told["refused"], told["batches"])
        return cls(*texts, told["library_version"], told["commit"])


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
    key = f"{session.prefix(ref.window)}/closing.json"
    if not session.restricted.exists(key):
        require_over(session, ref.window)
        take_inbox(session, ref)
        _close(session, ref.window, key)
    closing = read_closing(session, ref.window)
    require_same_plan(session, ref.window, closing)
    parts = len(closing.parts())
    _LOGGER.info("close: window %s, %d parts to count", ref.window, parts)
    return parts


def require_same_plan(session: CollectionSession, window: str, closing: Closing) -> None:
    """Stop when a window was closed for another collection file.

    Raises:
        ConflictError: exit 4.
    """
    if closing.plan_digest != session.digest:
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            session.prefix(window),
            required="the collection file this window was closed with",
            came="one with other versions, windows, budgets or rules of what is shown",
            fix="Restore the file, or raise release.version in it: the same reports can be published again, free.",
        )


def require_over(session: CollectionSession, window: str) -> None:
    """Stop while devices may still report.

    Raises:
        ConflictError: they may, or there is no such window.
    """
    # imported by name at call time, so that a test can set the day
    from tasks import collection_session

    windows, today = session.plan.windows, collection_session.today()
    if not windows.is_window(window):
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"window {window}",
            required=f"the first day of a window: {windows.first_day.isoformat()} and every {windows.days} days after",
            came="another text",
            fix="Name the first day of the window.",
        )
    if windows.is_open(window, today) or window > today.isoformat():
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"window {window}",
            required=f"a window that ended at least {windows.late_days} days ago, by UTC",
            came="one that still takes reports",
            fix="Run it again later.",
        )


def take_inbox(session: CollectionSession, ref: CollectionRef) -> None:
    """Batches that came as files: every line of ``<inbox>/<window>/*`` is one; files are left where they are."""
    inbox = session.config.collector.inbox
    if inbox is None:
        return
    place = resolve(session.config_path, inbox)
    store = open_root(place, session.config.publish.restricted_s3, private=True)
    # what lies there when the window is closed is in time
    receiver = session.receiver(collector_key(Path(ref.home)), lambda: datetime.fromisoformat(ref.window).date())
    taken = 0
    for name in store.list(ref.window):
        lines = [line for line in store.get(name).splitlines() if line.strip()]
        for first in range(0, len(lines), _LINES_AT_ONCE):
            own = [Submission(_FILES_GROUP, line) for line in lines[first : first + _LINES_AT_ONCE]]
            outcomes = receiver.receive(own)
            if any(outcome.refusal in _NOT_NOW for outcome in outcomes):
                raise _not_taken(name)
            taken += sum(outcome.receipt.accepted for outcome in outcomes if not outcome.replayed)
    _LOGGER.info("inbox: %d reports taken, %d refused", taken, receiver.refused.total())


def _not_taken(name: str) -> StoreError:
    return StoreError.of(
        Reason.STORE_UNREACHABLE,
        f"batches of {name}",
        required="a restricted root that takes them",
        came="none, or other collectors at work",
        fix="The window is not closed. Run it again: what was taken is not taken twice.",
    )


def _close(session: CollectionSession, window: str, key: str) -> None:
    journal = session.journal()
    log = journal.read(window)
    while not log.closed and not journal.close(window, log):
        journal.read_on(window, log)
    journal.forget_devices(window)
    if not log.files:
        raise _too_few(window, "no report")
    closing = Closing(
        created=datetime.now(UTC).replace(microsecond=0).isoformat(),
        plan_digest=session.digest,
        files=tuple(log.files),
        refused=dict(sorted(log.refused.items())),
        batches=len(log.batches),
        library_version=trasgo_lib.__version__,
        commit=source_revision(),
    )
    session.restricted.put_once(key, closing.to_bytes())


def read_closing(session: CollectionSession, window: str) -> Closing:
    """What a window was closed with."""
    return Closing.from_bytes(session.restricted.get(f"{session.prefix(window)}/closing.json"))


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
        for tag, reports in tag_counts(table).items():
            version = session.plan.version_of(tag)
            if version is None:
                unknown[tag] += reports
                continue
            found = count_table(version.channel, rows_of(table, tag, window))
            counted[tag] = counted[tag] + found if tag in counted else found
    return counted, unknown


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
        raise _too_few(window, f"fewer than {least} of some resolution")
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


def _too_few(window: str, came: str) -> InputContractError:
    return InputContractError.of(
        Reason.NO_ROWS,
        f"reports of window {window}",
        required="enough reports of every resolution",
        came=came,
        fix="Nothing was published. Look for what was refused in the restricted root; wait for a fuller window.",
    )
