import math

import pytest

from trasgo_lib.estimation import Estimate
from trasgo_lib.estimation.estimate import BOUND_BY_BINS


def test_an_interval_is_normal_clipped_and_moved_out_by_the_bias():
    plain = Estimate.of(0.5, 0.1)
    assert (plain.low, plain.high) == pytest.approx((0.5 - 0.1959964, 0.5 + 0.1959964))
    assert Estimate.of(0.5, 0.1, bias=0.2).high == pytest.approx(0.8959964)
    clipped = Estimate.of(-0.5, 0.1, within=(0.0, 1.0))
    assert (clipped.value, clipped.low, clipped.high) == (-0.5, 0.0, 0.0)  # the value stays unbiased


def test_an_interval_that_is_mostly_bias_says_so():
    assert Estimate.of(0.5, 0.1, bias=0.19).note is None
    assert Estimate.of(0.5, 0.1, bias=0.2).note == BOUND_BY_BINS
    assert Estimate.of(0.5, 0.0, bias=1e-16).note is None, "what arithmetic leaves is no bias"


def test_what_is_not_finite_is_no_estimate():
    for value, error in ((math.nan, 0.1), (0.1, math.inf)):
        found = Estimate.of(value, error)
        assert (found.value, found.low, found.high, found.standard_error) == (None,) * 4
        assert found.reason
        assert not found.covers(0.0)
    assert Estimate.of(1.0, 1.0).covers(2.0) and not Estimate.of(1.0, 1.0).covers(3.0)


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (Estimate(20579.06, 20570.71, 20585.84, 4.0), "20579.1 (20570.7 to 20585.8)"),  # days, which none may lose
        (Estimate(11_850_000.0, 7_672_000.0, 16_020_000.0, 2e6), "11,850,000 (7,672,000 to 16,020,000)"),
        (Estimate(0.15412, 0.12311, 0.18522, 0.01), "0.1541 (0.1231 to 0.1852)"),
        (Estimate(5.0, 5.0, 5.0, 0.0), "5 (5 to 5)"),
        (Estimate(0.0, 0.0, 2e15, 1e15), "0 (0 to 2e+15)"),
    ],
)
def test_figures_are_as_precise_as_their_interval_is_narrow(estimate: Estimate, words: str) -> None:
    assert str(estimate) == words
