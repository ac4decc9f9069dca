"""Which private distributions go with the released one, and how likely each is: what intervals of divergences rest on.

Inverted shares are normal around the private ones, with the covariance of the noise. So, before anything is known of
the private shares, these are normal around the inverted ones, cut at 0. Two things are known before. A share that the
noise can hardly tell from none is not as likely to be large as small: for those the prior is that of Jeffreys, the
inverse of the root, so that a category with a handful of rows is not taken for one with as many as noise could hide.
And there are ever more distributions the further one goes from those that the channel leaves as they are, so that all
would seem to be moved by the noise: the prior is flat in how far the channel moves a distribution, not in the space of
distributions. Divergences of these distributions from the released one are what that of the private one may be.

A bootstrap of the plug-in around one distribution near the inverted one was used before: its intervals held 90 % where
all that the channel moves is within the noise, 84 % at the edge of a rule that withheld JS and KL for rare categories
(the lucky keys were given), and 99 % near no divergence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import project_simplex
from trasgo_lib.estimation.decoding import transition
from trasgo_lib.mechanisms import Channel
from trasgo_lib.utility.resampling import Resampling, symmetric_root

_RARE_SCORE = 3.0
"""A share fewer standard errors above 0 than this may as well be none."""

_LEAST_SCORE = 0.05
"""Where the prior of rare shares stops to grow; below, shares differ by less than any loss can show."""

_TINY = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LikelyOriginals:
    """Private distributions that may be behind a release.

    Args:
        shares: float64[replicates, bins], each row sums to 1.
        weights: float64[replicates], how likely each is, in terms of the others.
    """

    shares: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    def quantiles(self, values: Floats, at: tuple[float, ...]) -> Floats:
        """Weighted quantiles of something that was computed for every distribution."""
        order = np.argsort(values)
        weights = self.weights[order]
        places = (np.cumsum(weights) - weights / 2) / weights.sum()
        found: Floats = np.interp(at, places, values[order])
        return found

    def deviation(self, values: Floats) -> float:
        """Weighted standard deviation."""
        mean = np.average(values, weights=self.weights)
        return float(np.sqrt(np.average((values - mean) ** 2, weights=self.weights)))


def likely_originals(
    channel: Channel, inverted: Floats, original: Floats, maps: Floats, rows: int, resampling: Resampling
) -> LikelyOriginals:
    """Private shares of bins that may be behind released counts.

    Args:
        channel: the channel of the released codes.
        inverted: float64[inputs], unbiased private shares of codes.
        original: float64[bins], unbiased private shares of bins.
        maps: float64[2 * bins, outputs], from released shares of codes to released and to original ones of bins.
        rows: rows of the release.
        resampling: numbers for the draw.
    """
    # imported late: only estimates need scipy
    from scipy.special import ndtr, ndtri

    near, (groups, to_original) = project_simplex(inverted), np.split(maps, 2)
    outputs = transition(channel)
    noise = _noise(outputs, near, to_original) / rows
    errors = np.sqrt(np.maximum(np.diag(noise), _TINY**2))
    scores = resampling.normals(len(noise)) @ symmetric_root(noise).T / errors
    below = ndtr(-original / errors)
    chance = np.clip(below + ndtr(scores) * (1.0 - below), _TINY, 1.0 - _TINY)
    shares = np.maximum(original + errors * ndtri(chance), _TINY)
    rare = original < _RARE_SCORE * errors
    weights = np.prod(np.where(rare, np.maximum(shares / errors, _LEAST_SCORE) ** -0.5, 1.0), axis=1)
    # what the cut added is taken from the shares that are told from none, the more the less they are known
    givers = np.where(rare, 0.0, np.diag(noise))
    if givers.sum() <= 0.0:
        givers = np.ones(len(noise))
    shares = np.maximum(shares - (shares.sum(axis=1, keepdims=True) - 1.0) * givers / givers.sum(), _TINY)
    shares /= shares.sum(axis=1, keepdims=True)
    moved = shares - shares @ _between(outputs, near, groups)
    freedom = max(1, len(noise) - 1)
    distance = (moved**2).sum(axis=1) / (np.diag(noise).sum() / freedom + _TINY**2)
    weights *= np.maximum(distance, 1.0) ** (-(freedom - 1) / 2)
    return LikelyOriginals(shares, weights)


def _noise(outputs: Floats, near: Floats, to_original: Floats) -> Floats:
    """Covariance of one row's part of the unbiased shares of bins, over the noise alone: float64[bins, bins]."""
    seen = outputs @ to_original.T  # float64[inputs, bins]
    noise: Floats = to_original * (near @ outputs) @ to_original.T - (seen.T * near) @ seen
    return noise


def _between(outputs: Floats, near: Floats, groups: Floats) -> Floats:
    """The channel between bins, codes within a bin weighted as they seem to be: float64[bins, bins]."""
    weights = groups * np.maximum(near, _TINY)
    between: Floats = weights / weights.sum(axis=1, keepdims=True) @ outputs @ groups.T
    return between
