"""Estimates against the truth over fixed keys.

Coverage over K keys is held to an exact two-sided binomial test at 1e-4; with K = 200 a true coverage of 85 % is found
with a power of 0.9. Means of estimates are held to four standard errors of their mean.
"""

import numpy as np
import pytest
from fixed_people import GRADES, REGIONS, YEARS, counts, joint, stream
from scipy.stats import binomtest

from trasgo_lib.errors import InputContractError
from trasgo_lib.estimation import correlation, covariance, joint_shares, mean, project_simplex, shares, variance

KEYS = 200
CASES = [
    ("laplace", "years", "2", {}),
    ("laplace", "years", "8", {}),
    ("laplace", "gaps", "4", {"missing": True}),
    ("kary_randomized_response", "years", "2", {}),
    ("kary_randomized_response", "gaps", "8", {"missing": True}),
    ("exponential", "years", "4", {"utility": "ordinal"}),
]


def truths(people, name):
    years, grades = people[name], people["grades"]
    here = years < 19
    both = np.cov(years[here], grades[here], bias=True)
    return {
        "mean": years[here].mean(),
        "variance": years[here].var(),
        "covariance": both[0, 1],
        "correlation": both[0, 1] / np.sqrt(both[0, 0] * both[1, 1]),
        "share": (years == 9).mean(),
        "joint": ((years == 9) & (grades == 1)).mean(),
    }


def draws(people, channels, mechanism, name, epsilon, extra):
    ours = channels(mechanism, YEARS, epsilon, **extra)
    theirs = channels("kary_randomized_response", GRADES, epsilon)
    for key in range(KEYS):
        left = ours.sample(people[name], stream(mechanism, name, epsilon, "left", key))
        right = theirs.sample(people["grades"], stream(mechanism, name, epsilon, "right", key))
        yield ours, theirs, counts(left, ours.outputs), joint(left, right, (ours.outputs, theirs.outputs))


@pytest.mark.parametrize(("mechanism", "name", "epsilon", "extra"), CASES)
def test_intervals_cover_and_values_are_unbiased(people, channels, mechanism, name, epsilon, extra):
    found = {quantity: [] for quantity in ("mean", "variance", "covariance", "correlation", "share")}
    for ours, theirs, histogram, table in draws(people, channels, mechanism, name, epsilon, extra):
        found["mean"].append(mean(ours, histogram, target="file"))
        found["variance"].append(variance(ours, histogram, target="file"))
        found["covariance"].append(covariance(ours, theirs, table, target="file"))
        found["correlation"].append(correlation(ours, theirs, table, target="file"))
        found["share"].append(shares(ours, histogram, target="file").estimate(9))
    for quantity, estimates in found.items():
        truth = truths(people, name)[quantity]
        given = [estimate for estimate in estimates if estimate.value is not None]
        if quantity == "correlation" and len(given) < KEYS:
            continue  # a ratio that is withheld for some keys is not a plain sample any more
        covered = sum(estimate.covers(truth) for estimate in given)
        assert binomtest(covered, KEYS, 0.95).pvalue > 1e-4, (quantity, covered)
        values = np.array([estimate.value for estimate in given])
        if quantity != "correlation":  # a ratio is unbiased only to first order
            assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(KEYS), quantity


def test_too_narrow_intervals_are_found(people, channels):
    """Negative control: with 0.7 of the standard error the same test rejects."""
    covered = 0
    for ours, _, histogram, _ in draws(people, channels, *CASES[0]):
        found = mean(ours, histogram, target="file")
        covered += abs(found.value - people["years"].mean()) <= 0.7 * 1.96 * found.standard_error
    assert binomtest(covered, KEYS, 0.95).pvalue < 1e-4


def test_joint_shares_cover(people, channels):
    truth, covered = truths(people, "years")["joint"], 0
    for ours, theirs, _, table in draws(people, channels, "laplace", "years", "8", {}):
        found = joint_shares(ours, theirs, table, target="file")
        assert found.values.sum() == pytest.approx(1)
        covered += found.estimate(9, 1).covers(truth)
    assert binomtest(covered, KEYS, 0.95).pvalue > 1e-4


def test_the_population_adds_the_draw_of_the_rows(people, channels):
    ours, theirs, histogram, table = next(draws(people, channels, "kary_randomized_response", "years", "8", {}))
    rows = histogram.sum()
    for estimator in (mean, variance):
        file, population = (estimator(ours, histogram, target=target) for target in ("file", "population"))
        assert file.standard_error < population.standard_error
    for estimator in (covariance, correlation):
        file, population = (estimator(ours, theirs, table, target=target) for target in ("file", "population"))
        assert file.standard_error < population.standard_error
    spread = people["years"].var() / rows
    known = mean(ours, histogram).standard_error ** 2 - mean(ours, histogram, target="file").standard_error ** 2
    assert known == pytest.approx(spread, rel=0.1)
    whole, noise = (shares(ours, histogram, target=target).covariance for target in ("population", "file"))
    share = (people["years"] == 9).mean()
    assert whole[9, 9] - noise[9, 9] == pytest.approx(share * (1 - share) / rows, rel=0.1)
    pairs = [joint_shares(ours, theirs, table, target=target).covariance for target in ("population", "file")]
    assert np.trace(pairs[0]) > np.trace(pairs[1])


def test_values_of_the_domain_scale_what_is_estimated(people, channels):
    ours, theirs, histogram, table = next(draws(people, channels, "laplace", "years", "8", {}))
    dollars = 1000.0 + 10.0 * np.arange(19)
    steps, scaled = mean(ours, histogram), mean(ours, histogram, values=dollars)
    assert scaled.value == pytest.approx(1000 + 10 * steps.value)
    assert scaled.standard_error == pytest.approx(10 * steps.standard_error)
    assert variance(ours, histogram, values=dollars).value == pytest.approx(100 * variance(ours, histogram).value)
    both = covariance(ours, theirs, table, left_values=dollars, right_values=np.array([0.0, 5.0, 10.0]))
    assert both.value == pytest.approx(50 * covariance(ours, theirs, table).value)
    turned = correlation(ours, theirs, table, left_values=-dollars)
    assert turned.value == pytest.approx(-correlation(ours, theirs, table).value)


def test_smooth_noise_widens_by_its_bias(people, channels):
    channel = channels("gaussian", YEARS, "2")
    histogram = counts(channel.sample(people["years"], stream("gaussian")), channel.outputs)
    for estimate, truth in (
        (mean(channel, histogram), people["years"].mean()),
        (shares(channel, histogram).estimate(9), (people["years"] == 9).mean()),
    ):
        assert estimate.high - estimate.low > 0
        assert estimate.covers(truth)
    few = shares(channel, histogram)
    assert few.bias.max() > 0.01
    assert few.combined(np.ones(channel.inputs)).value == pytest.approx(1)


def test_where_nothing_can_be_said_there_is_a_reason(people, channels):
    region = channels("kary_randomized_response", REGIONS, "1")
    flat = np.full(4, 10)
    assert mean(region, flat).reason == variance(region, flat).reason == "labels and points have no place on a scale"
    years = channels("laplace", YEARS, "0.5")
    square = np.ones((19, 4), dtype=int)
    assert "labels" in covariance(years, region, square).reason
    assert "labels" in correlation(region, years, square.T).reason
    hidden = correlation(years, years, np.eye(19, dtype=int))
    assert hidden.value is None and "spread" in hidden.reason
    gaps = channels("kary_randomized_response", YEARS, "1", missing=True)
    absent = counts(np.full(50, 19), 20)
    assert "present" in mean(gaps, absent).reason
    assert "present" in variance(gaps, absent).reason
    both = np.zeros((20, 20), dtype=int)
    both[19, :19] = 1
    assert "present" in covariance(gaps, gaps, both).reason


@pytest.mark.parametrize("bad", [np.zeros(19, dtype=int), np.ones(18, dtype=int), -np.ones(19, dtype=int)])
def test_counts_of_another_channel_are_refused(channels, bad):
    with pytest.raises(InputContractError):
        mean(channels("laplace", YEARS, "1"), bad)


def test_too_many_cells_are_refused(channels):
    from trasgo_lib.data import NumberDomain

    wide = channels("laplace", NumberDomain(lower="0", upper="5000", step="1"), "4")
    with pytest.raises(InputContractError):
        shares(wide, np.ones(wide.outputs, dtype=int))
    years = channels("laplace", NumberDomain(lower="0", upper="99", step="1"), "4")
    with pytest.raises(InputContractError):
        joint_shares(years, years, np.ones((100, 100), dtype=int))


def test_projection_is_the_nearest_distribution():
    assert project_simplex(np.array([0.5, 0.7, -0.2])) == pytest.approx([0.4, 0.6, 0.0])
    grid = np.stack([np.linspace(-1, 1, 7), np.linspace(0, 2, 7)])
    projected = project_simplex(grid)
    assert np.allclose(projected.sum(axis=1), 1) and (projected >= 0).all()
    assert np.allclose(project_simplex(projected), projected)
