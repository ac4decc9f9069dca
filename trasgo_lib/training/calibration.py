"""The least noise that keeps an epsilon: searched in floats, decided by the exact accountant.

The accountant's decimals take a tenth of a second a look, so the search for the multiplier is made with floats in
numpy. What they find is never charged: the exact rule is asked, and the multiplier raised until it agrees.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.budget import SampledGaussianEvent, cost
from trasgo_lib.errors import BudgetError, Reason

_ORDERS = (*range(2, 65), 80, 96, 128, 192, 256)
_MOST_NOISE = 10**6
"""Thousandths: a multiplier of 1000."""

_LEAST_NOISE = 100
_MOST_LOOKS = 20


@lru_cache(maxsize=64)
def least_noise(epsilon: Epsilon, delta: Delta, rate: str, steps: int) -> SampledGaussianEvent:
    """Steps of sampled Gaussian noise that cost at most this, with the least multiplier in thousandths.

    Args:
        epsilon: most that all steps may cost a replaced row, nats.
        delta: the failure probability that is charged.
        rate: probability that a row is in a sample, exact decimal text.
        steps: how many.

    Raises:
        BudgetError: a multiplier of 1000 costs more.
    """
    low, high = _LEAST_NOISE, _MOST_NOISE
    while high - low > 1:
        middle = (low + high) // 2
        fits = _about(float(rate), middle / 1000, steps, float(delta.decimal)) <= float(epsilon.decimal)
        low, high = (low, middle) if fits else (middle, high)
    for units in range(high, min(high + _MOST_LOOKS, _MOST_NOISE)):
        found = SampledGaussianEvent(rate, _text(units), steps, delta)
        if cost(found).epsilon <= epsilon:
            return found
    raise BudgetError.of(
        Reason.BAD_AMOUNT,
        "epsilon",
        required="an epsilon that a noise multiplier of at most 1000 keeps",
        came=epsilon.text,
        fix="Raise epsilon or delta, or lower the rate or the number of steps.",
    )


def _text(thousandths: int) -> str:
    return format((Decimal(thousandths) / 1000).normalize(), "f")


def _about(rate: float, multiplier: float, steps: int, delta: float) -> float:
    """About what the exact accountant says of a replaced row; see ``trasgo_lib.budget.renyi``."""
    found = []
    for order in _ORDERS:
        to_middle, from_middle = _step(rate, multiplier, 2 * order), _step(rate, multiplier, 2 * order - 1)
        loss = steps * ((order - 0.5) / (order - 1) * to_middle + from_middle)
        found.append(loss + np.log1p(-1 / order) - (np.log(delta) + np.log(order)) / (order - 1))
    return float(max(0.0, min(found)))


def _step(rate: float, multiplier: float, order: int) -> float:
    """The Renyi divergence of one step for one row added or taken out (Mironov, Talwar, Zhang 2019, section 3.3)."""
    if rate == 1:
        return order / (2 * multiplier**2)
    k = np.arange(order + 1)
    terms = _log_binomials(order) + (order - k) * np.log1p(-rate) + k * np.log(rate) + k * (k - 1) / 2 / multiplier**2
    largest = terms.max()
    return float((largest + np.log(np.exp(terms - largest).sum())) / (order - 1))


@lru_cache(maxsize=1024)
def _log_binomials(order: int) -> NDArray[np.float64]:
    return np.array([lgamma(order + 1) - lgamma(k + 1) - lgamma(order - k + 1) for k in range(order + 1)])
