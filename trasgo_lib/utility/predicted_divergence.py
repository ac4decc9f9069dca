"""Divergences expected at a channel that was not run yet, from what is publicly known of a column's distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import expectation, project_simplex
from trasgo_lib.estimation.decoding import MOST_CODES
from trasgo_lib.mechanisms import Channel
from trasgo_lib.utility.released_divergence import (
    MOST_BIAS,
    MOST_NOISE,
    SPREAD_EVENLY,
    DivergenceEstimates,
    binned_release,
    interval_of,
    near_original,
    roots_of,
    run_again,
)
from trasgo_lib.utility.resampling import Resampling, symmetric_root


def predict_divergences(
    counts: NDArray[np.int64],
    known: Channel | None,
    rung: Channel,
    bins: NDArray[np.int32],
    rows: int,
    resampling: Resampling,
) -> DivergenceEstimates:
    """Divergences that a release of ``rows`` rows through ``rung`` will have.

    Args:
        counts: counts by code, of codes released through ``known`` or of a public prior; public.
        known: the channel behind the counts, or None for a prior, which is taken as the law that the rows are drawn
            from; the intervals count that draw.
        rung: the channel that was not run yet.
        bins: int32[codes], the bin of each code.
        rows: rows of the release.
        resampling: numbers for the bootstrap; both channels draw theirs from it.
    """
    if counts.sum() == 0:
        return DivergenceEstimates.none("no rows")
    if rung.outputs > MOST_CODES:
        return DivergenceEstimates.none(f"more than {MOST_CODES} codes")
    groups = (np.arange(int(bins.max()) + 1)[:, None] == bins[None, :]).astype(np.float64)
    if known is None:
        shares = counts / counts.sum()
        drawn = groups @ shares
        guesses = drawn[None, :]
        centre, near = shares, shares
    else:
        found = binned_release(known, counts, bins)
        if found.bias(known, bins) > MOST_BIAS:
            return DivergenceEstimates.none(SPREAD_EVENLY)
        noise = found.covariance[len(groups) :, len(groups) :]
        if math.sqrt(max(0.0, float(np.trace(noise)))) > MOST_NOISE:
            return DivergenceEstimates.none("the noise at the level known hides the distribution")
        near = near_original(found)
        guesses = project_simplex(run_again(known, found, near, resampling)[:, len(groups) :])
        centre = project_simplex(found.inverted)
    through = _through(rung, groups, centre)
    if known is None:
        original, released = _drawn_and_run(rung, groups, near, rows, resampling)
    else:
        original, released = groups @ near, _run(rung, groups, near, rows, resampling)
    truth = roots_of(original, released)
    shift = truth - roots_of(guesses, guesses @ through)
    start = groups @ centre
    return interval_of(roots_of(start, start @ through), shift, rows)


def _through(rung: Channel, groups: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rung's channel between bins, codes within a bin weighted by their shares: float64[bins, bins]."""
    size = len(shares)
    weights = groups * np.maximum(shares, 1e-12 / size)
    weights /= weights.sum(axis=1, keepdims=True)
    between: NDArray[np.float64] = weights @ expectation(rung, groups.T)
    return between


def _drawn_and_run(
    rung: Channel, groups: NDArray[np.float64], law: NDArray[np.float64], rows: int, resampling: Resampling
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Original and released bins of rows drawn from a law: float64[REPLICATES, bins] each."""
    outputs = expectation(rung, groups.T)
    size = len(groups)
    both = np.hstack([groups.T, outputs])  # float64[codes, 2 * bins]
    mean = law @ both
    covariance = ((both - mean).T * law) @ (both - mean)
    released = mean[size:]
    covariance[size:, size:] += np.diag(released) - (outputs.T * law) @ outputs
    root = symmetric_root(covariance / rows)
    drawn = np.maximum(mean + resampling.normals(4 * size)[:, 2 * size :] @ root.T, 0.0)
    parts = drawn[:, :size], drawn[:, size:]
    original, run = (part / part.sum(axis=1, keepdims=True) for part in parts)
    return original, run


def _run(
    rung: Channel, groups: NDArray[np.float64], near: NDArray[np.float64], rows: int, resampling: Resampling
) -> NDArray[np.float64]:
    """Released bins: float64[REPLICATES, bins]; the second half of the normal numbers of this purpose."""
    outputs = expectation(rung, groups.T)
    mean = near @ outputs
    root = symmetric_root((np.diag(mean) - (outputs.T * near) @ outputs) / rows)
    size = len(groups)
    drawn = np.maximum(mean + resampling.normals(4 * size)[:, 3 * size :] @ root.T, 0.0)
    released: NDArray[np.float64] = drawn / drawn.sum(axis=1, keepdims=True)
    return released
