"""``trasgo train``: from a training file to a published model."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.console import actor, err, guarded, home, out, progress, say_json
from trasgo_lib.errors import WaitingError

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session

_CONFIG = typer.Argument(help="The training file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")


def train(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Ingest, validate, charge, train and publish; a finished version is left as it is."""
    with guarded(as_json, goes_on=True):
        run_training(config, as_json, quiet, may_start=True)


def run_training(config: Path, as_json: bool, quiet: bool, *, may_start: bool) -> None:
    """Take a training file as far as it goes, and say what it has become.

    Args:
        config: the training file.
        as_json: whether to end with one JSON object.
        quiet: whether to show no progress.
        may_start: False to refuse a version that was never begun.

    Raises:
        WaitingError: it is packaged and waits.
        TrasgoError: the file is wrong, the account has too little left, or a version was to go on and was not begun.
    """
    from flows.environment import prepare_prefect

    prepare_prefect(home())
    from flows.orphans import children_end_with_this_process
    from flows.version import run_version
    from tasks.session import RunRef
    from tasks.stores import needs_orchestrator
    from trasgo_lib.training import read_training

    loaded, plan = read_training(config)
    digest = loaded.loaded.text_digest
    ref = RunRef(config=str(config.absolute()), config_digest=digest, home=str(home()), actor=actor())
    with children_end_with_this_process() if needs_orchestrator(plan.base) else nullcontext():
        session, outcome = run_version(ref, may_start=may_start, around=progress(quiet or as_json))
    if as_json:
        say_json(_document(session, outcome))
        if outcome.waiting is not None:
            raise typer.Exit(WaitingError.exit_code)
        return
    _print(session, outcome)
    outcome.require_published()


def _accuracy(session: Session) -> dict[str, Any] | None:
    from tasks.train import model_facts
    from trasgo_lib.training.package import accuracy_document

    return accuracy_document(model_facts(session))


def _document(session: Session, outcome: Outcome) -> dict[str, object]:
    """What ``trasgo train --json`` ends with: where the model is, what it cost, and how good it is."""
    kept = ("release", "state", "public", "restricted", "already_published", "manifest_sha256", "awaits")
    told = {name: value for name, value in outcome.to_json().items() if name in kept}
    by_name = {name: spent.to_json() for name, spent in outcome.spent_by_unit.items() if not spent.is_zero}
    told["spent"] = {"total": outcome.spent.to_json(), "charges": by_name}
    # what waits, or was withdrawn, is nobody's to read here
    return told | {"accuracy": _accuracy(session) if _is_public(outcome) else None}


def _is_public(outcome: Outcome) -> bool:
    from trasgo_lib.records import State

    return outcome.state in (State.PUBLISHED, State.SUPERSEDED)


def _print(session: Session, outcome: Outcome) -> None:
    if outcome.waiting is not None:
        waits = outcome.restricted.removeprefix("file://")
        words = f"Waiting: {outcome.release} is packaged and not public. It lies in {waits}/waiting"
        err.print(words, markup=False)
        return
    if outcome.public is None or not _is_public(outcome):
        out.print(f"{outcome.state.value.capitalize()}: {outcome.release}. What it spent stays spent.", markup=False)
        return
    words = "Already published" if outcome.already_published else "Published"
    note = ". Nothing was drawn, nothing was spent." if outcome.already_published else ""
    place = outcome.public.removeprefix("file://")
    account = session.records.account(session.plan.account)
    out.print(f"{words}: {outcome.release}{note}", markup=False)
    out.print(f"  files     {place}", markup=False)
    out.print(f"  spent     {outcome.spent}", markup=False)
    out.print(f"  account   {session.plan.account}: {account.terms.in_words(account.left)} left", markup=False)
    out.print(f"  accuracy  {_in_words(_accuracy(session))}", markup=False)
    out.print(f"\nLook further:\n  trasgo verify {place}\n  {place}/model_card.md", markup=False)


def _in_words(accuracy: dict[str, Any] | None) -> str:
    if accuracy is None:
        return "not measured: no `evaluation` in the file"
    if accuracy["measured_on"] == "public_file":
        return f"{accuracy['share']:.1%} of the {accuracy['rows']} rows of the public file"
    span = f"{accuracy['low']:.1%} to {accuracy['high']:.1%}"
    return f"{accuracy['share']:.1%} ({span} by its noise) of {accuracy['rows']} rows kept out of training"
