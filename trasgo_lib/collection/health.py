"""Are clients answering as declared? Checks whose law under honest clients is known whatever the data are."""

from __future__ import annotations

from dataclasses import dataclass

from trasgo_lib.collection.alphabet import Alphabet
from trasgo_lib.collection.channels import ReportChannel
from trasgo_lib.collection.counting import ReportCounts


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One check.

    Args:
        name: ``set_bits`` (total of set bits), ``least_count`` (floor of counts), ``nobody`` (share of the empty slot).
        observed: what was counted.
        expected: what honest clients give on average (for ``least_count`` the floor).
        score: distance in standard errors, signed.
        limit: size of the score from which honest clients are told as dishonest with the stated false alarm.
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
    channel: ReportChannel, counted: ReportCounts, alphabet: Alphabet, *, false_alarm: float = 1e-4
) -> tuple[HealthCheck, ...]:
    """All checks that a channel allows, for the reports of one version and one window.

    Args:
        channel: what the reports should have gone through.
        counted: their counts.
        alphabet: their slots.
        false_alarm: probability with which honest clients fail any of the checks.
    """
    raise NotImplementedError
