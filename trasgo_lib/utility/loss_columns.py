"""Which columns of a plan are measured, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CategoryDomain
from trasgo_lib.utility.histogram import equal_bins
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
    """

    name: str
    unit: str
    kind: LossKind
    size: int
    bins: int | None = None
    grid: PointGrid | None = field(default=None, compare=False)

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
    """The columns of a plan's noise units, in release order; a point is one column."""
    return tuple(_loss_column(unit) for unit in plan.units)


def _loss_column(unit: UnitPlan) -> LossColumn:
    if unit.type == "point":
        return LossColumn(unit.name, unit.name, "point", unit.domain.size, grid=point_grid(unit.domain))
    kind: LossKind = "number"
    if isinstance(unit.domain, CategoryDomain):
        kind = "ordered" if unit.domain.ordered else "label"
    return LossColumn(unit.name, unit.name, kind, unit.domain.size, unit.bins)
