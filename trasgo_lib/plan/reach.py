"""Targets that a unit's ladder cannot be expected to reach, as far as a public prior tells.

The predicted loss is that of infinitely many rows from the declared distribution, and a correlation loss counts this
column's noise alone: what a run finds is larger. So a prediction above the ceiling at the highest rung that the total
allows means that the account would pay for a release that is then held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import KeyPath, LossName
from trasgo_lib.data import Domain, EqualBins, ProductDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.mechanisms import Channel, margin
from trasgo_lib.mechanisms.expected_loss import CORRELATION_LOSS, expected_loss
from trasgo_lib.plan.channels import channel_of
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import UnitPlan
from trasgo_lib.plan.prior import PublicPrior

MOST_EPSILON = Epsilon.parse("16")
"""Searched up to here: an even guess then becomes 99.99999 %, and nobody who needs more wants noise."""

_RATIO = 1.02
"""Steps of the search; the level that is named is at most so much above the least."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A target that is not expected to be met.

    Args:
        column: the column that misses it.
        loss: which loss.
        ceiling: its ceiling, as declared.
        top: highest level of the unit.
        predicted: the loss expected there; infinite where a bin is lost.
        enough: the least epsilon found to meet the target, or None up to ``MOST_EPSILON``.
    """

    column: str
    loss: LossName
    ceiling: str
    top: Epsilon
    predicted: float
    enough: Epsilon | None

    def __str__(self) -> str:
        return (
            f"{self.loss} of about {self.predicted:.3g} at epsilon {self.top.text}, the most the total leaves"
            f" {self.column}, predicted from the prior"
        )

    @property
    def remedy(self) -> str:
        """What would be enough, in words."""
        if self.enough is None:
            return f"no epsilon up to {MOST_EPSILON.text} meets it"
        return f"epsilon {self.enough.text} would meet it"


@dataclass(frozen=True, slots=True)
class _Measured:
    """One column of a unit and the distribution its noise works on."""

    name: str
    part: str
    domain: Domain
    shares: NDArray[np.float64]
    bins: NDArray[np.int32]

    def loss(self, unit: UnitPlan, channel: Channel, loss: str) -> float:
        own = margin(channel, unit.domain, self.part) if isinstance(unit.domain, ProductDomain) else channel
        return expected_loss(own, self.shares, loss, size=self.domain.size, bins=self.bins)


def shortfall(unit: UnitPlan, prior: PublicPrior | None, correlation: str) -> Shortfall | None:
    """The worst of a unit's columns whose target is not expected to be met at the highest rung; None when all are.

    Args:
        unit: a compiled unit.
        prior: public knowledge; columns it does not know are not judged.
        correlation: the release's correlation; losses of rank correlations are not predicted.
    """
    if prior is None or unit.target is None or unit.type == "point":
        return None
    loss, ceiling, top = unit.target.loss, float(Decimal(unit.target.ceiling)), unit.rungs[-1]
    if loss == CORRELATION_LOSS and (unit.parts or correlation != "pearson"):
        # pairs within a group do not lose as single columns do
        return None
    channel = _channel(unit, top)
    found = [(column.loss(unit, channel, loss), column) for column in _measured(unit, prior)] if channel else []
    missed = [(predicted, column) for predicted, column in found if predicted > ceiling]
    if not missed:
        return None
    predicted, column = max(missed, key=lambda entry: entry[0])
    enough = _least_enough(unit, [column for _, column in missed], loss, ceiling)
    return Shortfall(column.name, loss, unit.target.ceiling, top, predicted, enough)


def check_reach(
    unit: UnitPlan, prior: PublicPrior | None, correlation: str, path: KeyPath, faults: FaultCollector
) -> None:
    """Refuse a target that the ladder cannot be expected to reach.

    Args:
        unit: a compiled unit.
        prior: public knowledge, or None.
        correlation: the release's correlation.
        path: place of the unit in the release file.
        faults: where faults go.
    """
    short = shortfall(unit, prior, correlation)
    if short is None:
        return
    raise_total = (
        "" if short.enough is None else f"Raise epsilon_total so that this unit can have {short.enough.text}, r"
    )
    faults.add(
        Reason.BAD_PARAMETER,
        (*path, "target", short.loss),
        required=f"a ceiling that {unit.name} can reach; {short.remedy}",
        came=f"{short.ceiling}, against a {short}",
        fix=f"{raise_total or 'R'}aise the ceiling, coarsen the domain, or write loop.on_unmet: publish. A prior that"
        f" no longer holds is corrected or left out.",
    )


def _channel(unit: UnitPlan, level: Epsilon) -> Channel | None:
    try:
        return channel_of(unit.mechanism, unit.domain, level, unit.parameters)
    except ConfigError:
        return None


def _measured(unit: UnitPlan, prior: PublicPrior) -> Iterator[_Measured]:
    if not isinstance(unit.domain, ProductDomain):
        shares = prior.shares.get(unit.name)
        if shares is not None:
            yield _Measured(unit.name, "", unit.domain, shares, _bins(unit.domain, unit.bins, len(shares)))
        return
    for part in unit.parts:
        shares = prior.shares.get(part.name)
        if shares is None:
            continue
        of_codes, representatives = unit.domain.tables(part.name)
        # losses of a binned column start from its bins
        pooled = np.bincount(representatives[of_codes], weights=shares, minlength=len(shares)).astype(np.float64)
        yield _Measured(part.name, part.name, part.domain, pooled, _bins(part.domain, part.bins, len(shares)))


def _bins(domain: Domain, count: int | None, codes: int) -> NDArray[np.int32]:
    if count is None:
        return np.arange(codes, dtype=np.int32)
    of_codes = EqualBins(domain.size, count).of_codes
    return np.append(of_codes, np.full(codes - domain.size, count, dtype=np.int32))


def _least_enough(unit: UnitPlan, columns: list[_Measured], loss: str, ceiling: float) -> Epsilon | None:
    """The least level of a fine grid from the top rung on at which all columns meet the ceiling."""
    top = unit.rungs[-1].fraction
    steps = math.floor(math.log(max(1.0, float(MOST_EPSILON.fraction / top))) / math.log(_RATIO))
    levels = [*(Epsilon.ceil(top * round(10**6 * _RATIO**step) / 10**6) for step in range(1, steps + 1)), MOST_EPSILON]

    def is_enough(level: Epsilon) -> bool:
        channel = _channel(unit, level)
        return channel is not None and all(column.loss(unit, channel, loss) <= ceiling for column in columns)

    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if is_enough(levels[middle]):
            high = middle
        else:
            low = middle + 1
    return levels[low] if low < len(levels) else None
