"""What a loss event costs, exactly: one table from event type to rule, apart from the events themselves.

Every rounding goes up, so a charge is never smaller than the loss it stands for. Costs add (basic composition); a cap
is one ceiling per component, and a component never pays for another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import localcontext
from functools import reduce
from typing import Any, Self

from trasgo_lib.amounts import Amount, Delta, Epsilon, Geo
from trasgo_lib.budget.events import (
    ApproximateEvent,
    DiscreteLaplaceEvent,
    ExponentialMechanismEvent,
    GaussianEvent,
    GeoEvent,
    LaplaceEvent,
    LossEvent,
    NoisyMaxEvent,
    PartitionEvent,
    PureEvent,
    RevealEvent,
    SampledGaussianEvent,
    SparseVectorEvent,
)
from trasgo_lib.budget.renyi import epsilon_of_rho, epsilon_of_sampled_gaussian
from trasgo_lib.errors import AmountError, BudgetError, Reason

_DIGITS = 60
"""Working precision of the group-privacy factor: 15 decimals of delta, and more than enough slack for one-ulp steps."""

_LARGEST_EXPONENT = 60
"""Above this ``(m-1) * epsilon`` even a delta of 1e-15 grows past one (e**60 is 1e26), so nothing is computed."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What is spent or may be spent, in the three amounts an account caps.

    Args:
        epsilon: privacy loss in nats, unit 1e-6; public.
        delta: failure probability, unit 1e-15; public.
        geo: geo-indistinguishability loss per kilometre, unit 1e-6 per km; public.
    """

    epsilon: Epsilon
    delta: Delta
    geo: Geo

    @classmethod
    def zero(cls) -> Self:
        """The cost of doing nothing."""
        return cls(Epsilon(0), Delta(0), Geo(0))

    @classmethod
    def of(cls, epsilon: str = "0", delta: str = "0", geo: str = "0") -> Self:
        """Read a cost from decimal texts; zero is allowed in each.

        Raises:
            AmountError: for a text that is not an exact, finite, non-negative amount.
        """
        return cls(Epsilon.parse(epsilon, zero=True), Delta.parse(delta, zero=True), Geo.parse(geo, zero=True))

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.delta + other.delta, self.geo + other.geo)

    def fits(self, cap: Cost) -> bool:
        """Whether no component is above that of ``cap``."""
        return self.epsilon <= cap.epsilon and self.delta <= cap.delta and self.geo <= cap.geo

    def left(self, cap: Cost) -> Cost:
        """What remains below ``cap``, per component; zero where it is reached.

        Args:
            cap: the ceiling this spend is held against.
        """
        return Cost(
            Epsilon(max(0, cap.epsilon.units - self.epsilon.units)),
            Delta(max(0, cap.delta.units - self.delta.units)),
            Geo(max(0, cap.geo.units - self.geo.units)),
        )

    @property
    def components(self) -> tuple[Amount, Amount, Amount]:
        """Epsilon, delta and geo epsilon, in this order."""
        return (self.epsilon, self.delta, self.geo)

    @property
    def is_zero(self) -> bool:
        """Whether nothing is charged in any component."""
        return not any(amount.units for amount in self.components)

    def to_json(self) -> dict[str, str]:
        """Decimal texts by component, as written in ledgers and statements."""
        return {"epsilon": self.epsilon.text, "delta": self.delta.text, "geo": self.geo.text}

    @classmethod
    def from_json(cls, document: Mapping[str, str]) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            AmountError: for a component that is absent, unknown or not an exact amount.
        """
        if set(document) != {"epsilon", "delta", "geo"}:
            raise AmountError.of(
                Reason.BAD_AMOUNT,
                "cost",
                required="epsilon, delta and geo",
                came=", ".join(sorted(map(str, document))) or "nothing",
                fix="Write all three, as decimal text.",
            )
        return cls.of(document["epsilon"], document["delta"], document["geo"])

    def __str__(self) -> str:
        return f"epsilon {self.epsilon.text}, delta {self.delta.text}, geo epsilon {self.geo.text} per km"


def cost(event: LossEvent, max_rows: int = 1) -> Cost:
    """The cost of one loss event for a privacy unit of at most ``max_rows`` rows.

    Args:
        event: what was done to each row, or what a central query may tell of one privacy unit.
        max_rows: most rows of one privacy unit, m; at least 1; public.

    Returns:
        For local draws the event ``max_rows`` times over; central queries count all rows of a unit already. Delta of a
        group grows as ``delta * (e**(m eps) - 1) / (e**eps - 1)``, rounded up.

    Raises:
        BudgetError: for an event type without a rule, or a ``max_rows`` below 1.
        AmountError: when the result does not fit an amount, or its delta reaches one.

    Source:
        Group privacy, Vadhan, "The Complexity of Differential Privacy" (2017), Lemma 2.2; GUARANTEE 1 (Unit).
    """
    rule = _RULES.get(type(event))
    if rule is None:
        raise BudgetError.of(
            Reason.UNKNOWN_NAME,
            "loss event",
            required="one of " + ", ".join(kind.__name__ for kind in _RULES),
            came=type(event).__name__,
            fix="Use a version of trasgo that knows this event.",
        )
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 1:
        raise BudgetError.of(
            Reason.BAD_PARAMETER,
            "max_rows",
            required="a whole number, at least 1",
            came=repr(max_rows) if isinstance(max_rows, int | float) else f"a {type(max_rows).__name__}",
            fix="Declare how many rows one privacy unit may have.",
        )
    return rule(event, max_rows)


def _pure(event: PureEvent, max_rows: int) -> Cost:
    return Cost(event.epsilon.times(max_rows), Delta(0), Geo(0))


def _approximate(event: ApproximateEvent, max_rows: int) -> Cost:
    return Cost(event.epsilon.times(max_rows), _group_delta(event.epsilon, event.delta, max_rows), Geo(0))


def _geo(event: GeoEvent, max_rows: int) -> Cost:
    return Cost(Epsilon(0), Delta(0), event.geo.times(max_rows))


def _reveal(event: RevealEvent, max_rows: int) -> Cost:
    if event.before >= event.level:
        raise BudgetError.of(
            Reason.BAD_PARAMETER,
            "loss event",
            required=f"a level above {event.before.text}, which was looked at before",
            came=event.level.text,
            fix="A chain is revealed upwards; looking at a lower level again costs nothing and is no event.",
        )
    delta = _group_delta(event.level, event.delta, max_rows)
    return Cost((event.level - event.before).times(max_rows), delta, Geo(0))


def _per_unit(
    event: LaplaceEvent | DiscreteLaplaceEvent | ExponentialMechanismEvent | NoisyMaxEvent | SparseVectorEvent,
    max_rows: int,
) -> Cost:
    return Cost(event.epsilon, Delta(0), Geo(0))


def _gaussian(event: GaussianEvent, max_rows: int) -> Cost:
    return Cost(epsilon_of_rho(event.rho, event.delta), event.delta, Geo(0))


def _sampled_gaussian(event: SampledGaussianEvent, max_rows: int) -> Cost:
    return Cost(epsilon_of_sampled_gaussian(event, max_rows), event.delta, Geo(0))


def _partition(event: PartitionEvent, max_rows: int) -> Cost:
    """A unit that is replaced can lie in other parts afterwards: its m rows leave up to m and enter up to m others.

    Local draws are charged m times over in the two costliest parts, which is no less than once in 2 m parts. A central
    query counts all rows of a unit once, however few of them lie in its part, so the 2 m costliest parts are charged.
    """
    local, central = [], []
    for _, events in event.parts:
        local.append(_sum(cost(one, max_rows) for one in events if isinstance(one, _GROWS_WITH_ROWS)))
        central.append(_sum(cost(one, max_rows) for one in events if not isinstance(one, _GROWS_WITH_ROWS)))
    return _costliest(local, 2) + _costliest(central, 2 * max_rows)


def _sum(costs: Iterable[Cost]) -> Cost:
    return reduce(Cost.__add__, costs, Cost.zero())


def _costliest(costs: Sequence[Cost], parts: int) -> Cost:
    """The sum of the largest ``parts`` amounts of each component, whichever parts they are of."""
    return Cost(
        Epsilon(sum(sorted(one.epsilon.units for one in costs)[-parts:])),
        Delta(sum(sorted(one.delta.units for one in costs)[-parts:])),
        Geo(sum(sorted(one.geo.units for one in costs)[-parts:])),
    )


_GROWS_WITH_ROWS = PureEvent | ApproximateEvent | GeoEvent | RevealEvent | SampledGaussianEvent
"""Events that are per row, and cost a unit of m rows m times as much."""

_RULES: Mapping[type[LossEvent], Callable[[Any, int], Cost]] = {
    PureEvent: _pure,
    ApproximateEvent: _approximate,
    GeoEvent: _geo,
    RevealEvent: _reveal,
    LaplaceEvent: _per_unit,
    DiscreteLaplaceEvent: _per_unit,
    GaussianEvent: _gaussian,
    ExponentialMechanismEvent: _per_unit,
    NoisyMaxEvent: _per_unit,
    SparseVectorEvent: _per_unit,
    SampledGaussianEvent: _sampled_gaussian,
    PartitionEvent: _partition,
}


def _group_delta(epsilon: Epsilon, delta: Delta, max_rows: int) -> Delta:
    """``delta * (1 + e**eps + ... + e**((m-1) eps))``, rounded up to the unit."""
    if delta.units == 0 or max_rows == 1:
        return delta
    if epsilon.units == 0:
        return _below_one(delta.times(max_rows))
    if epsilon.fraction * (max_rows - 1) > _LARGEST_EXPONENT:
        raise _delta_too_large()
    with localcontext() as context:
        context.prec = _DIGITS
        # exp is correctly rounded to nearest, so one step outwards bounds it; the quotient gets one more step.
        upper = (epsilon.decimal * max_rows).exp().next_plus() - 1
        lower = epsilon.decimal.exp().next_minus() - 1
        total = (delta.decimal * (upper / lower).next_plus()).next_plus()
    if total >= 1:
        raise _delta_too_large()
    return Delta.ceil(total)


def _below_one(delta: Delta) -> Delta:
    if delta.fraction >= 1:
        raise _delta_too_large()
    return delta


def _delta_too_large() -> AmountError:
    return AmountError.of(
        Reason.BAD_AMOUNT,
        "delta of a privacy unit",
        required="less than 1 after counting every row of the unit",
        came="one or more: a guarantee that protects nobody",
        fix="Lower delta, epsilon or max_rows.",
    )
