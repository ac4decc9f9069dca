"""Batches as clients send them: what is refused, alone or whole, and by which reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import Tag, build_report_channel
from trasgo_lib.collection.intake import Refusal, RefusedError, parse_batch

SLOTS = 21
GRR = build_report_channel("kary_randomized_response", SLOTS, Epsilon.parse("2"))
UNARY = build_report_channel("optimised_unary_encoding", SLOTS, Epsilon.parse("2"))
ALPHABET = "a" * 32
KNOWN = {Tag(ALPHABET, GRR.version): GRR, Tag(ALPHABET, UNARY.version): UNARY}
WINDOW = "2026-01-05"


def document(**changes: Any) -> dict[str, Any]:
    """A sound batch of two slots, changed."""
    whole = {
        "format": 1,
        "batch": "batch-of-a-test-0001",
        "alphabet_version": ALPHABET,
        "channel_version": GRR.version,
        "window": WINDOW,
        "pseudonyms": ["1" * 32, "2" * 32],
        "slots": [0, SLOTS - 1],
    } | changes
    return {key: value for key, value in whole.items() if value is not None}


def body(**changes: Any) -> bytes:
    """The same as JSON."""
    return json.dumps(document(**changes)).encode()


def unary(*bits: object) -> bytes:
    """A batch of packed bits."""
    names = [f"{number:032x}" for number in range(len(bits))]
    return body(channel_version=UNARY.version, slots=None, bits=list(bits), pseudonyms=names)


def test_slots_and_bits_arrive_as_they_were_sent() -> None:
    found = parse_batch(body(), KNOWN)
    assert found.answers.tolist() == [0, SLOTS - 1] and found.pseudonyms == ("1" * 32, "2" * 32)
    assert (found.window, found.refused, found.tag.channel) == (WINDOW, {}, GRR.version)
    packed = np.packbits(np.arange(SLOTS) % 2 == 1, bitorder="little").tobytes()
    assert parse_batch(unary(packed.hex()), KNOWN).answers.tolist() == [list(packed)]


@pytest.mark.parametrize("slot", [SLOTS, -1, 2**40, 1.0, "1", True, None, [0]])
def test_a_report_that_names_no_slot_is_refused_alone(slot: object) -> None:
    found = parse_batch(body(slots=[slot, 3]), KNOWN)
    assert found.refused == {Refusal.BAD_SLOT: 1} and found.answers.tolist() == [3]
    assert found.pseudonyms == ("2" * 32,)


@pytest.mark.parametrize(
    "bits",
    ["", "00", "000000ff", "00002g", "0000AA", "000020", 0, None],  # the sixth sets bit 21, which no slot has
)
def test_a_report_of_the_wrong_bits_is_refused_alone(bits: object) -> None:
    found = parse_batch(unary(bits, "ffff1f"), KNOWN)
    assert found.refused == {Refusal.BAD_BITS: 1} and found.answers.tolist() == [[255, 255, 31]]


@pytest.mark.parametrize("name", ["", "device 1", "1" * 31, "1" * 33, "A" * 32, "g" * 32, 1, None])
def test_what_is_no_pseudonym_is_refused_alone(name: object) -> None:
    assert parse_batch(body(pseudonyms=[name, "2" * 32]), KNOWN).refused == {Refusal.BAD_PSEUDONYM: 1}


WHOLE: dict[str, tuple[Callable[[], bytes], Refusal]] = {
    "no JSON": (lambda: b"\x00\x01", Refusal.BAD_BATCH),
    "not UTF-8": (lambda: b'{"format": "\xff"}', Refusal.BAD_BATCH),
    "NaN": (lambda: body().replace(b"[0,", b"[NaN,"), Refusal.BAD_BATCH),
    "a key twice": (lambda: body().replace(b'"format": 1', b'"format": 1, "format": 1'), Refusal.BAD_BATCH),
    "deeply nested": (lambda: b"[" * 100_000, Refusal.BAD_BATCH),
    "no mapping": (lambda: b"[1]", Refusal.BAD_BATCH),
    "another format": (lambda: body(format=2), Refusal.BAD_BATCH),
    "a Boolean format": (lambda: body(format=True), Refusal.BAD_BATCH),
    "a missing key": (lambda: body(window=None), Refusal.BAD_BATCH),
    "one more key": (lambda: body(latitude=41.9), Refusal.BAD_BATCH),
    "a short batch id": (lambda: body(batch="short"), Refusal.BAD_BATCH),
    "a batch id with a path": (lambda: body(batch="../../../../etc/passwd"), Refusal.BAD_BATCH),
    "fewer slots than devices": (lambda: body(slots=[0]), Refusal.BAD_BATCH),
    "bits for a channel of slots": (lambda: body(slots=None, bits=["00", "00"]), Refusal.BAD_BATCH),
    "an unknown alphabet": (lambda: body(alphabet_version="b" * 32), Refusal.UNKNOWN_ALPHABET),
    "an unknown channel": (lambda: body(channel_version="b" * 32), Refusal.UNKNOWN_CHANNEL),
    "too many reports": (
        lambda: body(pseudonyms=["1" * 32] * 100_001, slots=[0] * 100_001),
        Refusal.TOO_MANY_REPORTS,
    ),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_wrong_batch_is_refused_whole(kind: str) -> None:
    made, reason = WHOLE[kind]
    with pytest.raises(RefusedError) as refused:
        parse_batch(made(), KNOWN)
    assert refused.value.reason is reason
    assert "a" * 32 not in str(refused.value), "an error repeats nothing of what came"
