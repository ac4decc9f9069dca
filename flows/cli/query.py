"""``trasgo query``: from a statistics file to published answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Table

from flows.cli.console import actor, err, guarded, home, out, progress, say_json
from trasgo_lib.errors import WaitingError

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session

_CONFIG = typer.Argument(help="The statistics file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")
_MOST_SHOWN = 40


def query(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Ingest, validate, charge, answer and publish; a finished version is left as it is."""
    with guarded(as_json, goes_on=True):
        run_statistics(config, as_json, quiet, may_start=True)


def run_statistics(config: Path, as_json: bool, quiet: bool, *, may_start: bool) -> None:
    """Take a statistics version as far as it goes, and say what it has become.

    Args:
        config: the statistics file.
        as_json: whether to end with one JSON object.
        quiet: whether to show no progress.
        may_start: False to refuse a version that was never begun.

    Raises:
        WaitingError: it is packaged and waits.
    """
    from contextlib import nullcontext

    from flows.environment import prepare_prefect

    prepare_prefect(home())
    from flows.orphans import children_end_with_this_process
    from flows.version import run_version
    from tasks.session import RunRef
    from tasks.stores import needs_orchestrator
    from trasgo_lib.statistics import read_statistics

    loaded, plan = read_statistics(config)
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


def _document(session: Session, outcome: Outcome) -> dict[str, object]:
    """What ``trasgo query --json`` ends with: where the answers are, what they cost, and public answers themselves."""
    from tasks.query import read_answers, statistics_of

    kept = ("release", "state", "public", "restricted", "already_published", "spent", "manifest_sha256", "awaits")
    told = {name: value for name, value in outcome.to_json().items() if name in kept}
    spent = {query.name: query.cost.to_json() for query in statistics_of(session).queries}
    told["spent"] = {"total": outcome.spent.to_json(), "queries": spent}
    # what waits, or was withdrawn, is nobody's to read here
    public = [answer.to_json() for answer in read_answers(session)] if _is_public(outcome) else None
    return told | {"answers": public}


def _is_public(outcome: Outcome) -> bool:
    from trasgo_lib.records import State

    return outcome.state in (State.PUBLISHED, State.SUPERSEDED)


def _print(session: Session, outcome: Outcome) -> None:
    place = (outcome.public or "").removeprefix("file://")
    if outcome.waiting is not None:
        waits = outcome.restricted.removeprefix("file://")
        words = f"Waiting: {outcome.release} is packaged and not public. It lies in {waits}/waiting"
        err.print(words, markup=False)
        return
    if not _is_public(outcome):
        out.print(f"{outcome.state.value.capitalize()}: {outcome.release}. What it spent stays spent.", markup=False)
        return
    words = "Already published" if outcome.already_published else "Published"
    note = ". Nothing was drawn, nothing was spent." if outcome.already_published else ""
    out.print(f"{words}: {outcome.release}{note}", markup=False)
    out.print(f"  files    {place}", markup=False)
    out.print(f"  spent    {outcome.spent}", markup=False)
    account = session.records.account(session.plan.account)
    out.print(f"  account  {session.plan.account}: {account.terms.in_words(account.left)} left\n", markup=False)
    out.print(_table(session))
    out.print(f"\nLook further:\n  trasgo verify {place}\n  {place}/report.html", markup=False)


def _table(session: Session) -> Table:
    from tasks.query import read_answers

    table = Table("query", "cell", "answer", "95 %", box=None, pad_edge=False)
    for answer in read_answers(session):
        for shown, cell in enumerate(answer.cells[:_MOST_SHOWN]):
            key = ", ".join(label for _, label in cell.key)
            value = f"withheld: {cell.reason}" if cell.value is None else _short(cell.value)
            span = "" if cell.low is None or cell.high is None else f"{_short(cell.low)} to {_short(cell.high)}"
            table.add_row("" if shown else answer.query.name, key, value, span)
        if len(answer.cells) > _MOST_SHOWN:
            table.add_row("", f"{len(answer.cells) - _MOST_SHOWN} more", "in data/answers.csv", "")
    return table


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "above" if value else "below"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
