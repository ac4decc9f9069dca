"""A client in another language: what the service tells, with the words of the runbook, gives the same laws exactly.

Nothing of the library is used to encode or to weigh: only the JSON of ``GET /v1/collection`` and ``/v1/alphabets``, H3,
a projection, and decimals of 60 digits.
"""

from __future__ import annotations

import json
from decimal import Context, Decimal
from math import floor
from pathlib import Path
from typing import Any

import h3
import numpy as np
import pyproj
import pytest
from collecting import plan
from keyed import ROOT
from pointed import POINT, lattice_of, pointed

from trasgo_lib.noise import Keystream

_DIGITS = Context(prec=60)
_CORNERS = (41.3, 42.4, -88.4, -87.1)
"""Degrees south, north, west, east: wider than box and area, so that the edges are tried."""


def _places(count: int) -> tuple[list[float], list[float]]:
    south, north, west, east = _CORNERS
    drawn = Keystream(ROOT, "places of another client").words(0, 2 * count) * 2.0**-64
    return (south + (north - south) * drawn[::2]).tolist(), (west + (east - west) * drawn[1::2]).tolist()


def _lattice_cell(domain: dict[str, Any], latitude: float, longitude: float) -> int:
    south, west, north, east = map(float, domain["box"])
    forward = pyproj.Transformer.from_crs("EPSG:4326", domain["crs"], always_xy=True)
    x, y = forward.transform(min(max(longitude, west), east), min(max(latitude, south), north))
    column = floor(x / float(domain["step_m"])) - domain["first_column"]
    row = floor(y / float(domain["step_m"])) - domain["first_row"]
    return min(max(row, 0), domain["rows"] - 1) * domain["columns"] + min(max(column, 0), domain["columns"] - 1)


def _offsets(parameters: dict[str, Any]) -> dict[tuple[int, int], int]:
    """Weights of offsets (rows, columns) out of 2**108."""
    radius, decay = parameters["window_cells"], Decimal(parameters["decay_per_cell"])
    axis = range(-radius, radius + 1)
    disc = {(y, x): x * x + y * y for y in axis for x in axis if x * x + y * y <= radius * radius}
    # copy_negate: a minus sign would round to the 28 digits of Python's default
    lengths = {norm: _DIGITS.multiply(decay, _DIGITS.sqrt(Decimal(norm))) for norm in sorted(set(disc.values()))}
    decays = {norm: _DIGITS.exp(length.copy_negate()) for norm, length in lengths.items()}
    mass, counts = Decimal(0), np.bincount(list(disc.values())).tolist()
    for norm, decayed in decays.items():
        mass = _DIGITS.fma(decayed, Decimal(counts[norm]), mass)
    constant = _DIGITS.divide(Decimal(2**108), mass)
    weights = {offset: int(_DIGITS.multiply(constant, decays[norm])) for offset, norm in disc.items()}
    weights[0, 0] += 2**108 - sum(weights.values())
    return weights


def _law(told: dict[str, Any], code: int) -> list[int]:
    """Weights over all lattice cells out of 2**128."""
    rows, columns = told["domain"]["rows"], told["domain"]["columns"]
    cells, bits = rows * columns, told["channel"]["parameters"]["uniform_bits"]
    row, column = divmod(code, columns)
    law = [-(-(cell + 1) * 2**108 // cells) + (-cell * 2**108 // cells) for cell in range(cells)]
    for (up, right), weight in _offsets(told["channel"]["parameters"]).items():
        there = min(max(row + up, 0), rows - 1) * columns + min(max(column + right, 0), columns - 1)
        law[there] += weight * (2**bits - 1)
    return law


def test_places_and_noise_of_points_follow_from_what_the_service_tells(tmp_path: Path) -> None:
    found = pointed(tmp_path)
    lattice, told = lattice_of(found), json.loads(json.dumps(found.to_json()))["point"]
    latitudes, longitudes = _places(2000)
    theirs = [_lattice_cell(told["domain"], *place) for place in zip(latitudes, longitudes, strict=True)]
    assert theirs == lattice.domain.encode(latitudes, longitudes, outside="clip").tolist()
    for code in (0, theirs[0], lattice.domain.size - 1):
        law = _law(told, code)
        assert sum(law) == 2**128 and tuple(law) == lattice.channel.weights(code)


def test_a_decay_that_is_told_otherwise_gives_another_law(tmp_path: Path) -> None:
    found = pointed(tmp_path)
    told = json.loads(json.dumps(found.to_json()))["point"]
    told["channel"]["parameters"]["decay_per_cell"] = POINT["geo"]["epsilon"]  # not the 1e-9 less that is used
    assert tuple(_law(told, 5)) != lattice_of(found).channel.weights(5)


@pytest.mark.parametrize(
    "channel",
    [
        {"mechanism": "kary_randomized_response", "epsilon": "1"},
        {"mechanism": "optimised_unary_encoding", "epsilon": "1"},
        {"mechanism": "memoised_unary_encoding", "epsilon": "1", "epsilon_permanent": "2"},
    ],
)
def test_slots_and_laws_of_cells_follow_from_what_the_service_tells(tmp_path: Path, channel: dict[str, str]) -> None:
    found = plan(tmp_path, channel=channel, resolutions=[5, 6])
    told, mine = json.loads(json.dumps(found.to_json())), found.current[0]
    alphabets = {one.version: json.loads(json.dumps(one.to_json())) for one in found.alphabets}
    current = sorted((one["resolution"], one["alphabet"]) for one in told["versions"] if one["current"])
    coarse, finest = (alphabets[version] for _, version in current)
    slots = {cell: slot for slot, cell in enumerate(coarse["cells"])}
    latitudes, longitudes = _places(2000)
    theirs = []
    for place in zip(latitudes, longitudes, strict=True):
        cell = h3.latlng_to_cell(*place, finest["resolution"])
        parent = h3.cell_to_parent(cell, coarse["resolution"]) if cell in finest["cells"] else ""
        theirs.append(slots.get(parent, len(slots) + coarse["nobody"]))
    encoded = found.finest.encode(latitudes, longitudes)
    assert theirs == found.finest.slots_in(mine.alphabet)[encoded].tolist()
    document = told["versions"][0]["channel"]
    integers = {name: int(weight) for name, weight in document["integers"].items()}
    count = document["slots"]
    assert count == len(slots) + coarse["nobody"] + 1
    if document["report"] == "slot":
        own, other = 2**64 - (count - 1) * integers["other"], integers["other"]
    else:
        flip, size = integers.get("flip", 0), 2**64
        own, other = (
            bit * (size - flip) + (size - bit) * flip if flip else bit for bit in (integers["own"], integers["other"])
        )
    total = 2**128 if "flip" in integers else 2**64
    assert (mine.channel.p * total, mine.channel.q * total) == (own, other)
