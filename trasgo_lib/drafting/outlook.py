"""Whether the targets of a release can be met at all, by one rehearsal of its loop on rows from its public prior."""

from __future__ import annotations

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import LoadedConfig
from trasgo_lib.drafting.findings import Finding, Weight
from trasgo_lib.errors import ConfigError
from trasgo_lib.loop import cost_of
from trasgo_lib.loop.forecast import Forecast, Questions, forecast
from trasgo_lib.plan import ReleasePlan

_MOST_ROWS = 100_000
"""With more, the rehearsal takes minutes; more rows only lower the losses that chance makes."""


def examine_targets(loaded: LoadedConfig, plan: ReleasePlan) -> list[Finding]:
    """Say which targets are out of reach, or that the total does not last; nothing without a prior and its rows.

    Args:
        loaded: the release file.
        plan: its plan.
    """
    if plan.prior is None or plan.prior.rows is None or not any(unit.target for unit in plan.units):
        return []
    mark = loaded.document.mark(("privacy", "epsilon_total"))
    rows = min(plan.prior.rows, _MOST_ROWS)
    try:
        found = forecast(loaded, plan, Questions(rows=rows, epsilons=(), row_counts=(), keys=1))
    except ConfigError as error:
        fault = error.faults[0]
        return [
            Finding(Weight.LOOK, f"targets cannot be foreseen: required {fault.required}; came {fault.came}", fault.fix)
        ]
    weight = Weight.FIX if plan.on_unmet == "hold" else Weight.LOOK
    findings = [
        Finding(
            weight,
            f"{target.unit}: {target.loss} <= {target.ceiling} is out of reach with {rows:,} rows: {target.obstacle}",
            "Raise the ceiling, or choose another mechanism. More: trasgo forecast.",
            *_place(loaded, target.unit),
        )
        for target in found.targets
        if target.loss is not None and target.obstacle is not None
    ]
    total, needed = plan.epsilon_total, Epsilon(found.rehearsals.most.units + _of_the_rest(plan, found))
    if not findings and needed > total:
        words = f"epsilon_total {total.text} does not last: all targets are expected to cost {needed.text}"
        fix = "Raise the total or the ceilings. More: trasgo forecast."
        findings.append(Finding(weight, words, fix, mark.line, mark.column))
    if not findings:
        words = f"targets: expected to cost {needed.text} of {total.text}, by the prior"
        findings.append(Finding(Weight.FINE, words))
    return findings


def _of_the_rest(plan: ReleasePlan, found: Forecast) -> int:
    """What the noise units cost at least that the prior says nothing of, in the units of epsilon."""
    rehearsed = found.rehearsals.runs[0].spent
    rest = [unit for unit in plan.units if unit.name not in rehearsed]
    return sum(cost_of(plan, unit, unit.rungs[0]).epsilon.units for unit in rest)


def _place(loaded: LoadedConfig, unit: str) -> tuple[int, int]:
    named = {column.name: ("columns", place) for place, column in enumerate(loaded.config.columns)}
    named |= {group.name: ("groups", place) for place, group in enumerate(loaded.config.groups)}
    mark = loaded.document.mark((*named.get(unit, ()), "target"))
    return mark.line, mark.column
