import math

import pytest

from trasgo_lib.estimation import Estimate


def test_an_interval_is_normal_clipped_and_moved_out_by_the_bias():
    plain = Estimate.of(0.5, 0.1)
    assert (plain.low, plain.high) == pytest.approx((0.5 - 0.1959964, 0.5 + 0.1959964))
    assert Estimate.of(0.5, 0.1, bias=0.2).high == pytest.approx(0.8959964)
    clipped = Estimate.of(-0.5, 0.1, within=(0.0, 1.0))
    assert (clipped.value, clipped.low, clipped.high) == (-0.5, 0.0, 0.0)  # the value stays unbiased


def test_what_is_not_finite_is_no_estimate():
    for value, error in ((math.nan, 0.1), (0.1, math.inf)):
        found = Estimate.of(value, error)
        assert (found.value, found.low, found.high, found.standard_error) == (None,) * 4
        assert found.reason
        assert not found.covers(0.0)
    assert Estimate.of(1.0, 1.0).covers(2.0) and not Estimate.of(1.0, 1.0).covers(3.0)
