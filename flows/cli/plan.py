"""``trasgo plan``: what a release will cost and how noisy it will be, before any data is opened."""

from __future__ import annotations

from pathlib import Path

import typer

from flows.cli.console import guarded, out, say_json

_CONFIG = typer.Argument(help="The release file, statistics file or training file (YAML).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")

_CONFIRM = typer.Option(
    False, "--confirm", help="Of a training: also what privacy loss distributions say (some seconds)."
)


def plan(config: Path = _CONFIG, as_json: bool = _JSON, confirm: bool = _CONFIRM) -> None:
    """Cost, noise and strength of a release, in words; opens no data."""
    with guarded(as_json):
        from trasgo_lib.config import holds_model, holds_queries
        from trasgo_lib.plan import explain, read_plan, render

        if holds_queries(config):
            _plan_statistics(config, as_json)
            return
        if holds_model(config):
            _plan_training(config, as_json, confirm)
            return
        _, release = read_plan(config)
        explanation = explain(release)
        if as_json:
            say_json(explanation.to_json())
        else:
            out.print(render(explanation), markup=False)


def _plan_statistics(config: Path, as_json: bool) -> None:
    from trasgo_lib.statistics import explain_statistics, read_statistics, render_statistics

    _, statistics = read_statistics(config)
    if as_json:
        say_json(explain_statistics(statistics))
    else:
        out.print(render_statistics(statistics), markup=False, highlight=False, soft_wrap=True)


def _plan_training(config: Path, as_json: bool, confirm: bool) -> None:
    from trasgo_lib.training import explain_training, pld_epsilon, read_training, render_training

    _, training = read_training(config)
    confirmed = pld_epsilon(training) if confirm else None
    if as_json:
        say_json(explain_training(training, confirmed))
    else:
        out.print(render_training(training, confirmed), markup=False, highlight=False, soft_wrap=True)
