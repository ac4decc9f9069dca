"""Losses of a group expected at rungs that were not looked at: of the worst of its columns, as its target is judged.

Divergences of a column follow from its margin at every rung. Correlation losses follow from the pairs as they were
found at the level known: means of a group's released rows at one rung give those at any other, within the group and
with other columns. What the noise at the level known leaves open of the private correlations stands in the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop.predict import Knowledge, predict_losses
from trasgo_lib.loop.predictions import PredictedLoss
from trasgo_lib.mechanisms import Channel, kept_share
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import CorrelationBasis, LossColumn, on_its_own, worst

_UNKNOWN = "no estimate of the loss at the level known"


def predict_group_losses(
    knowledge: Knowledge,
    rungs: Mapping[Epsilon, Channel],
    columns: Sequence[LossColumn],
    *,
    loss: str,
    rows: int,
    streams: Sequence[Keystream],
    basis: CorrelationBasis | None = None,
) -> tuple[PredictedLoss, ...]:
    """The loss of the worst column of a group at every rung, with a 95 % interval.

    Args:
        knowledge: counts of the group's released codes, and the channel behind them; public.
        rungs: by level, the channel of the group.
        columns: its columns.
        loss: ``tvd``, ``js``, ``kl`` or ``correlation_loss``.
        rows: number of rows of the release.
        streams: of a public fixed key, one a column; the same streams give the same predictions.
        basis: what the correlation losses at the level known were estimated from; correlation losses only.

    Returns:
        One entry a rung, by rising level; without value, and with the reason, where nothing can be said.
    """
    levels = sorted(rungs)
    if loss == "correlation_loss":
        return tuple(PredictedLoss(level, _correlation(columns, basis, rungs[level])) for level in levels)
    if knowledge.channel is None:
        return tuple(PredictedLoss(level, Estimate.none(_UNKNOWN)) for level in levels)
    by_column = []
    for column, stream in zip(columns, streams, strict=True):
        own, channel, counts = on_its_own(column, knowledge.channel, knowledge.counts)
        by_column.append(
            predict_losses(
                Knowledge(counts, channel),
                {level: on_its_own(column, rungs[level], knowledge.counts)[1] for level in levels},
                own.bins_of(channel.outputs),
                loss=loss,
                rows=rows,
                stream=stream,
            )
        )
    return tuple(
        PredictedLoss(level, worst([found[place].loss for found in by_column])) for place, level in enumerate(levels)
    )


def _correlation(columns: Sequence[LossColumn], basis: CorrelationBasis | None, rung: Channel) -> Estimate:
    if basis is None:
        return Estimate.none(_UNKNOWN)
    found = basis.at(columns[0].unit, kept_share(rung))
    return worst([found.columns[column.name] for column in columns])
