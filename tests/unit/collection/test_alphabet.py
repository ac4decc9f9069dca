"""Alphabets: made of a declared area or of published cells, the same on every device, refused where meaningless."""

from __future__ import annotations

import h3.api.basic_int as h3
import numpy as np
import pytest
from keyed import uniform

from trasgo_lib.collection import Alphabet
from trasgo_lib.data.cells import cell_rings, children_of, parents_of
from trasgo_lib.errors import ConfigError, InputContractError, Reason

BOX = ["41.64", "-87.94", "42.02", "-87.52"]
CITY = Alphabet.declare(resolution=7, box=BOX, has_nobody=True)


def test_slots_are_cells_in_rising_order_then_nobody_then_other() -> None:
    assert bool((np.diff(CITY.cells.astype(np.int64)) > 0).all())
    assert (CITY.nobody, CITY.other, CITY.slots) == (len(CITY.cells), len(CITY.cells) + 1, len(CITY.cells) + 2)
    assert CITY.names()[-2:] == ["nobody", "other"]
    assert CITY.names()[0] == h3.int_to_str(int(CITY.cells[0]))


def test_points_become_the_slot_of_their_cell_and_all_else_is_other() -> None:
    centres = np.array([h3.cell_to_latlng(int(cell)) for cell in CITY.cells])
    assert CITY.encode(centres[:, 0], centres[:, 1]).tolist() == list(range(len(CITY.cells)))
    assert CITY.encode([0.0, 41.9], [0.0, -100.0]).tolist() == [CITY.other, CITY.other]
    swapped = CITY.encode([-87.6], [41.9])
    assert swapped.tolist() == [CITY.other], "a swapped point still on the globe lies elsewhere"


@pytest.mark.parametrize(
    ("latitude", "longitude", "reason"),
    [
        (100.0, 0.0, Reason.OUT_OF_DOMAIN),
        (-105.0, 40.0, Reason.OUT_OF_DOMAIN),  # B49: swapped, H3 itself would give a cell
        (0.0, 200.0, Reason.OUT_OF_DOMAIN),
        (float("nan"), 0.0, Reason.NON_FINITE),
        (0.0, float("inf"), Reason.NON_FINITE),
    ],
)
def test_points_off_the_globe_are_refused_with_counts_only(latitude: float, longitude: float, reason: Reason) -> None:
    with pytest.raises(InputContractError) as raised:
        CITY.encode([41.9, latitude], [-87.6, longitude])
    assert raised.value.reason is reason
    assert raised.value.faults[0].rows == 1
    assert not set("0123456789") & set(raised.value.faults[0].came)


def test_both_ends_of_the_180th_meridian_are_one_cell() -> None:  # B50
    pacific = Alphabet.declare(resolution=3, box=["-20", "170", "-10", "179.9"])
    assert pacific.encode([-15.0], [180.0]).tolist() == pacific.encode([-15.0], [-180.0]).tolist()


@pytest.mark.parametrize(
    ("box", "resolution", "count"),
    [
        (["-17", "178.9", "-16", "179.99"], 5, 7),
        (["-17", "178.9", "-16", "179.9"], 6, 0),
        (["-17", "-179.99", "-16", "-178.9"], 6, 7),
        (["70", "100", "89.9", "130"], 3, 1),
        (BOX, 6, 0),
    ],
)
def test_cells_across_the_180th_meridian_or_a_pole_are_counted(box: list[str], resolution: int, count: int) -> None:
    alphabet = Alphabet.declare(resolution=resolution, box=box)
    rings = cell_rings(alphabet.cells)
    across = sum(max(lon for _, lon in ring) - min(lon for _, lon in ring) > 180 for ring in rings)
    assert alphabet.cells_across() == across == count, "as when every ring is looked at"


@pytest.mark.parametrize(
    ("area", "words"),
    [
        ({"box": ["91", "0", "95", "1"]}, "latitude"),
        ({"box": ["-88", "41", "-87", "200"]}, "latitude"),
        ({"polygon": [["-105", "39"], ["-104", "39"], ["-104", "40"]]}, "swapped"),
        ({"box": ["42", "-88", "41", "-87"]}, "south below north"),
        ({"box": ["-20", "177", "-10", "-179"]}, "180th meridian"),
        ({"polygon": [["-20", "177"], ["-10", "177"], ["-10", "-179"]]}, "180th meridian"),
        ({"polygon": [["41", "-88"], ["42", "-87"], ["42", "-88"], ["41", "-87"]]}, "crosses"),
        ({"polygon": [["41", "-88"], ["41", "-87"], ["42", "-87"], ["41", "-87.5"]]}, "touches"),
        ({"polygon": [["41", "-88"], ["42", "-87"]]}, "corners"),
        ({"polygon": [["41", "-88"], ["42", "-88"], ["41.5", "-88"]]}, "neither crosses"),
        ({"polygon": [["41", "x"], ["42", "-87"], ["42", "-88"]]}, "finite degrees"),
        ({"box": ["41", "-88", "42"]}, "four edges"),
        ({}, "neither"),
    ],
)
def test_areas_that_cannot_be_meant_are_refused(area: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Alphabet.declare(resolution=7, **area)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("resolution", "words"),
    [
        (3, "2 to 1048576 cells; came 0.*or correct the area: latitude comes first"),
        (13, "at most 1048576 cells"),
        (16, "0 to 15"),
        (-1, "0 to 15"),
        (True, "0 to 15"),
    ],
)
def test_too_few_and_too_many_cells_are_refused(resolution: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Alphabet.declare(resolution=resolution, box=BOX)


def test_a_polygon_holds_the_cells_whose_centres_lie_in_it_whichever_way_it_turns() -> None:
    ring = [["41.7", "-87.9"], ["41.7", "-87.6"], ["41.9", "-87.55"], ["41.95", "-87.8"]]
    one = Alphabet.declare(resolution=7, polygon=ring)
    assert Alphabet.declare(resolution=7, polygon=ring[::-1]) == one
    assert Alphabet.declare(resolution=7, polygon=[*ring, ring[0]]) == one
    assert set(one.cells.tolist()) < set(CITY.cells.tolist())


def test_the_version_changes_with_everything_that_gives_a_slot_its_meaning() -> None:
    again = Alphabet.declare(resolution=7, box=BOX, has_nobody=True)
    assert again == CITY
    assert again.version == "05266f5d9240a3571fcf72a56b8eccea", "versions are on phones: they never change"
    others = [
        Alphabet.declare(resolution=7, box=BOX),
        Alphabet(7, CITY.cells[1:], has_nobody=True),
        Alphabet.declare(resolution=6, box=BOX, has_nobody=True),
    ]
    assert len({CITY.version, *(other.version for other in others)}) == 4


def test_the_published_file_gives_the_same_alphabet_and_a_changed_one_is_refused() -> None:
    document = CITY.to_json()
    assert Alphabet.from_json(document) == CITY
    changed = [
        {**document, "cells": document["cells"][1:]},
        {**document, "nobody": False},
        {**document, "h3": 3},
        {**document, "format": 2},
        {**document, "cells": []},
        {**document, "more": 1},
    ]
    for other in changed:
        with pytest.raises(ConfigError):
            Alphabet.from_json(other)


def test_coarse_slots_are_parents_of_fine_ones_never_encoded_anew() -> None:
    coarse = CITY.coarser(5)
    mapping = CITY.slots_in(coarse)
    for slot, cell in enumerate(CITY.cells.tolist()):
        assert int(coarse.cells[mapping[slot]]) == h3.cell_to_parent(cell, 5)
    assert mapping[CITY.nobody] == coarse.nobody
    assert mapping[CITY.other] == coarse.other
    # hexagons do not nest: encoding the same points at the coarse resolution gives other cells
    lat, lon = 41.7 + 0.25 * uniform(4000, "latitude"), -87.9 + 0.3 * uniform(4000, "longitude")
    by_parent = mapping[CITY.encode(lat, lon)]
    anew = coarse.encode(lat, lon)
    inside = (by_parent < coarse.other) & (anew < coarse.other)
    assert 0.01 < np.mean(by_parent[inside] != anew[inside]) < 0.2


def test_parents_and_children_by_bits_are_those_of_h3() -> None:
    assert parents_of(CITY.cells, 4).tolist() == [h3.cell_to_parent(cell, 4) for cell in CITY.cells.tolist()]
    pentagon = np.array(sorted(h3.get_pentagons(2)), dtype=np.uint64)[:1]
    assert len(children_of(pentagon, 3)) == 6


def test_children_refine_published_cells_only() -> None:
    shown = CITY.cells[[3, 10]]
    fine = Alphabet.refine(CITY, shown, 8)
    assert (len(fine.cells), fine.parent, fine.has_nobody) == (14, CITY.version, True)
    assert set(parents_of(fine.cells, 7).tolist()) == set(shown.tolist())
    assert Alphabet.from_json(fine.to_json()) == fine
    elsewhere = h3.cell_to_latlng(int(CITY.cells[0]))
    assert fine.encode([elsewhere[0]], [elsewhere[1]]).tolist() == [fine.other]
    with pytest.raises(ConfigError, match="parent alphabet"):
        Alphabet.refine(CITY, [12345], 8)
    with pytest.raises(ConfigError, match="finer"):
        Alphabet.refine(CITY, shown, 7)
    with pytest.raises(ConfigError, match="at most"):
        Alphabet.refine(CITY, CITY.cells, 15)
