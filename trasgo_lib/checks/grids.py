"""The values a domain can publish, sorted, for exact membership tests in released batches."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain

Bound = int | float | datetime
"""A bound as Great Expectations compares it."""


class Grid:
    """Sorted published values of a number, date or point domain.

    A point is one complex number (latitude + i longitude): numpy sorts and compares those pair-wise and exactly.

    Args:
        domain: a domain that is not a category list.
    """

    def __init__(self, domain: Domain) -> None:
        decoded: Any = domain.decode(np.arange(domain.size, dtype=np.int32))
        self._point = isinstance(domain, (BoxDomain, CellsDomain))
        values = decoded[0] + 1j * decoded[1] if self._point else decoded
        self.values: NDArray[Any] = np.sort(np.asarray(values))

    def off_grid(self, columns: tuple[pa.Array, ...]) -> int:
        """How many complete rows hold a value that the domain cannot publish; NaN and infinities are among them."""
        values = _complete_rows(columns)
        if len(values) == 0:
            return 0
        place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return int(np.count_nonzero(self.values[place] != values))

    def bounds(self, axis: int) -> tuple[Bound, Bound]:
        """Least and largest published value of one column."""
        values = (self.values.real, self.values.imag)[axis] if self._point else self.values
        least, largest = values.min().item(), values.max().item()
        return _bound(least), _bound(largest)

    def at_bounds(self, column: pa.Array) -> tuple[int, int]:
        """How many released values sit on either bound, and how many values there are."""
        values = _complete_rows((column,))
        return int(np.count_nonzero((values == self.values[0]) | (values == self.values[-1]))), len(values)


def grid_of(domain: Domain) -> Grid | None:
    """The grid of a domain, or None for labels."""
    return Grid(domain) if isinstance(domain, (NumberDomain, DateDomain, BoxDomain, CellsDomain)) else None


def published_labels(domain: CategoryDomain) -> tuple[str, ...] | tuple[int, ...]:
    """The labels of a category domain as they are published: text, or whole numbers."""
    return tuple(int(code) for code in domain.codes) if domain.output == "integer" else tuple(domain.codes)


def _bound(value: Any) -> Bound:
    return datetime(value.year, value.month, value.day) if hasattr(value, "year") else value


def _complete_rows(columns: tuple[pa.Array, ...]) -> NDArray[Any]:
    """values[rows without null], complex for two columns."""
    present = reduce(pc.and_, (column.is_valid() for column in columns))
    parts = [_values(column.filter(present)) for column in columns]
    return parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0]


def _values(column: pa.Array) -> NDArray[Any]:
    """values[rows] of a column without nulls; the usual ``to_numpy`` would import pandas, which takes verify 0.2 s."""
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return np.from_dlpack(column)
    if pa.types.is_date32(column.type):
        return np.from_dlpack(column.view(pa.int32())).astype(np.int64).view("datetime64[D]")
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
