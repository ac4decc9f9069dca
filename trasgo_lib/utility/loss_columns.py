"""Which columns of a plan are measured, and how."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CategoryDomain, Domain, ProductDomain
from trasgo_lib.utility.histogram import Histogram, equal_bins
from trasgo_lib.utility.points import PointGrid, point_grid

if TYPE_CHECKING:  # so that a notebook that compares two frames does not load the release file's models
    from trasgo_lib.plan import ReleasePlan, UnitPlan

LossKind = Literal["number", "ordered", "label", "point"]


@dataclass(frozen=True, slots=True)
class LossColumn:
    """One column of codes to be measured. Public.

    Args:
        name: of the column, in reports.
        unit: noise unit whose codes it is.
        kind: number (dates too), ordered category, label (unordered category), or point.
        size: number of codes; code ``size`` means missing.
        bins: equal parts for the divergences; None: each code is a category.
        grid: coarse grid of a point, else None.
        places: for a column of a group, int32[unit codes]: the column's own code for each code of the group; a binned
            number counts as its bin's representative, in the original too, so that its losses are those of the noise.
        group: the domain of its group, else None.
    """

    name: str
    unit: str
    kind: LossKind
    size: int
    bins: int | None = None
    grid: PointGrid | None = field(default=None, compare=False)
    places: NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    group: ProductDomain | None = field(default=None, compare=False, repr=False)

    def own_codes(self, codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The column's own codes of its unit's codes: int32[rows] -> int32[rows].

        Raises:
            InputContractError: a code of the group that does not exist, with the count.
        """
        if self.places is None:
            return codes
        Histogram.check(codes, len(self.places) - 1)
        return self.places[codes]

    @property
    def is_correlated(self) -> bool:
        """Whether its codes, or their order, can be correlated."""
        return self.kind != "point"

    def bins_of(self, outputs: int) -> NDArray[np.int32]:
        """The bin of every output code for the divergences: int32[outputs]; missing is a bin of its own.

        Args:
            outputs: number of codes, the missing code included.
        """
        if self.bins is None:
            return np.arange(outputs, dtype=np.int32)
        values = equal_bins(self.size, self.bins)
        return np.concatenate([values, np.full(outputs - self.size, values[-1] + 1, dtype=np.int32)])


def loss_columns(plan: ReleasePlan) -> tuple[LossColumn, ...]:
    """The measured columns of a plan, in release order; a point is one column, a group as many as it has."""
    measured = {column.name: column for unit in plan.units for column in _loss_columns(unit)}
    return tuple(measured[column.name] for column in plan.columns if column.role == "noised")


def _loss_columns(unit: UnitPlan) -> Iterator[LossColumn]:
    if unit.type == "point":
        yield LossColumn(unit.name, unit.name, "point", unit.domain.size, grid=point_grid(unit.domain))
    elif isinstance(unit.domain, ProductDomain):
        places = unit.domain.decode(np.arange(unit.domain.size, dtype=np.int32))
        for part, own in zip(unit.parts, places, strict=True):
            kind, size = _kind(part.domain), part.domain.size
            yield LossColumn(part.name, unit.name, kind, size, part.bins, places=own, group=unit.domain)
    else:
        yield LossColumn(unit.name, unit.name, _kind(unit.domain), unit.domain.size, unit.bins)


def _kind(domain: Domain) -> LossKind:
    if isinstance(domain, CategoryDomain):
        return "ordered" if domain.ordered else "label"
    return "number"
