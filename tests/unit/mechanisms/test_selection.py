"""The choice of a mechanism: by exact losses of a known distribution, the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, EqualBins, NumberDomain
from trasgo_lib.mechanisms import Candidate, Prospect, Question, build_channel, choose_mechanism, compare
from trasgo_lib.mechanisms.expected_loss import (
    MOST_BIAS,
    MOST_NOISE,
    MOST_WITHIN,
    attenuation,
    divergence,
    divergence_is_known,
    least_within_bins,
    within_bins,
)
from trasgo_lib.mechanisms.selection import BIN_COUNTS, HIDDEN, _ranked, candidates
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import divergences, released_divergence, released_moments

STEPS = 64
DOMAIN = NumberDomain("0", str(STEPS), "1")
PLACES = np.arange(STEPS + 1)


def law(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    return weights / weights.sum()


LAWS = {
    "bell": law(np.exp(-0.5 * ((PLACES - STEPS / 2) / (STEPS / 8)) ** 2)),
    "skewed": law(np.exp(-PLACES / (STEPS / 8))),
    "even": law(np.ones(STEPS + 1)),
}
WANTED = {"1": 2.5, "2": 2.2, "4": 1.7}


def kept(candidate: Candidate, epsilon: str, shares: NDArray[np.float64]) -> float:
    channel = build_channel(candidate.mechanism, DOMAIN, epsilon, **dict(candidate.parameters))
    return attenuation(channel, shares, STEPS + 1)


@pytest.mark.parametrize("epsilon", WANTED)
@pytest.mark.parametrize("name", LAWS)
def test_auto_keeps_more_correlation_than_laplace(name: str, epsilon: str) -> None:
    shares = LAWS[name]
    ratio = kept(choose_mechanism(DOMAIN, shares, epsilon=epsilon), epsilon, shares) / kept(
        Candidate("laplace"), epsilon, shares
    )
    assert ratio >= (WANTED[epsilon] if name == "bell" else 1.0)


def test_no_candidate_beats_the_chosen_one() -> None:
    for epsilon in ("0.25", "1", "8"):
        shares = LAWS["skewed"]
        best = kept(choose_mechanism(DOMAIN, shares, epsilon=epsilon), epsilon, shares)
        assert best >= max(kept(one, epsilon, shares) for one in candidates(DOMAIN)) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("mechanism", "parameters"), [("laplace", {}), ("staircase", {}), ("binned_randomized_response", {"bins": 5})]
)
def test_attenuation_is_that_of_drawn_values(mechanism: str, parameters: dict[str, int]) -> None:
    channel = build_channel(mechanism, DOMAIN, "4", **parameters)
    rows = 400_000
    codes = np.repeat(PLACES, np.diff(np.rint(np.cumsum(LAWS["bell"]) * rows).astype(int), prepend=0)).astype(np.int32)
    drawn = channel.sample(codes, Keystream(bytes(32), "selection test"))
    # the standard error of a correlation of so many rows is below 0.0016: five of them
    assert attenuation(channel, LAWS["bell"], STEPS + 1) == pytest.approx(np.corrcoef(codes, drawn)[0, 1], abs=0.008)


def test_attenuation_leaves_missing_values_out() -> None:
    shares = np.append(0.7 * LAWS["bell"], 0.3)
    whole = attenuation(build_channel("laplace", DOMAIN, "4"), LAWS["bell"], STEPS + 1)
    channel = build_channel("binned_randomized_response", DOMAIN, "4", bins=2, missing=True)
    without = build_channel("binned_randomized_response", DOMAIN, "4", bins=2)
    assert attenuation(channel, shares, STEPS + 1) == pytest.approx(
        attenuation(without, LAWS["bell"], STEPS + 1), abs=0.02
    )
    assert whole > 0
    assert attenuation(channel, np.append(np.eye(STEPS + 1)[3], 0.0), STEPS + 1) == 0.0


@pytest.mark.parametrize("loss", ["tvd", "js", "kl"])
def test_divergences_are_those_of_the_utility_room(loss: str) -> None:
    channel = build_channel("binned_randomized_response", DOMAIN, "2", bins=8)
    bins = EqualBins(STEPS + 1, 4).of_codes
    weights = np.array([channel.weights(code) for code in PLACES], dtype=np.float64) / 2.0**64
    before = np.bincount(bins, weights=LAWS["skewed"])
    after = np.bincount(bins, weights=LAWS["skewed"] @ weights)
    wanted = getattr(divergences.divergence_of_shares(before, np.minimum(after, 1.0)), loss)
    assert divergence(channel, LAWS["skewed"], bins, loss) == pytest.approx(wanted, rel=1e-9)


def test_limits_are_those_of_the_utility_room() -> None:
    assert (MOST_NOISE, MOST_BIAS) == (released_divergence.MOST_NOISE, released_divergence.MOST_BIAS)
    assert MOST_WITHIN == released_moments.MOST_WITHIN


def test_what_an_estimate_cannot_see() -> None:
    bins = EqualBins(STEPS + 1, 20).of_codes
    binned = build_channel("binned_randomized_response", DOMAIN, "2", bins=20)
    assert divergence_is_known(binned, LAWS["even"], bins, 100_000)
    assert not divergence_is_known(binned, LAWS["even"], bins, 1_000)
    coarse = build_channel("binned_randomized_response", DOMAIN, "8", bins=10)
    assert not divergence_is_known(coarse, LAWS["even"], bins, 10**9)
    laplace = build_channel("laplace", DOMAIN, "2")
    assert not divergence_is_known(laplace, LAWS["even"], bins, 28_000)


def test_variance_within_bins() -> None:
    cut = EqualBins(100, 3)
    shares = np.full(100, 0.01)
    assert within_bins(shares, 100, cut.of_codes, cut.representatives) == pytest.approx(1 / 9, rel=0.1)
    least = least_within_bins(100, cut.of_codes, cut.representatives)
    assert least < within_bins(shares, 100, cut.of_codes, cut.representatives)
    assert least > MOST_WITHIN
    five = EqualBins(100, 5)
    assert least_within_bins(100, five.of_codes, five.representatives) < MOST_WITHIN


def levels(*texts: str) -> tuple[Epsilon, ...]:
    return tuple(Epsilon.parse(text) for text in texts)


LADDER = levels("0.5", "1", "2", "4", "8")


def test_a_divergence_goes_to_the_candidate_that_meets_it_at_the_lowest_level() -> None:
    question = Question(DOMAIN, LAWS["skewed"], "tvd", LADDER, ceiling=0.1, bins=4, rows=28_000)
    found = compare(question)
    best = found[0]
    assert (best.candidate.mechanism, best.excluded) == ("binned_randomized_response", "")
    bins = EqualBins(STEPS + 1, 4).of_codes
    for one in candidates(DOMAIN, has_ladder=True, bins=4):
        if one.mechanism == "binned_randomized_response" and dict(one.parameters)["bins"] % 4 == 0:
            below = LADDER[LADDER.index(best.level) - 1]
            channel = build_channel(one.mechanism, DOMAIN, below, **dict(one.parameters))
            assert divergence(channel, LAWS["skewed"], bins, "tvd") > 0.1
    assert all(one.excluded for one in found if one.candidate.mechanism == "laplace")
    assert all("do not hold" in one.excluded for one in found if dict(one.candidate.parameters).get("bins") == 5)


def test_no_estimate_means_no_choice() -> None:
    wide = NumberDomain("0", "400", "1")
    shares = law(np.ones(401))
    found = compare(Question(wide, shares, "tvd", LADDER, ceiling=0.2, bins=20, rows=28_000))
    assert all(
        one.excluded == HIDDEN for one in found if one.candidate.mechanism in ("laplace", "staircase", "gaussian")
    )
    assert dict(found[0].candidate.parameters) == {"bins": 20}
    free = compare(Question(wide, shares, "tvd", LADDER, ceiling=0.2, bins=20))
    assert not any(one.excluded == HIDDEN for one in free)


def test_correlations_estimated_from_moments_need_narrow_bins() -> None:
    open_question = Question(DOMAIN, LAWS["bell"], "correlation_loss", levels("2"))
    narrow = Question(DOMAIN, LAWS["bell"], "correlation_loss", levels("2"), correlations="moments")
    assert dict(compare(open_question)[0].candidate.parameters) == {"bins": 2}
    for one in compare(narrow):
        count = dict(one.candidate.parameters).get("bins")
        assert bool(one.excluded) == (count is not None and count < 26)
    ranks = Question(DOMAIN, LAWS["bell"], "correlation_loss", levels("2"), correlations="ranks")
    assert [str(one.candidate) for one in compare(ranks) if not one.excluded] == ["laplace"]


def test_a_correlation_target_is_compared_where_it_is_met_first() -> None:
    found = compare(Question(DOMAIN, LAWS["bell"], "correlation_loss", LADDER, ceiling=40.0))
    assert found[0].level.text == "2"
    assert found[0].loss is not None and found[0].loss <= 40
    hopeless = compare(Question(DOMAIN, LAWS["bell"], "correlation_loss", LADDER, ceiling=0.001))
    assert hopeless[0].level == LADDER[-1]


def test_a_near_tie_goes_to_the_earlier_candidate() -> None:
    level = Epsilon.parse("1")
    one, other = (
        Prospect(Candidate(name), loss, level) for name, loss in (("laplace", 0.5), ("gaussian", 0.5 - 1e-12))
    )
    assert list(_ranked([one, other])) == [one, other]
    clear = Prospect(Candidate("gaussian"), 0.4, level)
    assert list(_ranked([one, clear])) == [clear, one]
    lower = Prospect(Candidate("gaussian"), 0.6, Epsilon.parse("0.5"))
    assert list(_ranked([one, lower])) == [lower, one]


def test_candidates_fit_their_domain() -> None:
    small = NumberDomain("0", "4", "1")
    assert all(dict(one.parameters).get("bins", 2) <= 5 for one in candidates(small))
    assert not [one for one in candidates(DOMAIN, missing=True) if one.mechanism == "staircase"]
    large = NumberDomain("0", "5000", "1")
    assert {one.mechanism for one in candidates(large)} == {"laplace", "binned_randomized_response"}
    assert [str(one) for one in candidates(CategoryDomain(["a", "b"]))] == ["randomized_response"]
    assert [str(one) for one in candidates(CategoryDomain(["a", "b", "c"]))] == ["kary_randomized_response"]
    for domain in (DOMAIN, small, large):
        for one in candidates(domain):
            assert build_channel(one.mechanism, domain, "2", **dict(one.parameters)).inputs == domain.size
    assert list(BIN_COUNTS) == sorted(BIN_COUNTS)


@pytest.mark.parametrize("loss", ["correlation_loss", "tvd"])
def test_wide_domains_are_compared_on_parts(loss: str) -> None:
    size = 4001
    places = np.arange(size)
    wide = NumberDomain("0", str(size - 1), "1")
    shares = law(np.exp(-0.5 * ((places - size / 2) / (size / 8)) ** 2))
    found = compare(Question(wide, shares, loss, levels("2")))
    bins = EqualBins(size, 20).of_codes
    for one in (found[0], *(prospect for prospect in found if str(prospect.candidate) in ("laplace", "gaussian"))):
        channel = build_channel(one.candidate.mechanism, wide, "2", **dict(one.candidate.parameters))
        kept_here = attenuation(channel, shares, size)
        exact = 100 * (1 - kept_here) if loss == "correlation_loss" else divergence(channel, shares, bins, loss)
        assert one.loss == pytest.approx(exact, rel=1e-3)
    huge = NumberDomain("0", str(2**20 - 1), "1")
    even = compare(Question(huge, np.full(2**20, 2.0**-20), "tvd", LADDER, ceiling=0.2, bins=20, rows=28_000))
    assert dict(even[0].candidate.parameters) == {"bins": 20}
