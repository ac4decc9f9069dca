"""Small collections for tests: files, areas and keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trasgo_lib.collection import CollectionPlan, read_collection

KEY = bytes(range(32))
BOX = ["41.64", "-87.94", "42.02", "-87.52"]


def collection(**changes: Any) -> dict[str, Any]:
    """A collection file as a mapping; ``None`` takes a key out."""
    document: dict[str, Any] = {
        "format": 1,
        "release": {"dataset": "city", "version": "1", "title": "City"},
        "area": {"box": BOX},
        "resolutions": [6],
        "channel": {"mechanism": "auto", "epsilon": "1"},
        "window": {"first_day": "2026-01-05", "days": 7},
        "device": {"daily_epsilon": "1", "lifetime_epsilon": "16"},
        "publish": {"store": "out"},
    }
    document |= changes
    return {name: value for name, value in document.items() if value is not None}


def write(folder: Path, **changes: Any) -> Path:
    """The same as a file: JSON is YAML, too."""
    path = folder / "collection.yaml"
    path.write_text(json.dumps(collection(**changes)), encoding="utf-8")
    return path


def plan(folder: Path, **changes: Any) -> CollectionPlan:
    """The same, compiled."""
    return read_collection(write(folder, **changes))[1]
