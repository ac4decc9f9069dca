"""What releases have and collections do not is refused and never passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from collecting import plan

from trasgo_lib.errors import ConfigError, Reason

RELEASE = {"dataset": "city", "version": "2", "title": "City"}
CORRECTION = {"version": "1", "reason": "error", "note": "A wrong epsilon."}


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("release.supersedes", {"release": RELEASE | {"supersedes": CORRECTION}}),
        ("publish.approvals", {"publish": {"store": "out", "approvals": 1}}),
        ("publish.embargo", {"publish": {"store": "out", "embargo": "2027-01-15T11:00:00 Europe/Madrid"}}),
    ],
)
def test_it_is_refused_at_its_key(key: str, changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        plan(tmp_path, **changes)
    assert [(fault.reason, fault.where) for fault in raised.value.faults] == [(Reason.NOT_BUILT_YET, key)]
