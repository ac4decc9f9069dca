"""Covariances and correlations of two columns' private values, from joint released counts.

Where the noise of two columns is independent, products of decoders decode products; two columns of one group are
decoded together. Moments are taken over the rows in which both values are present. See ``moments`` for how standard
errors come about.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.estimate import CONFIDENCE, Estimate, TargetKind, normal_point
from trasgo_lib.estimation.fieller import fieller
from trasgo_lib.estimation.moments import CONSTANT, Powers, powers
from trasgo_lib.estimation.shares import checked_counts
from trasgo_lib.estimation.together import PairDecoder, SharedNoise
from trasgo_lib.mechanisms import Channel

PairWeights = NDArray[np.float64]
"""float64[3, 3]: entry (k, l) is the weight of the product of the left power k and the right power l."""


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Decoded moments of two standardised columns over the rows in which both are present.

    Args:
        present: share of such rows.
        means: mean of the left and of the right.
        squares: variance of the left and of the right.
        product: covariance.
    """

    present: float
    means: tuple[float, float]
    squares: tuple[float, float]
    product: float

    @classmethod
    def of(cls, moments: NDArray[np.float64]) -> PairMoments | None:
        """From float64[3, 3], decoded means of the products of powers; None where no row seems present."""
        present = float(moments[0, 0])
        if present <= 0:
            return None
        left, right = float(moments[1, 0]) / present, float(moments[0, 1]) / present
        squares = float(moments[2, 0]) / present - left**2, float(moments[0, 2]) / present - right**2
        return cls(present, (left, right), squares, float(moments[1, 1]) / present - left * right)

    @property
    def covariance_weights(self) -> PairWeights:
        """The influence of a row on the covariance."""
        left, right = self.means
        weights = np.zeros((3, 3))
        weights[1, 1], weights[1, 0], weights[0, 1] = 1.0, -right, -left
        weights[0, 0] = left * right - self.product
        return weights / self.present

    def spread_weights(self, side: int) -> PairWeights:
        """The influence of a row on the variance of the left column (0) or the right one (1)."""
        place, spread = self.means[side], self.squares[side]
        weights = np.zeros((3, 3))
        along = np.array([place**2 - spread, -2 * place, 1.0]) / self.present
        weights[(slice(None), 0) if side == 0 else (0, slice(None))] = along
        return weights

    @property
    def correlation(self) -> float | None:
        """The correlation, or None where a decoded variance is not above 0."""
        if min(self.squares) <= 0:
            return None
        return float(self.product / np.sqrt(self.squares[0] * self.squares[1]))

    @property
    def correlation_weights(self) -> PairWeights:
        """The influence of a row on the correlation; both decoded variances are above 0."""
        (left, right), (ours, theirs) = self.means, self.squares
        scale = float(np.sqrt(ours * theirs))
        half = self.product / scale / 2
        weights = self.covariance_weights * self.present / scale
        weights[0, 0] += self.product / scale
        # minus half the correlation times the standardised square of either side, over common rows
        for power, weight in enumerate((left**2, -2 * left, 1.0)):
            weights[power, 0] -= half * weight / ours
        for power, weight in enumerate((right**2, -2 * right, 1.0)):
            weights[0, power] -= half * weight / theirs
        return weights / self.present


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of a joint table that occur.

    Args:
        shares: float64[cells].
        rows: number of rows.
        pair: of the powers 0 to 4 of both columns, looked up in every cell: float64[cells, 5] on either side.
    """

    shares: NDArray[np.float64] = field(repr=False)
    rows: float
    pair: PairDecoder = field(repr=False)

    def moments(self) -> NDArray[np.float64]:
        """Decoded means of products of powers up to 2: float64[3, 3]."""
        pair = self.pair
        seen = (pair.left[:, :3] * self.shares[:, None]).T @ pair.right[:, :3]
        return pair.decoded(seen, np.outer(pair.left_means[:3], pair.right_means[:3]))

    def influence(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """A polynomial in both columns, decoded: float64[cells].

        Args:
            weights: ``PairWeights``, or float64[5, 5] for powers up to 4.
        """
        size, pair = len(weights), self.pair
        seen = np.einsum("ck,kl,cl->c", pair.left[:, :size], weights, pair.right[:, :size])
        return pair.decoded(seen, float(pair.left_means[:size] @ weights @ pair.right_means[:size]))

    def standard_error(self, weights: PairWeights, target: TargetKind) -> float:
        """Of a mean of influences."""
        influence = self.influence(weights)
        spread = self.shares @ influence**2
        if target == "population":
            spread -= (self.shares @ influence) ** 2
        else:
            spread -= self.shares @ self.influence(square_weights(weights))
        return float(np.sqrt(max(0.0, float(spread)) / max(1.0, self.rows - 1)))

    def covariance(self, one: PairWeights, other: PairWeights, target: TargetKind) -> NDArray[np.float64]:
        """Of two means of influences: float64[2, 2]."""
        apart = [self.standard_error(one + sign * other, target) ** 2 for sign in (1, -1)]
        both, mine, its = (
            (apart[0] - apart[1]) / 4,
            self.standard_error(one, target),
            self.standard_error(other, target),
        )
        return np.array([[mine**2, both], [both, its**2]])


def square_weights(weights: PairWeights) -> NDArray[np.float64]:
    """The weights of the square of a polynomial in two variables: float64[3, 3] -> float64[5, 5]."""
    squared = np.zeros((5, 5))
    for left in range(3):
        for right in range(3):
            squared[left : left + 3, right : right + 3] += weights[left, right] * weights
    return squared


def covariance(
    left: Channel,
    right: Channel,
    table: NDArray[np.integer],
    *,
    left_values: NDArray[np.float64] | None = None,
    right_values: NDArray[np.float64] | None = None,
    target: TargetKind = "population",
    together: SharedNoise | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Covariance over the rows in which both values are present, divided by their number.

    Args:
        left: channel of the left column.
        right: channel of the right column.
        table: counts by output codes, int[left outputs, right outputs]; public.
        left_values: float64[inputs], what each left code counts as, NaN for missing; None: code steps.
        right_values: likewise of the right.
        target: whether the rows themselves count as drawn at random.
        together: for two columns of one group; None where the noise of the two is independent.
        confidence: of the interval.

    Raises:
        InputContractError: no rows, or a table of another shape.
    """
    ready = _prepared(left, right, table, left_values, right_values, together)
    if isinstance(ready, str):
        return Estimate.none(ready)
    ours, theirs, cells = ready
    found = PairMoments.of(cells.moments())
    if found is None:
        return Estimate.none("the noise hides whether both values are present in any row")
    scale, weights = ours.scale * theirs.scale, found.covariance_weights
    bias = scale * _bias(weights, ours, theirs)
    error = scale * cells.standard_error(weights, target)
    return Estimate.of(scale * found.product, error, bias=bias, confidence=confidence)


def correlation(
    left: Channel,
    right: Channel,
    table: NDArray[np.integer],
    *,
    left_values: NDArray[np.float64] | None = None,
    right_values: NDArray[np.float64] | None = None,
    target: TargetKind = "population",
    together: SharedNoise | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Pearson's correlation over the rows in which both values are present.

    Args:
        left: channel of the left column.
        right: channel of the right column.
        table: counts by output codes, int[left outputs, right outputs]; public.
        left_values: float64[inputs], what each left code counts as, NaN for missing; None: code steps.
        right_values: likewise of the right.
        target: whether the rows themselves count as drawn at random.
        together: for two columns of one group; None where the noise of the two is independent.
        confidence: of the interval.

    Raises:
        InputContractError: no rows, or a table of another shape.
    """
    ready = _prepared(left, right, table, left_values, right_values, together)
    if isinstance(ready, str):
        return Estimate.none(ready)
    ours, theirs, cells = ready
    found = PairMoments.of(cells.moments())
    value = None if found is None else found.correlation
    if found is None or value is None or not _spreads_are_known(found, cells):
        return Estimate.none(CONSTANT)
    below = float(np.sqrt(found.squares[0] * found.squares[1]))
    score = below * found.correlation_weights
    ours_alone, theirs_alone = (found.spread_weights(side) / found.squares[side] for side in (0, 1))
    slope = below / 2 * (ours_alone + theirs_alone)
    estimate = fieller(
        value,
        below,
        cells.covariance(score, slope, target),
        point=normal_point(confidence),
        hidden=CONSTANT,
        biases=(_bias(score, ours, theirs), 0.0),  # to first order; that of the slope moves the ends, not the score
    )
    return estimate.within(-1.0, 1.0)


LEAST_SPREAD_SCORE = 4.0
"""A decoded variance this many standard errors above 0 can stand in a denominator: the ratio is then near normal."""


def _spreads_are_known(found: PairMoments, cells: Cells) -> bool:
    for side, spread in enumerate(found.squares):
        if spread < LEAST_SPREAD_SCORE * cells.standard_error(found.spread_weights(side), "population"):
            return False
    return True


def _prepared(
    left: Channel,
    right: Channel,
    table: NDArray[np.integer],
    left_values: NDArray[np.float64] | None,
    right_values: NDArray[np.float64] | None,
    together: SharedNoise | None,
) -> tuple[Powers, Powers, Cells] | str:
    counts = checked_counts(table, (left.outputs, right.outputs))
    ours, theirs = powers(left, left_values), powers(right, right_values)
    if isinstance(ours, str):
        return ours
    if isinstance(theirs, str):
        return theirs
    places = np.nonzero(counts)
    rows = float(counts.sum())
    pair = PairDecoder.of(ours.decoded, theirs.decoded, together)
    looked_up = replace(pair, left=pair.left[places[0]], right=pair.right[places[1]])
    cells = Cells(counts[places] / rows, rows, looked_up)
    return ours, theirs, cells


def _bias(weights: PairWeights, left: Powers, right: Powers) -> float:
    """What biased decoders can add: standardised powers lie within 1, so each factor's bias counts once."""
    ours, theirs = left.bias[:3], right.bias[:3]
    return float(np.sum(np.abs(weights) * (ours[:, None] + theirs[None, :] + np.outer(ours, theirs))))
