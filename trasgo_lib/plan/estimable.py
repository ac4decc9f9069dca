"""Targets that ``loss_from: released`` can judge: one that no level lets it estimate would only burn the total."""

from __future__ import annotations

from collections.abc import Sequence

from trasgo_lib.config import KeyPath, ReleaseConfig
from trasgo_lib.data import ProductDomain
from trasgo_lib.errors import Reason
from trasgo_lib.mechanisms import margin
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.groups import asked_units
from trasgo_lib.plan.model import UnitPlan

MOST_CODES = 4096
"""Most codes of a column whose distribution is estimated from released codes: its inverse is a whole matrix."""

MOST_CELLS = 2**16
"""Most pairs of codes of two columns whose rank correlation is: a table of each pair is held."""

_BINNED = "binned_randomized_response"


def check_estimable(config: ReleaseConfig, units: Sequence[UnitPlan], faults: FaultCollector) -> None:
    """Refuse targets whose loss has no estimate at any level, whatever the rows.

    Args:
        config: the release file.
        units: the noise units that compiled.
        faults: where faults go.
    """
    if config.loop.loss_from != "released":
        return
    paths = {asked.name: path for asked, path in asked_units(config)}
    for unit in units:
        if unit.target is None:
            continue
        obstacle = _obstacle(config, unit, units)
        if obstacle is not None:
            required, came, fix = obstacle
            here: KeyPath = (*paths[unit.name], "target", unit.target.loss)
            faults.add(Reason.BAD_PARAMETER, here, required=required, came=came, fix=fix)


_Obstacle = tuple[str, str, str]
"""What was required, what came, what to do."""


def _obstacle(config: ReleaseConfig, unit: UnitPlan, units: Sequence[UnitPlan]) -> _Obstacle | None:
    if unit.type == "point":
        return (
            "a loss that can be estimated from released codes, as loss_from: released needs",
            "a target of a point, whose losses are not",
            "Remove the target, or write `loss_from: original`.",
        )
    if unit.target is not None and unit.target.loss == "correlation_loss":
        return _of_correlations(config, units)
    sizes = _sizes(unit)
    largest = max(sizes, key=lambda name: sizes[name])
    if sizes[largest] <= MOST_CODES:
        return None
    return (
        f"at most {MOST_CODES:,} codes, whose distribution loss_from: released can estimate",
        f"{sizes[largest]:,} codes of {largest}",
        "Use a coarser step, remove the target, or write `loss_from: original`.",
    )


def _of_correlations(config: ReleaseConfig, units: Sequence[UnitPlan]) -> _Obstacle | None:
    groups = [group.name for group in config.groups]
    if groups:
        return (
            "a release without groups: correlations are not estimated from released codes beside them",
            f"group {', '.join(groups)}",
            "Write a target of tvd, js or kl, remove the groups, or write `loss_from: original`.",
        )
    if config.loop.correlation == "pearson":
        return None
    fix = "Write `correlation: pearson`, or `loss_from: original`."
    binned = [unit.name for unit in units if unit.mechanism == _BINNED and _is_coarse(unit)]
    if binned:
        return "columns whose channels tell all codes apart, so that ranks are known", f"{binned[0]}, in bins", fix
    sizes = sorted((size for unit in units if unit.type != "point" for size in _sizes(unit).values()), reverse=True)
    if len(sizes) > 1 and (sizes[0] > MOST_CODES or sizes[0] * sizes[1] > MOST_CELLS):
        return f"at most {MOST_CELLS:,} pairs of codes for ranks", f"{sizes[0]:,} x {sizes[1]:,} codes", fix
    return None


def _is_coarse(unit: UnitPlan) -> bool:
    return dict(unit.parameters).get("bins", unit.domain.size) != unit.domain.size


def _sizes(unit: UnitPlan) -> dict[str, int]:
    """Released codes of each column of a unit, the missing one included."""
    channel = unit.channel(unit.rungs[0])
    if not isinstance(unit.domain, ProductDomain):
        return {unit.name: channel.outputs}
    return {part.name: margin(channel, unit.domain, part.name).outputs for part in unit.domain.parts}
