"""Correlation losses between a raw table and its release, estimated from released codes and channels.

Released correlations r' are known. Raw ones, r, come from decoded moments or joint shares, with the joint noise of
covariances and variances; pairs that share a column share its noise. The loss is a ratio of sums of absolute values, so
its bias and scatter are found by a bootstrap of r, in which r' moves along as far as the released codes follow their
decoders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import NORMAL_95, Estimate, Powers, powers
from trasgo_lib.mechanisms import Channel
from trasgo_lib.utility.coefficients import CorrelationMethod
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.loss_rule import RELIABLE_SCORE
from trasgo_lib.utility.released_groups import correlated_groups
from trasgo_lib.utility.released_moments import Codes, MomentSums, SecondMoments
from trasgo_lib.utility.released_ranks import rank_moments
from trasgo_lib.utility.resampling import Resampling, symmetric_root

MOST_ERROR = 0.03
"""Largest mean standard error of the raw correlations of a loss: beyond it, the error of the decoded variances is no
longer small and intervals were too narrow (measured on two files). It depends on the level far more than on chance,
so withholding estimates by it does not favour lucky ones."""

STRENGTH_SCORE = 4.5
"""The mean size of the raw correlations must exceed this many times their mean standard error; else the ratio's
denominator is mostly noise."""

LEAST_SPREAD = 0.1
"""Where a variance in terms of the decoded one is cut off; only replicates far out in the tail get there."""


@dataclass(frozen=True, slots=True)
class CorrelationLossEstimates:
    """Estimated correlation losses in percent: over all pairs, and by column over the pairs that contain it.

    Args:
        overall: over all pairs.
        columns: by column.
        basis: what they come from, where a table has groups; None without a group, or without estimates.
    """

    overall: Estimate
    columns: Mapping[str, Estimate]
    basis: CorrelationBasis | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CorrelationBasis:
    """What correlation losses are estimated from; as public as the release.

    Args:
        names: of the correlated columns.
        moments: correlations of every pair.
        noise: float64[REPLICATES, pairs + columns + 1], the last for what is not known of sizes near 0.
        bar: the mean size below which correlations are no stronger than those of unrelated columns.
    """

    names: tuple[str, ...]
    moments: SecondMoments = field(repr=False)
    noise: NDArray[np.float64] = field(repr=False)
    bar: float

    def losses(self) -> CorrelationLossEstimates:
        """The losses, of every column and overall."""
        pairs = self.moments.pairs
        everything = np.ones(len(pairs), dtype=np.bool_)
        return CorrelationLossEstimates(
            _loss(self.moments, everything, self.noise, self.bar),
            {
                name: _loss(self.moments, np.array([at in pair for pair in pairs]), self.noise, self.bar)
                for at, name in enumerate(self.names)
            },
            self if self.moments.outlooks else None,
        )

    def at(self, unit: str, kept: float) -> CorrelationLossEstimates:
        """The losses expected at another rung of a group, the other units staying as they are.

        Args:
            unit: name of the group.
            kept: share of the rows whose combination the group's channel keeps there.
        """
        moments = self.moments.at(unit, kept)
        if moments is None:
            return _nothing(self.names, "released correlations at other rungs are not known")
        return replace(self, moments=moments).losses()


def code_powers(column: LossColumn, channel: Channel) -> Powers | str:
    """Decoders of a column's codes as numbers, the missing code left out; labels count by declared order.

    Args:
        column: a unit of its own, or of a group, whose combinations then count as the column's own code.
        channel: of its unit.
    """
    codes = column.own_codes(np.arange(channel.inputs, dtype=np.int32))
    return powers(channel, np.where(codes < column.size, codes, np.nan).astype(np.float64))


def estimate_correlation_losses(
    batches: Iterable[Codes],
    columns: Sequence[LossColumn],
    channels: Mapping[str, Channel],
    method: CorrelationMethod,
    resampling: Resampling,
    rows: int,
) -> CorrelationLossEstimates:
    """Correlation losses of every column and overall.

    Args:
        batches: released codes by unit, batch by batch; read once.
        columns: correlated columns, at least two for any estimate.
        channels: by noise unit.
        method: fixes the standard error of the reliability rule; Pearson's is decoded from moments, the others
            from joint shares.
        resampling: numbers for the bootstrap.
        rows: number of rows of all batches.
    """
    names = [column.name for column in columns]
    if rows == 0:
        return _nothing(names, "no rows")
    if len(columns) < 2:
        return _nothing(names, "no pair of columns that vary together")
    if method.name == "pearson":
        moments = _second_moments(batches, columns, channels, rows)
    else:
        moments = rank_moments(batches, columns, channels, method.name, rows)
    if isinstance(moments, str):
        return _nothing(names, moments)
    root = symmetric_root(moments.covariance)
    numbers = resampling.normals(root.shape[1] + 1)
    noise = np.hstack([numbers[:, :-1] @ root.T, numbers[:, -1:]])
    bar = min(1.0, RELIABLE_SCORE * method.standard_error(max(4, rows)))
    return CorrelationBasis(tuple(names), moments, noise, bar).losses()


def _second_moments(
    batches: Iterable[Codes], columns: Sequence[LossColumn], channels: Mapping[str, Channel], rows: int
) -> SecondMoments | str:
    decoders: list[Powers] = []
    for column in columns:
        found = code_powers(column, channels[column.unit])
        if isinstance(found, str):
            return f"{column.name}: {found}"
        decoders.append(found)
    sums = MomentSums(columns, decoders, rows, correlated_groups(columns, channels))
    sums.take(batches)
    return sums.second_moments()


def _nothing(names: Sequence[str], reason: str) -> CorrelationLossEstimates:
    return CorrelationLossEstimates(Estimate.none(reason), {name: Estimate.none(reason) for name in names})


def _loss(moments: SecondMoments, chosen: NDArray[np.bool_], noise: NDArray[np.float64], bar: float) -> Estimate:
    """The loss over some pairs.

    Given the variances, the bias and the scatter of the absolute values are those of the plug-in for correlations near
    the decoded ones. The variances themselves stand in denominators, where their error is no longer small against
    them: they are moved to where they may be in truth, and the loss found there.
    """
    count = len(moments.pairs)
    decoded, released, follows = moments.decoded[chosen], moments.released[chosen], moments.follows[chosen]
    offsets = np.broadcast_to(moments.offsets, chosen.shape)[chosen]
    left, right = np.array(moments.pairs)[chosen].T
    errors = np.sqrt(np.diag(moments.covariance)[:count][chosen])
    near = _near(decoded, errors)
    strength = float(np.abs(near).mean())
    # of the correlations themselves, the variances' share included
    error = float(np.sqrt((noise[:, :-1] @ _to_correlations(moments, chosen).T).var(axis=0)).mean())
    if error > MOST_ERROR or strength < STRENGTH_SCORE * error:
        return Estimate.none("the noise at this level hides the correlations")
    if strength < bar + STRENGTH_SCORE * error / math.sqrt(len(errors)):
        return Estimate.none("unreliable: the correlations may be no stronger than those of unrelated columns")
    spreads = np.maximum(1.0 - noise[:, count:-1], LEAST_SPREAD)  # true variances in terms of the decoded ones
    wider = 1.0 / np.sqrt(spreads[:, left] * spreads[:, right])
    moved = near + noise[:, :count][:, chosen]
    after = follows * moved + offsets
    size = _sizes(decoded * wider, errors) + np.abs(near * wider).sum(axis=1) - _sizes(moved * wider, errors)
    less = (1.0 - follows) * errors
    lost = _sizes(decoded * wider - released, less) - _sizes(moved * wider - after, less)
    lost += np.abs(near * wider - after).sum(axis=1)
    unknown = noise[:, -1] * math.sqrt(float(((_added(near, errors) * errors / 2) ** 2).sum()))
    size, lost = size + unknown, lost + unknown
    found = 100 * lost / np.maximum(size, LEAST_SPREAD * np.abs(near).sum())  # float64[REPLICATES]
    value, error = float(np.median(found)), float(found.std())
    low, high = (max(0.0, float(end)) for end in np.quantile(found, [0.025, 0.975]))
    # where sizes near 0 carry the loss its scatter is skewed one way or the other: the wider end counts on either side
    low, high = max(0.0, min(low, value - NORMAL_95 * error)), max(high, value + NORMAL_95 * error)
    return Estimate(max(0.0, value), low, high, error)


def _to_correlations(moments: SecondMoments, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """First-order change of chosen correlations with covariances and variances: float64[chosen, pairs + columns]."""
    count = len(moments.pairs)
    along = np.zeros((count, moments.covariance.shape[0]))
    along[np.arange(count), np.arange(count)] = 1.0
    for at, (left, right) in enumerate(moments.pairs):
        along[at, [count + left, count + right]] = -moments.decoded[at] / 2
    return along[chosen]


def _near(correlations: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations without what noise adds to their squares."""
    near: NDArray[np.float64] = np.sign(correlations) * np.sqrt(np.maximum(0.0, correlations**2 - errors**2))
    return near


def _sizes(correlations: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over the last axis of absolute values, each less what normal noise adds to one of this size."""
    added = _added(_near(correlations, errors), errors)
    found: NDArray[np.float64] = (np.abs(correlations) - errors * added).sum(axis=-1)
    return found


def _added(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """What normal noise adds to an absolute value on average, in terms of its standard error."""
    # imported late: only estimates need scipy
    from scipy.special import ndtr

    scores = np.abs(sizes) / np.maximum(errors, 1e-12)
    added: NDArray[np.float64] = math.sqrt(2 / math.pi) * np.exp(-(scores**2) / 2) - 2 * scores * ndtr(-scores)
    return added
