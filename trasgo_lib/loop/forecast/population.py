"""Synthetic rows from a public prior: what a release can be rehearsed on before its data is opened.

Each column has exactly the law of its prior shares; pairs have the declared correlations, by a Gaussian copula; pairs
of which nothing is declared are independent. The rows are made from a public stream, tell nothing of any person, and
stay in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.loop.forecast.normal_scale import (
    hermite_coefficients,
    nearest_correlations,
    normal_correlation,
    quantiles,
    series,
    spread,
)
from trasgo_lib.noise import Keystream
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.utility import LossColumn
from trasgo_lib.utility.resampling import symmetric_root

_BLOCK_WORDS = 2**40
"""Words set aside for each column; no forecast has as many rows."""

_WORTH_SAYING = 0.005
"""A declared correlation that is missed by more than this is named."""


@dataclass(frozen=True, slots=True)
class KnownLaw:
    """What is publicly known of one column.

    Args:
        column: what is measured of it.
        shares: float64[codes], one entry more than ``column.size`` where missing is a code; summing to 1.
        is_assumed: whether nothing is known and the person asked for equal shares.
    """

    column: LossColumn
    shares: NDArray[np.float64] = field(repr=False)
    is_assumed: bool = False

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def values(self) -> NDArray[np.float64]:
        """Shares of values among the rows that have one: float64[size]."""
        of_values = self.shares[: self.column.size]
        return of_values / max(float(of_values.sum()), 1e-300)

    @property
    def missing(self) -> float:
        """Share of rows without a value."""
        return float(self.shares[self.column.size :].sum())


@dataclass(frozen=True, slots=True)
class PublicKnowledge:
    """A prior as far as it speaks of measured columns.

    Args:
        laws: columns that something is known of, in release order.
        unknown: columns that nothing is known of; they are left out of every prediction.
        correlations: by pair in release order, Pearson's correlation of the codes; other pairs count as independent.
    """

    laws: tuple[KnownLaw, ...]
    unknown: tuple[str, ...]
    correlations: Mapping[tuple[str, str], float] = field(repr=False)

    @classmethod
    def of(
        cls,
        prior: PublicPrior,
        columns: Sequence[LossColumn],
        codes: Mapping[str, int],
        *,
        assume_uniform: bool = False,
    ) -> Self:
        """What a prior says of the columns of a plan.

        Args:
            prior: public.
            columns: measured columns, in release order.
            codes: by column, number of its codes, the missing code included.
            assume_uniform: whether columns without a prior get equal shares; they are marked.
        """
        laws, unknown = [], []
        for column in columns:
            shares = prior.shares.get(column.name)
            if shares is not None:
                laws.append(KnownLaw(column, np.asarray(shares, dtype=np.float64)))
            elif assume_uniform and column.is_correlated:
                size = codes[column.name]
                laws.append(KnownLaw(column, np.full(size, 1.0 / size), is_assumed=True))
            else:
                unknown.append(column.name)
        names = [law.name for law in laws]
        ordered = {
            pair: prior.correlations.get(pair, prior.correlations.get(pair[::-1])) for pair in combinations(names, 2)
        }
        return cls(tuple(laws), tuple(unknown), {pair: value for pair, value in ordered.items() if value is not None})

    def law(self, name: str) -> KnownLaw | None:
        """What is known of a column, or None."""
        return next((law for law in self.laws if law.name == name), None)


@dataclass(frozen=True, slots=True)
class Population:
    """A law of whole rows, from which any number of them can be made.

    Args:
        laws: columns, in release order.
        root: float64[columns, columns]; times independent normal numbers it gives correlated ones.
        notes: declared correlations that no rows can have, in words.
        declared: pairs of which a correlation is declared.
    """

    laws: tuple[KnownLaw, ...]
    root: NDArray[np.float64] = field(repr=False)
    notes: tuple[str, ...] = ()
    declared: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, known: PublicKnowledge) -> Self:
        """Solve the correlations of the normal numbers behind the columns.

        Args:
            known: public.
        """
        coefficients = [
            hermite_coefficients(law.values) / spread(law.values) if spread(law.values) > 0 else None
            for law in known.laws
        ]
        places = {law.name: place for place, law in enumerate(known.laws)}
        normal = np.eye(len(known.laws))
        for (left, right), wanted in known.correlations.items():
            ours, theirs = coefficients[places[left]], coefficients[places[right]]
            if ours is not None and theirs is not None:
                solved = normal_correlation(ours, theirs, wanted)
                normal[places[left], places[right]] = normal[places[right], places[left]] = solved
        possible = nearest_correlations(normal)
        notes = []
        for (left, right), wanted in known.correlations.items():
            ours, theirs = coefficients[places[left]], coefficients[places[right]]
            if ours is None or theirs is None:
                notes.append(f"{left} and {right}: declared correlation {wanted:.3g}, but one of them is constant")
                continue
            reached = series(ours, theirs, float(possible[places[left], places[right]]))
            if abs(reached - wanted) > _WORTH_SAYING:
                alone = series(ours, theirs, float(normal[places[left], places[right]]))
                why = (
                    "out of reach for these shares"
                    if abs(alone - wanted) > _WORTH_SAYING
                    else "the declared correlations cannot all hold together; the nearest possible set is used"
                )
                notes.append(f"{left} and {right}: declared correlation {wanted:.3g}, used {reached:.3g} ({why})")
        return cls(known.laws, symmetric_root(possible), tuple(notes), tuple(known.correlations))

    def normal(self, left: str, right: str) -> float:
        """The correlation of the normal numbers behind two columns."""
        places = {law.name: place for place, law in enumerate(self.laws)}
        return float(self.root[places[left]] @ self.root[places[right]])

    def codes(self, rows: int, stream: Keystream) -> dict[str, NDArray[np.int32]]:
        """Rows of every column: int32[rows] by name; more rows from the same stream start with the same rows.

        Args:
            rows: how many.
            stream: a stream of a public fixed key.
        """
        normals = np.array([_normals(stream, 2 * place, rows) for place in range(len(self.laws))]).reshape(-1, rows)
        together = self.root @ normals  # float64[columns, rows]
        made = {}
        for place, law in enumerate(self.laws):
            values = np.searchsorted(quantiles(law.values), together[place], side="right").astype(np.int32)
            if law.missing > 0:
                values[_shares(stream, 2 * place + 1, rows) < law.missing] = law.column.size
            made[law.name] = values
        return made


def _shares(stream: Keystream, block: int, rows: int) -> NDArray[np.float64]:
    words = stream.words(block * _BLOCK_WORDS, rows)
    shares: NDArray[np.float64] = ((words >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    return shares


def _normals(stream: Keystream, block: int, rows: int) -> NDArray[np.float64]:
    # imported late: only forecasts need scipy
    from scipy.special import ndtri

    normals: NDArray[np.float64] = ndtri(_shares(stream, block, rows))
    return normals
