"""Renyi and zero-concentrated losses of events, in decimal arithmetic: the same digits on every machine.

Ledgers recompute what an event costs years later and elsewhere, so no float decides a charge. Every transcendental
function here is correctly rounded by ``decimal`` at 60 digits; results are enlarged by one part in 1e40 before they are
rounded up, which covers all roundings in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from math import comb
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget.events import (
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    LaplaceEvent,
    LossEvent,
    NoisyMaxEvent,
    PureEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)

ORDERS: tuple[int, ...] = (*range(2, 65), 80, 96, 128, 192, 256)
"""Renyi orders that are tried. The best one is about 1 + sqrt(2 ln(1/delta)) over the loss; gaps cost < 1 %."""

_DIGITS = 60
_ENLARGED = 1 + Decimal("1e-40")
_STEPS = 96
"""Points of the search for the order of a concentrated loss: the best of them is within 1e-4 of the least epsilon."""


def rho_of(event: LossEvent, max_rows: int = 1) -> Rho | None:
    """The zero-concentrated loss of an event per privacy unit, rounded up; None where no bound is known here.

    Args:
        event: a pure or concentrated one.
        max_rows: most rows of one privacy unit; counts for local draws only.

    Source:
        Bun, Steinke (2016), Proposition 3.3 (pure: epsilon**2 / 2); Cesar, Rogers (2021), Lemma 3.2 (choices of
        bounded range: epsilon**2 / 8).
    """
    if isinstance(event, GaussianEvent):
        return event.rho
    if isinstance(event, ExponentialMechanismEvent):
        return Rho.ceil(event.epsilon.fraction**2 / 8)
    epsilon = _pure_epsilon(event, max_rows)
    return None if epsilon is None else Rho.ceil(epsilon.fraction**2 / 2)


def renyi_loss(event: LossEvent, order: int, max_rows: int = 1) -> Decimal | None:
    """The Renyi divergence of an event at an order, per privacy unit, not below the true one; None where not known.

    Sampled Gaussian steps have none here: their curve is that of one row added or taken out, and the divergence of a
    replaced unit is larger. They are charged by ``epsilon_of_sampled_gaussian`` and group privacy.

    Args:
        event: a pure or concentrated one.
        order: a whole number from 2 on.
        max_rows: most rows of one privacy unit; counts for local draws only.

    Source:
        Mironov, "Renyi differential privacy" (2017), Table II and Proposition 5.
    """
    rule = _CURVES.get(type(event))
    with localcontext(Context(prec=_DIGITS)):
        if rule is not None:
            return Decimal(rule(event, order)) * _ENLARGED
        epsilon = _pure_epsilon(event, max_rows)
        return None if epsilon is None else _response(epsilon.decimal, order) * _ENLARGED


def epsilon_at(loss: Decimal, order: Decimal | int, delta: Delta) -> Decimal:
    """The epsilon that a Renyi loss at one order means at a delta, not below the true one.

    Source:
        Canonne, Kamath, Steinke (2020), Proposition 12.
    """
    with localcontext(Context(prec=_DIGITS)):
        alpha = Decimal(order)
        found = loss + ((alpha - 1) / alpha).ln() - (delta.decimal.ln() + alpha.ln()) / (alpha - 1)
        return max(Decimal(0), found + abs(found) * (_ENLARGED - 1))


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: Rho, delta: Delta) -> Epsilon:
    """The least epsilon, rounded up, at which a rho-concentrated draw fails with probability at most delta.

    Any order gives a valid bound, so the search need not find the best one exactly.
    """
    with localcontext(Context(prec=_DIGITS)):
        middle = 1 + (-delta.decimal.ln() / rho.decimal).sqrt()
        orders = (1 + (middle - 1) * Decimal(step) / (_STEPS // 2) for step in range(_STEPS // 4, 2 * _STEPS))
        return Epsilon.ceil(min(epsilon_at(rho.decimal * order * _ENLARGED, order, delta) for order in orders))


@lru_cache(maxsize=1024)
def rho_within(epsilon: Epsilon, delta: Delta) -> Rho:
    """The largest rho that costs at most (epsilon, delta); zero when there is none."""
    low, high = 0, Rho.ceil(epsilon.fraction**2).units + Rho.ceil(epsilon.fraction).units
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if epsilon_of_rho(Rho(middle), delta) <= epsilon else (low, middle - 1)
    return Rho(low)


@lru_cache(maxsize=256)
def epsilon_of_sampled_gaussian(rate: str, noise_multiplier: str, steps: int, delta: Delta) -> Epsilon:
    """The epsilon, rounded up, of steps of sampled Gaussian noise when one row is added or taken out.

    Args:
        rate: decimal text in (0, 1].
        noise_multiplier: decimal text above 0.
        steps: at least 1.
        delta: above zero.

    Source:
        Mironov, Talwar, Zhang, "Renyi differential privacy of the sampled Gaussian mechanism" (2019), section 3.3.
    """
    event = SampledGaussianEvent(rate, noise_multiplier, steps, delta)
    with localcontext(Context(prec=_DIGITS)):
        losses = [(order, _sampled_gaussian(event, order) * _ENLARGED) for order in ORDERS]
        return Epsilon.ceil(min(epsilon_at(loss, order, delta) for order, loss in losses))


def _pure_epsilon(event: LossEvent, max_rows: int) -> Epsilon | None:
    if isinstance(event, PureEvent):
        return event.epsilon.times(max_rows)
    central = LaplaceEvent | DiscreteLaplaceEvent | ExponentialMechanismEvent | NoisyMaxEvent | SparseVectorEvent
    return event.epsilon if isinstance(event, central) else None


def _response(epsilon: Decimal, order: int) -> Decimal:
    """Binary randomised response, which no pure mechanism of that epsilon passes."""
    if not epsilon:
        return Decimal(0)
    kept = 1 / (1 + (-epsilon).exp())
    rises = kept * ((order - 1) * epsilon).exp()
    return ((rises + (1 - kept) * (-(order - 1) * epsilon).exp()).ln()) / (order - 1)


def _laplace(event: LaplaceEvent, order: int) -> Decimal:
    epsilon, alpha = event.epsilon.decimal, Decimal(order)
    rises = alpha / (2 * alpha - 1) * ((alpha - 1) * epsilon).exp()
    return (rises + (alpha - 1) / (2 * alpha - 1) * (-alpha * epsilon).exp()).ln() / (alpha - 1)


def _discrete_laplace(event: DiscreteLaplaceEvent, order: int) -> Decimal:
    """The sum over whole outcomes: those at or below both centres, between them, at or above both."""
    steps, epsilon = event.sensitivity, event.epsilon.decimal
    log_ratio = -epsilon / steps
    ratio, between = log_ratio.exp(), ((2 * order - 1) * log_ratio).exp()
    outside = ((order - 1) * epsilon).exp() + (-order * epsilon).exp()
    # the whole numbers from 1 to steps - 1 are a geometric series
    inside = ((order - 1) * epsilon).exp() * between * (1 - between ** (steps - 1)) / (1 - between)
    return ((outside / (1 - ratio) + inside) * (1 - ratio) / (1 + ratio)).ln() / (order - 1)


def _exponential(event: ExponentialMechanismEvent, order: int) -> Decimal:
    epsilon = event.epsilon.decimal
    return min(order * epsilon**2 / 8, _response(epsilon, order))


def _gaussian(event: GaussianEvent, order: int) -> Decimal:
    return event.rho.decimal * order


def _sampled_gaussian(event: SampledGaussianEvent, order: int) -> Decimal:
    rate, variance = Decimal(event.rate), Decimal(event.noise_multiplier) ** 2
    if rate == 1:
        return event.steps * order / (2 * variance)
    terms = (
        comb(order, k) * (1 - rate) ** (order - k) * rate**k * (Decimal(k * (k - 1)) / (2 * variance)).exp()
        for k in range(order + 1)
    )
    return event.steps * sum(terms, Decimal(0)).ln() / (order - 1)


_CURVES: Mapping[type[LossEvent], Callable[[Any, int], Decimal]] = {
    LaplaceEvent: _laplace,
    DiscreteLaplaceEvent: _discrete_laplace,
    GaussianEvent: _gaussian,
    ExponentialMechanismEvent: _exponential,
}
"""Events with a curve of their own; every other pure event has that of randomised response."""
