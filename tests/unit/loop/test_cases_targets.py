"""Reported faults of losses that say nothing: a target still decides. Ids name the rows of the list of reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.loop import RoundEntry
from trasgo_lib.utility import divergence_of_counts


@dataclass(frozen=True)
class Target:
    """A ceiling."""

    loss: str
    ceiling: str


def test_b60_a_divergence_without_support_never_meets_a_ceiling() -> None:
    found = divergence_of_counts(np.array([999, 1]), np.array([1000, 0]))
    assert found.kl is None and found.lost == 1 and found.tvd == pytest.approx(0.001)
    level = Epsilon.parse("1")
    assert not RoundEntry.judged("a", level, 1, found.kl, Target("kl", "1000000")).met
    assert RoundEntry.judged("a", level, 1, found.tvd, Target("tvd", "0.01")).met
