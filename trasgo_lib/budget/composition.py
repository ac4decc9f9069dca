"""What a list of loss events adds up to under every composition: a report, of which one governs and is fixed before.

Basic and zero-concentrated sums are exact and rounded up. Advanced, Renyi and privacy-loss-distribution figures hold
for events that were declared in advance; they are floats for people, rounded up to 1e-4. The only module that imports
dp-accounting, and only when a report is asked for.

Neighbours differ in one unit's values. The sensitivities behind our events are counted for that, so dp-accounting's
add-or-remove events with the same ratio of sensitivity to noise describe the same pairs of laws.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import reduce
from typing import Any

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget.accounting import Cost, cost
from trasgo_lib.budget.events import (
    DeclaredPlanEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    FixedPartitionEvent,
    LaplaceEvent,
    LossEvent,
    NoisyMaxEvent,
    PartitionEvent,
    PureEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)
from trasgo_lib.budget.governing import Composition, charge
from trasgo_lib.budget.renyi import ORDERS, epsilon_of_rho, renyi_loss
from trasgo_lib.errors import BudgetError, Reason

_PURE = PureEvent | LaplaceEvent | DiscreteLaplaceEvent | ExponentialMechanismEvent | NoisyMaxEvent | SparseVectorEvent
_PLACES = 4
_GRID = Decimal(1).scaleb(-_PLACES)
_INTERVAL = 1e-4
"""Grid of the privacy loss distributions, nats; losses are rounded up to it."""

_LARGEST_LOSS = 500
"""Losses beyond this protect nobody and overflow floats."""

_WIDEST_STEPS = 2**14
"""Discrete Laplace laws of larger sensitivity have too many outcomes to list; any pure law bounds them."""


@dataclass(frozen=True, slots=True)
class Compositions:
    """What the same events cost by each rule, as epsilon at one delta; None where a rule does not know an event.

    Args:
        delta: the failure probability at which all figures are given; ``basic`` has its own in ``basic_delta``.
        basic: sum of epsilons.
        basic_delta: sum of deltas.
        advanced: Dwork, Rothblum, Vadhan (2010), Theorem III.3.
        zcdp: by zero-concentrated losses.
        rho: their sum, decimal text.
        renyi: by Renyi losses at the best of the orders tried.
        pld: by privacy loss distributions.
    """

    delta: str
    basic: str
    basic_delta: str
    advanced: float | None
    zcdp: float | None
    rho: str | None
    renyi: float | None
    pld: float | None

    def to_json(self) -> dict[str, object]:
        """Strict JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def compositions(
    events: Sequence[LossEvent], delta: Delta, max_rows: int = 1, declared: Sequence[LossEvent] | None = None
) -> Compositions:
    """Every composition of a list of events.

    Args:
        events: in any order; at least one.
        delta: failure probability of the whole, above zero.
        max_rows: most rows of one privacy unit; counts for local draws only.
        declared: the same draws as a plan that was fixed in advance would hold them, a chain as one draw of its highest
            level; what advanced composition and privacy loss distributions are computed of. Default ``events``.
    """
    declared = events if declared is None else declared
    total = reduce(Cost.__add__, (cost(event, max_rows) for event in events))
    rho = _total_rho(events, max_rows)
    return Compositions(
        delta=delta.text,
        basic=total.epsilon.text,
        basic_delta=total.delta.text,
        advanced=_up(_advanced(declared, delta, max_rows)),
        zcdp=None if rho is None else float(epsilon_of_rho(rho, delta).decimal) if rho.units else 0.0,
        rho=None if rho is None else rho.text,
        renyi=_up(_renyi(events, delta, max_rows)),
        pld=_up(_pld(declared, delta, max_rows)),
    )


def pld_epsilon_of_sampled_gaussian(event: SampledGaussianEvent, max_rows: int = 1) -> float:
    """What privacy loss distributions say of sampled Gaussian steps for a replaced unit; confirms their charge.

    The steps' distribution is that of one row added or taken out, both directions; from there it is group privacy of
    2 m rows, since no pair of laws is proved to dominate a replaced row of a Poisson sample.

    Args:
        event: the steps, all of them.
        max_rows: most rows of one privacy unit.

    Returns:
        The epsilon at the event's delta, rounded up to 1e-4.

    Source:
        Koskela, Jalko, Honkela (2020); Vadhan, "The Complexity of Differential Privacy" (2017), Lemma 2.2.
    """
    from dp_accounting.pld import privacy_loss_distribution as distributions

    law = distributions.from_gaussian_mechanism(
        float(event.noise_multiplier), sampling_prob=float(event.rate), value_discretization_interval=_INTERVAL
    ).self_compose(event.steps)
    group, target = 2 * max_rows, float(event.delta.decimal)

    def fails(epsilon: float) -> float:
        each = epsilon / group
        one: float = law.get_delta_for_epsilon(each)
        return one * math.expm1(epsilon) / math.expm1(each)

    low, high = 0.0, 1.0
    while fails(high) > target:
        low, high = high, 2 * high
        if high > _LARGEST_LOSS:
            return math.inf
    while high - low > 10**-_PLACES / 4:
        middle = (low + high) / 2
        low, high = (low, middle) if fails(middle) <= target else (middle, high)
    return float(math.ceil(high * 10**_PLACES) / 10**_PLACES)


def declared_plan(events: Sequence[LossEvent], delta: Delta) -> DeclaredPlanEvent:
    """One event for central draws that are all declared before data is opened.

    Distributions are pessimistic and computed in floats; they are read at a delta that is smaller by what rounding can
    have lowered it, and by one per cent for other machines. What is read is an exact number from there on, and rounded
    up to 1e-4. It is never above the sum of the epsilons, and is that sum where the delta is too small to be read.

    Args:
        events: the draws, whatever their order.
        delta: the failure probability that is charged, above zero.

    Raises:
        BudgetError: a draw whose distribution is not known.
    """
    least = least_of_plan(events, Delta.floor(delta.fraction * 99 / 100))
    rounded = Epsilon.ceil(least.quantize(_GRID, ROUND_CEILING))
    return DeclaredPlanEvent(min(rounded, _sum(events)), delta, tuple(events))


def least_of_plan(events: Sequence[LossEvent], delta: Delta) -> Decimal:
    """The least epsilon that declared draws may claim: what distributions say at the whole delta, unrounded.

    What :func:`declared_plan` charges is read at a smaller delta and rounded up, so it is never below this, whatever
    the last places of the floats are on another machine.

    Args:
        events: the draws, whatever their order.
        delta: the failure probability that is claimed, above zero.

    Raises:
        BudgetError: a draw whose distribution is not known.
    """
    found = _pld(events, delta, 1) if delta.units else None
    if found is None:
        raise BudgetError.of(
            Reason.UNKNOWN_NAME,
            "loss event",
            required="central draws whose privacy loss distributions are known, and a delta that can be read",
            came=", ".join(sorted({type(event).__name__ for event in events})),
            fix="Give every query an epsilon and no delta, or leave composition: pld out.",
        )
    # an infinite one has lost its tail to the delta, or the delta to rounding; basic composition still holds
    return max(min(Decimal(found), _sum(events).decimal), Epsilon(1).decimal)


def _sum(events: Sequence[LossEvent]) -> Epsilon:
    return Epsilon(sum(cost(event).epsilon.units for event in events))


def _up(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    rounded: float = math.ceil(value * 10**_PLACES) / 10**_PLACES
    return rounded


def _total_rho(events: Sequence[LossEvent], max_rows: int) -> Rho | None:
    rule, total = Composition("zcdp", Delta(1)), Rho(0)
    try:
        for event in events:
            price = charge(event, rule, max_rows)
            if price.geo.units:
                return None
            total += price.rho
    except BudgetError:
        return None
    return total


def _advanced(events: Sequence[LossEvent], delta: Delta, max_rows: int) -> float | None:
    """For events of different epsilon: sqrt(2 ln(1/delta) sum e**2) + sum e (e**e - 1)."""
    if not all(isinstance(event, _PURE) for event in events):
        return None
    losses = [float(cost(event, max_rows).epsilon.decimal) for event in events]
    if max(losses) > _LARGEST_LOSS:
        return None
    spread = math.sqrt(2 * math.log(1 / float(delta.decimal)) * math.fsum(loss**2 for loss in losses))
    return spread + math.fsum(loss * math.expm1(loss) for loss in losses)


def _renyi(events: Sequence[LossEvent], delta: Delta, max_rows: int) -> float | None:
    from dp_accounting.rdp import rdp_privacy_accountant

    counted = _counted(events)
    curve = []
    for order in ORDERS:
        losses = [(_divergence(event, order, max_rows), times) for event, times in counted.items()]
        if any(loss is None for loss, _ in losses):
            return None
        curve.append(math.fsum(float(loss) * times for loss, times in losses if loss is not None))
    found, _ = rdp_privacy_accountant.compute_epsilon(ORDERS, curve, float(delta.decimal))
    return float(found)


def _divergence(event: LossEvent, order: int, max_rows: int) -> Decimal | None:
    if not isinstance(event, PartitionEvent | FixedPartitionEvent | DeclaredPlanEvent):
        return renyi_loss(event, order, max_rows)
    try:
        return charge(event, Composition("renyi", Delta(1), order), max_rows).rho.decimal
    except BudgetError:
        return None


def _pld(events: Sequence[LossEvent], delta: Delta, max_rows: int) -> float | None:
    from dp_accounting.pld import privacy_loss_distribution as distributions

    if len(events) == 1 and isinstance(events[0], SampledGaussianEvent) and events[0].delta == delta:
        return pld_epsilon_of_sampled_gaussian(events[0], max_rows)
    if any(type(event) not in _LAWS for event in events):
        return None
    if any(cost(event, max_rows).epsilon.decimal > _LARGEST_LOSS for event in events):
        return math.inf
    composed: Any = None
    for event, times in _counted(events).items():
        law = _LAWS[type(event)](distributions, event, max_rows).self_compose(times)
        composed = law if composed is None else composed.compose(law)
    readable = float(delta.decimal) - _float_error(events, max_rows)
    # below the rounding of the transforms nothing can be read
    return float(composed.get_epsilon_for_delta(readable)) if readable > 0 else math.inf


def _float_error(events: Sequence[LossEvent], max_rows: int) -> float:
    """By how much rounding in the Fourier transforms may have lowered a delta.

    Every draw adds at most ``log2(points)`` roundings to each frequency, none of which is above one; by Parseval the
    masses are then off by at most that in their root of squares, and their sum by ``sqrt(points)`` times as much. A
    delta weighs each mass by at most one.
    """
    losses = math.fsum(float(cost(event, max_rows).epsilon.decimal) for event in events)
    points = 2 + 4 * (losses / _INTERVAL + len(events))
    return len(events) * math.sqrt(points) * math.log2(points) * sys.float_info.epsilon


def _counted(events: Sequence[LossEvent]) -> dict[LossEvent, int]:
    counted: dict[LossEvent, int] = {}
    for event in events:
        counted[event] = counted.get(event, 0) + 1
    return counted


def _pure_law(distributions: Any, event: LossEvent, max_rows: int) -> Any:
    """The law that no mechanism of that epsilon passes: binary randomised response."""
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    epsilon = float(cost(event, max_rows).epsilon.decimal)
    return distributions.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon), value_discretization_interval=_INTERVAL
    )


def _laplace_law(distributions: Any, event: LaplaceEvent, max_rows: int) -> Any:
    scale = 1 / float(event.epsilon.decimal)
    return distributions.from_laplace_mechanism(scale, value_discretization_interval=_INTERVAL)


def _discrete_laplace_law(distributions: Any, event: DiscreteLaplaceEvent, max_rows: int) -> Any:
    if event.sensitivity > _WIDEST_STEPS:
        return _pure_law(distributions, event, max_rows)
    per_step = float(event.epsilon.decimal) / event.sensitivity
    return distributions.from_discrete_laplace_mechanism(
        per_step, sensitivity=event.sensitivity, value_discretization_interval=_INTERVAL
    )


_LAWS: Mapping[type[LossEvent], Callable[[Any, Any, int], Any]] = {
    PureEvent: _pure_law,
    LaplaceEvent: _laplace_law,
    DiscreteLaplaceEvent: _discrete_laplace_law,
    ExponentialMechanismEvent: _pure_law,
    NoisyMaxEvent: _pure_law,
    SparseVectorEvent: _pure_law,
}
"""Events with a pair of laws that dominates them. Concentrated draws of vectors have none here, so a report without."""
