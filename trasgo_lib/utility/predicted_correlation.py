"""Correlation losses expected at a channel that was not run yet.

Noise of one column takes the same share from each of its correlations: the correlation between the private value x and
the released one y, here called its attenuation, ``cov(x, m(x)) / sqrt(var x * var y)`` with ``m(x)`` what y is on
average. It follows from the column's own distribution and the channel. A pair keeps the product of two attenuations.
Exact where m is a straight line, as for randomised response; clamped noise bends it at the ends, alike at all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import Estimate, decode, expectation
from trasgo_lib.mechanisms import Channel
from trasgo_lib.utility.resampling import REPLICATES, Resampling, symmetric_root

HIDDEN = "the noise at the level known hides how far the values spread"

LEAST_SPREAD_SCORE = 4.0
"""A variance this many standard errors above 0 can stand in a denominator."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KnownColumn:
    """What is publicly known of a column's distribution.

    Args:
        counts: by code, of codes released through ``channel``, or of a public prior where that is None.
        channel: the channel behind the counts.
        size: number of codes that are values; a code ``size`` means missing and is left out.
    """

    counts: NDArray[np.int64] = field(repr=False)
    channel: Channel | None
    size: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another column of the table, as far as it matters for a prediction.

    Args:
        column: what is known of it.
        channel: the channel of its release.
        strength: absolute value of its raw correlation with the column predicted, from a prior or an earlier release.
    """

    column: KnownColumn
    channel: Channel
    strength: float


@dataclass(frozen=True, slots=True)
class Attenuations:
    """Correlations between private and released values, by channel.

    Args:
        draws: float64[REPLICATES, channels], for distributions that the counts leave possible; all rows alike for a
            prior.
        bends: float64[channels], the part of the deviation of m(x) that is not a straight line in x; it keeps
            something else of other columns than x does.
    """

    draws: Floats = field(repr=False)
    bends: Floats = field(repr=False)


def attenuations(known: KnownColumn, rungs: Sequence[Channel], resampling: Resampling) -> Attenuations | str:
    """Attenuations at some channels, for distributions of the column that its counts leave possible.

    Args:
        known: public.
        rungs: channels of the column's inputs.
        resampling: numbers for the simulation, one purpose for one column.

    Returns:
        One attenuation a rung, or the reason why there are none.
    """
    if known.counts.sum() == 0:
        return "no rows"
    functions = _functions(known.size, len(known.counts), rungs)
    if known.channel is None:
        shares = known.counts / known.counts.sum()
        means = np.repeat((shares @ functions)[None, :], REPLICATES, axis=0)
        return _attenuations(means, means[0]) if _spread(means).min() > 0 else "the prior is constant"
    found = decode(known.channel, functions)
    if found is None:
        return HIDDEN
    rows = float(known.counts.sum())
    shares = known.counts / rows
    centred = found.values - shares @ found.values
    root = symmetric_root((centred.T * shares) @ centred / rows)
    centre = shares @ found.values
    means = centre + resampling.normals(root.shape[1]) @ root.T
    spread = _spread(means)
    if spread.mean() < LEAST_SPREAD_SCORE * spread.std() or spread.min() <= 0:
        return HIDDEN
    return _attenuations(means, centre)


def predict_correlation_loss(
    known: KnownColumn,
    rungs: Sequence[Channel],
    rows: int,
    resampling: Resampling,
    *,
    found: Estimate | None = None,
    neighbours: Sequence[Neighbour] = (),
    neighbour_resampling: Sequence[Resampling] = (),
) -> tuple[Estimate, ...]:
    """The correlation loss of one column at channels that were not run, the other columns staying as they are.

    Args:
        known: what is known of the column; public.
        rungs: the channels.
        rows: rows of the release.
        resampling: numbers for the simulation.
        found: the loss estimated at the level known; what it says of the neighbours is used before ``neighbours``.
        neighbours: the other columns, where no loss was found yet.
        neighbour_resampling: numbers for each of them.

    Returns:
        One estimate a rung, in percent; without value and with a reason where nothing can be said.
    """
    if found is not None and found.value is not None and known.channel is not None:
        own = attenuations(known, [known.channel, *rungs], resampling)
        return _nothing(own, rungs) if isinstance(own, str) else _climbed(own.draws, found, resampling)
    if not neighbours:
        return _nothing("no estimate of the loss at the level known, and no prior of the other columns", rungs)
    own = attenuations(known, rungs, resampling)
    if isinstance(own, str):
        return _nothing(own, rungs)
    others, bends = [], []
    for neighbour, numbers in zip(neighbours, neighbour_resampling, strict=True):
        theirs = attenuations(neighbour.column, [neighbour.channel], numbers)
        if isinstance(theirs, str):
            return _nothing(theirs, rungs)
        others.append(theirs.draws[:, 0])
        bends.append(theirs.bends[0])
    strengths = np.array([abs(neighbour.strength) for neighbour in neighbours])
    if strengths.sum() <= 0:
        return _nothing("the prior's correlations are all zero", rungs)
    scatter = resampling.normals(4 * len(rungs) + 3 + 2 * len(others))[:, -2 * len(others) :]
    return tuple(
        _foretold(own.draws[:, at], np.array(others).T, strengths, np.hypot(own.bends[at], bends), rows, scatter)
        for at in range(len(rungs))
    )


def _nothing(reason: str, rungs: Sequence[Channel]) -> tuple[Estimate, ...]:
    return tuple(Estimate.none(reason) for _ in rungs)


def _climbed(own: Floats, found: Estimate, resampling: Resampling) -> tuple[Estimate, ...]:
    """What is kept grows as the attenuation does; the first column is that of the level known.

    The noise in the released and in the decoded correlations at the level known is the same, so it cancels in what is
    kept on average. That of the level to come scatters it by no more, in terms of it, than the estimate found.
    """
    value, error = found.value or 0.0, found.standard_error or 0.0
    scatter = resampling.normals(4 + 4 * own.shape[1])[:, -1]  # attenuations took one number less
    kept = 100.0 - value + error * scatter
    return tuple(_estimate(100.0 - kept * own[:, at] / own[:, 0]) for at in range(1, own.shape[1]))


def _foretold(
    own: Floats, others: Floats, strengths: Floats, bends: NDArray[np.float64], rows: int, numbers: Floats
) -> Estimate:
    """Pairs keep both attenuations; what bends add and what noise scatters is drawn.

    The part that is bent is taken to be correlated with the other column about as much as the closest column here is.
    """
    kept = own[:, None] * others
    noise = np.sqrt(np.maximum(0.0, 1.0 - kept**2) / max(1, rows)) * numbers[:, : len(strengths)]
    bent = kept * bends * strengths.max() * numbers[:, len(strengths) :]
    released = kept * strengths + noise + bent
    return _estimate(100.0 * np.abs(strengths - released).sum(axis=1) / strengths.sum())


def _estimate(draws: Floats) -> Estimate:
    low, high = (max(0.0, float(end)) for end in np.quantile(draws, [0.025, 0.975]))
    return Estimate(max(0.0, float(np.median(draws))), low, high, float(draws.std()))


def _functions(size: int, inputs: int, rungs: Sequence[Channel]) -> Floats:
    """By input code: present, x, x squared, then by rung present * m, x * m, the mean of y squared, m squared."""
    here = np.arange(inputs) < size
    middle, scale = (size - 1) / 2, max(1.0, (size - 1) / 2)
    place = np.where(here, (np.arange(inputs) - middle) / scale, 0.0)
    columns = [here.astype(np.float64), place, place**2]
    for rung in rungs:
        present, mean, square = expectation(rung, np.stack([here, place, place**2], axis=1).astype(np.float64)).T
        # of rows whose value is present and released as a value
        share = np.where(here, np.maximum(present, 1e-300), 1.0)
        columns += [here * mean / share, place * mean / share, here * square / share, here * (mean / share) ** 2]
    return np.stack(columns, axis=1)


def _spread(means: Floats) -> Floats:
    present = np.maximum(means[:, 0], 1e-12)
    spread: Floats = means[:, 2] / present - (means[:, 1] / present) ** 2
    return spread


def _attenuations(means: Floats, centre: Floats) -> Attenuations:
    def parts(of: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        present = np.maximum(of[:, :1], 1e-12)
        mean, product, square, bent = (of[:, 3 + place :: 4] / present for place in range(4))
        together = product - mean * of[:, 1:2] / present
        return _spread(of)[:, None], together, square - mean**2, bent - mean**2

    spread, together, released, _ = parts(means)
    kept: Floats = together / np.sqrt(np.maximum(spread * released, 1e-300))
    spread, together, _, straight_or_bent = parts(centre[None, :])
    straight = together**2 / np.maximum(spread * straight_or_bent, 1e-300)
    return Attenuations(kept, np.sqrt(np.clip(1.0 / np.clip(straight, 1e-3, 1.0) - 1.0, 0.0, 1.0))[0])
