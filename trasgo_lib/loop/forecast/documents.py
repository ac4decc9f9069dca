"""A forecast as strict JSON, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trasgo_lib.loop.forecast.curves import Curve
from trasgo_lib.loop.forecast.forecasting import Forecast
from trasgo_lib.loop.forecast.grouping import GroupAdvice
from trasgo_lib.loop.forecast.targets import Rehearsals, TargetForecast


def forecast_document(found: Forecast) -> dict[str, Any]:
    """Everything a forecast holds; amounts are decimal text, losses numbers or null with a reason.

    Args:
        found: public.
    """
    least = found.least_total
    return {
        "format": 1,
        "release": f"{found.plan.dataset}/{found.plan.version}",
        "prior": {"source": found.prior.source, "digest": found.prior.digest, "rows": found.prior.rows},
        "rows": found.rows,
        "unknown_columns": list(found.unknown),
        "assumed_uniform": list(found.assumed),
        "notes": list(found.notes),
        "epsilon_total": found.plan.epsilon_total.text,
        "least_epsilon_total": None if least is None else least.text,
        "median_epsilon_total": found.rehearsals.median.text if least is not None else None,
        "rehearsals": len(found.rehearsals.runs),
        "targets": [_target(target) for target in found.targets],
        "by_rows": [_rehearsals(entry) for entry in found.by_rows],
        "losses": [_curve(curve) for curve in found.curves],
        "groups": [_group(group) for group in found.groups],
    }


def _target(target: TargetForecast) -> dict[str, Any]:
    return {**asdict(target), "median": target.median.text, "most": target.most.text}


def _rehearsals(entry: Rehearsals) -> dict[str, Any]:
    return {
        "rows": entry.rows,
        "rehearsals": len(entry.runs),
        "met": entry.met,
        "most": entry.most.text,
        "median": entry.median.text,
        "rounds": entry.rounds,
        "spent": [{unit: spent.text for unit, spent in run.spent.items()} for run in entry.runs],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "column": curve.column,
        "unit": curve.unit,
        "loss": curve.loss,
        "target": curve.ceiling,
        "mechanism": curve.option.mechanism,
        "parameters": dict(curve.option.parameters),
        "declared": curve.option.is_declared,
        "expected": [
            {
                "epsilon": cell.level.text,
                "rows": cell.rows,
                "value": cell.loss.value,
                "low": cell.loss.low,
                "high": cell.loss.high,
                "reason": cell.loss.reason,
            }
            for cell in curve.cells
        ],
    }


def _group(group: GroupAdvice) -> dict[str, Any]:
    return {
        "columns": list(group.columns),
        "combinations": group.combinations,
        "mean_correlation": group.strength,
        "advised": group.is_advised,
        "reason": group.reason,
        "totals": [{**asdict(one), "total": one.total.text} for one in group.comparisons],
    }
