"""Products of private values across many columns, decoded row by row: moments of all pairs at once, with their noise.

Where noise is independent a product of decoders decodes the product; columns of one group are decoded together (see
``together``). Rows count only where every column has a value, so every product also holds the decoder of "present" of
the columns it does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.decoding import decode
from trasgo_lib.estimation.moments import TOO_LARGE, powers
from trasgo_lib.estimation.together import SharedNoise
from trasgo_lib.mechanisms import Channel

Floats = NDArray[np.float64]

_CHUNK_FLOATS = 2**21
"""Floats of decoded products in memory at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class Factor:
    """What one column brings into products: function 0 says that its row counts, the others are its functions.

    Args:
        decoded: float64[outputs, m, m], what the product of two functions counts by released code: its decoder, or in a
            group what it counts as seen.
        bias: float64[m, m], the most that a decoder is off on average; functions lie within 1.
        centre: float64[m - 1], what was subtracted from each function.
        scale: float64[m - 1], what it was divided by afterwards.
        unit: columns of one unit share their noise.
        kept: share of rows whose combination a group's channel keeps; 1 for a column on its own.
        means: float64[m, m], means over the places of a group.
    """

    decoded: Floats = field(repr=False)
    bias: Floats = field(repr=False)
    centre: Floats = field(repr=False)
    scale: Floats = field(repr=False)
    unit: str = ""
    kept: float = 1.0
    means: Floats | None = field(default=None, repr=False)

    @property
    def functions(self) -> int:
        """How many functions beside function 0."""
        return int(self.decoded.shape[1]) - 1

    @classmethod
    def of_number(cls, channel: Channel, values: Floats) -> Self | str:
        """A number, standardised by its declared range.

        Args:
            channel: the channel of the released codes.
            values: float64[inputs], NaN for missing.

        Returns:
            The factor, or the reason why its noise cannot be undone.
        """
        found = powers(channel, values)
        if isinstance(found, str):
            return found
        degree = np.add.outer(np.arange(2), np.arange(2))
        return cls(found.decoded[:, degree], found.bias[degree], np.array([found.centre]), np.array([found.scale]))

    @classmethod
    def of_sets(cls, channel: Channel, counted: NDArray[np.bool_], members: NDArray[np.bool_]) -> Self | str:
        """Dummies of disjoint sets of codes.

        Args:
            channel: the channel of the released codes.
            counted: bool[inputs], the codes whose rows count.
            members: bool[inputs, sets], disjoint.

        Returns:
            The factor, or the reason why its noise cannot be undone.
        """
        found = decode(channel, np.concatenate([counted[:, None], members], axis=1).astype(np.float64))
        if found is None:
            return TOO_LARGE
        sets = int(members.shape[1])
        place = np.zeros((sets + 1, sets + 1), dtype=np.int64)
        place[0], place[:, 0] = np.arange(sets + 1), np.arange(sets + 1)
        same = np.eye(sets + 1, dtype=bool)
        place[same] = np.arange(sets + 1)
        together = same.copy()
        together[0], together[:, 0] = True, True
        decoded = np.where(together, found.values[:, place], 0.0)
        return cls(decoded, np.where(together, found.bias[place], 0.0), np.zeros(sets), np.ones(sets))

    def in_group(self, unit: str, noise: SharedNoise | None) -> Factor:
        """The same factor as a column of a noise unit.

        Args:
            unit: name of the noise unit.
            noise: how the column shares its noise, its own codes on the left; None where it does not.
        """
        if noise is None:
            return Factor(self.decoded, self.bias, self.centre, self.scale, unit)
        means = self.decoded[np.asarray(noise.left)].mean(axis=0)
        seen = noise.kept * self.decoded + (1 - noise.kept) * means
        return Factor(seen, self.bias, self.centre, self.scale, unit, noise.kept, means)


@dataclass(frozen=True, slots=True)
class CodeRows:
    """Released rows of several columns, equal ones counted once where that saves memory. Public.

    Args:
        codes: int[cells, columns], released codes.
        counts: float64[cells], rows of each.
    """

    codes: NDArray[np.integer] = field(repr=False)
    counts: Floats = field(repr=False)

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.counts.sum())


@dataclass(frozen=True, slots=True)
class Products:
    """Decoded products of all functions of some columns, over released rows.

    Args:
        factors: one a column, in the order of the columns of ``rows``.
        rows: the released rows.
    """

    factors: Sequence[Factor]
    rows: CodeRows

    @property
    def size(self) -> int:
        """Functions in all, the constant first."""
        return 1 + sum(factor.functions for factor in self.factors)

    @property
    def bias(self) -> Floats:
        """The most that each decoded product is off on average: float64[size, size]."""
        off = np.ones((self.size, self.size))
        for factor, place in zip(self.factors, self._places(), strict=True):
            off *= 1 + factor.bias[np.ix_(place, place)]
        return off - 1

    def moments(self) -> Floats:
        """Decoded means of products: float64[size, size]."""
        total = np.zeros(self.size**2)
        for decoded, counts in self._decoded():
            total += counts @ decoded
        return (total / self.rows.rows).reshape(self.size, self.size)

    def covariance(self, weights: Floats) -> Floats:
        """Covariance of weighted sums of decoded means: float64[sums, size, size] -> float64[sums, sums].

        It counts the draw of the rows and the noise.
        """
        flat = weights.reshape(len(weights), -1)
        first, second = np.zeros(len(flat)), np.zeros((len(flat), len(flat)))
        for decoded, counts in self._decoded():
            influence = decoded @ flat.T
            first += counts @ influence
            second += influence.T @ (counts[:, None] * influence)
        rows = self.rows.rows
        spread: Floats = (second / rows - np.outer(first, first) / rows**2) / max(1.0, rows - 1)
        return spread

    def _places(self) -> list[NDArray[np.int64]]:
        """For each column, which of its functions stands behind each function of all; 0 for those of others."""
        places, start = [], 1
        for factor in self.factors:
            place = np.zeros(self.size, dtype=np.int64)
            place[start : start + factor.functions] = np.arange(1, factor.functions + 1)
            places.append(place)
            start += factor.functions
        return places

    def _decoded(self) -> Iterator[tuple[Floats, Floats]]:
        """Decoded products of a chunk of rows, float64[rows, size * size], and how often each row counts."""
        step = max(1, _CHUNK_FLOATS // self.size**2)
        places = self._places()
        flat = [
            (place[:, None] * (factor.functions + 1) + place[None, :]).ravel()
            for place, factor in zip(places, self.factors, strict=True)
        ]
        units: dict[str, list[int]] = {}
        for column, factor in enumerate(self.factors):
            units.setdefault(factor.unit, []).append(column)
        for start in range(0, len(self.rows.codes), step):
            codes = self.rows.codes[start : start + step]
            decoded = np.ones((len(codes), self.size**2))
            for columns in units.values():
                seen, fresh, kept = np.ones_like(decoded), np.ones(self.size**2), 1.0
                for column in columns:
                    factor = self.factors[column]
                    table = factor.decoded.reshape(len(factor.decoded), -1)
                    seen *= table[codes[:, column]][:, flat[column]]
                    if factor.means is not None:
                        fresh, kept = fresh * factor.means.ravel()[flat[column]], factor.kept
                decoded *= seen if kept == 1.0 else (seen - (1 - kept) * fresh) / kept
            yield decoded, self.rows.counts[start : start + step]
