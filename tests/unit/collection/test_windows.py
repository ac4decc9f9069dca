"""Windows of days: their names, when they take reports, and the ends of the calendar."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from collecting import plan

from trasgo_lib.collection import Windows
from trasgo_lib.errors import ConfigError

WEEKS = Windows(date(2026, 1, 5), 7, 3)


def test_windows_before_the_first_have_names_too() -> None:
    assert WEEKS.of(date(2026, 1, 4)) == "2025-12-29"
    assert WEEKS.of(date(2026, 2, 1)) == "2026-01-26"
    assert not WEEKS.is_window("2025-12-29") and WEEKS.is_window("2026-01-26")
    assert not any(WEEKS.is_window(text) for text in ("2026-01-27", "2026-W05-1", "tomorrow", ""))


@pytest.mark.parametrize(("day", "is_open"), [(-1, False), (0, True), (6, True), (9, True), (10, False)])
def test_a_window_takes_reports_from_its_first_day_to_its_last_late_one(day: int, is_open: bool) -> None:
    assert WEEKS.is_open("2026-01-05", date(2026, 1, 5) + timedelta(days=day)) is is_open


def test_the_last_days_of_the_calendar_are_days_like_others() -> None:
    late = Windows(date(9999, 12, 20), 7, 30)
    last = late.of(date.max)
    assert last == "9999-12-27" and late.is_window(last)
    assert late.is_open(last, date.max) and not late.is_open(last, date(2026, 1, 5))


def test_a_first_window_that_would_end_after_the_calendar_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(tmp_path, window={"first_day": "9999-12-30", "days": 7})
    assert [fault.where for fault in raised.value.faults] == ["window.first_day"]
