"""Losses expected at rungs that were not looked at, from public knowledge of a column's distribution.

What is known is either a prior (a public distribution, taken as it is) or the counts of a release of the same column
through a known channel: the level revealed before, or an earlier published version. At a rung the channel is known, so
the expected loss of any distribution is too; what remains is how far the known distribution is off and what the noise
at the rung does. Both are simulated from a public stream: the known channel is run from a distribution near the
estimated one and undone again, the rung's channel is run from it as well, and the prediction made from the first is
held against the loss of the second.
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
from trasgo_lib.utility import Resampling, predict_divergences


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
) -> tuple[PredictedLoss, ...]:
    """The loss of one column at every rung, with a 95 % interval.

    Args:
        knowledge: what is known of the column; public.
        rungs: by level, the channel of the column.
        bins: int32[codes], the bin of each code.
        loss: ``tvd``, ``js`` or ``kl``; a correlation loss is a matter of several columns, so it stays unknown here.
        rows: number of rows of the release.
        stream: a stream of a public fixed key; the same stream gives the same predictions.

    Returns:
        One entry a rung, by rising level; without value, and with the reason, where nothing can be said.
    """
    levels: Sequence[Epsilon] = sorted(rungs)
    if loss == "correlation_loss":
        unknown = Estimate.none("correlation losses are not predicted")
        return tuple(PredictedLoss(level, unknown) for level in levels)
    found = []
    for place, level in enumerate(levels):
        three = predict_divergences(
            knowledge.counts, knowledge.channel, rungs[level], bins, rows, Resampling(stream, place)
        )
        found.append(PredictedLoss(level, {"tvd": three.tvd, "js": three.js, "kl": three.kl}[loss]))
    return tuple(found)
