"""``trasgo run`` and ``trasgo resume``: from the source file to a published release."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.central import run_central
from flows.cli.console import actor, err, guarded, home, out, progress, say_json
from flows.cli.query import ANSWERS
from flows.cli.shown import cost_words, loss_table, shown_place, spent_words
from flows.cli.train import MODEL
from trasgo_lib.errors import ConfigError, Reason, TargetsNotMetError, WaitingError

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import RunRef, Session
    from trasgo_lib.plan import ReleasePlan

_CONFIG = typer.Argument(help="The release file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_REHEARSE = typer.Option(
    False,
    "--rehearse",
    help="On made-up rows from the declared domains: free, unpublishable; no key or account is needed.",
)
_ROWS = typer.Option(None, "--rows", help="Number of made-up rows; default: that of the prior, else 10,000.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")


def run(
    config: Path = _CONFIG,
    rehearse: bool = _REHEARSE,
    rows: int | None = _ROWS,
    as_json: bool = _JSON,
    quiet: bool = _QUIET,
) -> None:
    """Ingest, validate, noise, measure, check and publish; a finished version is left as it is."""
    with guarded(as_json, goes_on=not rehearse):
        if rehearse:
            from flows.cli.rehearse import run_rehearsal

            run_rehearsal(config, rows, as_json, quiet)
            return
        if rows is not None:
            required, fix = "--rehearse beside it", "Real rows are counted, not declared: leave it out."
            raise ConfigError.of(Reason.BAD_PARAMETER, "--rows", required=required, came="a real run", fix=fix)
        _run(config, as_json, quiet, may_start=True)


def resume(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Go on with a version that was begun, of rows, answers or a model; refuses to start one."""
    with guarded(as_json, goes_on=True):
        from trasgo_lib.config import holds_model, holds_queries

        if holds_queries(config):
            run_central(ANSWERS, config, as_json, quiet, may_start=False)
            return
        if holds_model(config):
            run_central(MODEL, config, as_json, quiet, may_start=False)
            return
        _run(config, as_json, quiet, may_start=False)


def _run(config: Path, as_json: bool, quiet: bool, *, may_start: bool) -> None:
    from flows.environment import prepare_prefect

    prepare_prefect(home())
    from flows.orphans import children_end_with_this_process
    from tasks.stores import needs_orchestrator

    ref, plan = _reference(config)
    # a secret of Prefect's starts its server earlier; it too must not outlive this run
    with children_end_with_this_process() if needs_orchestrator(plan) else nullcontext():
        _run_session(ref, as_json, quiet, may_start=may_start)


def _run_session(ref: RunRef, as_json: bool, quiet: bool, *, may_start: bool) -> None:
    from flows.version import run_version
    from trasgo_lib.records import State

    session, outcome = run_version(ref, may_start=may_start, around=progress(quiet or as_json))
    if as_json:
        say_json(outcome.to_json())
        if outcome.waiting is not None:
            raise typer.Exit(WaitingError.exit_code)
        if outcome.state is State.HELD:
            raise typer.Exit(TargetsNotMetError.exit_code)
        return
    _print(session, outcome)
    outcome.require_published()


def _reference(config: Path) -> tuple[RunRef, ReleasePlan]:
    from tasks.places import require_release
    from tasks.session import RunRef
    from trasgo_lib.plan import read_plan

    loaded, plan = read_plan(config)
    require_release(plan)
    ref = RunRef(config=str(config.absolute()), config_digest=loaded.text_digest, home=str(home()), actor=actor())
    return ref, plan


def _print(session: Session, outcome: Outcome) -> None:
    from trasgo_lib.records import State

    plan = session.plan
    public, restricted = shown_place(outcome.public or ""), shown_place(outcome.restricted)
    if outcome.waiting is not None:
        err.print(
            f"Waiting: {outcome.release} is packaged and not public. It lies in {restricted}/waiting", markup=False
        )
    elif outcome.public is None:
        err.print(f"Held: {outcome.release} is not published. Evidence: {restricted}", markup=False)
    elif outcome.state is State.WITHDRAWN:
        out.print(f"Withdrawn: {outcome.release}. Its data are gone, what it spent stays.", markup=False)
    elif outcome.already_published:
        out.print(f"Already published: {outcome.release}. Nothing was drawn, nothing was spent.", markup=False)
    else:
        out.print(f"Published: {outcome.release}", markup=False)
    if outcome.public is not None:
        out.print(f"  files     {public}", markup=False)
        out.print(f"  manifest  sha256 {outcome.manifest_digest}", markup=False)
    out.print(f"  spent     {spent_words(plan, outcome)}", markup=False)
    out.print(
        f"  account   {plan.account}: {cost_words(session.records.account(plan.account).left)} left\n", markup=False
    )
    out.print(loss_table(session, outcome))
    if plan.loss_from == "original":
        out.print("\nLosses compare with the raw data: they are for you and the restricted root.", markup=False)
        if any(unit.target for unit in plan.units):
            out.print(
                "The loop looked at them, so the published epsilon covers the draws and not the choice of levels; the\n"
                "statement says so.",
                markup=False,
            )
    if outcome.public is not None:
        out.print("\nLook further:", markup=False)
        out.print(f"  trasgo verify {public}", markup=False)
        out.print(f"  trasgo ledger show {shown_place(session.ref.config)}", markup=False)
        out.print(f"  {public}/report.html, and for your eyes {restricted}/report.html", markup=False)
