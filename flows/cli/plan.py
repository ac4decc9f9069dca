"""``trasgo plan``: what a release will cost and how noisy it will be, before any data is opened."""

from __future__ import annotations

from pathlib import Path

import typer

from flows.cli.console import guarded, out, say_json

_CONFIG = typer.Argument(help="The release file (YAML).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


def plan(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """Cost, noise and strength of a release, in words; opens no data."""
    with guarded(as_json):
        from trasgo_lib.plan import explain, read_plan, render

        _, release = read_plan(config)
        explanation = explain(release)
        if as_json:
            say_json(explanation.to_json())
        else:
            out.print(render(explanation), markup=False)
