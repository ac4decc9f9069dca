"""Joint noise of decoded moments: held against the exact covariance over every released row of tiny domains."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.mechanisms import build_channel, kept_share
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.released_correlation import code_powers
from trasgo_lib.utility.released_groups import correlated_groups
from trasgo_lib.utility.released_noise import noise_covariance

WHO = ProductDomain(
    [ProductPart("sex", CategoryDomain(["f", "m"])), ProductPart("age", NumberDomain("0", "6", "1"), 3, True)]
)
WHERE = ProductDomain([ProductPart("a", CategoryDomain(["x", "y"])), ProductPart("b", CategoryDomain(["x", "y"]))])
GRADE = CategoryDomain(["1", "2", "3"], ordered=True)


def group_columns(unit, domain):
    places = domain.decode(np.arange(domain.size, dtype=np.int32))
    return [
        LossColumn(part.name, unit, "ordered", part.domain.size, places=own, group=domain)
        for part, own in zip(domain.parts, places)
    ]


COLUMNS = [*group_columns("who", WHO), *group_columns("where", WHERE), LossColumn("grade", "grade", "ordered", 3)]
CHANNELS = {
    "who": build_channel("kary_randomized_response", WHO, "1.5"),
    "where": build_channel("kary_randomized_response", WHERE, "1"),
    "grade": build_channel("kary_randomized_response", GRADE, "2"),
}
DECODERS = [code_powers(column, CHANNELS[column.unit]) for column in COLUMNS]
GROUPS = correlated_groups(COLUMNS, CHANNELS)
PAIRS = tuple(combinations(range(len(COLUMNS)), 2))
UNITS = list(CHANNELS)


def everything():
    """Every released row: its codes by unit, int32[units, rows]."""
    sizes = [CHANNELS[unit].outputs for unit in UNITS]
    return np.array(list(product(*map(range, sizes))), dtype=np.int32).T


def chances(private):
    """The chance of every released row, given a private one."""
    chance = np.ones(1)
    for unit, code in zip(UNITS, private):
        weights = np.array(CHANNELS[unit].weights(code), dtype=np.float64) / 2.0**64
        chance = np.multiply.outer(chance, weights).ravel()
    return chance


def polynomials(seed):
    """Weights of pairs and of columns, of any size: float64[pairs, 3, 3] and float64[columns, 3]."""
    count = len(PAIRS) * 9 + len(COLUMNS) * 3
    numbers = np.cos(np.arange(count) * 2.1 + seed)
    return numbers[: len(PAIRS) * 9].reshape(-1, 3, 3), numbers[len(PAIRS) * 9 :].reshape(-1, 3)


def group_of(pair):
    return next((group for group in GROUPS if {*pair} <= {*group.columns}), None)


def decoded_rows(codes, weights, alone):
    """Decoded quantities of every row: float64[pairs + columns, rows]; D of the group for pairs within it."""
    by_column = [way.decoded.T[:3, codes[UNITS.index(column.unit)]] for way, column in zip(DECODERS, COLUMNS)]
    found = []
    for (left, right), weight in zip(PAIRS, weights):
        group = group_of((left, right))
        if group is None:
            found.append(np.einsum("kn,kl,ln->n", by_column[left], weight, by_column[right]))
        else:
            joint = group.products(DECODERS[left], DECODERS[right])
            found.append((weight.ravel() @ joint)[codes[UNITS.index(group.unit)]])
    found += [along @ part for along, part in zip(alone, by_column)]
    return np.array(found)


def true_values(private, weights, alone):
    own = [way.inputs[private[UNITS.index(column.unit)], :3] for way, column in zip(DECODERS, COLUMNS)]
    pairs = [own[left] @ weight @ own[right] for (left, right), weight in zip(PAIRS, weights)]
    return np.array([*pairs, *(along @ part for along, part in zip(alone, own))])


def noise_of(codes, weights, alone):
    kept = [way.decoded.T[:, codes[UNITS.index(column.unit)]] for way, column in zip(DECODERS, COLUMNS)]
    rows = [group.rows(DECODERS, codes[UNITS.index(group.unit)]) for group in GROUPS]
    return noise_covariance(kept, PAIRS, weights, alone, rows)


@pytest.mark.parametrize("private", [(0, 0, 0), (5, 3, 1), (7, 2, 2)])
def test_decoders_are_unbiased_and_their_noise_covariance_is_the_true_one(private):
    """Exact: expectations over every released row, no chance involved."""
    weights, alone = polynomials(sum(private))
    codes, chance = everything(), chances(private)
    decoded, truth = decoded_rows(codes, weights, alone), true_values(private, weights, alone)
    assert decoded @ chance == pytest.approx(truth, abs=1e-12)
    exact = (decoded * chance) @ decoded.T - np.outer(truth, truth)
    # linear in the rows but for products of two decoders of one row, so one row at a time
    found = sum(share * noise_of(codes[:, [place]], weights, alone) for place, share in enumerate(chance) if share > 0)
    assert found == pytest.approx(exact, abs=1e-10)
    # pairs with two columns of one group do vary together, which separate columns would deny
    first, second = PAIRS.index((0, 4)), PAIRS.index((1, 4))
    assert abs(exact[first, second]) > 0.01


def test_rows_are_averaged_whatever_their_order_and_chunks(monkeypatch):
    weights, alone = polynomials(1)
    codes = everything()[:, ::7]
    whole = noise_of(codes, weights, alone)
    apart = np.mean([noise_of(codes[:, [place]], weights, alone) for place in range(codes.shape[1])], axis=0)
    assert whole == pytest.approx(apart, abs=1e-10)
    monkeypatch.setattr("trasgo_lib.utility.released_noise._CHUNK_ROWS", 5)
    assert noise_of(codes[:, ::-1], weights, alone) == pytest.approx(whole, abs=1e-10)
    assert whole == pytest.approx(whole.T, abs=1e-12)


def test_a_group_that_is_taken_for_separate_columns_is_found():
    """Negative control: (a, c) and (b, c) with a and b of one group, decoded apart."""
    private = (5, 3, 1)
    weights, alone = polynomials(2)
    codes, chance = everything(), chances(private)
    decoded, truth = decoded_rows(codes, weights, alone), true_values(private, weights, alone)
    exact = (decoded * chance) @ decoded.T - np.outer(truth, truth)
    kept = [way.decoded.T[:, codes[UNITS.index(column.unit)]] for way, column in zip(DECODERS, COLUMNS)]
    false = sum(
        share * noise_covariance([part[:, [place]] for part in kept], PAIRS, weights, alone)
        for place, share in enumerate(chance)
    )
    first, second = PAIRS.index((0, 4)), PAIRS.index((1, 4))
    assert abs(false[first, second] - exact[first, second]) > 0.1 * abs(exact[first, second])


def test_the_kept_share_is_that_of_the_weights():
    for group, channel in zip(GROUPS, (CHANNELS["who"], CHANNELS["where"])):
        row = channel.weights(0)
        assert kept_share(channel) == group.kept == pytest.approx((row[0] - row[1]) / 2**64, abs=1e-15)
