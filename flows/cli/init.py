"""``trasgo init``: a draft release file for a data file, on standard output."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from flows.cli.console import err, guarded

_FILE = typer.Argument(help="The data: a CSV or Parquet file. Only its start is read, and no cell is repeated.")
_DATASET = typer.Option(None, "--dataset", help="Name of the data set; default: made of the file's name.")
_HEADER = typer.Option(
    None, "--header/--no-header", help="Whether the first record holds the column names; default: as it looks."
)


def init(file: Path = _FILE, dataset: str | None = _DATASET, header: bool | None = _HEADER) -> None:
    """Write a commented draft release file on standard output; every privacy decision is left to you."""
    with guarded():
        from trasgo_lib.drafting import dataset_name, draft_text, read_form

        form = read_form(_named(file), header=header)
        draft = draft_text(form, dataset_name(dataset, file))
        sys.stdout.write(draft)
        sys.stdout.flush()
        if sys.stdout.isatty():
            err.print("This is a draft. Keep it in a file: trasgo init ... > release.yaml", markup=False)


def _named(file: Path) -> Path:
    """The file as the release file names it: alone where it lies here, else by its absolute path."""
    whole = file.absolute()
    return Path(whole.name) if whole.parent == Path.cwd() else whole
