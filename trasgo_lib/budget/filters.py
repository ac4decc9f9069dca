"""Privacy filters: what may still be spent when the next query is chosen after the last answer was seen.

Three compositions are proved for that case: basic, zero-concentrated, and Renyi at one order fixed in advance. Advanced
composition and privacy loss distributions are not, and are reported for plans that were declared in advance only
(``trasgo_lib.budget.composition``). Filters are values: ``spend`` gives the next one, a refusal changes nothing.

Source: Rogers, Roth, Ullman, Vadhan, "Privacy odometers and filters" (2016); Feldman, Zrnic, "Individual privacy
accounting via a Renyi filter" (2021), Theorem 4.3; Whitehouse, Ramdas, Rogers, Wu, "Fully-adaptive composition" (2023).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

from trasgo_lib.amounts import Amount, Delta, Epsilon, Rho
from trasgo_lib.budget.accounting import Cost, cost
from trasgo_lib.budget.events import LossEvent
from trasgo_lib.budget.renyi import epsilon_at, epsilon_of_rho, renyi_loss, rho_of
from trasgo_lib.errors import BudgetError, Fault, Reason


@dataclass(frozen=True, slots=True)
class BasicFilter:
    """Epsilon, delta and geo epsilon each add up to at most their cap.

    Args:
        cap: the ceiling.
        max_rows: most rows of one privacy unit.
        spent: what was spent so far.
    """

    cap: Cost
    max_rows: int = 1
    spent: Cost = field(default_factory=Cost.zero)

    def spend(self, *events: LossEvent) -> BasicFilter:
        """The filter after these events, all of them or none.

        Raises:
            BudgetError: they do not fit; nothing is spent.
        """
        after = self.spent
        for event in events:
            after += cost(event, self.max_rows)
        if not after.fits(self.cap):
            left = self.spent.left(self.cap).components
            asked = after.components
            raise BudgetError(
                *(
                    _over(kind.NAME, kind.text, now.text)
                    for kind, now, ceiling in zip(left, asked, self.cap.components, strict=True)
                    if now.units > ceiling.units
                )
            )
        return replace(self, spent=after)


@dataclass(frozen=True, slots=True)
class ZcdpFilter:
    """Concentrated losses add up to at most a cap; an exact whole number of 1e-9.

    Args:
        cap: the ceiling.
        max_rows: most rows of one privacy unit.
        spent: what was spent so far.
    """

    cap: Rho
    max_rows: int = 1
    spent: Rho = field(default_factory=lambda: Rho(0))

    def spend(self, *events: LossEvent) -> ZcdpFilter:
        """The filter after these events, all of them or none.

        Raises:
            BudgetError: they do not fit, or one has no concentrated loss; nothing is spent.
        """
        after = self.spent
        for event in events:
            rho = rho_of(event, self.max_rows)
            after += _known(rho, event, "zero-concentrated")
        _require_below(after, self.cap, self.spent)
        return replace(self, spent=after)

    def epsilon(self, delta: Delta) -> Epsilon:
        """What the cap means as an epsilon at a delta."""
        return epsilon_of_rho(self.cap, delta)


@dataclass(frozen=True, slots=True)
class RenyiFilter:
    """Renyi losses at one order, fixed in advance, add up to at most a cap; an exact whole number of 1e-9.

    Args:
        order: from 2 on.
        cap: the ceiling of the Renyi divergence at that order.
        max_rows: most rows of one privacy unit.
        spent: what was spent so far.
    """

    order: int
    cap: Rho
    max_rows: int = 1
    spent: Rho = field(default_factory=lambda: Rho(0))

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or not isinstance(self.order, int) or self.order < 2:
            raise ValueError("a Renyi order is a whole number from 2 on")

    def spend(self, *events: LossEvent) -> RenyiFilter:
        """The filter after these events, all of them or none.

        Raises:
            BudgetError: they do not fit, or one has no Renyi loss here; nothing is spent.
        """
        after = self.spent
        for event in events:
            loss = renyi_loss(event, self.order, self.max_rows)
            after += _known(None if loss is None else Rho.ceil(loss), event, "Renyi")
        _require_below(after, self.cap, self.spent)
        return replace(self, spent=after)

    def epsilon(self, delta: Delta) -> Epsilon:
        """What the cap means as an epsilon at a delta."""
        return Epsilon.ceil(epsilon_at(Decimal(self.cap.decimal), self.order, delta))


def _known(rho: Rho | None, event: LossEvent, kind: str) -> Rho:
    if rho is None:
        raise BudgetError.of(
            Reason.UNKNOWN_NAME,
            "loss event",
            required=f"an event whose {kind} loss is known",
            came=type(event).__name__,
            fix="Use basic composition for it.",
        )
    return rho


def _require_below(after: Amount, cap: Amount, spent: Amount) -> None:
    if after.units > cap.units:
        raise BudgetError(_over(cap.NAME, type(cap)(cap.units - spent.units).text, after.text))


def _over(name: str, left: str, came: str) -> Fault:
    return Fault(
        Reason.OVER_CAP,
        name,
        f"at most {left} more",
        f"{came} in all",
        "Ask for less, or agree on a new account with those who protect this population.",
    )
