"""Forecasts: what a release will lose and cost, from public knowledge alone, before any data is opened."""

from trasgo_lib.loop.forecast.curves import Cell, Curve, Option, best_options, loss_curves, options_of
from trasgo_lib.loop.forecast.documents import forecast_document
from trasgo_lib.loop.forecast.forecasting import (
    DEFAULT_EPSILONS,
    DEFAULT_ROW_COUNTS,
    Forecast,
    Questions,
    forecast,
)
from trasgo_lib.loop.forecast.grouping import GroupAdvice, GroupComparison, advise_group
from trasgo_lib.loop.forecast.population import KnownLaw, Population, PublicKnowledge
from trasgo_lib.loop.forecast.rehearsal import Rehearsal, generous_plan, only_units, rehearse, unit_codes
from trasgo_lib.loop.forecast.targets import Rehearsals, TargetForecast, target_forecasts

__all__ = [
    "DEFAULT_EPSILONS",
    "DEFAULT_ROW_COUNTS",
    "Cell",
    "Curve",
    "Forecast",
    "GroupAdvice",
    "GroupComparison",
    "KnownLaw",
    "Option",
    "Population",
    "PublicKnowledge",
    "Questions",
    "Rehearsal",
    "Rehearsals",
    "TargetForecast",
    "advise_group",
    "best_options",
    "forecast",
    "forecast_document",
    "generous_plan",
    "loss_curves",
    "only_units",
    "options_of",
    "rehearse",
    "target_forecasts",
    "unit_codes",
]
