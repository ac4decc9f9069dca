"""From measured or estimated losses to what the loop reads of a noise unit: its entry, and the rungs above."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.estimation import Estimate
from trasgo_lib.loop.history import RoundEntry
from trasgo_lib.loop.predict import Knowledge, predict_losses
from trasgo_lib.loop.predict_groups import predict_group_losses
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
    columns: Sequence[LossColumn],
    known: Knowledge,
    level: Epsilon,
    rows: int,
    losses: LossEstimates,
    public: Callable[..., Keystream],
) -> tuple[PredictedLoss, ...]:
    """Losses expected at the rungs above the one that was looked at; nothing for points and units without a target.

    Args:
        unit: public.
        columns: its columns.
        known: counts of its newest draw and the channel behind them; public.
        level: level of that draw.
        rows: rows of the release.
        losses: estimates of the newest draws; public.
        public: makes streams of a public fixed key; takes the name of the column where the unit has several.
    """
    if unit.target is None or not all(column.is_correlated for column in columns):
        return ()
    rungs = {rung: unit.channel(rung) for rung in unit.rungs if rung > level}
    if unit.parts:
        return predict_group_losses(
            known,
            rungs,
            columns,
            loss=unit.target.loss,
            rows=rows,
            streams=[public(column.name) for column in columns],
            basis=losses.basis,
        )
    (column,) = columns
    return predict_losses(
        known,
        rungs,
        column.bins_of(len(known.counts)),
        loss=unit.target.loss,
        rows=rows,
        stream=public(),
        found=losses.of_unit(unit.name, "correlation_loss"),
        size=column.size,
    )
