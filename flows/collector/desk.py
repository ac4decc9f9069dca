"""Between the requests and the receiver: a bounded queue, and one thread that takes what waits together."""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Protocol

from trasgo_lib.collection.intake import Outcome, Submission

_TOGETHER = 64
"""Most batches in one entry: a flush to disk then serves all of them, and none waits for long."""

_LOGGER = logging.getLogger("trasgo")


class Receives(Protocol):
    """Takes several batches together."""

    refused: Counter[str]

    def receive(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """What became of each, once it is on disk."""

    def record(self) -> None:
        """Write down what was refused and is not on disk yet."""


class Desk:
    """Hands submissions to a receiver, in the order in which they came.

    Args:
        receiver: used by the desk's thread alone.
        most_waiting: batches that may wait; what comes beyond is to come again later.
    """

    def __init__(self, receiver: Receives, most_waiting: int) -> None:
        self._receiver = receiver
        self._waiting: queue.Queue[tuple[Submission, Future[Outcome]] | None] = queue.Queue(most_waiting)
        self._thread = threading.Thread(target=self._work, name="receiver", daemon=True)
        self.accepted = 0

    @property
    def refused(self) -> dict[str, int]:
        """Reports refused since the start, by reason."""
        return dict(self._receiver.refused)

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def submit(self, submission: Submission) -> Future[Outcome] | None:
        """Hand a batch over; None when too many wait already.

        Args:
            submission: what came.
        """
        future: Future[Outcome] = Future()
        try:
            self._waiting.put_nowait((submission, future))
        except queue.Full:
            return None
        return future

    def stop(self) -> None:
        """Finish what waits, end the thread, and write down what was refused."""
        self._waiting.put(None)
        self._thread.join()
        self._receiver.record()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            taken, ends = [first], False
            while len(taken) < _TOGETHER and not ends:
                try:
                    more = self._waiting.get_nowait()
                except queue.Empty:
                    break
                ends = more is None
                taken += [] if more is None else [more]
            # who has gone away meanwhile is not served; the same batch may come again
            served = [(submission, future) for submission, future in taken if future.set_running_or_notify_cancel()]
            self._serve(served)
            if ends:
                return

    def _serve(self, served: Sequence[tuple[Submission, Future[Outcome]]]) -> None:
        try:
            outcomes = self._receiver.receive([submission for submission, _ in served])
        except Exception as error:  # noqa: BLE001 its text could hold a device's name; clients are told to come again
            _LOGGER.error("collector: a %s; its text is withheld", type(error).__name__)
            for _, future in served:
                future.set_exception(RuntimeError("not taken"))
            return
        for (_, future), outcome in zip(served, outcomes, strict=True):
            if outcome.refusal is None and not outcome.replayed:
                self.accepted += outcome.receipt.accepted
            future.set_result(outcome)
