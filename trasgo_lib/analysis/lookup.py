"""The columns of a release by name, and what is refused of a question before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn
from trasgo_lib.errors import InputContractError, Reason


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a release.

    Args:
        noised: the noised columns by name.
        public: names of the columns that were published unchanged.
    """

    noised: Mapping[str, NoisedColumn]
    public: tuple[str, ...]

    def column(self, name: str) -> NoisedColumn:
        """A noised column.

        Raises:
            InputContractError: no such column, a public one, or half of a point.
        """
        column = self.noised[name] if self.is_noised(name) else None
        if column is None:
            raise self._unknown(name)
        if column.is_place:
            fix = "Count the cells themselves; their noise is in channel.json."
            raise refused(name, "a column of numbers, dates or labels", "half of a point", fix)
        return column

    def numbers(self, name: str) -> tuple[NoisedColumn, NDArray[np.float64]]:
        """A noised column of numbers, and what its codes count as: float64[inputs].

        Raises:
            InputContractError: no such column, or labels.
        """
        column = self.column(name)
        numbers = column.numbers
        if numbers is None:
            raise refused(name, "numbers, dates or whole-number labels", "labels", "Ask for shares.")
        return column, numbers

    def pair(self, a: str, b: str) -> tuple[NoisedColumn, NoisedColumn]:
        """Two noised columns.

        Raises:
            InputContractError: no such column, or the same one twice.
        """
        left, right = self.column(a), self.column(b)
        if a == b:
            raise refused(f"{a} and {b}", "two columns", "the same column twice", "Ask about two columns.")
        return left, right

    def group(self, by: str | None, asked: tuple[str, ...]) -> NoisedColumn | str | None:
        """The column that a question is grouped by: a noised one, a public one by name, or None.

        Raises:
            InputContractError: no such column, or one that the question itself is about.
        """
        if by is None:
            return None
        if by in asked:
            raise refused(by, "a column of its own", "the same column twice", "Group by another column.")
        if by in self.public:
            return by
        return self.column(by)

    def is_noised(self, name: object) -> bool:
        """Whether a name is that of a noised column; of anything that is no name it is not."""
        return isinstance(name, str) and name in self.noised

    def public_group(self, by: str) -> str:
        """A public column to group by.

        Raises:
            InputContractError: no such column.
        """
        if by not in self.public:
            raise self._unknown(by)
        return by

    def _unknown(self, name: str) -> InputContractError:
        if name in self.public:
            fix = "Published unchanged: read it from the data file, or name it under by."
            return refused(name, "a noised column", "a public one", fix)
        known = ", ".join((*self.noised, *self.public))
        return InputContractError.of(
            Reason.MISSING_COLUMN, name, required=f"one of {known}", came="no such column", fix="Check the name."
        )


def refused(where: str, required: str, came: str, fix: str) -> InputContractError:
    """A question that has no answer, and what to do."""
    return InputContractError.of(Reason.BAD_PARAMETER, where, required=required, came=came, fix=fix)
