"""Batches to entries: several are written together, each is acknowledged after the entry that holds it is on disk."""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from trasgo_lib.collection.intake.acknowledged import DIGEST_BYTES, Acknowledged, Receipt
from trasgo_lib.collection.intake.batch import Batch, Known, Refusal, RefusedError, parse_batch
from trasgo_lib.collection.intake.devices import pseudonym
from trasgo_lib.collection.intake.journal import Answers, Journal, WindowLog
from trasgo_lib.collection.reports import Tag
from trasgo_lib.collection.windows import Windows
from trasgo_lib.errors import ConflictError, StoreError

_MOST_UNRECORDED = 64
"""Batches refused whole that wait for the next entry; one of their own is written for so many."""

_MOST_ATTEMPTS = 50
"""How often an entry's number may be lost to other collectors before clients are asked to come again."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch that came.

    Args:
        group: the client group whose token it came with.
        body: its bytes; private.
    """

    group: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a submission.

    Args:
        receipt: for a batch that is on disk.
        refusal: why it was refused whole; None for one that is on disk.
        replayed: whether it was on disk before.
    """

    receipt: Receipt = field(default_factory=lambda: Receipt(0, {}))
    refusal: Refusal | None = None
    replayed: bool = False


@dataclass(slots=True)
class _Draft:
    """What is to be written for one window."""

    log: WindowLog
    places: list[int] = field(default_factory=list)
    acknowledged: list[Acknowledged] = field(default_factory=list)
    names: set[int] = field(default_factory=set)
    answers: dict[Tag, list[Answers]] = field(default_factory=dict)


class Receiver:
    """Takes batches of one collection; one thread at a time.

    Args:
        journal: where they are recorded.
        known: the versions that are taken.
        windows: the windows there are.
        today: the day, UTC.
    """

    def __init__(self, journal: Journal, known: Known, windows: Windows, today: Callable[[], date]) -> None:
        self._journal, self._known, self._windows, self._today = journal, known, windows, today
        self._logs: dict[str, WindowLog] = {}
        self._unrecorded: Counter[str] = Counter()
        self._batches_unrecorded = 0
        self.refused: Counter[str] = Counter()
        """Reports and batches refused since this process began, by reason."""

    def receive(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Take several batches together; each outcome holds when this returns.

        Args:
            submissions: in the order in which they came.
        """
        outcomes: dict[int, Outcome] = {}
        waiting = list(range(len(submissions)))
        for _ in range(_MOST_ATTEMPTS):
            drafts = self._draft(submissions, waiting, outcomes)
            waiting = [place for name, draft in drafts.items() for place in self._write(name, draft, outcomes)]
            if not waiting:
                break
        outcomes |= {place: Outcome(refusal=Refusal.BUSY) for place in waiting}
        if self._batches_unrecorded >= _MOST_UNRECORDED:
            self.record()
        for outcome in outcomes.values():
            if not outcome.replayed:
                self.refused.update(outcome.receipt.refused)
        return [outcomes[place] for place in range(len(submissions))]

    def record(self) -> None:
        """Write down what was refused whole since the last entry, in the window of today.

        Where that takes none, or the store does not answer, it waits for the next entry.
        """
        unrecorded, window = dict(+self._unrecorded), self._windows.of(self._today())
        if not unrecorded or not self._windows.is_window(window):
            return
        with suppress(StoreError, ConflictError):
            log = self._log(window)
            while not log.closed and log.secret is not None:
                if self._journal.append(window, log, (), (), (), unrecorded):
                    self._recorded(unrecorded)
                    return
                self._journal.read_on(window, log)

    def _recorded(self, unrecorded: dict[str, int]) -> None:
        self._unrecorded.subtract(unrecorded)
        self._batches_unrecorded = 0

    def _draft(
        self, submissions: Sequence[Submission], waiting: Sequence[int], outcomes: dict[int, Outcome]
    ) -> dict[str, _Draft]:
        """Judge each batch against what is on disk and what comes with it."""
        drafts: dict[str, _Draft] = {}
        for place in waiting:
            submission = submissions[place]
            try:
                batch = parse_batch(submission.body, self._known)
                draft = drafts.get(batch.window) or _Draft(self._open(batch))
                known = self._judge(submission, batch, draft, place)
            except RefusedError as error:
                outcomes[place] = self._refuse(error)
            except StoreError:
                outcomes[place] = Outcome(refusal=Refusal.STORE_UNREACHABLE)
            else:
                drafts[batch.window] = draft
                if known is not None:
                    outcomes[place] = known
        return drafts

    def _open(self, batch: Batch) -> WindowLog:
        """The record of a batch's window, when that takes reports today."""
        window, today, reports = batch.window, self._today(), len(batch.pseudonyms)
        if not self._windows.is_window(window):
            raise RefusedError(Refusal.UNKNOWN_WINDOW, reports)
        if not self._windows.is_open(window, today):
            self._logs.pop(window, None)
            is_early = date.fromisoformat(window) > today
            raise RefusedError(Refusal.EARLY_WINDOW if is_early else Refusal.LATE_WINDOW, reports)
        log = self._log(window)
        if log.closed or log.secret is None:
            raise RefusedError(Refusal.LATE_WINDOW, reports)
        if not log.is_of(self._windows.days):
            raise RefusedError(Refusal.UNKNOWN_WINDOW, reports)
        return log

    def _log(self, window: str) -> WindowLog:
        if window not in self._logs:
            self._logs[window] = self._journal.open(window)
        return self._logs[window]

    def _judge(self, submission: Submission, batch: Batch, draft: _Draft, place: int) -> Outcome | None:
        """Add a batch to a draft; an outcome when it is on disk already."""
        secret = draft.log.secret or b""
        name = _digest(secret, b"name", submission.group.encode(), batch.name.encode())
        body = _digest(secret, b"body", submission.body)
        stored = draft.log.batches.get(name)
        before = stored or next((one for one in draft.acknowledged if one.name == name), None)
        if before is not None and before.body != body:
            raise RefusedError(Refusal.BATCH_CHANGED, len(batch.pseudonyms))
        if stored is not None:
            return Outcome(stored.receipt, replayed=True)
        if before is not None:  # twice among those that are written together: the second has the first one's receipt
            draft.places.append(place)
            draft.acknowledged.append(before)
            return None
        numbers = [pseudonym(secret, device) for device in batch.pseudonyms]
        fresh = []
        for row, (number, is_known) in enumerate(zip(numbers, draft.log.devices.known(numbers), strict=True)):
            if not is_known and number not in draft.names:
                draft.names.add(number)
                fresh.append(row)
        refused = dict(batch.refused)
        if len(fresh) < len(batch.pseudonyms):
            refused[Refusal.DUPLICATE_DEVICE] = len(batch.pseudonyms) - len(fresh)
        if fresh:
            draft.answers.setdefault(batch.tag, []).append(batch.answers[fresh])
        draft.places.append(place)
        draft.acknowledged.append(Acknowledged(name, body, Receipt(len(fresh), refused)))
        return None

    def _write(self, window: str, draft: _Draft, outcomes: dict[int, Outcome]) -> list[int]:
        """Write what was drafted; the places that have to be judged again."""
        if not draft.places:
            return []
        try:
            files = [
                self._journal.put_reports(window, tag, self._known[tag], _together(parts))
                for tag, parts in draft.answers.items()
            ]
            distinct = list({one.name: one for one in draft.acknowledged}.values())
            unrecorded = dict(+self._unrecorded)
            if not self._journal.append(window, draft.log, distinct, files, draft.names, unrecorded):
                self._journal.read_on(window, draft.log)
                return draft.places
        except StoreError:
            outcomes |= {place: Outcome(refusal=Refusal.STORE_UNREACHABLE) for place in draft.places}
            return []
        self._recorded(unrecorded)
        first = set[str]()
        for place, one in zip(draft.places, draft.acknowledged, strict=True):
            outcomes[place] = Outcome(one.receipt, replayed=one.name in first)
            first.add(one.name)
        return []

    def _refuse(self, error: RefusedError) -> Outcome:
        reports = max(1, error.reports)
        self._unrecorded[error.reason] += reports
        self._batches_unrecorded += 1
        self.refused[error.reason] += reports
        return Outcome(refusal=error.reason)


def _together(parts: Sequence[Answers]) -> Answers:
    """Answers of one tag, one below the other."""
    whole: Answers = np.concatenate(parts)  # type: ignore[assignment]  # all parts of a tag are of one type
    return whole


def _digest(secret: bytes, *parts: bytes) -> str:
    body = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(secret, body, "sha256")[:DIGEST_BYTES].hex()
