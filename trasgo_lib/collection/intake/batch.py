"""A batch as clients send it: strict JSON of bounded size; a wrong report is refused alone, a wrong batch whole.

``{"format": 1, "batch": ID, "alphabet": VERSION, "channel": VERSION, "window": NAME, "devices": [...], "slots": [...]}``
or, for unary codes, ``"bits": [...]`` with one base64 text a report. A device's name is only looked at for repetitions.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.intake.tags import Tag, Tags

MOST_REPORTS = 100_000
"""Of one batch, whatever the limit of its bytes."""

_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")
_VERSION = re.compile(r"[A-Za-z0-9._-]{1,80}")
_LONGEST_DEVICE = 256
_KEYS = frozenset({"format", "batch", "alphabet", "channel", "window", "devices"})


class Refusal(StrEnum):
    """Why a report or a batch was not taken; these texts stand in replies and reports and never change."""

    # a report alone
    BAD_SLOT = "bad_slot"
    BAD_BITS = "bad_bits"
    BAD_DEVICE = "bad_device"
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
        devices: one a report; private, never stored as it is.
        slots: uint32[reports] for a tag of slots, else None.
        bits: uint8[reports, bytes] for a tag of bits, else None.
        refused: how many reports were refused, by reason.
    """

    name: str
    tag: Tag
    window: str
    devices: tuple[str, ...]
    slots: NDArray[np.uint32] | None
    bits: NDArray[np.uint8] | None
    refused: dict[str, int]


def parse_batch(body: bytes, tags: Tags) -> Batch:
    """Read a batch.

    Args:
        body: as it came; its size was bounded before.
        tags: what is taken.

    Raises:
        RefusedError: the batch as a whole is refused.
    """
    document = _document(body)
    reports = len(document["devices"])
    if reports > MOST_REPORTS:
        raise RefusedError(Refusal.TOO_MANY_REPORTS, reports)
    if not tags.knows_alphabet(document["alphabet"]):
        raise RefusedError(Refusal.UNKNOWN_ALPHABET, reports)
    tag = tags.find(document["alphabet"], document["channel"])
    if tag is None:
        raise RefusedError(Refusal.UNKNOWN_CHANNEL, reports)
    given = document.get("slots" if tag.form == "slot" else "bits")
    if given is None or len(given) != reports:
        raise RefusedError(Refusal.BAD_BATCH, reports)
    refused: Counter[str] = Counter()
    devices, kept = [], []
    read = _slot if tag.form == "slot" else _bits
    wrong = Refusal.BAD_SLOT if tag.form == "slot" else Refusal.BAD_BITS
    for device, value in zip(document["devices"], given, strict=True):
        report = read(value, tag)
        if report is None:
            refused[wrong] += 1
        elif not isinstance(device, str) or not 0 < len(device) <= _LONGEST_DEVICE:
            refused[Refusal.BAD_DEVICE] += 1
        else:
            devices.append(device)
            kept.append(report)
    slots = np.array(kept, dtype=np.uint32) if tag.form == "slot" else None
    packed = b"".join(kept) if tag.form == "bits" else b""  # type: ignore[arg-type]
    bits = None if tag.form == "slot" else np.frombuffer(packed, dtype=np.uint8).reshape(-1, tag.report_bytes)
    return Batch(document["batch"], tag, document["window"], tuple(devices), slots, bits, dict(refused))


def _document(body: bytes) -> dict[str, Any]:
    """The batch as JSON of the right shape; says nothing of what came instead."""
    try:
        document = json.loads(body.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        raise RefusedError(Refusal.BAD_BATCH) from None
    shaped = (
        isinstance(document, dict)
        and _KEYS < set(document)
        and len(document) == len(_KEYS) + 1
        and document["format"] == 1
        and not isinstance(document["format"], bool)
        and all(isinstance(document[key], str) for key in ("batch", "alphabet", "channel", "window"))
        and _ID.fullmatch(document["batch"]) is not None
        and all(_VERSION.fullmatch(document[key]) for key in ("alphabet", "channel", "window"))
        and isinstance(document["devices"], list)
        and all(isinstance(document.get(key, []), list) for key in ("slots", "bits"))
    )
    if not shaped:
        raise RefusedError(Refusal.BAD_BATCH)
    found: dict[str, Any] = document
    return found


def _slot(value: object, tag: Tag) -> int | None:
    return value if type(value) is int and 0 <= value < tag.slots else None


def _bits(value: object, tag: Tag) -> bytes | None:
    """A report's packed bits, little bit order; bits beyond the last slot have to be 0."""
    if not isinstance(value, str):
        return None
    try:
        packed = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
    spare = tag.report_bytes * 8 - tag.slots
    if len(packed) != tag.report_bytes or packed[-1] >> (8 - spare):
        return None
    return packed


def _refuse(_name: str) -> NoReturn:
    raise ValueError


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError
    return dict(pairs)
