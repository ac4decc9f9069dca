"""Quantiles: exact where there is next to no noise, ramps that lie between two steps, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from fixed_people import GRADES, YEARS, counts, joint, stream

from trasgo_lib.data import NumberDomain, ProductDomain
from trasgo_lib.errors import InputContractError
from trasgo_lib.estimation import Position, SharedNoise, conditional_quantiles, quantile
from trasgo_lib.estimation.quantiles import _ramps
from trasgo_lib.mechanisms import build_channel, kept_share, margin

PLACES = np.arange(19)
WITH_GAPS = np.append(PLACES, -1)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_next_to_no_noise_leaves_the_quantile_of_the_values(q: float, people, channels) -> None:
    channel = channels("kary_randomized_response", YEARS, "40")
    found = quantile(channel, counts(people["years"], 19), q, places=PLACES)
    assert isinstance(found, Position)
    truth = int(np.quantile(people["years"], q, method="inverted_cdf"))
    assert np.ceil(found.value) - 1 == truth
    assert found.low <= truth <= found.high and found.high - found.low <= 2


def test_missing_rows_do_not_count(people, channels) -> None:
    channel = channels("kary_randomized_response", YEARS, "40", missing=True)
    found = quantile(channel, counts(people["gaps"], 20), 0.5, places=WITH_GAPS)
    here = people["gaps"][people["gaps"] < 19]
    assert isinstance(found, Position) and np.ceil(found.value) - 1 == np.median(here)


@pytest.mark.parametrize("width", [1, 2, 5, 19])
def test_a_ramp_lies_between_two_steps(width: int) -> None:
    """The interval rests on this: 1{x <= t} <= ramp <= 1{x <= t + width - 1}, for every place and every start."""
    starts = np.arange(1 - width, 19)
    ramps = _ramps(WITH_GAPS, starts, width, 0.0)
    assert (ramps[:19] >= (PLACES[:, None] <= starts)).all()
    assert (ramps[:19] <= (PLACES[:, None] <= starts + width - 1)).all()
    assert (ramps[19] == 0).all() and (_ramps(WITH_GAPS, starts, width, 0.3)[19] == 0).all()


def test_noise_widens_the_interval_and_ramps_narrow_it(people, channels) -> None:
    found = {}
    for epsilon in ("4", "1"):
        channel = channels("laplace", YEARS, epsilon)
        released = channel.sample(people["years"], stream("quantile", epsilon))
        for steps_only in (False, True):
            place = quantile(channel, counts(released, 19), 0.5, places=PLACES, steps_only=steps_only)
            assert isinstance(place, Position)
            found[epsilon, steps_only] = place.high - place.low
    assert found["1", False] > found["4", False]
    assert found["1", False] < found["1", True]


def test_a_wide_domain_is_cut_at_few_places() -> None:
    wide = build_channel("laplace", NumberDomain("0", "5000", "1"), "20")
    private = np.arange(5000, dtype=np.int32)
    released = wide.sample(private, stream("wide"))
    found = quantile(wide, counts(released, 5001), 0.5, places=np.arange(5001))
    assert isinstance(found, Position)
    assert found.low <= 2499 <= found.high and found.high - found.low < 800
    assert abs(found.value - 2499) < 250


def test_within_groups_that_are_noised(people, channels) -> None:
    years, grades = (
        channels("kary_randomized_response", YEARS, "40"),
        channels("kary_randomized_response", GRADES, "20"),
    )
    table = joint(people["years"], people["grades"], (19, 3))
    found = conditional_quantiles(years, grades, table, 0.5, np.eye(3, dtype=bool), places=PLACES)
    for grade, place in enumerate(found):
        truth = np.quantile(people["years"][people["grades"] == grade], 0.5, method="inverted_cdf")
        assert isinstance(place, Position) and np.ceil(place.value) - 1 == truth


def test_columns_of_one_group_are_decoded_together() -> None:
    domain = ProductDomain([("grade", GRADES, None), ("years", YEARS, None)])
    channel = build_channel("kary_randomized_response", domain, "4")
    rows = np.arange(33_000)
    grades = (rows % 3).astype(np.int32)
    years = (2 * grades + rows // 3 % 11).astype(np.int32)
    released = domain.decode(channel.sample(domain.encode(grades, years), stream("group")))
    of_grade, of_years = margin(channel, domain, "grade"), margin(channel, domain, "years")
    table = joint(released[1], released[0], (19, 3))
    together = SharedNoise(kept_share(channel), of_years.support, of_grade.support)
    ask = {"places": PLACES, "steps_only": True}
    found = conditional_quantiles(of_years, of_grade, table, 0.5, np.eye(3, dtype=bool), together=together, **ask)
    for grade, place in enumerate(found):
        assert isinstance(place, Position) and place.low <= 5 + 2 * grade <= place.high
    apart = conditional_quantiles(of_years, of_grade, table, 0.5, np.eye(3, dtype=bool), **ask)
    assert any(not (one.low <= 5 + 2 * grade <= one.high) for grade, one in enumerate(apart)), "negative control"


def test_what_is_refused(people, channels) -> None:
    channel, histogram = channels("laplace", YEARS, "4"), counts(people["years"], 19)
    for q in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputContractError, match="a share between 0 and 1"):
            quantile(channel, histogram, q, places=PLACES)
    for confidence in (0.2, 1.0):
        with pytest.raises(InputContractError, match="confidence"):
            quantile(channel, histogram, 0.5, places=PLACES, confidence=confidence)
    smooth, grades = (
        build_channel("gaussian", NumberDomain("0", "8000", "1"), "2"),
        channels("kary_randomized_response", GRADES, "4"),
    )
    places, reason = np.arange(8001), "the domain is too large to undo this noise"
    assert quantile(smooth, np.ones(8001, dtype=int), 0.5, places=places) == reason
    table = np.ones((8001, 3), dtype=int)
    assert conditional_quantiles(smooth, grades, table, 0.5, np.eye(3, dtype=bool), places=places) == (reason,) * 3
