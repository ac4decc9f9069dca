"""What the command says and how it ends: tables, progress, errors, exit codes."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from flows.environment import UNNAMED as UNNAMED
from flows.environment import actor as actor
from flows.environment import home as home
from trasgo_lib.errors import Fault, InterruptedRunError, Reason, StoreError, TrasgoError

out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
"""Standard output: results. Names are the user's: brackets and colons in them are text, never markup."""

err = Console(stderr=True, highlight=False, soft_wrap=True, markup=False, emoji=False)
"""Standard error: progress and faults."""


def say_json(document: Mapping[str, object]) -> None:
    """Print one strict JSON object on standard output, for machines."""
    sys.stdout.write(json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


class _ProgressLines(logging.Handler):
    """One line a message, with its time; never wrapped, so that it can be searched."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        moment = time.strftime("%H:%M:%S", time.localtime(record.created))
        err.print(Text.assemble((moment, "dim"), f" {record.getMessage()}"), soft_wrap=True)


@contextmanager
def progress(quiet: bool) -> Iterator[None]:
    """Show the run's log lines on standard error while it works; they hold public facts only."""
    logger = logging.getLogger("trasgo")
    handler = _ProgressLines()
    logger.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def guarded(as_json: bool = False, *, goes_on: bool = False) -> Iterator[None]:
    """Turn every error into clean text and its exit code; never a traceback with values in it.

    Args:
        as_json: whether the error goes to standard output as JSON.
        goes_on: whether the command, run again, goes on where it was ended; else it starts anew.
    """
    try:
        with _stopped_by_sigterm():
            yield
    except TrasgoError as error:
        _show(error, as_json)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        _show(_interrupted(goes_on), as_json)
        raise typer.Exit(InterruptedRunError.exit_code) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:  # noqa: BLE001 the last boundary: its text could hold a cell value, so it is not shown
        disk = StoreError.of_disk(error) if isinstance(error, OSError) else None
        _show(disk or _unexpected(error, goes_on), as_json)
        if disk is None:
            _show_frames(error)
        raise typer.Exit((disk or TrasgoError).exit_code) from None


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let a scheduler's SIGTERM end a command as Ctrl-C does, with its exit code and its lease given back."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only there may a handler be set
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(error: TrasgoError, as_json: bool) -> None:
    if as_json:
        say_json(
            {"error": type(error).__name__, "exit_code": error.exit_code, "faults": [_row(f) for f in error.faults]}
        )
        return
    title = "Unexpected" if type(error) is TrasgoError else type(error).__name__.removesuffix("Error")
    err.print(Text.assemble((title, "bold red"), f" (exit {error.exit_code})"))
    for fault in error.faults:
        err.print(str(fault))
    if any(fault.reason is Reason.UNDECIDED for fault in error.faults):
        err.print("A draft that is not decided yet. What else it lacks: trasgo doctor FILE")


def _row(fault: Fault) -> dict[str, object]:
    """A fault for machines: without its row count, which is private."""
    return {
        "reason": str(fault.reason),
        "where": fault.where,
        "required": fault.required,
        "came": fault.came,
        "fix": fault.fix,
        "line": fault.line,
        "column": fault.column,
    }


def _interrupted(goes_on: bool) -> InterruptedRunError:
    again = "Nothing is lost: run the same command again to go on; no draw is paid twice."
    return InterruptedRunError.of(
        Reason.INTERRUPTED,
        "this run" if goes_on else "this command",
        required="a run that goes on to its end" if goes_on else "time until its end",
        came="an interruption",
        fix=again if goes_on else "Run the same command again; it starts anew.",
    )


def _unexpected(error: Exception, goes_on: bool) -> TrasgoError:
    return TrasgoError.of(
        Reason.INTERNAL,
        "the command",
        required="no unexpected error",
        came=f"a {type(error).__name__}; its text is withheld, since it could hold a value",
        fix="Report the place; run again to resume." if goes_on else "Report the place.",
    )


def _show_frames(error: Exception) -> None:
    for frame in traceback.extract_tb(error.__traceback__)[-8:]:
        err.print(f"  {Path(frame.filename).name}:{frame.lineno} {frame.name}")
