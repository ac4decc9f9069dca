"""Names of the files of a published collection, and whether a manifest is that of one."""

from __future__ import annotations

from typing import Any

COUNTS = "data/counts.json"
CHANNELS = "channels.json"
MAP_PAGE = "map.html"
POINT_MAP_PAGE = "map-points.html"


def holds_counts(manifest: dict[str, Any]) -> bool:
    """Whether a manifest lists the counts of a collection instead of released rows."""
    return any(entry["path"] == COUNTS for entry in manifest["files"])


def point_estimates(statement: dict[str, Any]) -> dict[str, Any] | None:
    """What a statement tells of the estimates from noised points; None where there are none, or too few points."""
    point = statement.get("point")
    found: dict[str, Any] | None = None if point is None else point["estimates"]
    return found


def points_of(dataset: str) -> str:
    """The name that the data files of noised points have in place of the collection's."""
    return f"{dataset}-points"


def map_key(resolution: int, *, of_points: bool = False) -> str:
    """Path of the map of one resolution."""
    return f"map-{'points-' if of_points else ''}{resolution}.svg"


def is_map(path: str) -> bool:
    """Whether a file is a map."""
    return path in (MAP_PAGE, POINT_MAP_PAGE) or (path.startswith("map-") and path.endswith(".svg"))


def geojson_key(dataset: str, resolution: int) -> str:
    """Path of the cells of one resolution as GeoJSON."""
    return f"data/{dataset}-{resolution}.geojson"


def alphabet_key(version: str) -> str:
    """Path of an alphabet."""
    return f"alphabets/{version}.json"
