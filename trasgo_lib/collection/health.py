"""Are clients answering as declared? Checks whose law under honest clients is known whatever the data are.

A unary report of an honest client sets ``Binomial(1, p) + Binomial(d - 1, q)`` bits wherever the device is, so the
total over n reports has mean ``n (p + (d - 1) q)`` and variance ``n (p (1 - p) + (d - 1) q (1 - q))``. A single slot
has no such total, but a declared slot that nobody encodes to is named with probability q exactly; and no slot is named
less often than that, whatever the data. Checks read counts of noised reports only, hence cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.counting import ReportCounts

FALSE_ALARM = 1e-4
"""Honest clients fail a window's checks once in ten thousand."""

_FEW_EXPECTED = 25
"""Below so many expected counts the normal law is no guide at this false alarm; the check is then left out."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check.

    Args:
        name: ``set_bits`` (total of set bits), ``nobody`` (count of the slot nobody is in), ``least_count`` (the
            smallest count of any slot), ``least_share`` (of points, the estimate furthest below 0).
        observed: what was counted; of points, the devices of that estimate.
        expected: what honest clients give on average; for ``least_count`` and ``least_share`` the least that they can.
        score: how many standard errors lie between; of points, how many times what noise alone is sure to stay within.
            Signed.
        limit: size of the score from which the check fails.
        is_passed: whether it is within.
        words: what it means, for people.
    """

    name: str
    observed: int
    expected: float
    score: float
    limit: float
    is_passed: bool
    words: str


def check_health(
    channel: ReportChannel, counted: ReportCounts, alphabet: Alphabet, *, false_alarm: float = FALSE_ALARM
) -> tuple[HealthCheck, ...]:
    """All checks that a channel and its alphabet allow, for the reports of one version and one window.

    Args:
        channel: what the reports should have gone through.
        counted: their counts.
        alphabet: their slots.
        false_alarm: probability with which honest clients fail any of the checks.

    Returns:
        None where there are too few reports for any of them.
    """
    total = int(counted.counts.sum())
    n, d, p, q = counted.reports, channel.slots, float(channel.p), float(channel.q)
    asked: list[tuple[str, int, float, float, float]] = []
    share = false_alarm / 3
    if channel.kind == "bits":
        mean = n * (p + (d - 1) * q)
        asked.append(("set_bits", total, mean, n * (p * (1 - p) + (d - 1) * q * (1 - q)), _two_sided(share)))
    if alphabet.nobody is not None:
        observed = int(counted.counts[alphabet.nobody])
        asked.append(("nobody", observed, n * q, n * q * (1 - q), _two_sided(share)))
    asked.append(("least_count", int(counted.counts.min()), n * q, n * q * (1 - q), _one_sided(share / d)))
    return tuple(_check(*facts) for facts in asked if facts[2] >= _FEW_EXPECTED)


def share_check(points: int, shares: NDArray[np.float64], bound: NDArray[np.float64]) -> HealthCheck:
    """Whether noised points follow their declared noise, as far as that can be seen.

    No share is below 0, so no estimate is below 0 by more than noise leaves. Clients with less noise than declared make
    such estimates, beside crowded places; clients with more noise look like devices that are further apart, and are not
    noticed.

    Args:
        points: how many there are.
        shares: float64[slots], unbiased estimates.
        bound: float64[slots], how far any of them falls below its truth with a probability of ``FALSE_ALARM`` at most.
    """
    lowest = int(np.argmin(shares / bound))
    score = float(shares[lowest] / bound[lowest])
    is_passed = score >= -1
    observed = round(float(shares[lowest]) * points)
    return HealthCheck("least_share", observed, 0.0, score, 1.0, is_passed, _WORDS["least_share"][is_passed])


def reports_to_notice(
    channel: ReportChannel,
    suspected: ReportChannel,
    check: str,
    *,
    false_alarm: float = FALSE_ALARM,
    power: float = 0.99,
) -> int:
    """How many reports a check needs to notice clients that answer through another channel.

    Args:
        channel: the declared one.
        suspected: what clients might use instead, over the same slots.
        check: ``set_bits`` or ``nobody``.
        false_alarm: as in ``check_health``.
        power: probability of noticing.
    """
    (mean, spread), (other_mean, other_spread) = (_law(each, check) for each in (channel, suspected))
    reach = _two_sided(false_alarm / 3) * spread + NormalDist().inv_cdf(power) * other_spread
    return ceil((reach / (mean - other_mean)) ** 2)


def _law(channel: ReportChannel, check: str) -> tuple[float, float]:
    """Mean and standard deviation of one report's part in a check."""
    p, q, d = float(channel.p), float(channel.q), channel.slots
    if check == "nobody":
        return q, sqrt(q * (1 - q))
    return p + (d - 1) * q, sqrt(p * (1 - p) + (d - 1) * q * (1 - q))


def _check(name: str, observed: int, expected: float, variance: float, limit: float) -> HealthCheck:
    score = (observed - expected) / sqrt(variance)
    is_passed = score >= -limit if name == "least_count" else abs(score) <= limit
    return HealthCheck(name, observed, expected, score, limit, is_passed, _WORDS[name][is_passed])


_WORDS = {
    "set_bits": (
        "The reports hold another number of set bits than the declared epsilon gives: some clients use another "
        "epsilon or version, or make their reports up.",
        "The reports hold as many set bits as the declared epsilon gives.",
    ),
    "nobody": (
        "The slot that nobody is in is named more or less often than the declared epsilon gives: some clients use "
        "another epsilon or version, or make their reports up.",
        "The slot that nobody is in is named as often as the declared epsilon gives.",
    ),
    "least_count": (
        "A slot is named less often than noise alone names it: some clients do not answer as declared.",
        "No slot is named less often than noise alone names it.",
    ),
    "least_share": (
        "The points of some cell lie closer together than the declared noise lets them: some clients use less noise, "
        "another version, or make their points up.",
        "No cell's points lie closer together than the declared noise lets them.",
    ),
}


def _two_sided(false_alarm: float) -> float:
    return NormalDist().inv_cdf(1 - false_alarm / 2)


def _one_sided(false_alarm: float) -> float:
    return NormalDist().inv_cdf(1 - false_alarm)
