"""From measured or estimated losses to what the loop reads of a noise unit: its entry, and the rungs above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop.history import RoundEntry
from trasgo_lib.loop.predict import Knowledge, predict_losses
from trasgo_lib.loop.predictions import PredictedLoss
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import UnitPlan
from trasgo_lib.utility import LossColumn, Losses, LossEstimates, LossValue


def measured_entry(unit: UnitPlan, level: Epsilon, attempt: int, losses: Losses) -> RoundEntry:
    """A unit's entry by exact losses.

    Args:
        unit: public.
        level: level of its newest draw.
        attempt: number of that draw.
        losses: exact losses of the newest draws; private.
    """
    target = unit.target
    found = LossValue(None) if target is None else losses.of_unit(unit.name, target.loss)
    return RoundEntry.judged(
        unit.name, level, attempt, found.value, target, reason=found.reason, is_mendable=found.is_mendable
    )


def estimated_entry(unit: UnitPlan, level: Epsilon, attempt: int, losses: LossEstimates) -> RoundEntry:
    """A unit's entry by losses estimated from released codes.

    Args:
        unit: public.
        level: level of its newest draw.
        attempt: number of that draw.
        losses: estimates of the newest draws; public.
    """
    target = unit.target
    found = Estimate.none("no target") if target is None else losses.of_unit(unit.name, target.loss)
    ends = None if found.low is None or found.high is None else (found.low, found.high)
    return RoundEntry.judged(
        unit.name, level, attempt, found.value, target, source="released", interval=ends, reason=found.reason
    )


def predicted_rungs(
    unit: UnitPlan,
    column: LossColumn,
    level: Epsilon,
    counts: NDArray[np.int64],
    rows: int,
    losses: LossEstimates,
    stream: Keystream,
) -> tuple[PredictedLoss, ...]:
    """Losses expected at the rungs above the one that was looked at; nothing for groups and points.

    Args:
        unit: public.
        column: its (first) column.
        level: level of its newest draw.
        counts: counts of its released codes.
        rows: rows of the release.
        losses: estimates of the newest draws; public.
        stream: a stream of a public fixed key.
    """
    if unit.target is None or not column.is_correlated or column.group is not None:
        return ()
    channel = unit.channel(level)
    return predict_losses(
        Knowledge(counts, channel),
        {rung: unit.channel(rung) for rung in unit.rungs if rung > level},
        column.bins_of(channel.outputs),
        loss=unit.target.loss,
        rows=rows,
        stream=stream,
        found=losses.of_unit(unit.name, "correlation_loss"),
        size=column.size,
    )
