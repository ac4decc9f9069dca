"""Private distributions that may be behind a release: what they are made of, and that intervals from them hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.data import CategoryDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import DivergenceEstimates, Resampling, divergence_of_counts
from trasgo_lib.utility.likely_originals import LikelyOriginals, likely_originals
from trasgo_lib.utility.released_divergence import binned_release, estimate_divergences

KEYS = 250
PUBLIC = Keystream(bytes(32), "bootstrap")


def _channel(size: int, level: str) -> Channel:
    name = "randomized_response" if size == 2 else "kary_randomized_response"
    return build_channel(name, CategoryDomain([f"c{at}" for at in range(size)]), level)


def _drawn(channel: Channel, raw: list[int], key: int) -> np.ndarray:
    codes = np.repeat(np.arange(len(raw), dtype=np.int32), raw)
    drawn = channel.sample(codes, Keystream(bytes(32), "likely", len(raw), str(channel.certified_epsilon), key))
    return np.bincount(drawn, minlength=len(raw)).astype(np.int64)


def _likely(channel: Channel, counts: np.ndarray) -> LikelyOriginals:
    found = binned_release(channel, counts, np.arange(len(counts), dtype=np.int32))
    return likely_originals(channel, found.inverted, found.original, found.maps, found.rows, Resampling(PUBLIC, 0))


def _estimated(channel: Channel, counts: np.ndarray) -> DivergenceEstimates:
    return estimate_divergences(channel, counts, np.arange(len(counts), dtype=np.int32), Resampling(PUBLIC, 0))


def test_each_is_a_distribution_and_the_same_release_gives_the_same_ones() -> None:
    channel = _channel(4, "1")
    counts = _drawn(channel, [4000, 3000, 990, 10], 1)
    one, other = _likely(channel, counts), _likely(channel, counts)
    assert (one.shares >= 0).all() and np.allclose(one.shares.sum(axis=1), 1)
    assert (one.weights > 0).all()
    assert (one.shares == other.shares).all() and (one.weights == other.weights).all()


def test_a_share_that_may_be_none_is_more_likely_small() -> None:
    channel = _channel(4, "1")
    likely = _likely(channel, _drawn(channel, [4000, 3000, 1000, 0], 1))
    rare = likely.shares[:, 3]
    plain = np.median(rare)
    assert likely.quantiles(rare, (0.5,))[0] < plain


def test_nothing_is_weighed_where_all_shares_are_plain_and_far_from_even() -> None:
    channel = _channel(2, "2")
    likely = _likely(channel, _drawn(channel, [7000, 3000], 1))
    assert (likely.weights == 1).all()


HARD = {
    "all that the channel moves is within the noise": ("0.5", [7050, 7350, 8700, 6900]),
    "a rare category at the edge of the noise": ("2", [8000, 1800, 100, 100]),
    "two categories with hardly a row": ("3", [6000, 3990, 8, 2]),
    "next to no divergence": ("8", [6700, 3300]),
}


@pytest.mark.parametrize("case", HARD)
def test_intervals_hold_where_those_of_a_bootstrap_did_not(case: str) -> None:
    """False alarm: 1e-4 a loss, for intervals that hold 95 %. Too short ones fail; too long ones may pass."""
    level, raw = HARD[case]
    channel = _channel(len(raw), level)
    held = {"tvd": 0, "js": 0, "kl": 0}
    for key in range(KEYS):
        counts = _drawn(channel, raw, key)
        found, truth = _estimated(channel, counts), divergence_of_counts(np.array(raw), counts)
        for loss in held:
            held[loss] += getattr(found, loss).covers(getattr(truth, loss))
    for loss, count in held.items():
        assert binomtest(count, KEYS, 0.95, alternative="less").pvalue > 1e-4, (loss, count)
