"""The instant before which nothing is published, written as a local time with the name of its zone.

An offset alone is not a zone: rules of daylight saving change between the day a calendar is made and the day it names.
A local time that exists twice or not at all is refused unless its offset says which one is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_WRITTEN = re.compile(
    r"(?P<local>\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?)(?P<offset>Z|[+-]\d{2}:\d{2})?"
    r" (?P<zone>[A-Za-z][A-Za-z0-9_+/-]*)"
)

FORM = 'a local time and its zone, as in "2026-12-15T09:30:00 Europe/Madrid"'


@dataclass(frozen=True, slots=True)
class Embargo:
    """An instant and how it was written.

    Args:
        utc: the instant, UTC, whole seconds, ISO 8601 with ``+00:00``.
        words: local time, offset and zone.
    """

    utc: str
    words: str


class EmbargoError(ValueError):
    """What is wrong with the text, as three words of a fault.

    Args:
        required: what would have been right.
        came: what came.
        fix: what to do.
    """

    def __init__(self, required: str, came: str, fix: str) -> None:
        super().__init__(required)
        self.required, self.came, self.fix = required, came, fix


def parse_embargo(text: str) -> Embargo:
    """Read an embargo.

    Args:
        text: local time, an offset if wanted, a blank, the name of a zone of the IANA list.

    Raises:
        EmbargoError: another form, an unknown zone, an offset that the zone does not have then, or a local time that
            the zone has twice or never.
    """
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise EmbargoError(FORM, repr(text[:60]), "Write date, T, time, a blank, and the zone's name.")
    zone = _zone(found["zone"])
    try:
        local = datetime.fromisoformat(found["local"])
        candidates = sorted({instant for fold in (0, 1) if (instant := _instant(local, zone, fold)) is not None})
    except (ValueError, OverflowError):
        raise EmbargoError(FORM, repr(text[:60]), "Write a day and a time that exist.") from None
    if not candidates:
        came = f"{found['local']}, which the clocks of {found['zone']} skip"
        raise EmbargoError("a local time that exists", came, "Take a time before or after the change of clocks.")
    if found["offset"] is not None:
        candidates = [instant for instant in candidates if _offset(instant, zone) == _spelt(found["offset"])]
        if not candidates:
            came = f"{found['offset']}, which {found['zone']} does not have then"
            raise EmbargoError("the zone's own offset at that time", came, "Correct the offset, or leave it out.")
    if len(candidates) > 1:
        offsets = " or ".join(_offset(instant, zone) for instant in candidates)
        came = f"{found['local']}, which {found['zone']} has twice"
        raise EmbargoError("a local time that exists once", came, f"Write its offset, too: {offsets}.")
    (instant,) = candidates
    words = f"{found['local']}{_offset(instant, zone)} {found['zone']}"
    return Embargo(instant.isoformat(timespec="seconds"), words)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise EmbargoError(
            "the name of a time zone of the IANA list", repr(name), "Write it as in Europe/Madrid."
        ) from None


def _instant(local: datetime, zone: ZoneInfo, fold: int) -> datetime | None:
    """The instant of a local time, or None when the zone's clocks skip it."""
    instant = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
    return instant if instant.astimezone(zone).replace(tzinfo=None, fold=0) == local else None


def _offset(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).isoformat()[-6:]


def _spelt(offset: str) -> str:
    return "+00:00" if offset == "Z" else offset
