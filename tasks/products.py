"""What any file says of ledger, places and keys, whatever it makes."""

from __future__ import annotations

from pathlib import Path

from tasks.places import VersionPlan
from trasgo_lib.config import holds_area
from trasgo_lib.training import read_product


def plan_of(config: Path) -> VersionPlan:
    """The plan of a file of any kind; of a collection, its first window.

    Raises:
        ConfigError: the file is wrong.
    """
    if not holds_area(config):
        return read_product(config).base
    # late: only who has a collection waits for H3
    from tasks.collection_life import any_window

    return any_window(config)
