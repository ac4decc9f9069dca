"""Two columns of one group, decoded together: exact on every released code of a small domain, then over fixed keys."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain, ProductPart
from trasgo_lib.estimation import (
    SharedNoise,
    conditional_means,
    correlation,
    covariance,
    decode,
    joint_subset_shares,
    powers,
)
from trasgo_lib.estimation.together import PairDecoder
from trasgo_lib.mechanisms import build_channel, kept_share, margin
from trasgo_lib.noise import Keystream

GROUP = ProductDomain(
    [
        ProductPart("sex", CategoryDomain(["f", "m"])),
        ProductPart("age", NumberDomain("0", "8", "1"), 3, True),
        ProductPart("grade", CategoryDomain(["1", "2", "3"], ordered=True)),
    ]
)
PLACES = dict(zip(("sex", "age", "grade"), GROUP.decode(np.arange(GROUP.size, dtype=np.int32))))
CHANNEL = build_channel("kary_randomized_response", GROUP, "3")
SIDES = {name: margin(CHANNEL, GROUP, name) for name in PLACES}
PAIRS = [("sex", "age"), ("age", "grade"), ("sex", "grade")]


def together(left, right):
    return SharedNoise(kept_share(CHANNEL), SIDES[left].support, SIDES[right].support)


def transition():
    return np.array([CHANNEL.weights(code) for code in range(GROUP.size)], dtype=np.float64) / 2.0**64


def values(name):
    codes = np.arange(SIDES[name].inputs, dtype=np.float64)
    codes[GROUP.part(name).domain.size :] = np.nan
    return codes


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_products_are_decoded_without_bias(left, right):
    """Exact: expectations over every combination that can be released, whatever the private one."""
    some = [np.cos(np.outer(np.arange(SIDES[name].inputs), (1.0, 2.0))) for name in (left, right)]
    ours, theirs = (decode(SIDES[name], part) for name, part in zip((left, right), some))
    pair = PairDecoder.of(ours.values, theirs.values, together(left, right))
    for i in range(2):
        for j in range(2):
            seen = pair.left[PLACES[left], i] * pair.right[PLACES[right], j]
            decoded = pair.decoded(seen, pair.left_means[i] * pair.right_means[j])
            # a bin counts as the mean over its codes, whatever the private code
            count_as = [
                np.array([part[GROUP.tables(name)[0] == place, at].mean() for place in GROUP.tables(name)[0]])
                for name, part, at in ((left, some[0], i), (right, some[1], j))
            ]
            wanted = count_as[0][PLACES[left]] * count_as[1][PLACES[right]]
            assert transition() @ decoded == pytest.approx(wanted, abs=1e-12)
            squares = pair.squared(seen**2, seen, pair.left_means[i] * pair.right_means[j])
            assert squares == pytest.approx(decoded**2, rel=1e-9, abs=1e-12)


def test_columns_of_a_group_taken_for_separate_ones_are_biased():
    """Negative control of the same: products of the margins' decoders do not decode products."""
    some = np.eye(2), np.eye(3)
    ours, theirs = decode(SIDES["sex"], some[0]).values[:, 0], decode(SIDES["grade"], some[1]).values[:, 0]
    expected = transition() @ (ours[PLACES["sex"]] * theirs[PLACES["grade"]])
    wanted = (PLACES["sex"] == 0) * (PLACES["grade"] == 0)
    assert np.abs(expected - wanted).max() > 0.1


def population():
    """A law in which the three columns go together, and its moments are those of bins."""
    sex, age, grade = PLACES["sex"], PLACES["age"], PLACES["grade"]
    law = np.where(age == 9, 0.3, 1.0) * (1 + 2 * (sex == 1) * (age > 3)) * (1 + grade * (age > 6)) + 0.2
    return law / law.sum()


def test_intervals_cover_the_population():
    """200 fixed keys; exact binomial tests at 1e-4 each, six kinds of answer."""
    law, rows, keys = population(), 6000, 200
    present = PLACES["age"] < 9
    inside = law * present / law[present].sum()
    age, grade = PLACES["age"].astype(float), PLACES["grade"].astype(float)

    def mean(of, weights):
        return float((of * weights).sum() / weights.sum())

    truth = {
        "share": float(law[(PLACES["sex"] == 1) & (PLACES["age"] == 7)].sum()),
        "missing": float(law[(PLACES["sex"] == 0) & ~present].sum()),
        "mean": mean(grade, law * (PLACES["sex"] == 1)),
        "share by": mean((grade == 2).astype(float), law * (PLACES["age"] == 7)),
        "covariance": mean(age * grade, inside) - mean(age, inside) * mean(grade, inside),
    }
    spread = [mean(part**2, inside) - mean(part, inside) ** 2 for part in (age, grade)]
    truth["correlation"] = truth["covariance"] / np.sqrt(spread[0] * spread[1])
    # each bin as the code that stands for it: the intervals of moments allow for half a bin, so cut that off
    as_bins = np.where(values("age") < 9, GROUP.tables("age")[1][GROUP.tables("age")[0]], np.nan)
    cumulated, hits = np.cumsum(law), dict.fromkeys(truth, 0)
    for key in range(keys):
        words = Keystream(bytes(32), "people", key).words(0, rows).astype(np.float64) / 2.0**64
        private = np.minimum(np.searchsorted(cumulated, words, side="right"), GROUP.size - 1).astype(np.int32)
        released = CHANNEL.sample(private, Keystream(bytes(32), "noise", key))
        own = {name: PLACES[name][released] for name in PLACES}
        tables = {}
        for left, right in PAIRS:
            table = np.zeros((SIDES[left].outputs, SIDES[right].outputs), dtype=np.int64)
            np.add.at(table, (own[left], own[right]), 1)
            tables[left, right] = table
        in_bin = (GROUP.tables("age")[0] == 2)[:, None], (GROUP.tables("age")[0] == 3)[:, None]
        shared = together("sex", "age")
        cells = joint_subset_shares(
            SIDES["sex"], SIDES["age"], tables["sex", "age"], np.eye(2, dtype=bool), np.hstack(in_bin), together=shared
        )
        found = {"share": cells[2], "missing": cells[1]}
        turned = tables["sex", "grade"].T
        found["mean"] = conditional_means(
            SIDES["grade"], SIDES["sex"], turned, np.arange(3.0)[:, None], np.ones(3, dtype=bool),
            np.eye(2, dtype=bool), together=together("grade", "sex"),
        )[1][0]  # fmt: skip
        found["share by"] = conditional_means(
            SIDES["grade"], SIDES["age"], tables["age", "grade"].T, np.eye(3)[:, 2:], np.ones(3, dtype=bool),
            in_bin[0], together=together("grade", "age"),
        )[0][0]  # fmt: skip
        table, shared = tables["age", "grade"], together("age", "grade")
        for name, ask in (("covariance", covariance), ("correlation", correlation)):
            found[name] = ask(
                SIDES["age"], SIDES["grade"], table, left_values=as_bins, right_values=values("grade"), together=shared
            )
        for name, estimate in found.items():
            assert estimate.value is not None, (name, estimate.reason)
            hits[name] += estimate.covers(truth[name])
    for name, covered in hits.items():
        assert binomtest(covered, keys, 0.95).pvalue > 1e-4, (name, covered)


def test_noise_alone_is_less_than_noise_and_rows():
    private = np.arange(4000, dtype=np.int32) % GROUP.size
    own = {name: part[CHANNEL.sample(private, Keystream(bytes(32), "file"))] for name, part in PLACES.items()}
    table = np.zeros((2, 3), dtype=np.int64)
    np.add.at(table, (own["sex"], own["grade"]), 1)
    errors = [
        covariance(
            SIDES["sex"],
            SIDES["grade"],
            table,
            left_values=values("sex"),
            right_values=values("grade"),
            target=target,
            together=together("sex", "grade"),
        ).standard_error
        for target in ("file", "population")
    ]
    assert 0 < errors[0] < errors[1]
    assert not isinstance(powers(SIDES["sex"], values("sex")), str)
