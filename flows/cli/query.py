"""``trasgo query``: from a statistics file to published answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Group
from rich.table import Table

from flows.cli.central import Product, run_central
from flows.cli.console import guarded

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session
    from trasgo_lib.config import LoadedConfig
    from trasgo_lib.plan import ReleasePlan

_CONFIG = typer.Argument(help="The statistics file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")
_MOST_SHOWN = 40


def query(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Ingest, validate, charge, answer and publish; a finished version is left as it is."""
    with guarded(as_json, goes_on=True):
        run_central(ANSWERS, config, as_json, quiet)


def _read(config: Path) -> tuple[LoadedConfig, ReleasePlan]:
    from trasgo_lib.statistics import read_statistics

    loaded, plan = read_statistics(config)
    return loaded.loaded, plan.base


def _cost(session: Session, _outcome: Outcome) -> dict[str, object]:
    from tasks.query import statistics_of

    return {query.name: query.cost.to_json() for query in statistics_of(session).queries}


def _published(session: Session) -> list[dict[str, object]]:
    from tasks.query import read_answers

    return [answer.to_json() for answer in read_answers(session)]


def _shown(session: Session) -> Group:
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
    return Group("", table)


def _short(value: object) -> str:
    if isinstance(value, bool):
        return "above" if value else "below"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


ANSWERS = Product(read=_read, charges="queries", cost=_cost, content="answers", published=_published, shown=_shown)
"""What ``trasgo query`` makes."""
