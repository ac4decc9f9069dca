"""The public divergence: public fault reports B59, B60, B62, B63, T05, T06; own golden numbers."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.spatial.distance
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.data import BoxDomain, CategoryDomain, DateDomain, NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import Divergence, divergence, divergence_of_counts, divergence_of_shares


def _source(seed):
    return np.random.Generator(np.random.PCG64(seed))


def test_golden_numbers():
    """Shares 1/2, 1/2 against 1/4, 3/4, by hand."""
    found = divergence(["a", "a", "b", "b"], ["a", "b", "b", "b"])
    assert found.tvd == 0.25
    assert found.kl == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3), abs=1e-15)
    middle = (3 / 8, 5 / 8)
    js = 0.5 * sum(p * math.log(p / m) + q * math.log(q / m) for p, q, m in zip((0.5, 0.5), (0.25, 0.75), middle))
    assert found.js == pytest.approx(js, abs=1e-15)
    assert (found.lost, found.reason) == (0, None)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1000)), min_size=2, max_size=30))
def test_agrees_with_scipy_and_stays_in_range(counts):
    original, released = (np.array(side, dtype=np.int64) for side in zip(*counts))
    found = divergence_of_counts(original, released)
    if original.sum() == 0:
        assert found == Divergence(None, None, None, 0, "no rows")
        return
    p, q = original / original.sum(), released / released.sum()
    assert found.tvd == pytest.approx(0.5 * np.abs(p - q).sum(), abs=1e-12)
    assert found.js == pytest.approx(scipy.spatial.distance.jensenshannon(p, q) ** 2, abs=1e-9)
    assert found.kl == pytest.approx(scipy.stats.entropy(p, q), abs=1e-9)
    assert 0 <= found.tvd <= 1
    assert 0 <= found.js <= math.log(2)
    assert found.kl >= 0
    order = _source(0).permutation(len(original))
    assert divergence_of_counts(original[order], released[order]) == found
    assert divergence_of_counts(original + 1, original + 1) == Divergence(0.0, 0.0, 0.0)


def test_denormal_shares_are_finite():  # B59
    found = divergence_of_shares([0, 1], [5e-324, 1])
    assert found.js == pytest.approx(0, abs=1e-300)
    assert math.isfinite(found.js)
    assert math.isfinite(found.kl)
    turned = divergence_of_shares([5e-324, 1], [0, 1])
    assert math.isfinite(turned.js)
    assert (turned.kl, turned.lost) == (None, 1)
    assert divergence_of_shares([1, 0], [5e-324, 1]).kl == pytest.approx(744.44, abs=0.01)
    assert divergence_of_shares([1, 0], [0, 1]).js == math.log(2)


@pytest.mark.parametrize("shares", [([0.5], [0.5, 0.5]), ([math.nan], [1]), ([-1], [1]), ([2], [1]), ([[1]], [[1]])])
def test_bad_shares_are_refused(shares):
    with pytest.raises(InputContractError, match="shares from 0 to 1"):
        divergence_of_shares(*shares)


def test_lost_support_is_null_with_a_reason():  # B60
    found = divergence(["a"] * 999 + ["b"], ["a"] * 1000)
    assert found.tvd == pytest.approx(0.001, abs=1e-15)
    assert found.js == pytest.approx(0.00035, abs=1e-5)
    assert (found.kl, found.lost, found.reason) == (None, 1, "support lost: 1")
    assert divergence(["a"] * 1000, ["a"] * 999 + ["b"]).kl is not None


def test_unequal_row_counts_are_an_error():  # B62
    with pytest.raises(InputContractError) as caught:
        divergence(["a"] * 50, ["a"] * 10)
    assert caught.value.reason == Reason.ROW_MISMATCH


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA])
def test_missing_is_a_category(missing):  # B62
    found = divergence(pd.Series(["a", missing, missing, missing], dtype=object), pd.Series(list("aaaa")))
    assert (found.tvd, found.kl, found.lost) == (0.75, None, 1)
    domain = CategoryDomain(["a", "b"])
    assert divergence(["a", None, None, None], list("aaaa"), domain) == found
    assert divergence(list("aaaa"), [None] * 4, domain).tvd == 1.0
    assert divergence([1.0, 2.0], [None, None]).tvd == 1.0
    assert divergence([None, None], [None, None]).tvd == 0.0


def test_unused_categories_change_nothing():  # B63
    plain = pd.Series(list("aabb")), pd.Series(list("abbb"))
    typed = [side.astype(pd.CategoricalDtype(["a", "b", "c"])) for side in plain]
    assert divergence(*typed) == divergence(*plain) == divergence(typed[0], plain[1])
    coded = [pa.array(side).dictionary_encode() for side in plain]
    assert divergence(*coded) == divergence(*plain)


def test_numbers_fall_into_declared_bins():
    """T05. Two samples of 100 uniforms, 10 bins: TVD has mean 0.18 and sd 0.04, so 0.3 is three sd away."""
    samples = [_source(seed).random(100) for seed in (1, 2)]
    assert divergence(*samples).tvd == 1.0
    for step in ("0.1", "0.01", "0.001"):
        found = divergence(*samples, domain=NumberDomain("0", "1", step))
        assert 0 < found.tvd < 0.3
    assert divergence(*samples, domain=NumberDomain("0", "1", "0.01"), bins=2).tvd < 0.15
    assert divergence(*samples, domain=NumberDomain("0", "1", "0.01"), bins=1).tvd == 0


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "staircase"])
def test_noise_is_seen_to_fall_as_epsilon_rises(mechanism):
    """B65. 1000 normals in 10 bins, 20 repeats: mean TVD falls from epsilon 0.1 to 1 to 10, by a twentieth at least.

    Noise of the product's channels under fixed keys; the means differ by ten of their standard errors and more.
    """
    domain = NumberDomain("-4", "4", "0.05")
    codes = domain.encode(np.clip(_source(5).standard_normal(1000), -4, 4))
    means = []
    for epsilon in ("0.1", "1", "10"):
        channel = build_channel(mechanism, domain, epsilon)
        losses = [
            divergence(
                domain.decode(codes),
                domain.decode(channel.sample(codes, Keystream(bytes(32), "b65", key))),
                domain,
                bins=10,
            ).tvd
            for key in range(20)
        ]
        means.append(float(np.mean(losses)))
    assert means[0] > means[1] + 0.05 > means[2] + 0.1


@pytest.mark.parametrize(
    ("original", "released"),
    [([1, 2, 3], ["1", "2", "3"]), (["a", "b"], [True, False]), ([1, 0], [True, False])],
)
def test_other_types_are_a_plain_error(original, released):  # T06
    with pytest.raises(InputContractError) as caught:
        divergence(original, released)
    assert caught.value.reason == Reason.WRONG_TYPE


def test_mixed_types_are_a_plain_error():  # T06
    with pytest.raises(InputContractError) as caught:
        divergence(pd.Series(["a", 1], dtype=object), ["a", "b"])
    assert caught.value.reason == Reason.WRONG_TYPE


def test_integers_and_floats_are_one_type():
    assert divergence([1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0]).tvd == 0
    assert divergence(np.array([1, 2], dtype=np.int32), np.array([1, 3], dtype=np.int64)).tvd == 0.5
    assert divergence(np.array([1, 2], dtype=np.uint64), np.array([1, 2], dtype=np.int64)).tvd == 0


def test_many_distinct_values_count_as_few_do():
    source = _source(9)
    whole = source.integers(0, 10**12, 3000)
    found = divergence(whole, np.concatenate([whole[:1000], whole[1000:] + 1]))
    assert found.tvd == pytest.approx(2 / 3, abs=1e-3)
    gaps = pd.Series(source.random(3000)).where(source.random(3000) > 0.5)
    assert divergence(gaps, gaps) == Divergence(0.0, 0.0, 0.0)
    assert divergence(gaps, gaps[::-1]) == Divergence(0.0, 0.0, 0.0)


@pytest.mark.parametrize("domain", [None, NumberDomain("0", "9")])
@pytest.mark.parametrize("rows", [4, 5000])
def test_infinite_numbers_are_counted(domain, rows):
    values = np.append(_source(1).random(rows - 2), [np.inf, -np.inf])
    with pytest.raises(InputContractError) as caught:
        divergence(values, np.ones(rows), domain)
    assert (caught.value.reason, caught.value.faults[0].rows) == (Reason.NON_FINITE, 2)


def test_days_and_labels_over_a_domain():
    days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-31"]))
    domain = DateDomain("2020-01-01", "2020-01-31")
    assert divergence(days, days, domain).tvd == 0
    assert divergence(days, pd.Series(pd.to_datetime(["2020-01-01"] * 4)), domain).tvd == 0.5
    codes = CategoryDomain(["1", "2"], output="integer")
    assert divergence([1, 2, 2, 1], [1, 1, 2, 1], codes).tvd == 0.25
    assert divergence([1, None, 2, 1], [1, 1, 2, 1], codes).tvd == 0.25
    assert divergence([True, False], [True, True], CategoryDomain(["false", "true"])).tvd == 0.5


def test_values_that_the_domain_does_not_know():
    with pytest.raises(InputContractError) as caught:
        divergence(["a", "canary"], ["a", "b"], CategoryDomain(["a", "b"]))
    assert caught.value.reason == Reason.OUT_OF_DOMAIN
    assert "canary" not in str(caught.value)
    with pytest.raises(InputContractError, match="values of a number domain"):
        divergence(["a", "b"], ["a", "b"], NumberDomain("0", "9"))
    with pytest.raises(InputContractError, match="fractions"):
        divergence([1.5, 2.0], [1.0, 2.0], CategoryDomain(["1", "2"]))


def test_points_and_bad_bins_are_refused():
    box = BoxDomain(["41.6", "-87.9", "42.1", "-87.5"], "EPSG:3435", "1000")
    with pytest.raises(ConfigError, match="a domain of number, date, category"):
        divergence([1.0], [1.0], box)
    for bins in (0, -1, True, 2.5):
        with pytest.raises(ConfigError, match="whole number, at least 1"):
            divergence([1], [1], NumberDomain("0", "9"), bins=bins)


def test_no_rows_is_null_with_a_reason():
    assert divergence([], []) == Divergence(None, None, None, 0, "no rows")
    assert (
        divergence(pd.Series([], dtype=float), pd.Series([], dtype=float), NumberDomain("0", "9")).reason == "no rows"
    )
