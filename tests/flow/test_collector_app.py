"""The collector's HTTP face: who may send, how much, how often, and what it tells."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
from fastapi.testclient import TestClient

from flows.collector.app import Limits, make_app
from flows.collector.desk import Desk
from trasgo_lib.collection.intake import ClientGroups, Outcome, Refusal, Submission
from trasgo_lib.collection.intake.acknowledged import Receipt

_ALPHABETS = {"a1": {"format": 1, "cells": ["862664507ffffff"]}}
_LIMITS = Limits(body_bytes=1000, batches_per_second=1.0, burst=50)


class Fake:
    """A receiver that says what it is told to."""

    def __init__(self) -> None:
        self.refused: Counter[str] = Counter()
        self.came: list[Submission] = []
        self.answer = Outcome(Receipt(3, {"bad_slot": 1}))
        self.error: Exception | None = None
        self.recorded = False

    def receive(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.came += submissions
        if self.error is not None:
            raise self.error
        return [self.answer] * len(submissions)

    def record(self) -> None:
        self.recorded = True


class Front:
    """The app, a client of it, and what stands behind it."""

    def __init__(self, limits: Limits = _LIMITS, waiting: int = 8) -> None:
        self.fake, self.clock = Fake(), [0.0]
        groups, self.token = ClientGroups({}).with_token("android", lambda count: bytes(range(count)))
        self.desk = Desk(self.fake, waiting)
        app = make_app(self.desk, groups, limits, {"format": 1}, lambda: self.clock[0], _ALPHABETS)
        self.client = TestClient(app, raise_server_exceptions=False)

    def post(self, body: bytes = b"{}", **headers: str) -> tuple[int, dict[str, object]]:
        own = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        reply = self.client.post(
            "/v1/batches", content=body, headers=own | {k.replace("_", "-"): v for k, v in headers.items()}
        )
        assert reply.headers["Cache-Control"] == "no-store"
        assert ("Retry-After" in reply.headers) is (reply.status_code in (429, 503))
        return reply.status_code, reply.json()


@pytest.fixture
def front() -> Iterator[Front]:
    made = Front()
    made.desk.start()
    yield made
    made.desk.stop()


def test_a_batch_goes_to_the_receiver_with_its_group_and_comes_back_with_counts(front: Front) -> None:
    assert front.post(b'{"a": 1}') == (200, {"accepted": 3, "refused": {"bad_slot": 1}, "replayed": False})
    assert front.fake.came == [Submission("android", b'{"a": 1}')] and front.desk.accepted == 3
    assert front.client.get("/v1/health").json() == {"status": "ok"}
    assert front.client.get("/v1/collection").json() == {"format": 1}
    assert front.client.get("/v1/alphabets/a1").json() == _ALPHABETS["a1"]
    unknown = front.client.get("/v1/alphabets/a2")
    assert (unknown.status_code, unknown.json()) == (404, {"reason": "unknown_alphabet"})


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Bearer " + "0" * 64, "Basic YTpi", "bearer x"])
def test_without_a_token_nothing_is_read(front: Front, given: str) -> None:
    assert front.post(Authorization=given) == (401, {"reason": "bad_token"})
    assert not front.fake.came


def test_a_body_is_bounded_with_and_without_its_length(front: Front) -> None:
    assert front.post(b"x" * 1000)[0] == 200
    assert front.post(b"x" * 1001) == (413, {"reason": "too_large"})
    pieces = iter([b"x" * 600] * 1000)
    headers = {"Authorization": f"Bearer {front.token}", "Content-Type": "application/json"}
    reply = front.client.post("/v1/batches", content=pieces, headers=headers)
    assert (reply.status_code, reply.json()) == (413, {"reason": "too_large"})
    assert len(front.fake.came) == 1


def test_a_slow_body_is_asked_for_again(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client drops what is wrong; a slow network is nothing wrong with the batch."""

    async def slow(_: object) -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    monkeypatch.setattr("flows.collector.app._BODY_SECONDS", 0.01)
    monkeypatch.setattr("starlette.requests.Request.stream", slow)
    assert front.post() == (503, {"reason": "busy"})
    assert not front.fake.came


def test_only_plain_json_is_taken(front: Front) -> None:
    assert front.post(Content_Type="text/plain") == (415, {"reason": "bad_media_type"})
    assert front.post(Content_Encoding="gzip") == (415, {"reason": "bad_media_type"})
    assert front.post(Content_Type="application/json; charset=utf-8")[0] == 200


def test_a_group_that_sends_too_fast_is_told_when_to_come_again(front: Front) -> None:
    assert {front.post()[0] for _ in range(50)} == {200}
    assert front.post() == (429, {"reason": "too_fast"})
    front.clock[0] += 1.0
    assert [front.post()[0] for _ in range(2)] == [200, 429]


def test_when_too_many_wait_others_are_sent_away() -> None:
    front = Front(waiting=2)  # its desk is not at work
    assert [front.desk.submit(Submission("android", b"")) is None for _ in range(3)] == [False, False, True]
    assert front.post() == (503, {"reason": "busy"})
    front.desk.start()
    front.desk.stop()
    assert len(front.fake.came) == 2 and front.fake.recorded, "what was refused is written down at the end"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (Refusal.BAD_BATCH, 400),
        (Refusal.UNKNOWN_ALPHABET, 409),
        (Refusal.UNKNOWN_CHANNEL, 409),
        (Refusal.UNKNOWN_WINDOW, 409),
        (Refusal.EARLY_WINDOW, 409),
        (Refusal.LATE_WINDOW, 410),
        (Refusal.BATCH_CHANGED, 409),
        (Refusal.TOO_MANY_REPORTS, 413),
        (Refusal.BUSY, 503),
        (Refusal.STORE_UNREACHABLE, 503),
    ],
)
def test_a_refusal_is_a_reason_and_nothing_else(front: Front, reason: Refusal, status: int) -> None:
    front.fake.answer = Outcome(refusal=reason)
    assert front.post() == (status, {"reason": str(reason)})


def test_an_unexpected_error_keeps_its_text_and_the_service_goes_on(
    front: Front, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    needle = str(7391846274 + 1)  # in no line of this file: handlers that earlier tests left show lines of the stack
    front.fake.error = ValueError(f"pseudonym {needle}")
    assert front.post(needle.encode()) == (503, {"reason": "busy"})
    front.fake.error = None
    assert front.post()[0] == 200
    told = "".join(capfd.readouterr()) + caplog.text
    assert needle not in told and front.token not in told and "ValueError" in told


def test_there_is_nothing_else_to_ask(front: Front) -> None:
    for path in ("/", "/docs", "/openapi.json", "/v1/batches"):
        assert front.client.get(path).status_code in (404, 405)
