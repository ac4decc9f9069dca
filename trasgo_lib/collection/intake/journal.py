"""The record of a window in the restricted root: numbered entries, each written once, the last of which may close it.

An entry names the files of reports that came with it, the batches it acknowledges and the pseudonyms of their devices.
Its number can be taken once only, whoever writes: so one object is the commit, a killed collector leaves all of it or
nothing, and several collectors can share a root. Files of reports that no entry names do not count.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trasgo_lib.collection.intake.acknowledged import Acknowledged, KnownBatches, Receipt
from trasgo_lib.collection.intake.devices import KnownDevices, from_bytes, to_bytes
from trasgo_lib.collection.reports import ReportShape, Tag, report_table
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.keys import WrappingKey, new_secret
from trasgo_lib.storage import ObjectStore

Answers = NDArray[np.uint32] | NDArray[np.uint8]
"""Slots, or rows of packed bits."""

_DIGITS = 10
_NAME_BYTES = 8


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file of reports of one tag.

    Args:
        key: its key in the restricted root.
        alphabet: version of the alphabet its reports carry.
        channel: version of the channel its reports carry.
        reports: how many.
    """

    key: str
    alphabet: str
    channel: str
    reports: int


@dataclass(slots=True)
class WindowLog:
    """What is known of one window; up to date with its entries as far as they were read.

    Args:
        secret: keys the pseudonyms; None once the window is closed and the secret is gone.
        entries: how many entries were read.
        closed: whether the last of them closes the window.
        batches: acknowledged batches, found by the keyed digest of their names.
        devices: pseudonyms of the devices that have reported.
        files: files of reports.
        refused: reports refused, by reason, as far as entries tell.
        days: how long the window was when its reports were taken; None before there are any.
    """

    secret: bytes | None = field(repr=False)
    entries: int = 0
    closed: bool = False
    batches: KnownBatches = field(default_factory=KnownBatches, repr=False)
    devices: KnownDevices = field(default_factory=KnownDevices, repr=False)
    files: list[ReportFile] = field(default_factory=list, repr=False)
    refused: dict[str, int] = field(default_factory=dict)
    days: int | None = None

    @property
    def accepted(self) -> int:
        """Reports taken."""
        return sum(file.reports for file in self.files)

    def is_of(self, days: int) -> bool:
        """Whether no report was taken for a window of another length, which is another window of the same name."""
        return self.days in (None, days)


@dataclass(frozen=True, slots=True)
class Journal:
    """The records of a collection's windows.

    Args:
        store: the restricted root.
        dataset: name of the collection.
        key: what secrets of windows are wrapped under; secret; None for who only reads and closes.
        random: returns that many random bytes.
        days: of a window; written beside its reports.
    """

    store: ObjectStore
    dataset: str
    key: WrappingKey | None = field(repr=False)
    random: Callable[[int], bytes] = field(repr=False)
    days: int

    def open(self, window: str) -> WindowLog:
        """The record of a window that takes reports; made when there is none.

        Raises:
            ConflictError: its secret was wrapped under another key.
            StoreError: the store does not answer.
        """
        found = self.read(window)
        if not found.closed:
            found.secret = self._secret(window)
        return found

    def read(self, window: str) -> WindowLog:
        """The record of a window as it stands; nothing is made and no secret is opened.

        Raises:
            StoreError: the store does not answer, or an entry is not what was written.
        """
        found = WindowLog(None)
        self.read_on(window, found)
        return found

    def read_on(self, window: str, found: WindowLog) -> None:
        """Read the entries that others have written meanwhile."""
        while not found.closed and self.store.exists(key := self._entry(window, found.entries)):
            _take(found, key, self.store.get(key))

    def append(
        self, window: str, found: WindowLog, acknowledged: Iterable[Acknowledged], files: Iterable[ReportFile],
        names: Iterable[int], refused: Mapping[str, int],
    ) -> bool:  # fmt: skip
        """Write the next entry.

        Args:
            window: its name.
            found: what is known of it; brought up to date.
            acknowledged: the batches.
            files: their reports, which are stored already.
            names: pseudonyms of their devices.
            refused: reports of batches that were refused whole since the last entry, by reason.

        Returns:
            False when another writer took the number: read on, judge again.
        """
        stored = list(files)
        header = {
            "format": 1,
            "kind": "reports",
            **({"days": self.days} if stored else {}),
            "batches": [
                {"name": one.name, "body": one.body, "accepted": one.receipt.accepted, "refused": one.receipt.refused}
                for one in acknowledged
            ],
            "files": [
                {"key": one.key, "alphabet": one.alphabet, "channel": one.channel, "reports": one.reports}
                for one in stored
            ],
            "refused": dict(refused),
        }
        return self._put(window, found, json.dumps(header).encode() + b"\n" + to_bytes(names))

    def close(self, window: str, found: WindowLog) -> bool:
        """Write the entry after which nothing is taken; False when another writer took its number."""
        return self._put(window, found, json.dumps({"format": 1, "kind": "closed"}).encode() + b"\n")

    def forget_devices(self, window: str) -> None:
        """After closing: take the secret away, without which no pseudonym can be told from chance.

        Raises:
            StoreError: the store does not allow it.
        """
        self.store.remove(self._secret_key(window))

    def put_reports(self, window: str, tag: Tag, shape: ReportShape, answers: Answers) -> ReportFile:
        """Store reports of one tag, sorted, so that their order tells nothing.

        Args:
            window: their window.
            tag: their versions.
            shape: of their answers.
            answers: uint32[reports] slots, or packed uint8[reports, bytes].
        """
        key = f"{self._folder(window)}/reports/{self.random(_NAME_BYTES).hex()}.parquet"
        self.store.put_once(key, reports_bytes(window, tag, shape, answers))
        return ReportFile(key, tag.alphabet, tag.channel, len(answers))

    def _put(self, window: str, found: WindowLog, content: bytes) -> bool:
        key = self._entry(window, found.entries)
        try:
            self.store.put_once(key, content)
        except ConflictError:
            return False
        _take(found, key, content)
        return True

    def _secret(self, window: str) -> bytes:
        if self.key is None:
            raise ValueError("reports are taken with the collector's key only")
        key, context = self._secret_key(window), f"collection {self.dataset} {window}".encode()
        if not self.store.exists(key):
            with suppress(ConflictError):  # another collector made it a moment ago
                self.store.put_once(key, self.key.wrap(new_secret(self.random), context, self.random))
        return self.key.unwrap(self.store.get(key), context)

    def _folder(self, window: str) -> str:
        return f"{self.dataset}/collected/{window}"

    def _secret_key(self, window: str) -> str:
        return f"{self._folder(window)}/secret"

    def _entry(self, window: str, number: int) -> str:
        return f"{self._folder(window)}/log/{number:0{_DIGITS}d}"


def reports_bytes(window: str, tag: Tag, shape: ReportShape, answers: Answers) -> bytes:
    """A Parquet file of reports of one tag, in an order that tells nothing of the one in which they came.

    Args:
        window: their window.
        tag: their versions.
        shape: of their answers.
        answers: uint32[reports] slots, or packed uint8[reports, bytes].
    """
    # all bits decide: where only some did, equal ones would stay in the order in which they came
    whole = np.ascontiguousarray(answers).view(f"V{answers.shape[1]}").ravel() if shape.kind == "bits" else answers
    order = np.argsort(whole, kind="stable")
    written = io.BytesIO()
    pq.write_table(report_table(shape, tag, window, answers[order]), written, compression="zstd")
    return written.getvalue()


def _take(found: WindowLog, key: str, content: bytes) -> None:
    """Bring what is known up to date with an entry."""
    line, _, names = content.partition(b"\n")
    try:
        header = json.loads(line)
        if header["kind"] == "closed":
            found.closed, found.secret = True, None
        else:
            _take_reports(found, header, from_bytes(names))
    except (ValueError, KeyError, TypeError):
        raise _not_ours(key) from None
    found.entries += 1


def _take_reports(found: WindowLog, header: dict[str, Any], names: list[int]) -> None:
    taken = [
        Acknowledged(batch["name"], batch["body"], Receipt(batch["accepted"], batch["refused"]))
        for batch in header["batches"]
    ]
    found.batches.add(taken)
    for one in taken:
        _add(found.refused, one.receipt.refused.items())
    _add(found.refused, header["refused"].items())
    if found.days is None:
        found.days = header.get("days")
    found.files += [ReportFile(one["key"], one["alphabet"], one["channel"], one["reports"]) for one in header["files"]]
    found.devices.add(names)


def _add(counts: dict[str, int], more: Iterable[tuple[str, int]] | Iterator[tuple[str, int]]) -> None:
    for reason, count in more:
        counts[reason] = counts.get(reason, 0) + count


def _not_ours(key: str) -> StoreError:
    return StoreError.of(
        Reason.DIGEST_MISMATCH,
        key,
        required="an entry as a collector wrote it",
        came="something else",
        fix="Restore the restricted root from a backup; nothing is taken for this window until then.",
    )
