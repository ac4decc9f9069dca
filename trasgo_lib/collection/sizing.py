"""How many reports a collection needs, and which cells it can tell from empty ones; from public figures alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist

from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.estimating import null_variance

POWER = 0.9
"""A cell counts as told from empty ones when it is shown with this probability."""

REPORTS_PER_CELL = (10_000, 100_000)
"""Rules of thumb for the mean number of reports a cell: below the first a map shows little but its largest cells, from
the second on most cells of usual cities are shown."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """What so many reports of one version and window can tell.

    Args:
        reports: number of reports.
        slots: number of slots.
        standard_error: of the share of an empty slot.
        floor: least estimated share that is shown.
        told: least true share that is shown with probability 0.9.
        told_reports: the same as a number of devices.
        reports_per_slot: reports over slots.
        rule: ``few``, ``some`` or ``many``, by the rules of thumb on reports per slot.
    """

    reports: int
    slots: int
    standard_error: float
    floor: float
    told: float
    told_reports: int
    reports_per_slot: float
    rule: str


def size(channel: ReportChannel, reports: int, level: float) -> Sizing:
    """What a number of reports can tell.

    Args:
        channel: what they go through.
        reports: at least 1.
        level: probability that any empty slot is shown.
    """
    error = sqrt(null_variance(channel, reports))
    floor = _shown_at(channel, level) * error
    told = _least_told(channel, reports, floor)
    each = reports / channel.slots
    rule = ("few", "some", "many")[sum(each >= bound for bound in REPORTS_PER_CELL)]
    return Sizing(reports, channel.slots, error, floor, told, ceil(told * reports), each, rule)


def reports_needed(channel: ReportChannel, share: float, level: float, *, power: float = POWER) -> int:
    """The least number of reports at which a cell of a given share is shown with a given probability.

    Args:
        channel: what they go through.
        share: true share of devices in the cell, above 0 and at most 1.
        level: probability that any empty slot is shown.
        power: probability that the cell is shown.
    """
    if not 0 < share <= 1:
        raise ValueError("a share above 0 and at most 1")
    # both errors fall as 1 / sqrt(reports)
    empty, own = sqrt(null_variance(channel, 1)), sqrt(_variance_of_one(channel, share))
    return ceil(((_shown_at(channel, level) * empty + NormalDist().inv_cdf(power) * own) / share) ** 2)


def _shown_at(channel: ReportChannel, level: float) -> float:
    return NormalDist().inv_cdf(1 - level / channel.slots)


def _variance_of_one(channel: ReportChannel, share: float) -> float:
    p, q = float(channel.p), float(channel.q)
    return null_variance(channel, 1) + share * (1 - p - q) / (p - q)


def _least_told(channel: ReportChannel, reports: int, floor: float) -> float:
    """The share f with ``f = floor + z * error(f)``, at most 1, by bisection: the difference rises in f."""
    z = NormalDist().inv_cdf(POWER)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = middle >= floor + z * sqrt(_variance_of_one(channel, middle) / reports)
        low, high = (low, middle) if reached else (middle, high)
    return high
