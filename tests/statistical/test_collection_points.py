"""Noised points end to end: unbiased, intervals as stated, no empty cell shown, wrong clients noticed.

Keys are fixed, so each test is one draw; its false-alarm rate says how likely another draw would fail it by chance.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from keyed import dirichlet
from pointed import POINT, devices_at, drawn, lattice_of, pointed, truth_of

from trasgo_lib.collection.concluding import ShowRule
from trasgo_lib.collection.point_estimates import PointPart, conclude_points, estimate_points
from trasgo_lib.collection.points import PointLattice

RULE = ShowRule(0.05, 0.95)
STEPS = {"fine": ("200", 70), "usual": ("400", 70), "coarse": ("800", 70)}
"""Lattice steps against noise of ``1.386`` at 400 m: decays of 0.7, 1.4 and 2.8 a cell; and numbers of runs."""


@pytest.fixture(scope="module")
def lattices(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PointLattice]:
    folder: Path = tmp_path_factory.mktemp("lattices")
    return {name: lattice_of(pointed(folder, point={**POINT, "step_m": step})) for name, (step, _) in STEPS.items()}


@pytest.mark.long
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("concentration", [1.0, 0.1])
def test_estimates_are_unbiased_and_intervals_cover(
    lattices: dict[str, PointLattice], name: str, concentration: float
) -> None:
    """70 runs of 50,000 devices, spread evenly and crowded into few cells, the same devices in each.

    The mean of each cell within 4.5 standard errors of its truth, over about 60 cells: false alarm 4e-4. Pooled
    coverage of 95 % intervals over about 4,200 estimates at least 94 %: they are a little wide on purpose.
    """
    lattice, runs = lattices[name], STEPS[name][1]
    shares = dirichlet(lattice.alphabet.slots, "unbiased", concentration=concentration)
    codes = devices_at(lattice, shares, 50_000, "unbiased")
    truth, covered, found, errors = truth_of(lattice, codes), 0.0, [], []
    for run in range(runs):
        table = conclude_points(drawn(lattice, codes, name, run), RULE).table
        covered += float(np.mean((table.low <= truth) & (truth <= table.high))) / runs
        found.append(table.share)
        errors.append(table.standard_error)
    spread = np.std(found, axis=0, ddof=1)
    scores = (np.mean(found, axis=0) - truth) / (np.mean(errors, axis=0) / math.sqrt(runs))
    assert np.abs(scores).max() < 4.5
    assert covered >= 0.94
    crowded = truth > 0.005
    assert 0.85 < np.mean(spread[crowded] / np.mean(errors, axis=0)[crowded]) < 1.1, "errors are those that are seen"
    # control: points counted as they are, without undoing the noise
    counts = np.mean([drawn(lattice, codes, name, run).counted.counts for run in range(3)], axis=0)
    blurred = np.bincount(lattice.places, counts / len(codes), lattice.alphabet.slots)
    assert np.abs((blurred - truth) / (np.mean(errors, axis=0) / math.sqrt(runs))).max() > 8


@pytest.mark.long
def test_no_empty_cell_is_shown_and_honest_clients_are_not_suspected(lattices: dict[str, PointLattice]) -> None:
    """200 windows with half of the cells empty at level 0.05: 10 may show one; 23 have a probability of 1e-4.

    No window fails its check, which honest clients do once in 10,000: false alarm 2e-2 over 200 windows.
    """
    lattice = lattices["usual"]
    wrongly = 0
    for run in range(200):
        shares = dirichlet(lattice.alphabet.slots, "half", run, concentration=0.3)
        shares[::2] = 0.0
        codes = devices_at(lattice, shares / shares.sum(), 5000, "half", run)
        found = conclude_points(drawn(lattice, codes, "half", run), RULE)
        wrongly += bool((found.table.shown & (truth_of(lattice, codes) == 0)).any())
        assert found.health.is_passed
    assert wrongly <= 22


def test_intervals_cover_in_one_window(lattices: dict[str, PointLattice]) -> None:
    """60 cells of three lattices at 99.9 %: 4 or more misses of 180 have probability 1e-4."""
    missed = 0
    for name, lattice in lattices.items():
        codes = devices_at(lattice, dirichlet(lattice.alphabet.slots, "one window"), 20_000, "one window")
        table = conclude_points(drawn(lattice, codes, "one window", name), ShowRule(0.05, 0.999)).table
        truth = truth_of(lattice, codes)
        missed += int(np.sum((truth < table.low) | (truth > table.high)))
    assert missed < 4


def test_clients_of_half_the_noise_are_noticed_where_devices_live_close_together(
    lattices: dict[str, PointLattice],
) -> None:
    """Twice the declared epsilon, 200,000 devices in towns of one lattice cell; the honest ones pass."""
    lattice = lattices["usual"]
    shares = dirichlet(lattice.alphabet.slots, "towns", concentration=0.2)
    first = np.array([np.flatnonzero(lattice.places == slot)[0] for slot in range(lattice.alphabet.slots)])
    slots = lattice.places[devices_at(lattice, shares, 200_000, "towns")]
    codes = first[slots].astype(np.int32)
    assert conclude_points(drawn(lattice, codes, "towns"), RULE).health.is_passed
    twice = lattice_of_twice_the_loss(lattice)
    noised = drawn(twice, codes, "half the noise").counted
    assert not conclude_points(PointPart(lattice, noised), RULE).health.is_passed


def lattice_of_twice_the_loss(lattice: PointLattice) -> PointLattice:
    """The same lattice with half of the noise."""
    from trasgo_lib.mechanisms.planar import build_planar_laplace
    from trasgo_lib.mechanisms.planar_channel import PlanarChannel

    channel = build_planar_laplace(lattice.domain, "2.772", radius_m="400")
    assert isinstance(channel, PlanarChannel)
    return PointLattice(lattice.domain, channel, lattice.alphabet)


def test_the_bound_holds_and_is_no_wider_than_it_must_be(lattices: dict[str, PointLattice]) -> None:
    """At a level of 0.05 the bound is 1 to 1.5 times the normal limit where many points are."""
    lattice = lattices["coarse"]
    codes = devices_at(lattice, dirichlet(lattice.alphabet.slots, "bound"), 100_000, "bound")
    found = estimate_points(drawn(lattice, codes, "bound"))
    assert (np.abs(found.shares - truth_of(lattice, codes)) < found.bound(0.05)).all()
    crowded = found.shares > 0.01
    ratio = found.bound(0.05)[crowded] / found.standard_error[crowded] / NormalDist().inv_cdf(1 - 0.05 / len(crowded))
    assert 1 < ratio.mean() < 1.5
