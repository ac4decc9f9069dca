"""Predicted losses against losses found later: fixed keys, exact binomial tests at 1e-4."""

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain
from trasgo_lib.loop import Knowledge, predict_losses
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import divergence_of_shares

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
    assert all(entry.loss.value is None for entry in predict(Knowledge(np.bincount(RAW)), "correlation_loss"))
