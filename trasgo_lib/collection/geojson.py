"""Cells as GeoJSON (RFC 7946): longitude before latitude, outer rings counter-clockwise, closed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from trasgo_lib.collection.concluding import CSV_HEADER, LevelTable
from trasgo_lib.data.cells import cell_rings

Ring = Sequence[tuple[float, float]]


def counter_clockwise(ring: Ring) -> list[tuple[float, float]]:
    """Corners of latitude and longitude so that the inside lies to the left."""
    return list(ring) if _twice_area(ring) > 0 else list(reversed(ring))


def _twice_area(ring: Ring) -> float:
    """Signed: above 0 when the inside lies to the left, with longitude to the right and latitude up."""
    after = [*ring[1:], ring[0]]
    return sum(lon * other - next_lon * lat for (lat, lon), (other, next_lon) in zip(ring, after, strict=True))


def geojson_bytes(table: LevelTable) -> bytes:
    """The cells of one resolution; a cell that noise hides carries no figure."""
    rings = cell_rings(table.alphabet.cells)
    features = [feature(row, ring) for row, ring in zip(table.rows(), rings)]
    document = {"type": "FeatureCollection", "features": features}
    return (json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n").encode()


def feature(row: Sequence[str], ring: Ring) -> dict[str, Any]:
    """One cell from its row of the CSV file.

    Args:
        row: as ``LevelTable.rows`` gives it.
        ring: corners in latitude and longitude, degrees.
    """
    named = dict(zip(CSV_HEADER, row, strict=True))
    is_shown = named["shown"] == "true"
    properties: dict[str, Any] = {"cell": named["cell"], "shown": is_shown}
    if is_shown:
        properties |= {name: float(named[name]) for name in CSV_HEADER[2:-1]}
    corners = [[lon, lat] for lat, lon in counter_clockwise(ring)]
    geometry = {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}
    return {"type": "Feature", "id": named["cell"], "properties": properties, "geometry": geometry}


def fault_of(document: Any, rows: Iterable[Sequence[str]], rings: Iterable[Ring]) -> str | None:
    """What is wrong with a GeoJSON document of these rows, or None.

    Args:
        document: as parsed.
        rows: the rows of the CSV file for its cells, in order.
        rings: their corners.
    """
    wanted = [feature(row, ring) for row, ring in zip(rows, rings)]
    if not isinstance(document, dict) or document.get("type") != "FeatureCollection" or len(document) != 2:
        return "no FeatureCollection"
    found = document.get("features")
    if not isinstance(found, list) or len(found) != len(wanted):
        return "other cells"
    for one, right in zip(found, wanted, strict=True):
        if not isinstance(one, dict) or one.get("properties") != right["properties"] or one.get("id") != right["id"]:
            return "other figures than the table"
        if one != right:
            return "other corners than the cell's, or another winding"
    return None
