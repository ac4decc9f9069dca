"""What ``trasgo query`` and ``trasgo train`` share: a version taken as far as it goes, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import RenderableType

from flows.cli.console import actor, err, home, out, progress, say_json
from flows.cli.shown import cost_words, shown_place
from trasgo_lib.errors import WaitingError

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session
    from trasgo_lib.config import LoadedConfig
    from trasgo_lib.plan import ReleasePlan

_KEPT = ("release", "state", "public", "restricted", "already_published", "manifest_sha256", "awaits")
"""Keys of an outcome that do not speak of rows, rounds and losses."""


@dataclass(frozen=True, slots=True)
class Product:
    """What one of the two commands makes.

    Args:
        read: the file and its plan, or the fault that it is for another command.
        charges: key of the charges under ``spent`` in ``--json``.
        cost: each charge by name.
        content: key of what was published in ``--json``.
        published: that content; public.
        shown: the same on a terminal.
    """

    read: Callable[[Path], tuple[LoadedConfig, ReleasePlan]]
    charges: str
    cost: Callable[[Session, Outcome], dict[str, object]]
    content: str
    published: Callable[[Session], Any]
    shown: Callable[[Session], RenderableType]


def run_central(product: Product, config: Path, as_json: bool, quiet: bool, *, may_start: bool = True) -> None:
    """Take a version as far as it goes, and say what it has become.

    Args:
        product: what is made of the file.
        config: the statistics file or training file.
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

    loaded, plan = product.read(config)
    ref = RunRef(config=str(config.absolute()), config_digest=loaded.text_digest, home=str(home()), actor=actor())
    with children_end_with_this_process() if needs_orchestrator(plan) else nullcontext():
        session, outcome = run_version(ref, may_start=may_start, around=progress(quiet or as_json))
    if as_json:
        say_json(_document(product, session, outcome))
        if outcome.waiting is not None:
            raise typer.Exit(WaitingError.exit_code)
        return
    _print(product, session, outcome)
    outcome.require_published()


def _document(product: Product, session: Session, outcome: Outcome) -> dict[str, object]:
    """What ``--json`` ends with: where the package is, what it cost, and what is public of it."""
    told: dict[str, object] = {name: value for name, value in outcome.to_json().items() if name in _KEPT}
    told["spent"] = {"total": outcome.spent.to_json(), product.charges: product.cost(session, outcome)}
    # what waits, or was withdrawn, is nobody's to read here
    return told | {product.content: product.published(session) if _is_public(outcome) else None}


def _is_public(outcome: Outcome) -> bool:
    from trasgo_lib.records import State

    return outcome.state in (State.PUBLISHED, State.SUPERSEDED)


def _print(product: Product, session: Session, outcome: Outcome) -> None:
    if outcome.waiting is not None:
        waits = shown_place(outcome.restricted)
        err.print(f"Waiting: {outcome.release} is packaged and not public. It lies in {waits}/waiting", markup=False)
        return
    if outcome.public is None or not _is_public(outcome):
        out.print(f"{outcome.state.value.capitalize()}: {outcome.release}. What it spent stays spent.", markup=False)
        return
    place, account = shown_place(outcome.public), session.records.account(session.plan.account)
    words = "Already published" if outcome.already_published else "Published"
    note = ". Nothing was drawn, nothing was spent." if outcome.already_published else ""
    out.print(f"{words}: {outcome.release}{note}", markup=False)
    out.print(f"  files     {place}", markup=False)
    out.print(f"  spent     {cost_words(outcome.spent)}", markup=False)
    out.print(f"  account   {session.plan.account}: {account.terms.in_words(account.left)} left", markup=False)
    out.print(product.shown(session), markup=False)
    out.print(f"\nLook further:\n  trasgo verify {place}\n  {place}/report.html", markup=False)
