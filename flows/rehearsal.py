"""A rehearsal: the release flow as it is, on made-up rows, in an office that is thrown away."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from flows.outcome import Outcome
from tasks.rehearsal import keep, set_up, throw_away_folder
from tasks.session import RunRef, Session
from trasgo_lib.config import LoadedConfig
from trasgo_lib.drafting.made_up_rows import MadeUpRows, make_up_rows
from trasgo_lib.drafting.rehearsal_file import rehearsals_folder
from trasgo_lib.plan import ReleasePlan, read_plan


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """A rehearsal that came to its end.

    Args:
        rows: the rows it ran on.
        session: the run; its office is gone.
        outcome: what the version became there.
        folder: where its files are.
    """

    rows: MadeUpRows
    session: Session
    outcome: Outcome
    folder: Path


def rehearse(
    loaded: LoadedConfig,
    plan: ReleasePlan,
    count: int | None,
    actor: str,
    around: AbstractContextManager[object] | None = None,
) -> Rehearsed:
    """Run the whole flow on made-up rows; charges nothing, publishes nothing, opens no data.

    Args:
        loaded: the release file.
        plan: its plan.
        count: number of rows; None: those of the prior, else 10,000.
        actor: who rehearses.
        around: entered while the flow works, to show its progress.

    Raises:
        TrasgoError: what would stop a run that has rows, a key and an account.
    """
    from flows.version import run_version

    rows = make_up_rows(plan, count)
    rehearsals = rehearsals_folder(plan, Path.cwd())
    with around or nullcontext(), throw_away_folder(rehearsals) as folder:
        config = set_up(folder, loaded, plan, rows, actor)
        derived, _ = read_plan(config)
        ref = RunRef(str(config), derived.text_digest, home=str(folder / "office"), actor=actor)
        logging.getLogger("trasgo").info("rehearsal on %d made-up rows; nothing below is charged", rows.count)
        session, outcome = run_version(ref)
        return Rehearsed(rows, session, outcome, keep(folder, rehearsals, plan))
