"""Losses expected at rungs that were not looked at, from public knowledge of a column's distribution.

What is known is either a prior (a public distribution, taken as it is) or the counts of a release of the same column
through a known channel: the level revealed before, or an earlier published version. At a rung the channel is known, so
the expected loss of any distribution is too; what remains is how far the known distribution is off and what the noise
at the rung does. Both are simulated from a public stream: the known channel is run from a distribution near the
estimated one and undone again, the rung's channel is run from it as well, and the prediction made from the first is
held against the loss of the second. For correlation losses the known distribution gives the attenuation at every rung;
what the other columns take is in the loss found at the level revealed, or else comes from what is known of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop.predictions import PredictedLoss
from trasgo_lib.mechanisms import Channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import KnownColumn, Neighbour, Resampling, predict_correlation_loss, predict_divergences


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is publicly known of a column's distribution.

    Args:
        counts: counts by code: of released codes where ``channel`` is given, else of a public prior.
        channel: the channel behind the counts, or None for a prior.
    """

    counts: NDArray[np.int64] = field(repr=False)
    channel: Channel | None = None


def predict_losses(
    knowledge: Knowledge,
    rungs: Mapping[Epsilon, Channel],
    bins: NDArray[np.int32],
    *,
    loss: str,
    rows: int,
    stream: Keystream,
    found: Estimate | None = None,
    neighbours: Sequence[Neighbour] = (),
    size: int | None = None,
) -> tuple[PredictedLoss, ...]:
    """The loss of one column at every rung, with a 95 % interval.

    Args:
        knowledge: what is known of the column; public.
        rungs: by level, the channel of the column.
        bins: int32[codes], the bin of each code.
        loss: ``tvd``, ``js``, ``kl`` or ``correlation_loss``.
        rows: number of rows of the release.
        stream: a stream of a public fixed key; the same stream gives the same predictions.
        found: the correlation loss estimated at the level known; correlation losses only.
        neighbours: the other columns and their channels, for a correlation loss where none was found yet.
        size: number of codes that are values, where one more code means missing; correlation losses only.

    Returns:
        One entry a rung, by rising level; without value, and with the reason, where nothing can be said.
    """
    levels: Sequence[Epsilon] = sorted(rungs)
    if loss == "correlation_loss":
        estimates = predict_correlation_loss(
            KnownColumn(knowledge.counts, knowledge.channel, len(knowledge.counts) if size is None else size),
            [rungs[level] for level in levels],
            rows,
            Resampling(stream, 0),
            found=found,
            neighbours=neighbours,
            neighbour_resampling=[Resampling(stream, 1 + at) for at in range(len(neighbours))],
        )
        return tuple(map(PredictedLoss, levels, estimates))
    predicted = []
    for place, level in enumerate(levels):
        three = predict_divergences(
            knowledge.counts, knowledge.channel, rungs[level], bins, rows, Resampling(stream, place)
        )
        predicted.append(PredictedLoss(level, {"tvd": three.tvd, "js": three.js, "kl": three.kl}[loss]))
    return tuple(predicted)
