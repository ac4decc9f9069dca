"""Quantiles as an analyst asks for them: places of codes become values, and what is interpolated is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import PublishedRows
from trasgo_lib.analysis.usefulness import percent, too_few, warn
from trasgo_lib.estimation import Estimate, Position, conditional_quantiles, normal_point

INTERPOLATED = "interpolated within its bin; the interval holds whole bins"

_WIDE = 0.25
"""An interval over this part of the domain is given with a warning."""

WHOLE_DOMAIN = "the noise leaves an interval as wide as everything possible"


@dataclass(frozen=True, slots=True)
class Places:
    """The values of a column in rising order, those that the noise does not tell apart as one place.

    Args:
        of_codes: int64[inputs], the place of each code; -1 for missing.
        low: float64[places], the least value of each.
        high: float64[places], the largest.
        keeps_values: whether the noise keeps or replaces values whole, so that neighbours are as easily told apart as
            values far away.
    """

    of_codes: NDArray[np.int64] = field(repr=False)
    low: NDArray[np.float64] = field(repr=False)
    high: NDArray[np.float64] = field(repr=False)
    keeps_values: bool

    @classmethod
    def of(cls, column: NoisedColumn, numbers: NDArray[np.float64]) -> Places:
        """The places of a column of numbers.

        Args:
            column: the column.
            numbers: float64[inputs], what its codes count as, NaN for missing.
        """
        here = ~np.isnan(numbers)
        if len(column.channel.support) < column.channel.inputs:
            parts = column.cells()[1][here].argmax(axis=1)
        else:
            parts = np.arange(int(here.sum()))
        middles = np.array([numbers[here][parts == part].mean() for part in np.unique(parts)])
        rank = np.empty(len(middles), dtype=np.int64)
        rank[np.argsort(middles, kind="stable")] = np.arange(len(middles))
        of_codes = np.full(len(numbers), -1, dtype=np.int64)
        of_codes[here] = rank[np.unique(parts, return_inverse=True)[1]]
        low, high = np.full(len(middles), np.inf), np.full(len(middles), -np.inf)
        np.minimum.at(low, of_codes[here], numbers[here])
        np.maximum.at(high, of_codes[here], numbers[here])
        return cls(of_codes, low, high, "randomized_response" in column.channel.name)

    @property
    def has_bins(self) -> bool:
        """Whether some values are not told apart."""
        return bool((self.high > self.low).any())

    def estimate(self, found: Position | str, what: str, rows: int, confidence: float) -> Estimate:
        """A quantile in the column's own values, none where its interval says nothing, a warning where it says little.

        Args:
            found: the position, or why there is none.
            what: the quantity in words, for the warning.
            rows: released rows behind it.
            confidence: of the interval.
        """
        few = too_few(rows)
        if few is not None or isinstance(found, str):
            return few or Estimate.none(str(found))
        low, high = float(self.low[found.low]), float(self.high[found.high])
        width, possible = high - low, float(self.high[-1] - self.low[0])
        if width >= possible:
            return Estimate.none(WHOLE_DOMAIN)
        if width > _WIDE * possible:
            warn(f"{what}: the {percent(confidence)} interval covers {width / possible:.0%} of everything possible")
        place = min(max(ceil(found.value) - 1, found.low), found.high)
        within = min(max(found.value - place, 0.0), 1.0)
        value = float(self.low[place] + within * (self.high[place] - self.low[place]))
        note = INTERPOLATED if self.has_bins else None
        return Estimate(value, low, high, width / 2 / normal_point(confidence), note=note)


def quantiles_within(
    data: PublishedRows, asked: NoisedColumn, other: NoisedColumn, places: Places, q: float, confidence: float
) -> dict[Value, Estimate]:
    """Quantiles within each value of another noised column.

    Args:
        data: the released rows.
        asked: the column.
        other: the column to group by.
        places: of the column.
        q: share of the values at or below it.
        confidence: of the intervals.

    Raises:
        InputContractError: too many pairs of values, or q out of range.
    """
    groups, members = other.cells()
    table = data.count_pairs(asked, other)
    found = conditional_quantiles(
        asked.channel,
        other.channel,
        table,
        q,
        members,
        places=places.of_codes,
        steps_only=places.keeps_values,
        together=asked.noise_with(other),
        confidence=confidence,
    )
    return {
        group: places.estimate(
            one, f"quantile {q:g} of {asked.name} where {other.name} is {group}", int(table.sum()), confidence
        )
        for group, one in zip(groups, found, strict=True)
    }
