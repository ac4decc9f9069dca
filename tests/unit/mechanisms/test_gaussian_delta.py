"""Gaussian noise with a delta: less of it than the textbook's, and its delta certified by a sum of our own."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import log, sqrt

import pytest

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import Channel, build_channel

LEVELS = ("0.5", "1", "2", "4", "8")
DELTAS = ("0.001", "0.000001")


def hockey_stick(channel: Channel, level: str, one: int, other: int) -> Fraction:
    """The sum of what one input's weights exceed ``exp(level)`` times the other's, at least; exact in integers.

    Nothing of the library's own certificate is used. ``exp(level)`` is rounded down, so the sum errs upwards.
    """
    with localcontext() as context:
        context.prec = 60
        factor = Fraction(Decimal(level).exp()) - Fraction(1, 10**50)
    excess = (Fraction(a) - factor * b for a, b in zip(channel.weights(one), channel.weights(other), strict=True))
    return sum((part for part in excess if part > 0), Fraction(0)) / channel.total


def sigma_of(channel: Channel) -> float:
    """In code steps."""
    return float(str(channel.parameters["sigma"]))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("level", LEVELS)
def test_sigma_is_smaller_than_the_classical_one(level: str, delta: str) -> None:
    domain = NumberDomain("0", "200", "1")
    channel = build_channel("gaussian", domain, level, delta=delta)
    classical = sqrt(2 * log(1.25 / float(delta))) / float(level) * (domain.size - 1)
    assert 0 < sigma_of(channel) < classical


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("level", LEVELS)
def test_every_pair_of_inputs_stays_within_the_delta(level: str, delta: str) -> None:
    channel = build_channel("gaussian", NumberDomain("0", "16", "1"), level, delta=delta)
    pairs = [(one, other) for one in range(17) for other in range(17) if one != other]
    worst = max(hockey_stick(channel, level, *pair) for pair in pairs)
    assert worst <= Fraction(delta)
    assert worst == hockey_stick(channel, level, 0, 16)  # the ends, as the certificate takes them to be


@pytest.mark.parametrize("level", LEVELS)
def test_the_ends_of_a_larger_domain_use_the_delta_up(level: str) -> None:
    """The noise is the least: nearly all of the delta is used."""
    channel = build_channel("gaussian", NumberDomain("0", "200", "1"), level, delta="0.000001")
    worst = hockey_stick(channel, level, 0, 200)
    assert Fraction("0.0000009") < worst <= Fraction("0.000001")


def test_the_sum_can_tell_too_little_noise() -> None:
    """Negative control: the noise of a higher level does not keep the delta of a lower one."""
    channel = build_channel("gaussian", NumberDomain("0", "16", "1"), "2", delta="0.001")
    assert hockey_stick(channel, "1.9", 0, 16) > Fraction("0.001")
