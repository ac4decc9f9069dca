"""Tokens of client groups, how often they may send, and the devices that have reported."""

from __future__ import annotations

import pytest

from trasgo_lib.collection.intake import ClientGroups, TokenBucket
from trasgo_lib.collection.intake.devices import KnownDevices, from_bytes, pseudonym, to_bytes
from trasgo_lib.errors import ConfigError


def _random(first: int) -> object:
    return lambda count: bytes([first] * count)


def test_a_token_opens_its_group_and_a_new_one_replaces_it() -> None:
    groups, android = ClientGroups({}).with_token("android", _random(1))  # type: ignore[arg-type]
    groups, ios = groups.with_token("ios", _random(2))  # type: ignore[arg-type]
    assert (groups.group_of(android), groups.group_of(ios), groups.group_of("")) == ("android", "ios", None)
    renewed, newer = groups.with_token("android", _random(3))  # type: ignore[arg-type]
    assert (renewed.group_of(android), renewed.group_of(newer)) == (None, "android")
    stored = renewed.to_bytes()
    assert newer.encode() not in stored and ClientGroups.parse(stored, "file") == renewed
    assert android not in repr(groups) and groups.group_of("\udcff") is None


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b'{"format": 1}', b'{"format": 1, "groups": {}}',
     b'{"format": 2, "groups": {"a": "' + b"0" * 64 + b'"}}',
     b'{"format": 1, "groups": {"a": "token"}}', b'{"format": 1, "groups": {"A b": "' + b"0" * 64 + b'"}}'],
)  # fmt: skip
def test_a_token_file_of_another_form_is_refused(text: bytes) -> None:
    with pytest.raises(ConfigError, match="collect token"):
        ClientGroups.parse(text, "file")


def test_a_group_name_is_a_slug() -> None:
    with pytest.raises(ConfigError, match="client group"):
        ClientGroups({}).with_token("An App", _random(1))  # type: ignore[arg-type]


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    bucket = TokenBucket(2.0, 3.0, 3.0, 100.0)
    assert [bucket.take(100.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5]
    assert bucket.take(100.5) == 0.0 and bucket.take(100.5) == 0.5
    assert [bucket.take(1000.0) for _ in range(4)] == [0.0, 0.0, 0.0, 0.5], "no more than a burst is saved up"
    assert bucket.take(0.0) > 0, "a clock that goes back gives nothing"


def test_devices_are_known_before_and_after_they_are_sorted_in() -> None:
    known = KnownDevices()
    names = [pseudonym(b"secret", f"{number}") for number in range(70_000)]
    known.add(names[:66_000])
    known.add(names[65_000:69_000])
    assert len(known) == 69_000
    assert known.known(names[68_990:]) == [True] * 10 + [False] * 1000
    assert sorted(names[:100]) == from_bytes(to_bytes(names[:100]))


def test_a_pseudonym_hangs_on_window_and_device() -> None:
    assert len({pseudonym(key, device) for key in (b"one", b"two") for device in ("a", "b")}) == 4
