"""What an attacker sees of each noise unit: its quasi-identifiers, and how likely each released value of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, Domain
from trasgo_lib.mechanisms import Channel
from trasgo_lib.plan import ReleasePlan, UnitPlan
from trasgo_lib.risk.columns import RiskColumn, part_codes

Floats = NDArray[np.float64]
ByValue = Callable[[int], Floats]
"""For a true value, something of every released value: float64[values]."""

_KEPT_NUMBERS = 2**22
"""Numbers that are kept of each table, 32 MiB, so that targets with the same value share the work."""


@dataclass(frozen=True, slots=True)
class Visible:
    """The quasi-identifiers of one noise unit as one value, or one public column.

    Args:
        column: how rows are read as such values; true and released ones have the same numbers.
        log_likelihood: logarithm of the chance of every released value.
        distance: naive distance to every released value, summed over the columns, each 0 to 1.
    """

    column: RiskColumn
    log_likelihood: ByValue = field(repr=False)
    distance: ByValue = field(repr=False)


def visible_values(
    plan: ReleasePlan, levels: Mapping[str, Epsilon], names: Sequence[str], public: Mapping[str, int]
) -> tuple[Visible, ...]:
    """What an attacker sees and knows, unit by unit.

    Args:
        plan: the compiled plan.
        levels: by noise unit, the level that is released.
        names: the quasi-identifiers.
        public: by public column, how many values it has.
    """
    found = []
    for unit in plan.units:
        own = [name for name in names if name == unit.name or name in [part.name for part in unit.parts]]
        if own:
            found.append(_of_unit(unit, unit.channel(levels[unit.name]), own))
    found += [_of_public(name, public[name]) for name in names if name in public]
    return tuple(found)


def _of_unit(unit: UnitPlan, channel: Channel, names: Sequence[str]) -> Visible:
    parts = [part_codes(unit, name) for name in names]
    keys = np.zeros(len(parts[0][1]), dtype=np.int64)
    for domain, own in parts:
        keys = keys * (domain.size + 1) + own
    # one code of the unit stands for each visible value: over a group, what a column does not depend on the others
    _, codes, places = np.unique(keys, return_index=True, return_inverse=True)
    column = RiskColumn(unit.name, unit.name, len(codes), False, places.astype(np.int32))

    def log_likelihood(value: int) -> Floats:
        weights = np.array(channel.weights(int(codes[value])), dtype=np.float64) / float(channel.total)
        with np.errstate(divide="ignore"):  # outputs that never come out
            logarithms: Floats = np.log(np.bincount(places, weights=weights, minlength=len(codes)))
        return logarithms

    def distance(value: int) -> Floats:
        apart = np.zeros(len(codes))
        for domain, own in parts:
            apart += _apart(domain, own[codes], int(own[codes[value]]))
        return apart

    return Visible(column, _kept(log_likelihood, len(codes)), _kept(distance, len(codes)))


def _of_public(name: str, size: int) -> Visible:
    def distance(value: int) -> Floats:
        return np.where(np.arange(size) == value, 0.0, 1.0)

    def log_likelihood(value: int) -> Floats:
        return np.where(np.arange(size) == value, 0.0, -np.inf)

    column = RiskColumn(name, name, size, False, np.arange(size, dtype=np.int32))
    return Visible(column, _kept(log_likelihood, size), _kept(distance, size))


def _kept(table: ByValue, size: int) -> ByValue:
    return lru_cache(maxsize=max(1, _KEPT_NUMBERS // size))(table)


def _apart(domain: Domain, codes: NDArray[np.int32], code: int) -> Floats:
    """Distance of codes from one of them, 0 to 1: by steps, by metres, or 1 for any other label; missing is 1 apart."""
    if isinstance(domain, CategoryDomain) and not domain.ordered:
        return np.where(codes == code, 0.0, 1.0)
    known = codes < domain.size
    apart = np.where(codes == code, 0.0, 1.0)
    if code < domain.size:
        if isinstance(domain, BoxDomain | CellsDomain):
            here = codes[known]
            metres = domain.displacement_m(np.full(len(here), code, dtype=np.int32), here)
            apart[known] = metres / max(float(metres.max()), 1.0)
        else:
            apart[known] = np.abs(codes[known] - code) / (domain.size - 1)
    return apart
