"""What a shuffler between devices and analyst would add: a bound of the shuffled model, told beside the local claim."""

from __future__ import annotations

import math


def shuffled_epsilon(local: float, reports: int, delta: float) -> float | None:
    """The central epsilon of so many shuffled reports, rounded up to three decimals; None where the bound says nothing.

    Valid only if someone other than the analyst takes identities, order and times away, and for reports of one window.

    Args:
        local: epsilon of one report.
        reports: accepted reports of one shuffled batch.
        delta: failure probability, above 0.

    Source: Feldman, McMillan and Talwar (2021), Theorem 3.1.
    """
    if reports < 1 or local > math.log(max(reports / (16 * math.log(2 / delta)), 1e-300)):
        return None
    grown = math.exp(local)
    spread = 8 * math.sqrt(grown * math.log(4 / delta)) / math.sqrt(reports) + 8 * grown / reports
    return math.ceil(1000 * math.log1p((grown - 1) / (grown + 1) * spread)) / 1000
