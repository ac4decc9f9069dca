"""Windows: the spans of days in which a device answers once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class Windows:
    """The spans of days in which a device answers once.

    Args:
        first_day: first day of the first window.
        days: of a window.
        late_days: days after a window in which its reports are still accepted.
    """

    first_day: date
    days: int
    late_days: int

    def of(self, day: date) -> str:
        """The window of a day, by its first day, year-month-day."""
        since = (day - self.first_day).days
        return (self.first_day + timedelta(days=since // self.days * self.days)).isoformat()

    def is_window(self, text: str) -> bool:
        """Whether a text names a window of this collection."""
        try:
            day = date.fromisoformat(text)
        except ValueError:
            return False
        return day >= self.first_day and text == self.of(day)

    def is_open(self, window: str, today: date) -> bool:
        """Whether reports of a window are accepted on a day: it has begun, and ended at most ``late_days`` ago."""
        # days are subtracted, not added: the last window of the calendar has no day after it
        return 0 <= (today - date.fromisoformat(window)).days < self.days + self.late_days
