"""Synthetic rows: exact margins, declared correlations, and what is said where they cannot be had."""

import numpy as np
import pytest
from scipy.stats import chisquare, multivariate_normal, norm

from trasgo_lib.loop.forecast import KnownLaw, Population, PublicKnowledge, normal_scale
from trasgo_lib.loop.forecast.normal_scale import (
    STRONGEST,
    hermite_coefficients,
    nearest_correlations,
    normal_correlation,
    quantiles,
    series,
    spread,
)
from trasgo_lib.noise import Keystream
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.utility import LossColumn

SKEWED, EVEN = np.array([0.7, 0.1, 0.15, 0.05]), np.full(3, 1 / 3)
ROWS = 200_000


def stream(*label):
    return Keystream(bytes(32), *label)


def known(shares, correlations, *, assume_uniform=False, columns=None):
    prior = PublicPrior("a test", "0" * 64, ROWS, shares, correlations)
    columns = columns or [LossColumn(name, name, "number", len(own)) for name, own in shares.items()]
    sizes = {column.name: column.size for column in columns}
    return PublicKnowledge.of(prior, columns, sizes, assume_uniform=assume_uniform)


@pytest.mark.parametrize("normal", [-0.9, -0.3, 0.5, 0.95])
def test_the_series_agrees_with_the_bivariate_normal_law(normal):
    """Covariance of codes = sum over cuts of P(both above) less the product, in closed form."""
    exact = sum(
        multivariate_normal([0, 0], [[1, normal], [normal, 1]]).cdf([-s, -t]) - norm.sf(s) * norm.sf(t)
        for s in quantiles(SKEWED)
        for t in quantiles(EVEN)
    ) / (spread(SKEWED) * spread(EVEN))
    ours, theirs = (hermite_coefficients(shares) / spread(shares) for shares in (SKEWED, EVEN))
    assert series(ours, theirs, normal) == pytest.approx(exact, abs=2e-3)
    assert normal_correlation(ours, theirs, exact) == pytest.approx(normal, abs=5e-3)


def test_rows_have_the_shares_and_the_correlations():
    """Fixed keys; chi-square at 1e-4, correlations within 5 standard errors (2e-7 of false alarms each)."""
    wanted = {("a", "b"): 0.4, ("b", "c"): -0.2}
    codes = Population.of(known({"a": SKEWED, "b": EVEN, "c": SKEWED}, wanted)).codes(ROWS, stream("rows"))
    for name, shares in (("a", SKEWED), ("b", EVEN), ("c", SKEWED)):
        assert chisquare(np.bincount(codes[name]), shares * ROWS).pvalue > 1e-4
    for pair, value in {**wanted, ("a", "c"): 0.0}.items():
        assert np.corrcoef(codes[pair[0]], codes[pair[1]])[0, 1] == pytest.approx(value, abs=5 / np.sqrt(ROWS))


def test_more_rows_start_with_the_same_rows_and_other_keys_give_others():
    population = Population.of(known({"a": SKEWED, "b": EVEN}, {("a", "b"): 0.3}))
    few, many = population.codes(1000, stream("x")), population.codes(3000, stream("x"))
    assert all(np.array_equal(few[name], many[name][:1000]) for name in few)
    assert not np.array_equal(few["a"], population.codes(1000, stream("y"))["a"])


def test_missing_values_are_codes_of_their_own_and_leave_the_rest_alone():
    shares = {"a": np.append(SKEWED * 0.8, 0.2), "b": EVEN}
    columns = [LossColumn("a", "a", "number", 4), LossColumn("b", "b", "number", 3)]
    codes = Population.of(known(shares, {("a", "b"): 0.4}, columns=columns)).codes(ROWS, stream("rows"))
    present = codes["a"] < 4
    assert present.mean() == pytest.approx(0.8, abs=0.005)
    assert np.corrcoef(codes["a"][present], codes["b"][present])[0, 1] == pytest.approx(0.4, abs=0.015)


def test_what_cannot_be_is_repaired_and_said():
    impossible = {("a", "b"): 0.8, ("b", "c"): 0.8, ("a", "c"): -0.8}
    population = Population.of(known({"a": EVEN, "b": EVEN, "c": EVEN}, impossible))
    assert len(population.notes) == 3
    assert all("cannot all hold together" in note for note in population.notes)
    alone = Population.of(known({"a": SKEWED, "b": SKEWED[::-1]}, {("a", "b"): 0.95}))
    assert "out of reach for these shares" in alone.notes[0]
    constant = Population.of(known({"a": np.array([1.0, 0.0]), "b": EVEN}, {("a", "b"): 0.5}))
    assert "constant" in constant.notes[0]
    assert not Population.of(known({"a": EVEN, "b": EVEN}, {("a", "b"): 0.8})).notes


def test_the_repair_is_the_nearest_matrix():
    """Higham's example: the nearest correlation matrix to [[1,1,0],[1,1,1],[0,1,1]] is known to four digits."""
    found = nearest_correlations(np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]]))
    assert found == pytest.approx(np.array([[1, 0.7607, 0.1573], [0.7607, 1, 0.7607], [0.1573, 0.7607, 1]]), abs=1e-3)
    assert np.linalg.eigvalsh(found)[0] > 0
    whole = np.array([[1, 0.3], [0.3, 1]])
    assert np.array_equal(nearest_correlations(whole), whole)


def test_nothing_is_assumed_of_columns_without_a_prior_unless_asked():
    columns = [LossColumn("a", "a", "number", 4), LossColumn("b", "b", "label", 2), LossColumn("p", "p", "point", 9)]
    silent = known({"a": SKEWED}, {}, columns=columns)
    assert silent.unknown == ("b", "p")
    assert [law.name for law in silent.laws] == ["a"]
    asked = known({"a": SKEWED}, {}, columns=columns, assume_uniform=True)
    assert asked.unknown == ("p",)
    law = asked.law("b")
    assert isinstance(law, KnownLaw) and law.is_assumed and law.shares.tolist() == [0.5, 0.5]
    assert asked.law("p") is None


def test_the_strongest_correlation_is_a_limit():
    ours = hermite_coefficients(EVEN) / spread(EVEN)
    assert normal_correlation(ours, ours, 1.0) == pytest.approx(STRONGEST)


def test_coefficients_of_very_many_codes_are_those_of_all_their_cuts(monkeypatch):
    """Steps taken together in narrow cells: the same series to five digits, on an uneven law."""
    size = 60_000
    shares = np.exp(-0.5 * ((np.arange(size) - 20_000) / 9_000) ** 2)
    shares /= shares.sum()
    merged = normal_scale.hermite_coefficients(shares) / normal_scale.spread(shares)
    monkeypatch.setattr(normal_scale, "_MOST_CUTS", 10**9)
    exact = normal_scale.hermite_coefficients(shares) / normal_scale.spread(shares)
    assert not np.array_equal(merged, exact)
    assert np.abs(merged - exact).max() < 1e-5
