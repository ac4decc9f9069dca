"""A batch as clients send it: strict JSON of bounded size; a wrong report is refused alone, a wrong batch whole.

``{"format": 1, "batch": ID, "alphabet_version": ..., "channel_version": ..., "window": ..., "pseudonyms": [...],
"slots": [...]}``, or for unary codes ``"bits": [...]`` with one hexadecimal text a report. Of noised points the slots
are cells of the lattice, whose version stands for that of an alphabet. A pseudonym is another one in every window, and
of a point another than of a report; it is looked at for repetitions and not kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.reports import PSEUDONYM_HEX, ReportShape, Tag

MOST_REPORTS = 100_000
"""Of one batch, whatever the limit of its bytes."""

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,80}")
_HEX = re.compile(r"[0-9a-f]+")
_TEXTS = ("batch", "alphabet_version", "channel_version", "window")
_KEYS = frozenset({"format", "pseudonyms", *_TEXTS})
_ANSWERS = {"slot": "slots", "bits": "bits"}
_BITS_A_BYTE = 8

Known = Mapping[Tag, ReportShape]
"""The pairs of versions that a collection takes, and what answers of each look like."""


class Refusal(StrEnum):
    """Why a report or a batch was not taken; these texts stand in replies and reports and never change."""

    # a report alone
    BAD_SLOT = "bad_slot"
    BAD_BITS = "bad_bits"
    BAD_PSEUDONYM = "bad_pseudonym"
    DUPLICATE_DEVICE = "duplicate_device"
    # a batch as a whole
    BAD_BATCH = "bad_batch"
    TOO_MANY_REPORTS = "too_many_reports"
    UNKNOWN_ALPHABET = "unknown_alphabet"
    UNKNOWN_CHANNEL = "unknown_channel"
    UNKNOWN_WINDOW = "unknown_window"
    EARLY_WINDOW = "early_window"
    LATE_WINDOW = "late_window"
    BATCH_CHANGED = "batch_changed"
    # a request
    BAD_TOKEN = "bad_token"
    TOO_LARGE = "too_large"
    BAD_MEDIA_TYPE = "bad_media_type"
    TOO_FAST = "too_fast"
    BUSY = "busy"
    STORE_UNREACHABLE = "store_unreachable"


class RefusedError(Exception):
    """A batch that is refused whole.

    Args:
        reason: why; nothing of what came is kept.
        reports: how many reports it held, as far as they were counted.
    """

    def __init__(self, reason: Refusal, reports: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reports = reports


@dataclass(frozen=True, slots=True)
class Batch:
    """Reports of one tag and window that are well formed.

    Args:
        name: the client's name of the batch; the same again is the same batch.
        tag: versions they carry.
        window: name of their window.
        pseudonyms: one a report; never stored as they are.
        answers: uint32[reports] slots, or packed uint8[reports, bytes].
        refused: how many reports were refused, by reason.
    """

    name: str
    tag: Tag
    window: str
    pseudonyms: tuple[str, ...]
    answers: NDArray[np.uint32] | NDArray[np.uint8]
    refused: dict[str, int]


def parse_batch(body: bytes, known: Known) -> Batch:
    """Read a batch.

    Args:
        body: as it came; its size was bounded before.
        known: what is taken.

    Raises:
        RefusedError: the batch as a whole is refused.
    """
    document = _document(body)
    reports = len(document["pseudonyms"])
    if not reports:  # nothing to acknowledge, and an entry would be written for it
        raise RefusedError(Refusal.BAD_BATCH)
    if reports > MOST_REPORTS:
        raise RefusedError(Refusal.TOO_MANY_REPORTS, reports)
    tag = Tag(document["alphabet_version"], document["channel_version"])
    if tag not in known:
        is_alphabet_known = any(one.alphabet == tag.alphabet for one in known)
        raise RefusedError(Refusal.UNKNOWN_CHANNEL if is_alphabet_known else Refusal.UNKNOWN_ALPHABET, reports)
    shape = known[tag]
    given = document.get(_ANSWERS[shape.kind])
    if given is None or len(given) != reports:
        raise RefusedError(Refusal.BAD_BATCH, reports)
    refused: Counter[str] = Counter()
    pseudonyms: list[str] = []
    slots: list[int] = []
    packed = bytearray()
    for pseudonym, value in zip(document["pseudonyms"], given, strict=True):
        slot, bits = _slot(value, shape), _bits(value, shape)
        if slot is None and bits is None:
            refused[Refusal.BAD_SLOT if shape.kind == "slot" else Refusal.BAD_BITS] += 1
        elif not _is_pseudonym(pseudonym):
            refused[Refusal.BAD_PSEUDONYM] += 1
        else:
            pseudonyms.append(pseudonym)
            slots += [] if slot is None else [slot]
            packed += bits or b""
    answers = (
        np.array(slots, dtype=np.uint32)
        if shape.kind == "slot"
        else np.frombuffer(bytes(packed), dtype=np.uint8).reshape(-1, shape.report_bytes)
    )
    return Batch(document["batch"], tag, document["window"], tuple(pseudonyms), answers, dict(refused))


def _document(body: bytes) -> dict[str, Any]:
    """The batch as JSON of the right shape; says nothing of what came instead."""
    try:
        document = json.loads(body.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise RefusedError(Refusal.BAD_BATCH) from None
    shaped = (
        isinstance(document, dict)
        and set(document) > _KEYS
        and len(document) == len(_KEYS) + 1
        and document["format"] == 1
        and not isinstance(document["format"], bool)
        and all(isinstance(document[key], str) for key in _TEXTS)
        and _ID.fullmatch(document["batch"]) is not None
        and all(_VERSION.fullmatch(document[key]) for key in _TEXTS[1:])
        and isinstance(document["pseudonyms"], list)
        and all(isinstance(document.get(key, []), list) for key in ("slots", "bits"))
    )
    if not shaped:
        raise RefusedError(Refusal.BAD_BATCH)
    found: dict[str, Any] = document
    return found


def _slot(value: object, shape: ReportShape) -> int | None:
    sound = shape.kind == "slot" and isinstance(value, int) and not isinstance(value, bool)
    return value if sound and isinstance(value, int) and 0 <= value < shape.slots else None


def _bits(value: object, shape: ReportShape) -> bytes | None:
    """A report's packed bits, little bit order; bits beyond the last slot have to be 0."""
    if shape.kind != "bits" or not isinstance(value, str) or not _HEX.fullmatch(value):
        return None
    if len(value) != 2 * shape.report_bytes:
        return None
    packed = bytes.fromhex(value)
    spare = _BITS_A_BYTE * shape.report_bytes - shape.slots
    return None if packed[-1] >> (_BITS_A_BYTE - spare) else packed


def _is_pseudonym(value: object) -> bool:
    return isinstance(value, str) and len(value) == PSEUDONYM_HEX and _HEX.fullmatch(value) is not None


def _refuse(_name: str) -> NoReturn:
    raise ValueError


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)
