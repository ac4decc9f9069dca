"""Where a collection keeps and publishes, and who counts: refused before any report where it cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collecting import plan

from trasgo_lib.errors import ConfigError

AWAY = {"dask": {"address": "tls://scheduler.office.example:8786", "shared_disk": False}}
BUCKET = {"store": "s3://closed-data/collections"}


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("publish.restricted", {"publish": {"public": "out", "restricted": "out/closed"}}),
        ("publish.store", {"publish": BUCKET}),
        ("collector.inbox", {"publish": {"public": "out", "restricted": "in"}, "collector": {"inbox": "out/inbox"}}),
        ("keys.file", {"publish": {"public": "out", "restricted": "in"}, "keys": {"file": "out/wrapping.key"}}),
        ("runner.dask.shared_disk", {"runner": AWAY}),
        ("runner.dask.address", {"runner": {"dask": {"address": "tcp://scheduler:8786", "shared_disk": True}}}),
    ],
)
def test_it_is_refused_at_its_key(key: str, changes: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(tmp_path, **changes)
    assert [fault.where for fault in raised.value.faults] == [key]


@pytest.mark.parametrize(
    "changes",
    [
        {"publish": BUCKET, "ledger": {"url": "sqlite:////srv/trasgo/ledger.db"}, "runner": AWAY},
        {"release": {"dataset": "city", "version": "2", "title": "City", "supersedes": {
            "version": "1", "reason": "error", "note": "A wrong epsilon."}}},
        {"publish": {"store": "out", "approvals": 2, "embargo": "2027-01-15T11:00:00 Europe/Madrid"}},
    ],
)  # fmt: skip
def test_what_releases_have_collections_have_too(changes: dict[str, Any], tmp_path: Path) -> None:
    """Workers that count ask no ledger, so one in a file does not keep them from another machine."""
    assert plan(tmp_path, **changes).current
