"""An office for tests that kill its runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from office import Office


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A fresh office."""
    return Office(tmp_path)
