"""Reported faults of collecting under local privacy. Ids name the rows of the list of reports."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import build_report_channel, count_answers, estimate
from trasgo_lib.collection.simulation import answers

KEY = bytes(range(32))


@pytest.mark.parametrize("name", ["optimised_unary_encoding", "symmetric_unary_encoding", "rappor"])
def test_b38_bits_are_kept_with_the_probabilities_that_are_certified(name: str) -> None:
    """200,000 reports at epsilon 0.5: p and q within 4 standard errors, and their log-ratio within epsilon."""
    permanent = Epsilon.parse("1") if name == "rappor" else None
    channel = build_report_channel(name, 6, Epsilon.parse("0.5"), permanent)
    devices = np.arange(200_000)
    given = answers(channel, np.zeros(200_000, dtype=np.int32), devices, 0, KEY)
    shares = count_answers(channel, given).counts / 200_000
    p, q = float(channel.p), float(channel.q)
    assert abs(shares[0] - p) < 4 * math.sqrt(p * (1 - p) / 200_000)
    assert np.abs(shares[1:] - q).max() < 4 * math.sqrt(q * (1 - q) / 200_000)
    assert math.log(p * (1 - q) / (q * (1 - p))) <= 0.5
    assert not math.log(1.02 * p * (1 - q) / (q * (1 - 1.02 * p))) <= 0.5, "a bit kept 2 % more often passes epsilon"


def test_b40_the_consistent_shares_are_shares_and_the_unbiased_ones_stay_beside_them() -> None:
    channel = build_report_channel("kary_randomized_response", 500, Epsilon.parse("0.1"))
    given = answers(channel, np.arange(50, dtype=np.int32), np.arange(50), 0, KEY)
    found = estimate(channel, count_answers(channel, given))
    assert found.adjusted.min() >= 0
    assert found.adjusted.sum() == pytest.approx(1)
    assert found.shares.min() < 0
    assert found.shares.sum() == pytest.approx(1)


def test_b42_noise_differs_by_device_and_by_window_and_comes_from_no_seed() -> None:
    channel = build_report_channel("optimised_unary_encoding", 64, Epsilon.parse("1"))
    home = np.zeros(2, dtype=np.int32)
    first, second = (answers(channel, home, np.arange(2), window, KEY) for window in (0, 1))
    other = answers(channel, home, np.arange(2), 0, bytes(32))
    assert len({row.tobytes() for each in (first, second, other) for row in each}) == 6
