"""``trasgo train``: from a training file to a published model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.central import Product, run_central
from flows.cli.console import guarded

if TYPE_CHECKING:
    from flows.outcome import Outcome
    from tasks.session import Session
    from trasgo_lib.config import LoadedConfig
    from trasgo_lib.plan import ReleasePlan

_CONFIG = typer.Argument(help="The training file (YAML).")
_JSON = typer.Option(False, "--json", help="End with one JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")


def train(config: Path = _CONFIG, as_json: bool = _JSON, quiet: bool = _QUIET) -> None:
    """Ingest, validate, charge, train and publish; a finished version is left as it is."""
    with guarded(as_json, goes_on=True):
        run_central(MODEL, config, as_json, quiet)


def _read(config: Path) -> tuple[LoadedConfig, ReleasePlan]:
    from trasgo_lib.training import read_training

    loaded, plan = read_training(config)
    return loaded.loaded, plan.base


def _cost(_session: Session, outcome: Outcome) -> dict[str, object]:
    return {name: spent.to_json() for name, spent in outcome.spent_by_unit.items() if not spent.is_zero}


def _accuracy(session: Session) -> dict[str, Any] | None:
    from tasks.train import model_facts
    from trasgo_lib.training.package import accuracy_document

    return accuracy_document(model_facts(session))


def _shown(session: Session) -> str:
    return f"  accuracy  {_in_words(_accuracy(session))}"


def _in_words(accuracy: dict[str, Any] | None) -> str:
    if accuracy is None:
        return "not measured: no `evaluation` in the file"
    if accuracy["measured_on"] == "public_file":
        return f"{accuracy['share']:.1%} of the {accuracy['rows']} rows of the public file"
    span = f"{accuracy['low']:.1%} to {accuracy['high']:.1%}"
    return f"{accuracy['share']:.1%} ({span} by its noise) of {accuracy['rows']} rows kept out of training"


MODEL = Product(read=_read, charges="charges", cost=_cost, content="accuracy", published=_accuracy, shown=_shown)
"""What ``trasgo train`` makes."""
