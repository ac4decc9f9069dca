"""Predicted losses of a group against those found later at higher rungs: fixed keys, exact binomial tests at 1e-4."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.loop import Knowledge, predict_group_losses
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, estimate_losses, measure

ROWS = 20_000
DOMAIN = ProductDomain([ProductPart("sex", CategoryDomain(["f", "m"])), ProductPart("age", NumberDomain("0", "9"), 5)])
PLACES = DOMAIN.decode(np.arange(DOMAIN.size, dtype=np.int32))
GRADE = CategoryDomain(["1", "2", "3"], ordered=True)
GROUP = [
    LossColumn("sex", "who", "label", 2, places=PLACES[0], group=DOMAIN),
    LossColumn("age", "who", "number", 10, 5, places=PLACES[1], group=DOMAIN),
]
COLUMNS = [*GROUP, LossColumn("grade", "grade", "ordered", 3)]
KNOWN = Epsilon.parse("3")
LEVELS = {level: build_channel("kary_randomized_response", DOMAIN, level.text) for level in map(Epsilon.parse, "3456")}
RUNGS = {level: channel for level, channel in LEVELS.items() if level > KNOWN}
OTHER = build_channel("kary_randomized_response", GRADE, "5")


def people():
    row = np.arange(ROWS)
    age = (row * 7 // 3 % 10).astype(np.int32)
    sex = ((age > 5) ^ (row % 4 == 0)).astype(np.int32)
    grade = np.clip(age // 3 - 1 + row % 2, 0, 2).astype(np.int32)
    return {"who": DOMAIN.encode(sex, age), "grade": grade}


def released_at(level, key):
    private = people()
    drawn = {
        "who": LEVELS[level].sample(private["who"], Keystream(bytes(32), "who", level.text, key)),
        "grade": OTHER.sample(private["grade"], Keystream(bytes(32), "grade", key)),
    }
    return {unit: partial(list, [codes]) for unit, codes in drawn.items()}


def predicted(loss, key, rungs=RUNGS, with_basis=True):
    released = released_at(KNOWN, key)
    channels = {"who": LEVELS[KNOWN], "grade": OTHER}
    public = Keystream(bytes(32), "estimates")
    found = estimate_losses(released, COLUMNS, channels, method="pearson", rows=ROWS, stream=public)
    counts = np.bincount(released["who"]()[0], minlength=DOMAIN.size)
    streams = [Keystream(bytes(32), "predict", column.name) for column in GROUP]
    basis = found.basis if with_basis else None
    knowledge = Knowledge(counts, LEVELS[KNOWN])
    return predict_group_losses(knowledge, rungs, GROUP, loss=loss, rows=ROWS, streams=streams, basis=basis)


def worst(loss, level, key):
    original = {unit: partial(list, [codes]) for unit, codes in people().items()}
    losses = measure(original, released_at(level, key), COLUMNS, rows=ROWS).losses
    return losses.of_unit("who", loss).value


@pytest.mark.parametrize(("loss", "keys"), [("tvd", 6), ("kl", 6), ("correlation_loss", 24)])
def test_the_upper_end_holds_the_loss_of_the_worst_column(loss, keys):
    """The worst column is that with the highest upper end, so only upper ends are promised: 97.5 % of them."""
    above, errors = dict.fromkeys(RUNGS, 0), []
    for key in range(keys):
        for found in predicted(loss, key):
            truth = worst(loss, found.level, key)
            above[found.level] += truth <= found.loss.high
            errors.append((found.loss.value - truth) / found.loss.standard_error)
    for level, held in above.items():
        assert binomtest(held, keys, 0.975, alternative="less").pvalue > 1e-4, (level, held)
    # and they are no mere upper bounds: the middle is within a few standard errors of the truth
    assert abs(np.median(errors)) < 1.5


def test_predictions_fall_along_the_ladder_and_stay_the_same():
    found = predicted("correlation_loss", 0)
    assert [entry.level for entry in found] == sorted(RUNGS)
    values = [entry.loss.value for entry in found]
    assert values == sorted(values, reverse=True) and found == predicted("correlation_loss", 0)


def test_what_is_not_known_has_a_reason():
    assert all(entry.loss.reason for entry in predicted("correlation_loss", 0, with_basis=False))
    nothing = Knowledge(np.bincount(people()["who"], minlength=DOMAIN.size))
    streams = [Keystream(bytes(32), column.name) for column in GROUP]
    found = predict_group_losses(nothing, RUNGS, GROUP, loss="tvd", rows=ROWS, streams=streams)
    assert all(entry.loss.value is None and entry.loss.reason for entry in found)
