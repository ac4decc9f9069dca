"""What the audit looks at: declared columns as whole numbers, and how the rows of one version are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.config import RiskSpec
from trasgo_lib.data import CategoryDomain, Domain, EqualBins, ProductDomain
from trasgo_lib.plan import ReleasePlan, UnitPlan

Reader = Callable[[], Iterator[NDArray[np.int32]]]
"""Gives the codes of one source batch by batch, in row order, as often as it is called."""

Readers = Mapping[str, Reader]
"""By source (a noise unit, or a public column), how its codes are read."""

PublicReaders = Mapping[str, Callable[[], Iterator[pa.Array]]]
"""By public column, how its values are read."""


@dataclass(frozen=True, slots=True)
class RiskColumn:
    """One declared column. Public, but for the number of values of a public column.

    Args:
        name: of the column.
        source: noise unit or public column whose codes are read.
        size: how many values a row can have: codes or bins, a missing value as the last one.
        ordered: whether the order of the values means something.
        places: int32[source codes], the column's value for each code of the source.
    """

    name: str
    source: str
    size: int
    ordered: bool
    places: NDArray[np.int32] = field(repr=False, compare=False)


def risk_columns(plan: ReleasePlan, spec: RiskSpec, public: Mapping[str, int]) -> dict[str, RiskColumn]:
    """The declared columns of an audit, by name, quasi-identifiers first.

    Args:
        plan: the compiled plan.
        spec: what the release file declares.
        public: by public column, how many values it has.
    """
    units = {part: unit for unit in plan.units for part in _parts(unit)}
    found = {}
    for name in (*spec.quasi_identifiers, *spec.sensitive):
        if name in units:
            found[name] = _noised(units[name], name, spec.bins.get(name))
        else:
            found[name] = RiskColumn(name, name, public[name], False, np.arange(public[name], dtype=np.int32))
    return found


def part_codes(unit: UnitPlan, name: str) -> tuple[Domain, NDArray[np.int32]]:
    """The domain of one column of a unit, and its own code for each code of the unit; missing is the last code."""
    if isinstance(unit.domain, ProductDomain):
        own = unit.domain.decode(np.arange(unit.domain.size, dtype=np.int32))
        place = [part.name for part in unit.parts].index(name)
        return unit.parts[place].domain, own[place]
    return unit.domain, np.arange(unit.domain.size + (unit.missing == "code"), dtype=np.int32)


def encode_public(readers: PublicReaders) -> tuple[dict[str, Reader], dict[str, int]]:
    """Codes of public columns by the order in which their values first occur, and how many values each has.

    Args:
        readers: how the values are read; they leave unchanged, so both versions have the same.
    """
    coded: dict[str, Reader] = {}
    sizes: dict[str, int] = {}
    for name, read in readers.items():
        known = pa.array([], pa.large_string())
        for batch in read():
            known = pa.concat_arrays([known, batch.cast(pa.large_string()).unique()]).unique()
        coded[name], sizes[name] = _coder(read, known), len(known)
    return coded, sizes


def _coder(read: Callable[[], Iterator[pa.Array]], known: pa.Array) -> Reader:
    def codes() -> Iterator[NDArray[np.int32]]:
        for batch in read():
            yield pc.index_in(batch.cast(pa.large_string()), value_set=known).to_numpy(zero_copy_only=False)

    return codes


def _parts(unit: UnitPlan) -> tuple[str, ...]:
    return tuple(part.name for part in unit.parts) or (unit.name,)


def _noised(unit: UnitPlan, name: str, bins: int | None) -> RiskColumn:
    domain, own = part_codes(unit, name)
    policy = unit.part(name).missing if unit.parts else unit.missing
    ordered = domain.ordered if isinstance(domain, CategoryDomain) else domain.kind in ("number", "date")
    values = domain.size
    if bins is not None:
        cut = EqualBins(domain.size, bins)
        own, values = np.append(cut.of_codes, np.int32(bins))[own], bins
    return RiskColumn(name, unit.name, values + (policy == "code"), ordered, own.astype(np.int32, copy=False))
