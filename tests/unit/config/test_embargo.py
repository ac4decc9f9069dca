"""Embargoes: exact instants from local times, and named faults where a local time is none."""

from __future__ import annotations

import pytest

from trasgo_lib.config.embargo import EmbargoError, parse_embargo


@pytest.mark.parametrize(
    ("text", "utc", "words"),
    [
        ("2026-12-15T09:30:00 Europe/Madrid", "2026-12-15T08:30:00+00:00", "2026-12-15T09:30:00+01:00 Europe/Madrid"),
        ("2026-07-15T09:30 Europe/Madrid", "2026-07-15T07:30:00+00:00", "2026-07-15T09:30+02:00 Europe/Madrid"),
        ("2026-12-15T09:30:00+01:00 Europe/Madrid", "2026-12-15T08:30:00+00:00", None),
        ("2026-12-15T09:30:00+00:00 Atlantic/Canary", "2026-12-15T09:30:00+00:00", None),
        ("2026-12-15T09:30Z UTC", "2026-12-15T09:30:00+00:00", None),
        ("2026-12-15T09:30 Asia/Kathmandu", "2026-12-15T03:45:00+00:00", None),
        # the hour that exists twice, told apart by its offset
        ("2026-10-25T02:30+02:00 Europe/Madrid", "2026-10-25T00:30:00+00:00", None),
        ("2026-10-25T02:30+01:00 Europe/Madrid", "2026-10-25T01:30:00+00:00", None),
    ],
)
def test_a_local_time_is_one_instant(text: str, utc: str, words: str | None) -> None:
    found = parse_embargo(text)
    assert found.utc == utc
    assert words is None or found.words == words


@pytest.mark.parametrize(
    ("text", "required", "came"),
    [
        ("2026-10-25T02:30 Europe/Madrid", "exists once", "has twice"),
        ("2026-03-29T02:30 Europe/Madrid", "that exists", "skip"),
        ("2026-03-29T02:30+01:00 Europe/Madrid", "that exists", "skip"),
        ("2026-12-15T09:30+02:00 Europe/Madrid", "own offset", "does not have then"),
        ("2026-12-15T09:30 Europe/Nowhere", "IANA list", "Nowhere"),
        ("2026-12-15T09:30 Europe", "IANA list", "Europe"),
        ("2026-12-15T09:30+01:00", "its zone", "2026"),
        ("2026-12-15T09:30", "its zone", "2026"),
        ("2026-12-15 Europe/Madrid", "its zone", "2026"),
        ("2026-02-30T09:30 Europe/Madrid", "its zone", "2026-02-30"),
        ("0001-01-01T00:30 Asia/Tokyo", "its zone", "0001"),
        ("2026-12-15T09:30 ../etc/passwd", "its zone", "passwd"),
        ("", "its zone", "''"),
    ],
)
def test_what_is_no_instant_is_named(text: str, required: str, came: str) -> None:
    with pytest.raises(EmbargoError) as caught:
        parse_embargo(text)
    assert required in caught.value.required and came in caught.value.came and caught.value.fix
