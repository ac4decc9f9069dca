"""What shuffling would add: an extra in reports, never the claim.

It holds only if someone other than the analyst strips identifiers, order and times from at least n reports of one
batch, and if those reports come from honest clients. Source: Feldman, McMillan, Talwar, "Hiding among the clones"
(2021), Theorem 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, log, log1p, sqrt

_PLACES = 4


@dataclass(frozen=True, slots=True)
class ShuffleBound:
    """The central loss of one shuffled batch.

    Args:
        epsilon: rounded up to 1e-4; None where the theorem does not hold.
        delta: its failure probability.
        reports: accepted reports of the batch.
        valid_up_to: largest local epsilon for which the theorem holds with so many reports.
    """

    epsilon: float | None
    delta: float
    reports: int
    valid_up_to: float


def shuffle_bound(local_epsilon: float, delta: float, reports: int) -> ShuffleBound:
    """The loss of a batch whose reports were shuffled.

    Args:
        local_epsilon: certified loss of one report, nats.
        delta: above 0, below 1.
        reports: accepted reports of one batch.
    """
    if not 0 < delta < 1 or local_epsilon <= 0 or reports < 1:
        raise ValueError("a positive epsilon, a delta between 0 and 1, and reports")
    limit = log(reports / (16 * log(2 / delta))) if reports > 16 * log(2 / delta) else 0.0
    if local_epsilon > limit:
        return ShuffleBound(None, delta, reports, limit)
    odds = exp(local_epsilon)
    clones = 8 * sqrt(odds * log(4 / delta)) / sqrt(reports) + 8 * odds / reports
    found = log1p(expm1(local_epsilon) / (odds + 1) * clones)
    return ShuffleBound(min(local_epsilon, ceil(found * 10**_PLACES) / 10**_PLACES), delta, reports, limit)
