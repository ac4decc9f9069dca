"""Noised points: which cells they are read in, what is undone, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collecting import BOX, KEY, plan
from keyed import dirichlet
from pointed import POINT, devices_at, drawn, lattice_of, pointed, truth_of

from trasgo_lib.collection import Client, CollectionPlan, ReportCounts, count_answers, simulate_points, size_points
from trasgo_lib.collection.concluding import ShowRule, split_over_maps
from trasgo_lib.collection.intake import parse_batch
from trasgo_lib.collection.point_estimates import PointPart, conclude_points, decoders, estimate_points
from trasgo_lib.collection.points import PointLattice
from trasgo_lib.collection.simulation import make_world
from trasgo_lib.data.cells import cells_of
from trasgo_lib.errors import BudgetError, ConfigError, Reason, VerificationError

RULE = ShowRule(0.05, 0.95)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> CollectionPlan:
    return pointed(tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> CollectionPlan:
    return pointed(tmp_path_factory.mktemp("alone"), channel=None, device=None)


@pytest.fixture(scope="module")
def lattice(both: CollectionPlan) -> PointLattice:
    return lattice_of(both)


def test_a_lattice_cell_belongs_to_the_cell_its_centre_lies_in(both: CollectionPlan, lattice: PointLattice) -> None:
    codes = np.arange(lattice.domain.size, dtype=np.int32)
    latitude, longitude = lattice.domain.decode(codes)
    own = lattice.alphabet.slots_of(cells_of(latitude, longitude, 6))
    assert (lattice.places == own).all()
    assert lattice.alphabet.cells.tolist() == both.finest.cells.tolist(), "the box leaves none of the area out"
    rows, columns = np.divmod(codes, lattice.domain.columns)
    border = (rows == 0) | (rows == lattice.domain.rows - 1) | (columns == 0) | (columns == lattice.domain.columns - 1)
    assert (lattice.places[border] == lattice.alphabet.other).all(), "all that lies outside moves to the border"
    outside = lattice.domain.encode(np.array([10.0, 80.0, 41.8]), np.array([-87.6, -87.6, 20.0]), outside="clip")
    assert (lattice.places[outside] == lattice.alphabet.other).all()


def test_cells_at_the_edge_of_the_box_are_left_out(tmp_path: Path) -> None:
    found = pointed(tmp_path, point={**POINT, "box": BOX})
    assert found.point is not None and found.point.cells_cut > 0
    lattice = lattice_of(found)
    assert len(lattice.alphabet.cells) + found.point.cells_cut == len(found.finest.cells)
    south, west, north, east = map(float, BOX)
    around = np.linspace(0, 1, 2001)
    edge = [
        (np.r_[south + 0 * around, north + 0 * around, south + (north - south) * np.r_[around, around]]),
        (np.r_[west + (east - west) * np.r_[around, around], west + 0 * around, east + 0 * around]),
    ]
    codes = lattice.domain.encode(*edge, outside="clip")
    assert (lattice.places[codes] == lattice.alphabet.other).all()


def test_maps_of_points_may_be_finer_than_those_of_reports(tmp_path: Path) -> None:
    found = pointed(tmp_path, resolutions=[5], point={**POINT, "resolution": 7, "step_m": "200"})
    cells = lattice_of(found).alphabet.cells
    assert len(cells) == 49 * len(found.finest.cells)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resolution": 8, "step_m": "450"}, "at least 4 lattice cells each"),
        ({"resolution": 11}, "point.resolution: required at most about 8192"),
        ({"resolution": 16}, "resolution"),
        ({"step_m": "10"}, "point.step_m: required about 151 m or more: a lattice of at most 262144 cells"),
        ({"step_m": "100", "geo": {"epsilon": "0.05", "radius_m": "200"}}, "whose noise can be undone"),
        ({"box": ["41.8", "-87.8", "41.81", "-87.79"]}, "cells of resolution 6 that lie within it"),
        ({"box": ["-87.9", "41.6", "-87.5", "42.1"]}, "around the area (latitude comes first)"),
        ({"step_m": "5000"}, "Change the step, or the epsilon and radius of the point"),
        ({"daily_epsilon": "1"}, "what one point costs"),
        ({"crs": "EPSG:4326"}, "projection"),
    ],
)
def test_a_section_that_cannot_work_is_refused_before_any_point(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        pointed(tmp_path, point={**POINT, **changes})
    assert words in str(raised.value)
    assert all(fault.where.startswith(("line 1", "point")) for fault in raised.value.faults)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"channel": None, "device": None, "point": None}, "channel, point, or both"),
        ({"channel": None}, "channel and device together"),
        ({"device": None}, "channel and device together"),
        (
            {"channel": None, "device": None, "accepted": [{"mechanism": "auto", "epsilon": "1"}]},
            "accepted channels beside a channel",
        ),
    ],
)
def test_a_file_says_what_devices_report(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        pointed(tmp_path, **changes)


def test_expected_counts_give_the_true_shares_back(lattice: PointLattice) -> None:
    """The law itself in place of draws: what is left is rounding, of counts to whole numbers and of figures."""
    shares = dirichlet(lattice.alphabet.slots, "expected")
    codes = devices_at(lattice, shares, 100_000, "expected")
    inputs = np.bincount(codes, minlength=lattice.domain.size) / len(codes)
    points = 10**12
    counts = np.round(points * lattice.channel.operator().outputs(inputs)).astype(np.int64)
    found = estimate_points(PointPart(lattice, ReportCounts("slot", counts, int(counts.sum()), {})))
    assert found.shares == pytest.approx(truth_of(lattice, codes), abs=1e-8)
    blurred = np.bincount(lattice.places, counts / points, lattice.alphabet.slots)
    assert np.abs(blurred - truth_of(lattice, codes)).max() > 1e-3, "control: counted as they are, points are blurred"


def test_decoders_are_unbiased_at_every_place(lattice: PointLattice) -> None:
    operator = lattice.channel.operator()
    rows, columns = lattice.domain.rows, lattice.domain.columns
    asked = {0, lattice.alphabet.slots // 2, lattice.alphabet.other}
    for slot, window, decoder in decoders(lattice):
        if slot not in asked:
            continue
        whole = np.zeros((rows, columns))
        whole[window] = decoder
        expected = operator.expectation(whole.ravel())
        assert np.abs(expected - (lattice.places == slot)).max() < 2e-5, "what the part leaves out is e**-16 and 2**-20"


def test_standard_errors_are_those_of_the_law(lattice: PointLattice) -> None:
    """The plug-in variance at expected counts is ``mean (K g**2) - f``, over the devices."""
    codes = devices_at(lattice, dirichlet(lattice.alphabet.slots, "law"), 50_000, "law")
    operator, points = lattice.channel.operator(), 10**9
    inputs = np.bincount(codes, minlength=lattice.domain.size) / len(codes)
    counts = np.round(points * operator.outputs(inputs)).astype(np.int64)
    found = estimate_points(PointPart(lattice, ReportCounts("slot", counts, int(counts.sum()), {})))
    truth = truth_of(lattice, codes)
    shape = lattice.domain.rows, lattice.domain.columns
    for slot, window, decoder in decoders(lattice):
        squared = np.zeros(shape)
        squared[window] = decoder**2
        variance = float(inputs @ operator.expectation(squared.ravel())) - truth[slot]
        assert found.standard_error[slot] ** 2 * points == pytest.approx(variance, rel=1e-3)


def test_where_nobody_is_near_an_interval_still_has_a_width(lattice: PointLattice) -> None:
    """All devices in one cell: a cell far away has no point near it, and its error is not 0."""
    shares = np.zeros(lattice.alphabet.slots)
    shares[0] = 1.0
    part = drawn(lattice, devices_at(lattice, shares, 5000, "one"), "one")
    table = conclude_points(part, RULE).table
    assert table.shown.sum() == 1 and table.shown[0]
    assert (table.standard_error > 1 / 5000).all()
    assert table.low[-2] < 0 < table.high[-2]


def test_clients_without_noise_are_noticed_and_honest_ones_are_not(lattice: PointLattice) -> None:
    """Honest clients fail once in 10,000 windows. Power against no noise at all."""
    shares = dirichlet(lattice.alphabet.slots, "health", concentration=0.2)
    codes = devices_at(lattice, shares, 20_000, "health")
    assert conclude_points(drawn(lattice, codes, "health"), RULE).health.is_passed
    # all of a cell's devices at one place, as homes in a town are
    first = np.array([np.flatnonzero(lattice.places == slot)[0] for slot in range(lattice.alphabet.slots)])
    town = first[lattice.places[codes]].astype(np.int32)
    assert conclude_points(drawn(lattice, town, "town"), RULE).health.is_passed
    bare = PointPart(lattice, count_answers(lattice.shape, town.astype(np.uint32)))
    health = conclude_points(bare, RULE).health
    assert not health.is_passed and health.score < -1 and "less noise" in health.words


def test_what_was_published_of_lattice_and_noise_gives_both_back(lattice: PointLattice) -> None:
    document = lattice.to_json()
    again = PointLattice.from_json(document, lattice.alphabet)
    assert again.tag == lattice.tag and again.to_json() == document
    changed = {**document, "channel": {**document["channel"], "certified_epsilon": "1.000000"}}
    with pytest.raises(VerificationError):
        PointLattice.from_json(changed, lattice.alphabet)
    finer = {**document["channel"]["parameters"], "epsilon": "1"}
    with pytest.raises((VerificationError, ConfigError)):
        PointLattice.from_json({**document, "channel": {**document["channel"], "parameters": finer}}, lattice.alphabet)


def test_a_point_travels_as_a_report_and_is_judged_as_one(both: CollectionPlan) -> None:
    import json

    point = Client(both, KEY).point(41.88, -87.63, both.windows.first_day)
    report = point.to_json()
    document = {name: report[name] for name in ("alphabet_version", "channel_version", "window")}
    slots = [report["slot"], lattice_of(both).domain.size, -1, "1"]
    pseudonyms = [report["pseudonym"], "1" * 32, "2" * 32, "3" * 32]
    body = json.dumps({**document, "format": 1, "batch": "a" * 16, "slots": slots, "pseudonyms": pseudonyms})
    batch = parse_batch(body.encode(), both.shapes)
    assert batch.answers.tolist() == [report["slot"]] and batch.refused == {"bad_slot": 3}


def test_a_radius_is_told_as_the_channel_has_it(tmp_path: Path) -> None:
    """Else what is published of it would not be what its channel says, and would not verify."""
    found = pointed(tmp_path, point={**POINT, "geo": {"epsilon": "1.386", "radius_m": "400.0"}}).point
    assert found is not None and found.radius_m == found.channel.parameters["radius_m"] == "400"


def test_devices_of_cells_smaller_than_a_step_are_simulated_where_they_live(tmp_path: Path) -> None:
    """Cells of resolution 9 have a side of 200 m: most hold no centre of a lattice cell of 400 m."""
    area = {"box": ["41.80", "-87.75", "41.90", "-87.60"]}
    found = pointed(tmp_path, area=area, resolutions=[9], channel=None, device=None)
    assert found.point is not None
    world = make_world(found, 20_000, KEY)
    (window,) = simulate_points(found, found.point, world, 1, KEY)
    alphabet = lattice_of(found).alphabet
    elsewhere = np.bincount(found.finest.slots_in(alphabet)[world.home], minlength=alphabet.slots)[-1] / 20_000
    assert 0.02 < elsewhere < 0.05 and abs(window.truth[-1] - elsewhere) < 0.02


def test_points_alone_need_no_channel_of_cells(alone: CollectionPlan) -> None:
    assert alone.current == () and alone.maps == 1 and alone.caps is None
    client = Client(alone, KEY)
    assert client.point(41.88, -87.63, alone.windows.first_day).alphabet_version == lattice_of(alone).tag.alphabet
    with pytest.raises(ConfigError, match="channel"):
        client.report(41.88, -87.63, alone.windows.first_day)
    with pytest.raises(BudgetError) as raised:
        client.point(41.88, -87.63, alone.windows.first_day)
    assert raised.value.faults[0].reason is Reason.ALREADY_EXISTS


def test_another_lattice_or_other_noise_is_another_tag(both: CollectionPlan, tmp_path: Path) -> None:
    tag = lattice_of(both).tag
    moved = lattice_of(pointed(tmp_path, point={**POINT, "box": ["41.5", "-88.2", "42.2", "-87.2"]})).tag
    other = lattice_of(pointed(tmp_path, point={**POINT, "geo": {"epsilon": "1.3", "radius_m": "400"}})).tag
    assert moved.alphabet != tag.alphabet and other.alphabet == tag.alphabet and other.channel != tag.channel
    assert plan(tmp_path).digest != pointed(tmp_path).digest


def test_the_level_is_that_of_all_maps_together() -> None:
    cells, points = split_over_maps(ShowRule(0.06, 0.95), 2, has_points=True)
    assert cells.level == pytest.approx(0.04) and points.level == pytest.approx(0.02)
    assert split_over_maps(RULE, 2, has_points=False)[0] == RULE


def test_sizes_say_what_a_simulation_then_shows(both: CollectionPlan) -> None:
    """Errors of simulated points are those that are stated, and the truth is covered."""
    sizes = size_points(lattice_of(both), (1000, 50_000), 0.05)
    assert sizes[0].standard_error > sizes[1].standard_error and sizes[1].floor > 2 * sizes[1].standard_error
    assert 1 < sizes[1].times_counting < 10
    assert both.point is not None
    world = make_world(both, 50_000, KEY)
    (window,) = simulate_points(both, both.point, world, 1, KEY)
    table = window.found.table
    assert table.reports == 50_000 and window.truth.sum() == pytest.approx(1)
    assert window.covered > 0.85 and 0.7 < window.mean_error / window.expected_error < 1.3
    assert not (table.shown & (window.truth == 0)).any()
    assert window.found.health.is_passed


ACROSS = {
    "box": ["-21", "174", "-12", "-174"],
    "resolution": 2,
    "crs": "EPSG:32760",
    "step_m": "10000",
    "geo": {"epsilon": "1", "radius_m": "10000"},
    "daily_epsilon": "1",
    "lifetime_epsilon": "10",
}


def test_a_map_of_points_has_no_cell_across_the_180th_meridian(tmp_path: Path) -> None:
    """The cells of the area lie before it; some of their parents, of which the map of points is made, across it."""
    area = {"box": ["-19", "176", "-15", "179.3"]}
    with pytest.raises(ConfigError, match="180th meridian"):
        pointed(tmp_path, area=area, resolutions=[4], point=ACROSS)
    found = pointed(tmp_path, area=area, resolutions=[4], point={**ACROSS, "resolution": 4})
    assert lattice_of(found).alphabet.cells_across() == 0


def test_one_operator_serves_all_cells_and_edges_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator of each part would fill the memory: megabytes each at fine decays, for nearly every cell."""
    lattice = lattice_of(pointed(tmp_path, point={**POINT, "box": BOX}))
    made: list[tuple[int, ...]] = []
    operator = type(lattice.channel).operator

    def counted(channel: object, *shape: int) -> object:
        made.append(shape)
        return operator(channel, *shape)  # type: ignore[arg-type]

    monkeypatch.setattr(type(lattice.channel), "operator", counted)
    found = list(decoders(lattice))
    assert len(found) == lattice.alphabet.slots and len(made) == 2 and made[1] == ()
    rows, columns = lattice.domain.rows, lattice.domain.columns
    whole = operator(lattice.channel)
    kinds = set()
    for slot, (north, east), decoder in found[:-1:2]:
        row, column = np.divmod(np.flatnonzero(lattice.places == slot), columns)
        kinds.add(bool(min(row.min(), column.min(), rows - row.max(), columns - column.max()) > 12))
        expected = whole.decoder((lattice.places == slot).astype(np.float64)).reshape(rows, columns)
        assert np.abs(expected[north, east] - decoder).max() < 1e-4 * np.abs(expected).max()
    assert kinds == {True, False}, "cells near the edge and far from it"


def test_the_size_of_a_cell_takes_one_decoder(both: CollectionPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    from trasgo_lib.mechanisms.planar_inverse import PlanarOperator

    solved = []
    for name in ("decoder", "decoder_within"):
        real = getattr(PlanarOperator, name)
        monkeypatch.setattr(PlanarOperator, name, lambda own, values, real=real: solved.append(1) or real(own, values))
    size_points(lattice_of(both), (1000, 50_000), 0.05)
    assert len(solved) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"decay_per_cell": "0.01"},
        {"decay_per_cell": "1e-999999999"},
        {"decay_per_cell": "9"},
        {"decay_per_cell": "NaN"},
        {"step_m": "10"},
        {"box": ["41.7", "-87.9", "41.9", "-87.5"]},
    ],
)
def test_a_published_lattice_that_would_take_hours_is_refused_at_once(
    lattice: PointLattice, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no publisher can make is not worked with: too fine noise, too many lattice cells, cells outside the box."""
    from trasgo_lib.collection import points

    document = lattice.to_json()
    domain = {**document["domain"], **{key: change[key] for key in change if key in document["domain"]}}
    parameters = {**document["channel"]["parameters"], **change}
    document = {**document, "domain": domain, "channel": {**document["channel"], "parameters": parameters}}
    monkeypatch.setattr(points, "rebuild_planar_laplace", lambda *_: pytest.fail("it was worked with"))
    with pytest.raises(ConfigError, match="damaged"):
        PointLattice.from_json(document, lattice.alphabet)
