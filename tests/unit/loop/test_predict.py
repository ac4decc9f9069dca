"""Predicted losses against losses found later: fixed keys, exact binomial tests at 1e-4."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop import Knowledge, predict_losses
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import KnownColumn, LossColumn, Neighbour, divergence_of_shares, estimate_losses

ROWS = 20_000
REGION = CategoryDomain(codes=["n", "e", "s", "w"])
BINS = np.arange(4, dtype=np.int32)
PUBLIC = Keystream(bytes(32), "predictions")
SHARES = np.array([0.55, 0.25, 0.15, 0.05])
RAW = np.repeat(np.arange(4, dtype=np.int32), np.rint(SHARES * ROWS).astype(int))


def channel(epsilon):
    return build_channel("kary_randomized_response", REGION, epsilon)


RUNGS = {Epsilon.parse(level): channel(level) for level in ("1", "2", "4")}


def counts(through, *label):
    return np.bincount(through.sample(RAW, Keystream(bytes(32), *label)), minlength=4)


def predict(knowledge, loss, **extra):
    return predict_losses(knowledge, RUNGS, BINS, loss=loss, rows=ROWS, stream=PUBLIC, **extra)


@pytest.mark.parametrize("loss", ["tvd", "js", "kl"])
@pytest.mark.parametrize("source", ["pilot", "prior"])
def test_intervals_hold_the_loss_that_is_found_later(loss, source):
    pilot, keys = channel("0.5"), 60
    hits = dict.fromkeys(RUNGS, 0)
    for key in range(keys):
        knowledge = Knowledge(counts(pilot, "pilot", key), pilot) if source == "pilot" else Knowledge(np.bincount(RAW))
        for found in predict(knowledge, loss):
            later = counts(RUNGS[found.level], "later", found.level.text, key) / ROWS
            hits[found.level] += found.loss.covers(getattr(divergence_of_shares(SHARES, later), loss))
    for level, covered in hits.items():
        assert binomtest(covered, keys, 0.95).pvalue > 1e-4, (level, covered)


def test_predictions_fall_along_the_ladder_and_do_not_change():
    knowledge = Knowledge(np.bincount(RAW))
    found = predict(knowledge, "tvd")
    assert [entry.level for entry in found] == sorted(RUNGS)
    assert found == predict(knowledge, "tvd")
    values = [entry.loss.value for entry in found]
    assert values == sorted(values, reverse=True)
    expected = 0.5 * np.abs(SHARES - 0.25).sum() * 3 / (np.exp(1) + 3) * 4 / 3  # (1 - beta) TVD to the uniform
    assert values[0] == pytest.approx(expected, rel=0.02)


def test_a_wrong_prior_is_found_out():
    """Negative control: the intervals of another distribution do not hold the loss."""
    (low, *_) = predict(Knowledge(np.full(4, 100)), "tvd")
    later = counts(RUNGS[low.level], "later") / ROWS
    assert not low.loss.covers(divergence_of_shares(SHARES, later).tvd)


def test_what_cannot_be_predicted_has_a_reason():
    weak = channel("0.05")
    assert all("hides" in entry.loss.reason for entry in predict(Knowledge(counts(weak), weak), "tvd"))
    assert all("rows" in entry.loss.reason for entry in predict(Knowledge(np.zeros(4, dtype=np.int64)), "tvd"))
    assert all("prior" in entry.loss.reason for entry in predict(Knowledge(np.bincount(RAW)), "correlation_loss"))
    hidden = {"found": Estimate.of(80.0, 1.0)}
    assert all("hides" in e.loss.reason for e in predict(Knowledge(counts(weak), weak), "correlation_loss", **hidden))
    other = KnownColumn(np.bincount(RAW), None, 4)
    constant = Knowledge(np.array([9, 0, 0, 0]))
    for knowledge, strength, words in ((constant, 0.4, "constant"), (Knowledge(np.bincount(RAW)), 0.0, "zero")):
        found = predict(knowledge, "correlation_loss", neighbours=[Neighbour(other, RUNGS[LEVEL_4], strength)])
        assert all(words in entry.loss.reason for entry in found)


OTHER = (RAW * 3 + np.arange(len(RAW), dtype=np.int32) * 7 % 5) % 4
LEVEL_4 = Epsilon.parse("4")
PAIR = (LossColumn("raw", "raw", "ordered", 4), LossColumn("other", "other", "ordered", 4))


def correlation_loss_at(level, key):
    ours = RUNGS[level].sample(RAW, Keystream(bytes(32), "ours", level.text, key))
    theirs = RUNGS[LEVEL_4].sample(OTHER, Keystream(bytes(32), "theirs", key))
    before, after = (abs(np.corrcoef(*pair)[0, 1]) for pair in ((RAW, OTHER), (ours, theirs)))
    return ours, theirs, 100 * abs(before - after) / before


@pytest.mark.parametrize("source", ["pilot", "prior"])
def test_correlation_losses_are_foreseen(source):
    pilot, keys = Epsilon.parse("2"), 40
    hits = dict.fromkeys([level for level in RUNGS if level > pilot], 0)
    prior = Neighbour(KnownColumn(np.bincount(OTHER), None, 4), RUNGS[LEVEL_4], abs(np.corrcoef(RAW, OTHER)[0, 1]))
    for key in range(keys):
        ours, theirs, _ = correlation_loss_at(pilot, key)
        channels = {"raw": RUNGS[pilot], "other": RUNGS[LEVEL_4]}
        released = {"raw": partial(list, [ours]), "other": partial(list, [theirs])}
        estimates = estimate_losses(released, PAIR, channels, method="pearson", rows=ROWS, stream=PUBLIC)
        knowledge, known = Knowledge(np.bincount(RAW)), {"neighbours": [prior]}
        if source == "pilot":
            knowledge = Knowledge(np.bincount(ours, minlength=4), RUNGS[pilot])
            known = {"found": estimates.correlation_loss}
        for found in predict(knowledge, "correlation_loss", size=4, **known):
            if found.level in hits:
                hits[found.level] += found.loss.covers(correlation_loss_at(found.level, key)[2])
    for level, covered in hits.items():
        assert binomtest(covered, keys, 0.95, alternative="less").pvalue > 1e-4, (level, covered)
