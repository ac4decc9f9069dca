"""``trasgo key``: the wrapping key under which roots and digest keys are stored."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from flows.cli.console import guarded, home, out

app = typer.Typer(help="Wrapping keys.", no_args_is_help=True)

_FILE = typer.Option(None, "--file", help="Where the key goes; default: wrapping.key in the state folder.")
_IF_ABSENT = typer.Option(False, "--if-absent", help="Do nothing when the file exists.")


@app.callback()
def _noun() -> None:
    """Wrapping keys: whoever holds one and the ledger holds the raw data."""


@app.command("init")
def init(file: Path | None = _FILE, if_absent: bool = _IF_ABSENT) -> None:
    """Make a new wrapping key, readable by you alone."""
    with guarded():
        from trasgo_lib.keys import WrappingKey

        path = (file or home() / "wrapping.key").absolute()
        if if_absent and path.exists():
            WrappingKey.from_file(path)
            out.print(f"Key: {path} (kept)", markup=False)
            return
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        WrappingKey.generate(os.urandom).write_file(path)
        out.print(f"Key: {path} (new). Keep a copy: without it no version can be resumed.", markup=False)
