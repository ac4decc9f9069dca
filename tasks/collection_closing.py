"""A window that is over: what lies in its inbox is taken, it is closed for good, and its files are written down."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trasgo_lib
from tasks.collection_session import CollectionRef, CollectionSession, collector_key, resolve
from tasks.made_with import source_revision
from tasks.stores import open_root
from trasgo_lib.collection import CollectionPlan
from trasgo_lib.collection.intake import Refusal, ReportFile, Submission, WindowLog
from trasgo_lib.errors import ConflictError, InputContractError, Reason, StoreError

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


def closing_key(session: CollectionSession, window: str) -> str:
    """Where a window's closing is written down, in the restricted root."""
    return f"{session.prefix(window)}/closing.json"


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
            came="one with other versions, windows, budgets, rules of what is shown, or words on what it corrects",
            fix="Restore the file, or raise release.version in it: the same reports can be published again, free.",
        )


def last_over(plan: CollectionPlan) -> str:
    """The last window that takes no more reports.

    Raises:
        ConflictError: there is none yet.
    """
    # imported by name at call time, so that a test can set the day
    from tasks import collection_session

    windows = plan.windows
    last = collection_session.today() - timedelta(days=windows.days + windows.late_days)
    if last < windows.first_day:
        ends = windows.first_day + timedelta(days=windows.days + windows.late_days - 1)
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            "windows",
            required="one that is over",
            came="none yet",
            fix=f"Run it again later: the first one takes reports until {ends.isoformat()}.",
        )
    return windows.of(last)


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
    names = store.list(ref.window)
    for name in names:
        lines = [line for line in store.get(name).splitlines() if line.strip()]
        for first in range(0, len(lines), _LINES_AT_ONCE):
            own = [Submission(_FILES_GROUP, line) for line in lines[first : first + _LINES_AT_ONCE]]
            outcomes = receiver.receive(own)
            if any(outcome.refusal in _NOT_NOW for outcome in outcomes):
                raise _not_taken(name)
    receiver.record()
    _LOGGER.info("inbox: %d files read", len(names))


def _not_taken(name: str) -> StoreError:
    return StoreError.of(
        Reason.STORE_UNREACHABLE,
        f"batches of {name}",
        required="a restricted root that takes them",
        came="none, or other collectors at work",
        fix="The window is not closed. Run it again: what was taken is not taken twice.",
    )


def close(session: CollectionSession, window: str) -> None:
    """Close a window for good and write down which files are counted.

    Raises:
        InputContractError: no reports.
        ConflictError: its reports were taken when windows had another length.
    """
    journal = session.journal()
    log = journal.read(window)
    _require_same_length(session, window, log)
    while not log.closed and not journal.close(window, log):
        journal.read_on(window, log)
        _require_same_length(session, window, log)
    journal.forget_devices(window)
    if not log.files:
        raise too_few(window, "no report")
    closing = Closing(
        created=datetime.now(UTC).replace(microsecond=0).isoformat(),
        plan_digest=session.digest,
        files=tuple(log.files),
        refused=dict(sorted(log.refused.items())),
        batches=len(log.batches),
        library_version=trasgo_lib.__version__,
        commit=source_revision(),
    )
    session.restricted.put_once(closing_key(session, window), closing.to_bytes())


def _require_same_length(session: CollectionSession, window: str, log: WindowLog) -> None:
    days = session.plan.windows.days
    if not log.is_of(days):
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"window {window}",
            required=f"reports of {days} days",
            came=f"reports that were taken when a window had {log.days}",
            fix="Restore window.days for windows that took reports; let another length begin with a later first_day.",
        )


def read_closing(session: CollectionSession, window: str) -> Closing:
    """What a window was closed with."""
    return Closing.from_bytes(session.restricted.get(closing_key(session, window)))


def too_few(window: str, came: str) -> InputContractError:
    """The error of a window that cannot be published.

    Args:
        window: its first day.
        came: what there is, in words.
    """
    return InputContractError.of(
        Reason.NO_ROWS,
        f"reports of window {window}",
        required="enough reports of every resolution",
        came=came,
        fix="Nothing was published. Look for what was refused in the restricted root; wait for a fuller window.",
    )
