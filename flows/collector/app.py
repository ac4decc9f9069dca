"""The collector's HTTP face: who may send, how much, how often; what it answers. The only importer of FastAPI.

Nothing of a request is stored or logged but the batch itself: no address, no header, no token. Replies and log lines
hold reason codes and counts.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from flows.collector.desk import Desk
from trasgo_lib.collection.intake import ClientGroups, Outcome, Refusal, Submission, TokenBucket

_STATUS: Mapping[Refusal, int] = {
    Refusal.BAD_BATCH: 400,
    Refusal.BAD_TOKEN: 401,
    Refusal.UNKNOWN_ALPHABET: 409,
    Refusal.UNKNOWN_CHANNEL: 409,
    Refusal.BATCH_CHANGED: 409,
    Refusal.UNKNOWN_WINDOW: 409,
    Refusal.EARLY_WINDOW: 409,
    Refusal.LATE_WINDOW: 410,
    Refusal.TOO_LARGE: 413,
    Refusal.TOO_MANY_REPORTS: 413,
    Refusal.BAD_MEDIA_TYPE: 415,
    Refusal.TOO_FAST: 429,
    Refusal.BUSY: 503,
    Refusal.STORE_UNREACHABLE: 503,
}
"""Below 500 but for 429, sending the same batch again cannot help."""

_BODY_SECONDS = 30
"""How long a body may take to arrive."""

_RETRY_SECONDS = 5
_SCHEME = "Bearer "


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken at a time.

    Args:
        body_bytes: of one batch.
        batches_per_second: of one client group, on average.
        burst: batches of one client group at once.
    """

    body_bytes: int
    batches_per_second: float
    burst: float


class _Refused(Exception):
    def __init__(self, reason: Refusal, after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.after = reason, after


def make_app(
    desk: Desk,
    groups: ClientGroups,
    limits: Limits,
    described: Mapping[str, Any],
    clock: Callable[[], float] = time.monotonic,
    alphabets: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> FastAPI:
    """The service.

    Args:
        desk: takes the batches.
        groups: who may send.
        limits: how much and how often.
        described: what clients need to know of the collection; public.
        clock: seconds, for the rate limit.
        alphabets: the alphabet files that clients encode with, by version; public.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    buckets = {
        name: TokenBucket(limits.batches_per_second, limits.burst, limits.burst, clock()) for name in groups.digests
    }

    @app.post("/v1/batches")
    async def take(request: Request) -> JSONResponse:
        try:
            group = _group(request, groups)
            wait = buckets[group].take(clock())
            if wait:
                raise _Refused(Refusal.TOO_FAST, wait)
            body = await _body(request, limits.body_bytes)
            taken = desk.submit(Submission(group, body))
            if taken is None:
                raise _Refused(Refusal.BUSY, _RETRY_SECONDS)
            return _reply(await asyncio.wrap_future(taken))
        except _Refused as refused:
            return _refusal(refused.reason, refused.after)
        except Exception:  # noqa: BLE001 a server's log would show the text, which could hold what came
            return _refusal(Refusal.BUSY, _RETRY_SECONDS)

    @app.get("/v1/collection")
    async def describe() -> JSONResponse:
        return JSONResponse(dict(described))

    @app.get("/v1/alphabets/{version}")
    async def alphabet(version: str) -> JSONResponse:
        found = alphabets.get(version)
        if found is None:
            return JSONResponse({"reason": Refusal.UNKNOWN_ALPHABET.value}, status_code=404)
        return JSONResponse(dict(found))

    @app.get("/v1/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return app


def _group(request: Request, groups: ClientGroups) -> str:
    given = request.headers.get("authorization", "")
    found = groups.group_of(given.removeprefix(_SCHEME)) if given.startswith(_SCHEME) else None
    if found is None:
        raise _Refused(Refusal.BAD_TOKEN)
    return found


async def _body(request: Request, most: int) -> bytes:
    """The body, of which no more than the limit is ever read."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" or request.headers.get("content-encoding", "identity") != "identity":
        raise _Refused(Refusal.BAD_MEDIA_TYPE)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > most:
        raise _Refused(Refusal.TOO_LARGE)
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > most:
                    raise _Refused(Refusal.TOO_LARGE)
    except TimeoutError:  # a slow network: the same batch may arrive the next time
        raise _Refused(Refusal.BUSY, _RETRY_SECONDS) from None
    return bytes(body)


def _reply(outcome: Outcome) -> JSONResponse:
    if outcome.refusal is not None:
        return _refusal(outcome.refusal, _RETRY_SECONDS)
    receipt = outcome.receipt
    content = {"accepted": receipt.accepted, "refused": dict(receipt.refused), "replayed": outcome.replayed}
    return JSONResponse(content, headers={"Cache-Control": "no-store"})


def _refusal(reason: Refusal, after: float) -> JSONResponse:
    status = _STATUS[reason]
    headers = {"Cache-Control": "no-store"}
    if status in (429, 503):
        headers["Retry-After"] = str(max(1, math.ceil(after)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"reason": reason.value}, status_code=status, headers=headers)
