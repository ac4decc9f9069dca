"""Renyi and zero-concentrated losses of events, in decimal arithmetic: the same digits on every machine.

Ledgers recompute what an event costs years later and elsewhere, so no float decides a charge. Every transcendental
function here is correctly rounded by ``decimal`` at 60 digits; results are enlarged by one part in 1e40 before they are
rounded up, which covers all roundings in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache
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
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)
from trasgo_lib.errors import BudgetError, Reason

ORDERS: tuple[int, ...] = (*range(2, 65), 80, 96, 128, 192, 256)
"""Renyi orders that are tried. The best one is about 1 + sqrt(2 ln(1/delta)) over the loss; gaps cost < 1 %."""

_DIGITS = 60
_CONTEXT = Context(prec=_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN)
_ENLARGED = 1 + Decimal("1e-40")
_GUARD = Decimal("1e-50")
_HIGHEST_ORDER = 512
"""Highest order at which a sampled step is looked at: higher ones cost time and serve only losses far below 0.01."""

_MOST_NOISE = 10**6
_STEPS = 96
"""Points of the search for the order of a concentrated loss: the best of them is within 1e-4 of the least epsilon."""


def rho_of(event: LossEvent, max_rows: int = 1) -> Rho | None:
    """The zero-concentrated loss of an event per privacy unit, rounded up; None where no bound is known here.

    Rows of one unit are drawn independently of each other, and divergences of independent draws add: a local draw costs
    a unit of m rows m times as much, not m squared times. A reveal on top of an earlier one costs what a fresh draw of
    its level would: given what was seen before, its log-ratios for a pair of inputs lie within ``2 level`` of each
    other, which is a bounded range; their difference to the earlier level bounds nothing there.

    Args:
        event: a pure or concentrated one.
        max_rows: most rows of one privacy unit; counts for local draws only.

    Source:
        Bun, Steinke (2016), Proposition 3.3 (pure: epsilon**2 / 2); Cesar, Rogers (2021), Lemma 3.2 (bounded range:
        range**2 / 8).
    """
    if isinstance(event, GaussianEvent):
        return event.rho
    if isinstance(event, ExponentialMechanismEvent):
        return Rho.ceil(event.epsilon.fraction**2 / 8)
    pure = _pure(event, max_rows)
    return None if pure is None else Rho.ceil(pure.rows * pure.epsilon.fraction**2 / 2)


def renyi_loss(event: LossEvent, order: int, max_rows: int = 1) -> Decimal | None:
    """The Renyi divergence of an event at an order, per privacy unit, not below the true one; None where not known.

    Args:
        event: a pure, concentrated or sampled one.
        order: a whole number from 2 on.
        max_rows: most rows of one privacy unit; counts for local and for sampled draws.

    Source:
        Mironov, "Renyi differential privacy" (2017), Table II and Proposition 5; for reveals as ``rho_of``.
    """
    rule = _CURVES.get(type(event))
    with localcontext(_CONTEXT):
        if isinstance(event, SampledGaussianEvent):
            return _replaced(event, order, _doublings(max_rows)) * event.steps * _ENLARGED
        if rule is not None:
            return Decimal(rule(event, order)) * _ENLARGED
        pure = _pure(event, max_rows)
        if pure is None:
            return None
        if pure.is_fresh:
            return pure.rows * _response(pure.epsilon.decimal, order) * _ENLARGED
        return pure.rows * order * pure.epsilon.decimal**2 / 2 * _ENLARGED


def epsilon_at(loss: Decimal, order: Decimal | int, delta: Delta) -> Decimal:
    """The epsilon that a Renyi loss at one order means at a delta, not below the true one.

    Source:
        Canonne, Kamath, Steinke (2020), Proposition 12.
    """
    with localcontext(_CONTEXT):
        alpha = Decimal(order)
        found = loss + ((alpha - 1) / alpha).ln() - (delta.decimal.ln() + alpha.ln()) / (alpha - 1)
        return max(Decimal(0), found + abs(found) * (_ENLARGED - 1))


@lru_cache(maxsize=1024)
def epsilon_of_rho(rho: Rho, delta: Delta) -> Epsilon:
    """The least epsilon, rounded up, at which a rho-concentrated draw fails with probability at most delta.

    Any order gives a valid bound, so the search need not find the best one exactly.
    """
    with localcontext(_CONTEXT):
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
def epsilon_of_sampled_gaussian(event: SampledGaussianEvent, max_rows: int = 1) -> Epsilon:
    """The epsilon, rounded up, of steps of sampled Gaussian noise at the event's delta, for a unit that is replaced.

    Args:
        event: the steps, all of them.
        max_rows: most rows of one privacy unit.

    Source:
        Mironov, Talwar, Zhang, "Renyi differential privacy of the sampled Gaussian mechanism" (2019), section 3.3, for
        one row added or taken out; from there to a replaced unit as :func:`_replaced`.
    """
    highest = _HIGHEST_ORDER >> _doublings(max_rows)
    found = [(order, renyi_loss(event, order, max_rows)) for order in ORDERS if order <= max(2, highest)]
    return Epsilon.ceil(min(epsilon_at(loss, order, event.delta) for order, loss in found if loss is not None))


def sampled_gaussian_within(
    epsilon: Epsilon, delta: Delta, rate: str, steps: int, max_rows: int = 1
) -> SampledGaussianEvent:
    """Steps of sampled Gaussian noise with the least noise multiplier, in thousandths, that costs at most this.

    Args:
        epsilon: most that all steps may cost a replaced unit, nats.
        delta: the failure probability that is charged.
        rate: probability that a row is in a sample, decimal text in (0, 1].
        steps: how many.
        max_rows: most rows of one privacy unit.

    Raises:
        BudgetError: even a multiplier of 1000 costs more.
    """

    def at(thousandths: int) -> SampledGaussianEvent:
        return SampledGaussianEvent(rate, _thousandths(thousandths), steps, delta)

    low, high = 100, 200  # below a tenth nothing is private; from there it doubles until it fits
    while high < _MOST_NOISE and epsilon_of_sampled_gaussian(at(high), max_rows) > epsilon:
        low, high = high, min(2 * high, _MOST_NOISE)
    if epsilon_of_sampled_gaussian(at(high), max_rows) > epsilon:
        raise BudgetError.of(
            Reason.BAD_AMOUNT,
            "epsilon",
            required="an epsilon that a noise multiplier of at most 1000 keeps",
            came=epsilon.text,
            fix="Raise epsilon or delta, or lower the rate or the number of steps.",
        )
    while high - low > 1:
        middle = (low + high) // 2
        fits = epsilon_of_sampled_gaussian(at(middle), max_rows) <= epsilon
        low, high = (low, middle) if fits else (middle, high)
    return at(high)


def _thousandths(units: int) -> str:
    whole, part = divmod(units, 1000)
    return f"{whole}.{part:03d}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class _Pure:
    """A pure loss: by how many independent rows, and whether it is a draw of its own or continues a chain."""

    epsilon: Epsilon
    rows: int
    is_fresh: bool = True


def _pure(event: LossEvent, max_rows: int) -> _Pure | None:
    if isinstance(event, PureEvent):
        return _Pure(event.epsilon, max_rows)
    if isinstance(event, RevealEvent):
        return None if event.delta.units else _Pure(event.level, max_rows, is_fresh=not event.before.units)
    central = LaplaceEvent | DiscreteLaplaceEvent | ExponentialMechanismEvent | NoisyMaxEvent | SparseVectorEvent
    return _Pure(event.epsilon, 1) if isinstance(event, central) else None


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


def _doublings(max_rows: int) -> int:
    """How often a step to a neighbour is doubled until it reaches 2 m: m rows taken out and m others put in."""
    return (2 * max_rows - 1).bit_length()


def _replaced(event: SampledGaussianEvent, order: int, doublings: int) -> Decimal:
    """One step when 2 ** doublings rows are added or taken out, by the weak triangle inequality.

    Source:
        Mironov, "Renyi differential privacy" (2017), Proposition 11 with p = q = 2.
    """
    if not doublings:
        return _one_sampled_step(event.rate, event.noise_multiplier, order)
    to_middle = _replaced(event, 2 * order, doublings - 1)
    from_middle = _replaced(event, 2 * order - 1, doublings - 1)
    return (order - Decimal("0.5")) / (order - 1) * to_middle + from_middle


@lru_cache(maxsize=2**14)
def _one_sampled_step(rate_text: str, noise_multiplier: str, order: int) -> Decimal:
    """The larger direction of adding or taking out one row; a sum of positive terms, each made from the one before."""
    with localcontext(_CONTEXT):
        rate, variance = Decimal(rate_text), Decimal(noise_multiplier) ** 2
        if rate == 1:
            return order / (2 * variance)
        odds, grows = rate / (1 - rate), (1 / variance).exp()
        term, total, factor = (1 - rate) ** order, Decimal(0), Decimal(1)
        for k in range(order + 1):
            total += term
            term *= odds * (order - k) / (k + 1) * factor
            factor *= grows
        # the roundings of all terms together are far below the guard, which also covers a logarithm close to 0
        return (total + _GUARD).ln() / (order - 1)


_CURVES: Mapping[type[LossEvent], Callable[[Any, int], Decimal]] = {
    LaplaceEvent: _laplace,
    DiscreteLaplaceEvent: _discrete_laplace,
    GaussianEvent: _gaussian,
    ExponentialMechanismEvent: _exponential,
}
"""Events with a curve of their own; every other pure event has that of randomised response."""
