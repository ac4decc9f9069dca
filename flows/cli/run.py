"""``trasgo run`` and ``trasgo resume``: from the source file to a published release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from flows.cli.console import actor, err, guarded, home, out, progress, say_json
from trasgo_lib.errors import ConflictError, InputContractError, Reason, TargetsNotMetError

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import RunRef, Session

_CONFIG = typer.Argument(help="The release file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")


def run(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Ingest, validate, noise, measure, check and publish; a finished version is left as it is."""
    with guarded(as_json):
        _run(config, as_json, quiet, may_start=True)


def resume(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Go on with a version that was begun; refuses to start one."""
    with guarded(as_json):
        _run(config, as_json, quiet, may_start=False)


def _run(config: Path, as_json: bool, quiet: bool, *, may_start: bool) -> None:
    from flows.environment import prepare_prefect

    prepare_prefect(home())
    from flows.outcome import finished, outcome_of
    from tasks.session import open_session
    from trasgo_lib.records import State

    ref = _reference(config)
    session = open_session(ref)
    if not may_start and session.version() is None:
        raise _nothing_to_resume(session)
    session.require_account()
    is_over = finished(session) is not None
    if not is_over:
        with progress(quiet or as_json):
            _execute(ref, session)
    outcome = outcome_of(session, already=is_over)
    if as_json:
        say_json(outcome.to_json())
        if outcome.state is State.HELD:
            raise typer.Exit(TargetsNotMetError.exit_code)
        return
    _print(session, outcome)
    outcome.require_met()


def _reference(config: Path) -> RunRef:
    from tasks.session import RunRef
    from trasgo_lib.config import load_config

    loaded = load_config(config)
    return RunRef(config=str(config.absolute()), config_digest=loaded.text_digest, home=str(home()), actor=actor())


def _execute(ref: RunRef, session: Session) -> None:
    """Run the flow; where it refused the input, show the counts that the orchestrator was not told."""
    import logging

    logging.getLogger("trasgo").info("starting the orchestrator (about 10 s; 25 s the first time)")
    from flows.release import release
    from tasks.workspace import Workspace

    workspace = Workspace(session.work)
    workspace.clear_faults()
    try:
        release(ref)
    except InputContractError:
        counted = workspace.read_faults()
        if counted is None:
            raise
    else:
        return
    raise counted


def _nothing_to_resume(session: Session) -> ConflictError:
    return ConflictError.of(
        Reason.NOTHING_TO_RESUME,
        f"version {session.plan.dataset}/{session.plan.version}",
        required="a version that was begun",
        came="none",
        fix="Start it with: trasgo run",
    )


def _print(session: Session, outcome: Outcome) -> None:
    plan = session.plan
    if outcome.public is None:
        err.print(f"Held: {outcome.release} is not published. Evidence: {outcome.restricted}", markup=False)
    elif outcome.already_published:
        out.print(f"Already published: {outcome.release}. Nothing was drawn, nothing was spent.", markup=False)
    else:
        out.print(f"Published: {outcome.release}", markup=False)
    if outcome.public is not None:
        out.print(f"  files     {outcome.public}", markup=False)
        out.print(f"  manifest  sha256 {outcome.manifest_digest}", markup=False)
    out.print(f"  spent     {outcome.spent} of {plan.epsilon_total} in {outcome.rounds} rounds", markup=False)
    account = session.records.account(plan.account)
    out.print(f"  account   {plan.account}: {account.left} left", markup=False)
    out.print(_loss_table(session, outcome))
    if plan.loss_from == "original":
        out.print(
            "Losses compare with the raw data: they are for you and the restricted root. The loop looked at them, so\n"
            "the published epsilon covers the draws and not the choice of levels; the statement says so.",
            markup=False,
        )
    if outcome.public is not None:
        out.print("\nLook further:", markup=False)
        out.print(f"  trasgo verify {outcome.public}", markup=False)
        out.print(f"  trasgo ledger show {session.ref.config}", markup=False)
        out.print(f"  {outcome.public}/report.md, {outcome.restricted}/report.md (restricted)", markup=False)


def _loss_table(session: Session, outcome: Outcome) -> Table:
    table = Table("noise unit", "mechanism", "level", "draws", "spent", "target", "loss", "met", box=None)
    rounds = (outcome.restricted_losses or {}).get("rounds", [])
    for unit in session.plan.units:
        mine = [entry for entry in rounds if entry["unit"] == unit.name]
        last = mine[-1] if mine else {"level": "", "loss": None, "met": None}
        cost = outcome.spent_by_unit[unit.name]
        target = unit.target
        loss = last["loss"]
        table.add_row(
            unit.name,
            unit.mechanism,
            f"{unit.geo.text} per km" if unit.geo.units else last["level"],
            str(len({entry["level"] for entry in mine})),
            f"{cost.geo.text} per km" if cost.geo.units else cost.epsilon.text,
            "none" if target is None else f"{target.loss} <= {target.ceiling}",
            "" if target is None else "no evidence" if loss is None else f"{loss:.4g}",
            "" if target is None else "yes" if last["met"] else "no",
        )
    return table
