"""Windows of a collection: equal spans of days, named by their first day; when reports of one are taken, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_HOUR_SECONDS = 3600
_LONGEST_NAME = len("2026-11-23")


@dataclass(frozen=True, slots=True)
class Window:
    """One window.

    Args:
        name: its first day, ISO 8601; what reports carry.
        opens: when its first report is taken, seconds since 1970 UTC.
        ends: when it is over for devices, seconds since 1970 UTC.
        closes: when its last report is taken, seconds since 1970 UTC; the rest is late.
    """

    name: str
    opens: float
    ends: float
    closes: float


@dataclass(frozen=True, slots=True)
class WindowSchedule:
    """Which windows there are.

    Args:
        first: first day of the first window.
        days: days of a window, at least 1.
        zone: name of the time zone whose midnight separates windows.
        grace_hours: hours after its end in which reports of a window are still taken.

    Raises:
        ValueError: no such zone, or a span that is none.
    """

    first: date
    days: int
    zone: str
    grace_hours: int

    def __post_init__(self) -> None:
        if self.days < 1 or self.grace_hours < 0:
            raise ValueError("a window has at least one day, and no negative grace")
        try:
            ZoneInfo(self.zone)
        except (OSError, KeyError):  # a folder's name raises OSError, an unknown one KeyError
            raise ValueError("no such time zone") from None

    def named(self, name: str) -> Window | None:
        """The window of a name; None when there is none, whatever the text."""
        try:
            start = date.fromisoformat(name) if len(name) == _LONGEST_NAME else None
        except ValueError:
            start = None
        if start is None or start.isoformat() != name or start < self.first or (start - self.first).days % self.days:
            return None
        return self._window(start)

    def last_closed(self, now: float) -> Window | None:
        """The latest window that takes no more reports, or None before the first has closed.

        Args:
            now: seconds since 1970 UTC.
        """
        today = datetime.fromtimestamp(now, ZoneInfo(self.zone)).date()
        steps = (today - self.first).days // self.days
        for step in range(steps, -1, -1):
            window = self._window(self.first + timedelta(days=step * self.days))
            if window.closes <= now:
                return window
        return None

    def _window(self, start: date) -> Window:
        opens, ends = self._midnight(start), self._midnight(start + timedelta(days=self.days))
        return Window(start.isoformat(), opens, ends, ends + self.grace_hours * _HOUR_SECONDS)

    def _midnight(self, day: date) -> float:
        return datetime.combine(day, time(), ZoneInfo(self.zone)).timestamp()
