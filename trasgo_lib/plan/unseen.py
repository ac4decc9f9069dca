"""Targets that never count as met under ``loss_from: released``, since no released data can show the loss.

What is refused here is certain whatever the data are; what only large noise hides is told by the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from trasgo_lib.config import KeyPath, ReleaseConfig
from trasgo_lib.data import EqualBins
from trasgo_lib.errors import Reason
from trasgo_lib.mechanisms.expected_loss import CORRELATION_LOSS, MOST_WITHIN, least_within_bins
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.groups import asked_units
from trasgo_lib.plan.levels import estimate_of_correlations
from trasgo_lib.plan.model import UnitPlan

MOST_ESTIMATED_CODES = 4096
"""Divergences and ranks of more codes are not estimated; as ``trasgo_lib.estimation``, which lies higher, has it."""

MOST_CELLS = 2**16
"""Pairs of codes up to which rank correlations are estimated; as ``trasgo_lib.utility`` has it."""

_ORIGINAL = "or write loop.loss_from: original, which measures the raw data and covers the draws only"


def check_estimates(config: ReleaseConfig, units: Sequence[UnitPlan], faults: FaultCollector) -> None:
    """Refuse targets whose loss can never be estimated from released codes.

    Args:
        config: the release file.
        units: those of its units that compile.
        faults: where faults go.
    """
    if config.loop.loss_from != "released":
        return
    paths = {asked.name: path for asked, path in asked_units(config)}
    for unit in units:
        _check_own(unit, paths[unit.name], faults)
    way = estimate_of_correlations(config)
    aiming = [unit.name for unit in units if unit.target is not None and unit.target.loss == CORRELATION_LOSS]
    if not way or not aiming:
        return
    for unit in units:
        reason = _hidden_by(unit, way)
        if reason is not None:
            key, required, came, fix = reason
            faults.add(
                Reason.BAD_PARAMETER,
                (*paths[unit.name], key),
                required=f"{required}, since the correlation loss of {', '.join(aiming)} is estimated from released"
                f" codes over all columns",
                came=came,
                fix=f"{fix}, give {', '.join(aiming)} another target, {_ORIGINAL}.",
            )
    if way == "ranks":
        _check_cells(units, paths[aiming[0]], faults)


def _check_own(unit: UnitPlan, path: KeyPath, faults: FaultCollector) -> None:
    if unit.target is None:
        return
    place = (*path, "target", unit.target.loss)
    if unit.type == "point":
        faults.add(
            Reason.BAD_PARAMETER,
            place,
            required="no target for a point: its losses are not estimated from released codes, and never count as met",
            came=unit.target.loss,
            fix=f"Remove the target; the level of a point is fixed. {_ORIGINAL[3:].capitalize()}.",
        )
    elif unit.target.loss != CORRELATION_LOSS and not unit.parts and _codes(unit) > MOST_ESTIMATED_CODES:
        faults.add(
            Reason.BAD_PARAMETER,
            place,
            required=f"at most {MOST_ESTIMATED_CODES} codes: divergences of more are not estimated from released codes",
            came=f"{_codes(unit)}",
            fix=f"Use a coarser step or a hierarchy, {_ORIGINAL}.",
        )


def _codes(unit: UnitPlan) -> int:
    return unit.domain.size + (unit.missing == "code")


def _hidden_by(unit: UnitPlan, way: str) -> tuple[str, str, str, str] | None:
    """Why one unit hides every correlation: key, what is required, what came, what to do."""
    if unit.parts:
        required, fix = "no group", "Noise its columns one by one"
        return "columns", required, f"group {unit.name}", fix
    if unit.type not in ("number", "date"):
        return None
    bins, size = dict(unit.parameters).get("bins"), unit.domain.size
    if way == "ranks":
        is_exact = unit.mechanism != "gaussian" and (bins is None or bins == size)
        required = "a mechanism that tells all codes apart (laplace)"
        return None if is_exact else ("mechanism", required, unit.mechanism, "Write laplace")
    if not isinstance(bins, int) or _least_within(size, bins) <= MOST_WITHIN:
        return None
    enough = next((count for count in range(bins + 1, size + 1) if _least_within(size, count) <= MOST_WITHIN), size)
    return "noise_bins", f"at least {enough} noise bins", str(bins), f"Write noise_bins: {enough} or more"


def _least_within(size: int, bins: int) -> float:
    cut = EqualBins(size, bins)
    return least_within_bins(size, cut.of_codes, cut.representatives)


def _check_cells(units: Sequence[UnitPlan], path: KeyPath, faults: FaultCollector) -> None:
    sizes = sorted((_codes(unit), unit.name) for unit in units if unit.type != "point" and not unit.parts)
    if len(sizes) < 2:
        return
    (second, other), (first, name) = sizes[-2:]
    if first > MOST_ESTIMATED_CODES or first * second > MOST_CELLS:
        faults.add(
            Reason.BAD_PARAMETER,
            (*path, "target", CORRELATION_LOSS),
            required=f"at most {MOST_CELLS:,} pairs of codes: rank correlations of more are not estimated",
            came=f"{first:,} of {name} by {second:,} of {other}",
            fix=f"Use coarser steps, loop.correlation: pearson, {_ORIGINAL}.",
        )
