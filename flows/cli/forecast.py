"""``trasgo forecast``: what a release will lose and cost, from public knowledge, before any data is opened."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from flows.cli.console import err, guarded, progress, say_json
from trasgo_lib.errors import ConfigError, Reason

if TYPE_CHECKING:
    from trasgo_lib.amounts import Epsilon

_CONFIG = typer.Argument(help="The release file (YAML), with a prior.")
_ROWS = typer.Option(None, "--rows", help="Number of rows of the release; default: that of the prior.")
_EPSILONS = typer.Option("0.25,0.5,1,2,4,8", "--epsilons", help="Levels to look at, with commas.")
_ROW_COUNTS = typer.Option("500,1000,3000,10000,30000,100000", "--row-counts", help="Row counts to look at too.")
_KEYS = typer.Option(3, "--rehearsals", min=1, max=100, help="How often the loop is rehearsed at the release's rows.")
_GROUP = typer.Option([], "--group", help="Columns that might be noised as one, with commas; may be repeated.")
_UNIFORM = typer.Option(False, "--assume-uniform", help="Take columns without a prior as evenly spread.")
_CHART = typer.Option(None, "--chart", help="Write a chart of the losses here (SVG).")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")
_QUIET = typer.Option(False, "--quiet", help="No progress on standard error.")


def forecast(
    config: Path = _CONFIG,
    rows: int | None = _ROWS,
    epsilons: str = _EPSILONS,
    row_counts: str = _ROW_COUNTS,
    rehearsals: int = _KEYS,
    group: list[str] = _GROUP,
    assume_uniform: bool = _UNIFORM,
    chart: Path | None = _CHART,
    as_json: bool = _JSON,
    quiet: bool = _QUIET,
) -> None:
    """Expected losses by epsilon and rows, what the targets cost, and whether to group; opens no data."""
    with guarded(as_json):
        from flows.cli.forecast_tables import print_forecast
        from trasgo_lib.loop.forecast import Questions, forecast_document
        from trasgo_lib.loop.forecast import forecast as foresee
        from trasgo_lib.plan import read_plan

        questions = Questions(
            rows=rows,
            epsilons=_levels(epsilons),
            row_counts=_counts(row_counts),
            keys=rehearsals,
            groups=tuple(_names(columns) for columns in group),
            assume_uniform=assume_uniform,
        )
        _require_svg(chart)
        with progress(quiet or as_json):
            loaded, plan = read_plan(config)
            found = foresee(loaded, plan, questions, lambda words: logging.getLogger("trasgo").info("%s", words))
        if chart is not None:
            from trasgo_lib.reporting.charts.forecast import forecast_chart

            chart.write_bytes(forecast_chart(found))
        if as_json:
            say_json(forecast_document(found))
        else:
            print_forecast(found)
            if chart is not None:
                err.print(f"Chart: {chart}", markup=False)


def _levels(text: str) -> tuple[Epsilon, ...]:
    from trasgo_lib.amounts import Epsilon

    return tuple(sorted({Epsilon.parse(part, where="--epsilons") for part in text.split(",")}))


def _counts(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise _refused("--row-counts", "whole numbers with commas", text, "Write it as in 500,1000,30000.")
    return tuple(sorted({int(part) for part in parts}))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or not all(names):
        raise _refused("--group", "two or more columns, each once, with commas", text, "Write it as in smsa,region.")
    return names


def _require_svg(chart: Path | None) -> None:
    if chart is None:
        return
    if chart.suffix.lower() != ".svg":
        raise _refused("--chart", "a file that ends in .svg", str(chart), "Charts are written as SVG.")
    if not chart.absolute().parent.is_dir():
        raise _refused("--chart", "a folder that exists", str(chart.parent), "Make the folder first.")
    place = chart if chart.exists() else chart.absolute().parent
    if chart.is_dir() or not os.access(place, os.W_OK):
        raise _refused("--chart", "a file that may be written", str(chart), "Name another place.")


def _refused(where: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, where, required=required, came=repr(came), fix=fix)
