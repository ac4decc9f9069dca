"""The loop: what to draw next, from the plan and what was found so far."""

from trasgo_lib.loop.decide import first_step, next_step
from trasgo_lib.loop.history import History, LossSource, RoundEntry, is_met
from trasgo_lib.loop.predict import Knowledge, predict_losses
from trasgo_lib.loop.predict_groups import predict_group_losses
from trasgo_lib.loop.predictions import PredictedLoss, Predictions
from trasgo_lib.loop.rounds import estimated_entry, measured_entry, predicted_rungs
from trasgo_lib.loop.steps import Continue, Shortfall, Stop, StopReason
from trasgo_lib.loop.view import LoopPlan, LoopTarget, LoopUnit, cost_of, spent_on, total_of

__all__ = [
    "Continue",
    "History",
    "Knowledge",
    "LoopPlan",
    "LoopTarget",
    "LoopUnit",
    "LossSource",
    "PredictedLoss",
    "Predictions",
    "RoundEntry",
    "Shortfall",
    "Stop",
    "StopReason",
    "cost_of",
    "estimated_entry",
    "first_step",
    "is_met",
    "measured_entry",
    "next_step",
    "predict_group_losses",
    "predict_losses",
    "predicted_rungs",
    "spent_on",
    "total_of",
]
