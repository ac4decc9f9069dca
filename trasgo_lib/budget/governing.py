"""The composition that governs an account, fixed when it is opened, and what an event costs under it.

Three compositions are proved when the next spend is chosen after the last answer was seen: basic, zero-concentrated,
and Renyi at one order that was fixed before. Each is a sum of whole numbers against a cap, so a filter is an addition.

An account may also declare partitions of its units into disjoint parts. A unit lies in at most ``parts_per_unit`` of
them, and in which is public and is not replaced between neighbours. What was spent on a part touches only units that
lie in it, so an account has lost what was spent on everyone and, for each partition, the sum of its
``parts_per_unit`` costliest parts; a charge is the increase of that.

Source: McSherry, "Privacy integrated queries" (2009), Theorem 4 (disjoint parts); filters as in
``trasgo_lib.budget.filters``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from trasgo_lib.amounts import Delta, Epsilon, Geo, Rho
from trasgo_lib.budget.accounting import Cost, cost, costliest, of_partition
from trasgo_lib.budget.events import DeclaredPlanEvent, FixedPartitionEvent, GeoEvent, LossEvent, PartitionEvent
from trasgo_lib.budget.renyi import renyi_loss, rho_of
from trasgo_lib.errors import AmountError, BudgetError, ConfigError, Reason

_FORM = re.compile(
    r"(?:basic|zcdp, delta (?P<z>[0-9.]+)|renyi of order (?P<order>[1-9][0-9]{0,3}), delta (?P<r>[0-9.]+))"
)
_HIGHEST_ORDER = 1024


@dataclass(frozen=True, slots=True)
class Composition:
    """How the charges of an account add up.

    Args:
        rule: ``basic``, ``zcdp`` or ``renyi``.
        delta: failure probability at which a cap in rho is read as an epsilon; zero under ``basic``.
        order: Renyi order; 0 under the other rules.

    Raises:
        ConfigError: parameters that the rule does not have, or lacks.
    """

    rule: Literal["basic", "zcdp", "renyi"]
    delta: Delta = field(default_factory=lambda: Delta(0))
    order: int = 0

    def __post_init__(self) -> None:
        has_delta, has_order = 0 < self.delta.fraction < 1, 2 <= self.order <= _HIGHEST_ORDER
        sound = {"basic": not self.delta.units and not self.order, "zcdp": has_delta and not self.order}
        if not sound.get(self.rule, self.rule == "renyi" and has_delta and has_order):
            raise _unknown(f"{self.rule}, order {self.order}, delta {self.delta.text}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what :attr:`text` gives.

        Raises:
            ConfigError: another text.
        """
        found = _FORM.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise _unknown(repr(text)[:60])
        try:
            if text == "basic":
                return cls("basic")
            if found["order"] is None:
                return cls("zcdp", Delta.parse(found["z"]))
            return cls("renyi", Delta.parse(found["r"]), int(found["order"]))
        except AmountError:
            raise _unknown(text) from None

    @property
    def text(self) -> str:
        """As stored and shown."""
        if self.rule == "basic":
            return "basic"
        name = "zcdp" if self.rule == "zcdp" else f"renyi of order {self.order}"
        return f"{name}, delta {self.delta.text}"

    def in_words(self, amounts: Cost) -> str:
        """Amounts of an account that it governs, without those it does not have."""
        if self.rule == "basic":
            return str(amounts)
        geo = f", geo epsilon {amounts.geo.text} per km" if amounts.geo.units else ""
        return f"rho {amounts.rho.text}{geo}" if self.rule == "zcdp" else f"divergence {amounts.rho.text}{geo}"


def charge(event: LossEvent, composition: Composition, max_rows: int = 1) -> Cost:
    """What one event costs an account.

    Args:
        event: what was drawn, or is about to be.
        composition: what governs the account.
        max_rows: most rows of one privacy unit.

    Raises:
        BudgetError: an event whose loss has no proved bound under this composition.
        AmountError: the cost does not fit an amount.
    """
    if composition.rule == "basic" or isinstance(event, GeoEvent):
        return cost(event, max_rows)
    if isinstance(event, PartitionEvent):
        return of_partition(event, max_rows, lambda one, rows: charge(one, composition, rows))
    if isinstance(event, FixedPartitionEvent):
        each = [_sum_of(events, composition, max_rows) for _, events in event.parts]
        return costliest(each, event.parts_per_unit)
    if isinstance(event, DeclaredPlanEvent):
        return _sum_of(event.events, composition, max_rows)
    if composition.rule == "zcdp":
        return _in_rho(rho_of(event, max_rows), event, composition)
    loss = renyi_loss(event, composition.order, max_rows)
    return _in_rho(None if loss is None else Rho.ceil(loss), event, composition)


@dataclass(frozen=True, slots=True)
class Partition:
    """Disjoint parts of an account's units, declared when it is opened.

    Args:
        name: of the partition.
        parts: their names, at least two.
        parts_per_unit: most parts in which one unit has rows; declared, not looked up in data.

    Raises:
        ConfigError: fewer than two parts, a name twice, or a count that is none of them.
    """

    name: str
    parts: tuple[str, ...]
    parts_per_unit: int = 1

    def __post_init__(self) -> None:
        names = (self.name, *self.parts)
        sound = all(isinstance(name, str) and name.strip() and name.isprintable() for name in names)
        if not sound or len(self.parts) < 2 or len(set(self.parts)) != len(self.parts):
            raise _bad_partition("a name, and at least two parts of different names", ", ".join(map(str, names))[:200])
        count = self.parts_per_unit
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= len(self.parts):
            raise _bad_partition(f"parts_per_unit from 1 to {len(self.parts)}", repr(count)[:50])


@dataclass(frozen=True, slots=True)
class Tally:
    """What an account has lost so far, by part.

    Args:
        composition: what governs it.
        max_rows: most rows of one privacy unit.
        partitions: as it declared them.
        everyone: spent on all units.
        parts: spent on the units of one part only, by partition and part.
    """

    composition: Composition
    max_rows: int
    partitions: tuple[Partition, ...]
    everyone: Cost = field(default_factory=Cost.zero)
    parts: Mapping[tuple[str, str], Cost] = field(default_factory=dict)

    @property
    def total(self) -> Cost:
        """What the account deducts: no unit has lost more."""
        total = self.everyone
        for partition in self.partitions:
            each = [self.parts.get((partition.name, part), Cost.zero()) for part in partition.parts]
            total += costliest(each, partition.parts_per_unit)
        return total

    def after(self, event: LossEvent, part: tuple[str, str] | None = None) -> Tally:
        """The tally after one event.

        Args:
            event: what is drawn.
            part: partition and part, when only that part's units are in the data.

        Raises:
            BudgetError: a part or partition that the account did not declare, or an event without a proved loss.
        """
        if isinstance(event, FixedPartitionEvent):
            if part is not None:
                raise _undeclared("draws from a part, or from the parts of a partition", "both at once")
            self._require_same(event)
            drawn = {
                (event.name, name): _sum_of(events, self.composition, self.max_rows) for name, events in event.parts
            }
        else:
            price = charge(event, self.composition, self.max_rows)
            if part is None:
                return replace(self, everyone=self.everyone + price)
            drawn = {part: price}
        for of, name in drawn:
            if name not in self._declared(of).parts:
                raise _undeclared(f"a part of {of}: {', '.join(self._declared(of).parts)}", name)
        spent = {place: self.parts.get(place, Cost.zero()) + price for place, price in drawn.items()}
        return replace(self, parts={**self.parts, **spent})

    def _declared(self, name: str) -> Partition:
        for partition in self.partitions:
            if partition.name == name:
                return partition
        known = ", ".join(partition.name for partition in self.partitions) or "none"
        raise _undeclared(f"a partition that the account declared when it was opened: {known}", name)

    def _require_same(self, event: FixedPartitionEvent) -> None:
        declared = self._declared(event.name).parts_per_unit
        if event.parts_per_unit != declared:
            raise _undeclared(f"parts_per_unit {declared}, as the account declared", str(event.parts_per_unit))


def _sum_of(events: tuple[LossEvent, ...], composition: Composition, max_rows: int) -> Cost:
    total = Cost.zero()
    for event in events:
        total += charge(event, composition, max_rows)
    return total


def _in_rho(rho: Rho | None, event: LossEvent, composition: Composition) -> Cost:
    if rho is None:
        raise BudgetError.of(
            Reason.UNKNOWN_NAME,
            "loss event",
            required=f"an event whose loss is known under {composition.text}",
            came=type(event).__name__,
            fix="Charge it to an account under basic composition, or leave delta out.",
        )
    return Cost(Epsilon(0), Delta(0), Geo(0), rho)


def _unknown(came: str) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_PARAMETER,
        "composition",
        required=f"basic; zcdp with a delta; or renyi with a delta and an order from 2 to {_HIGHEST_ORDER}",
        came=came,
        fix="Give --epsilon; or --rho with --delta, and --renyi-order for Renyi.",
    )


def _bad_partition(required: str, came: str) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_PARAMETER, "partition", required=required, came=came, fix="Correct --partition or --parts-per-unit."
    )


def _undeclared(required: str, came: str) -> BudgetError:
    return BudgetError.of(
        Reason.ACCOUNT_MISMATCH,
        "partition",
        required=required,
        came=came,
        fix="Nothing was charged or drawn. Correct the file, or open an account that declares it.",
    )
