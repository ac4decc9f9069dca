"""Steps: who is drawn, what noise is added, what it is divided by, and that it is the same every time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from trasgo_lib.noise import Keystream
from trasgo_lib.noise.discrete_gaussian import LARGEST_SIGMA, MISSING_AT_MOST, GaussianTable, gaussian_table
from trasgo_lib.training import descent
from trasgo_lib.training.clipping import SUM_BITS
from trasgo_lib.training.descent import Descent, descend, first_weights, noisy_sum, sample
from trasgo_lib.training.network import shapes

KEY = bytes(range(32))
LAW = Descent(
    shapes=shapes(3, (), 2),
    rate_units=2**29,
    steps=30,
    clip_norm=1.0,
    grid_bits=6,
    variance=Fraction(132**2),
    expected_rows=50.0,
    learning_rate=0.5,
)


def _stream(what: str) -> Keystream:
    return Keystream(KEY, what)


def _data(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    values = np.rint(np.sin(np.arange(3 * rows)).reshape(rows, 3) * 1024) / 1024
    return values, (values[:, 0] > 0).astype(np.int64)


def _trained(law: Descent, rows: int = 400) -> list[list[float]]:
    values, labels = _data(rows)
    found = descend(law, rows, lambda at: values[at], labels, _stream("s"), _stream("n"), _stream("i"))
    return [layer.ravel().tolist() for layer in found]


@pytest.mark.parametrize("sigma", ["0.5", "3", "132", "2000"])
def test_noise_follows_the_discrete_gaussian(sigma: str) -> None:
    """Weights against the law, in Python integers; 400,000 draws by chi-square at 1e-4."""
    variance = Fraction(sigma) ** 2
    table = GaussianTable(variance)
    weights, reach = table.weights(), table.reach
    assert sum(weights) == 2**128 and weights == weights[::-1] and min(weights) >= 1
    assert table.missing <= MISSING_AT_MOST
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * float(variance)))
    assert np.array([w / 2**128 for w in weights]) == pytest.approx(law / law.sum(), rel=1e-9, abs=1e-30)
    drawn = table.draw(_stream("noise"), 0, 400_000)
    edges = np.quantile(np.arange(-reach, reach + 1), [0, 1])
    bins = min(64, 2 * reach)
    ends = np.unique(np.floor(np.linspace(-3.5, 3.5, bins) * float(sigma)))
    expected = (
        np.add.reduceat((law / law.sum()), np.searchsorted(np.arange(edges[0], edges[1] + 1), ends))[:-1] * 400_000
    )
    seen = np.array([np.count_nonzero((drawn >= a) & (drawn < b)) for a, b in pairwise(ends)])
    used = expected > 5
    statistic = float(((seen - expected)[used] ** 2 / expected[used]).sum())
    assert statistic < chi2.ppf(1 - 1e-4, int(used.sum()))
    assert statistic < float((((seen * 1.1) - expected)[used] ** 2 / expected[used]).sum()), "a tenth more is seen"


def test_draws_are_addressed_and_scales_are_bounded() -> None:
    table = gaussian_table(Fraction(9))
    whole = table.draw(_stream("noise"), 0, 100_000)
    assert (table.draw(_stream("noise"), 70_000, 1000) == whole[70_000:71_000]).all()
    assert gaussian_table(Fraction(9)) is table
    for wrong in (Fraction(1, 5), Fraction(LARGEST_SIGMA**2 + 1)):
        with pytest.raises(ValueError, match="sigma"):
            GaussianTable(wrong)


def test_rows_are_drawn_by_themselves_with_the_stated_rate() -> None:
    """200 samples of 2,000 rows: the share drawn and the variance of their sizes, each at 1e-4."""
    sizes = [len(sample(LAW, 2000, step, _stream("s"))) for step in range(200)]
    assert binomtest(sum(sizes), 400_000, 1 / 8).pvalue > 1e-4
    spread = float(np.sum((np.array(sizes) - 250) ** 2) / (2000 / 8 * 7 / 8))
    assert chi2.ppf(5e-5, 200) < spread < chi2.ppf(1 - 5e-5, 200), (
        "fixed-size batches have no spread, repeated ones too much"
    )
    together = sum(
        len(np.intersect1d(sample(LAW, 2000, k, _stream("s")), sample(LAW, 2000, k + 1, _stream("s"))))
        for k in range(100)
    )
    assert binomtest(together, 200_000, 1 / 64).pvalue > 1e-4
    assert len(sample(replace(LAW, rate_units=2**32), 2000, 0, _stream("s"))) == 2000


def test_every_step_has_noise_of_the_stated_variance_also_without_rows() -> None:
    """2,000 noised empty sums of 4 weights: chi-square of their squares at 1e-4."""
    law = replace(LAW, steps=2000)
    table = gaussian_table(law.variance)
    drawn = np.array([noisy_sum(law, np.zeros(4, dtype=np.int64), step, table, _stream("n")) for step in range(2000)])
    squares = float((drawn.astype(float) ** 2).sum() / 132**2)
    assert chi2.ppf(5e-5, 8000) < squares < chi2.ppf(1 - 5e-5, 8000)
    assert len({tuple(row) for row in drawn.tolist()}) == 2000, "no step repeats another's noise"
    assert all(value for layer in _trained(replace(LAW, rate_units=1, steps=1)) for value in layer)


def test_sums_are_rounded_to_the_grid_by_at_most_half_a_step() -> None:
    law = replace(LAW, variance=Fraction(1, 4))
    table = gaussian_table(law.variance)
    exact = np.array([0, 2 ** (SUM_BITS - 7) - 1, 2 ** (SUM_BITS - 7), -(2 ** (SUM_BITS - 6))], dtype=np.int64)
    noise = table.draw(_stream("n"), 0, 4)
    assert (noisy_sum(law, exact, 0, table, _stream("n")) - noise).tolist() == [0, 0, 1, -1]


def test_sums_are_divided_by_the_expected_number_of_rows_whatever_was_drawn() -> None:
    """One step from zero: with all rows drawn or none the noise moves the weights equally far."""
    tiny = replace(LAW, steps=1, clip_norm=2.0**-20, learning_rate=2.0**20)
    all_rows, none = _trained(replace(tiny, rate_units=2**32)), _trained(replace(tiny, rate_units=1))
    table = gaussian_table(LAW.variance)
    noise = table.draw(_stream("n"), 0, 4)
    assert none[0] == pytest.approx((-noise * 0.5 / 0.5 / 2**6 / 50).tolist(), abs=2.0**-18)
    # 400 clipped rows add at most 400 clipping norms in all
    moved = np.linalg.norm(np.array(all_rows[0]) - np.array(none[0]))
    assert 0 < moved <= 400 / 50 * 1.05


def test_the_same_keys_give_the_same_bits_and_other_keys_others() -> None:
    first = _trained(LAW)
    assert _trained(LAW) == first
    values, labels = _data()
    other = descend(LAW, 400, lambda at: values[at], labels, _stream("s"), _stream("other"), _stream("i"))
    assert [layer.ravel().tolist() for layer in other] != first


def test_batches_that_are_cut_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    law = replace(LAW, shapes=shapes(3, (5,), 2))
    whole = _trained(law)
    monkeypatch.setattr(descent, "ROWS_AT_ONCE", 7)
    assert _trained(law) == whole


def test_averaging_takes_the_last_steps() -> None:
    paths = [_trained(replace(LAW, steps=steps))[0] for steps in (3, 4)]
    mean = np.mean(paths, axis=0)
    assert _trained(replace(LAW, steps=4, averaged=0.5))[0] == pytest.approx(mean.tolist(), abs=2.0**-17)


def test_hidden_layers_begin_different_and_the_last_one_at_zero() -> None:
    found = first_weights(shapes(6, (8, 4), 3), _stream("i"))
    assert [layer.shape for layer in found] == [(7, 8), (9, 4), (5, 3)]
    assert not found[-1].any() and not found[0][-1].any()
    assert len(np.unique(found[0][:-1])) == 48 and np.abs(found[0]).max() <= 1
