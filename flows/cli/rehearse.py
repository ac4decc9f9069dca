"""``trasgo run --rehearse``: the whole run on made-up rows, and what it showed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli.console import actor, home, out, progress, say_json
from flows.cli.shown import loss_table, shown_place, spent_words

if TYPE_CHECKING:
    from flows.rehearsal import Rehearsed
    from trasgo_lib.plan import ReleasePlan


def run_rehearsal(config: Path, rows: int | None, as_json: bool, quiet: bool) -> None:
    """Rehearse a release file and say where its files are.

    Raises:
        ConfigError: the release file is wrong or not decided yet, or the number of rows is none.
    """
    from flows.environment import prepare_prefect
    from tasks.places import require_release
    from trasgo_lib.plan import read_plan

    loaded, plan = read_plan(config)
    require_release(plan)
    prepare_prefect(home())
    home().mkdir(parents=True, exist_ok=True)  # a rehearsal may come before `key init`, which makes it
    from flows.rehearsal import rehearse

    found = rehearse(loaded, plan, rows, actor(), progress(quiet or as_json))
    if as_json:
        say_json(_document(found))
    else:
        _print(found, plan, config)


def _document(found: Rehearsed) -> dict[str, object]:
    """What a run would end with, under a first key that no run has."""
    told = found.outcome.to_json()
    for key in ("state", "public", "restricted", "already_published", "awaits"):
        del told[key]
    return {
        "rehearsal": True,
        **told,
        "rows": found.rows.count,
        "from_prior": list(found.rows.from_prior),
        "evenly_spread": list(found.rows.spread),
        "folder": found.folder.as_uri(),
    }


def _print(found: Rehearsed, plan: ReleasePlan, config: Path) -> None:
    outcome, rows = found.outcome, found.rows
    folder = shown_place(str(found.folder))
    out.print(f"Rehearsed: {outcome.release} on {rows.count:,} made-up rows. Nothing was charged, nothing is public.")
    out.print(f"  rows      {_whence(found)}")
    for note in rows.notes:
        out.print(f"            {note}")
    out.print(f"  spent     nothing; a run that goes like this one spends {spent_words(plan, outcome)}")
    out.print(f"  package   {folder}/package, as it would be public; trasgo verify calls it a rehearsal")
    out.print(f"  evidence  {folder}/evidence, as it would stay restricted\n")
    out.print(loss_table(found.session, outcome))
    missed = _missed(found)
    if missed:
        then = "hold the version" if plan.on_unmet == "hold" else "publish all the same"
        out.print(f"\nNot met on these rows: {', '.join(missed)}. A run that ends so would {then}.")
        if rows.spread:
            out.print("Evenly spread rows say little of real losses: declare a prior and ask trasgo forecast.")
    out.print(f"\nNext: trasgo doctor {config}")


def _whence(found: Rehearsed) -> str:
    rows = found.rows
    parts = [f"by the prior: {', '.join(rows.from_prior)}"] if rows.from_prior else []
    parts += [f"evenly spread over the domain: {', '.join(rows.spread)}"] if rows.spread else []
    return "; ".join(parts)


def _missed(found: Rehearsed) -> list[str]:
    """Noise units whose target was not met in the last round."""
    rounds = (found.outcome.restricted_losses or {}).get("rounds", [])
    last = {entry["unit"]: entry["met"] for entry in rounds}
    return [unit.name for unit in found.session.plan.units if unit.target is not None and not last.get(unit.name)]
