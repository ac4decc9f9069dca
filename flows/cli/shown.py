"""What several commands show a person: places, costs, and the table of losses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from trasgo_lib.budget import Cost

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session
    from trasgo_lib.plan import ReleasePlan, Target


def shown_place(location: str) -> str:
    """A folder as a person types it: relative to here where it is below here; URIs as they are."""
    path = Path(location.removeprefix("file://"))
    if not path.is_absolute():
        return location
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def cost_words(cost: Cost) -> str:
    """A cost without the components that are zero."""
    parts = [f"epsilon {cost.epsilon.text}"]
    parts += [f"delta {cost.delta.text}"] if cost.delta.units else []
    parts += [f"geo epsilon {cost.geo.text} per km"] if cost.geo.units else []
    return ", ".join(parts)


def spent_words(plan: ReleasePlan, outcome: Outcome) -> str:
    """What a version spent of what it may, said to be of the draws only where it is."""
    from trasgo_lib.reporting import wording

    allowed = Cost(plan.epsilon_total, plan.delta_total, plan.geo_total)
    of_what = "" if wording.covers_selection(plan) else " (draws only)"
    return f"{cost_words(outcome.spent)} of {cost_words(allowed)}{of_what}, rounds: {outcome.rounds}"


def loss_table(session: Session, outcome: Outcome) -> Table:
    """Level, draws, spend, loss and verdict of every noise unit; for the runner's eyes."""
    table = Table("noise unit", "level", "draws", "spent", "loss", "target", "met", box=None, pad_edge=False)
    rounds = (outcome.restricted_losses or {}).get("rounds", [])
    for unit in session.plan.units:
        mine = [entry for entry in rounds if entry["unit"] == unit.name]
        spent, target = outcome.spent_by_unit[unit.name], unit.target
        per_km = unit.geo.units > 0
        level = f"{unit.geo.text} per km" if per_km else mine[-1]["level"] if mine else ""
        charged = f"{spent.geo.text} per km" if per_km else spent.epsilon.text
        draws = str(len({entry["level"] for entry in mine}))
        judged = ("", "", "") if target is None or not mine else _judged(target, mine[-1])
        table.add_row(unit.name, level, draws, charged, *judged)
    return table


def _judged(target: Target, entry: dict[str, Any]) -> tuple[str, str, str]:
    loss = "no evidence" if entry["loss"] is None else f"{entry['loss']:.4g}"
    if entry.get("interval"):
        loss += f" ({entry['interval'][0]:.3g} to {entry['interval'][1]:.3g})"
    return loss, f"{target.loss} <= {target.ceiling}", "yes" if entry["met"] else "no"
