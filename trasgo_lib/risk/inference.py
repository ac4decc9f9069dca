"""Attribute inference: how often a sensitive value is guessed from its released one, the row being known.

The guesser knows how common every value is and the channel, and guesses the likeliest value: right with probability
sum over released y of max over x of pi(x) P(y | x). Without the release the most common value is the best guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms import Channel

MOST_CODES = 4096
"""Values up to which the whole channel is looked at: 16.8 million weights."""


@dataclass(frozen=True, slots=True)
class Inference:
    """What a release tells of one sensitive column whose row is known; private.

    Args:
        name: the column.
        prior_share: share of the most common value: what is guessed without the release.
        released_share: expected share that is guessed from the released value; None beyond ``MOST_CODES`` values.
        bound: most that the column's epsilon allows; None where none bounds it.
    """

    name: str
    prior_share: float
    released_share: float | None
    bound: float | None


def infer(name: str, channel: Channel, counts: NDArray[np.int64], epsilon: float | None) -> Inference:
    """What a channel lets guess.

    Args:
        name: the column.
        channel: from its own codes to its own released ones.
        counts: int64[inputs], rows of each true code; private.
        epsilon: of the column; None where none bounds the guess.
    """
    prior = counts / counts.sum()
    most = float(prior.max())
    bound = None if epsilon is None else min(1.0, exp(min(epsilon, 700.0)) * most)
    if channel.inputs > MOST_CODES:
        return Inference(name, most, None, bound)
    best = np.zeros(channel.outputs)
    for code in np.flatnonzero(counts):
        weights = np.array(channel.weights(int(code)), dtype=np.float64) / float(channel.total)
        np.maximum(best, prior[code] * weights, out=best)
    return Inference(name, most, min(1.0, float(best.sum())), bound)
