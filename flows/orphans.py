"""Ending the embedded server with the run that started it, even when that run is killed.

Prefect starts its embedded server as a child process and ends it when the interpreter exits. A run that is killed never
gets there, and the server would stay for good, holding its port and its database.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

_MARK = "TRASGO_RUN"
"""Environment variable by which this run's child processes are known."""

_WATCH = """
signal_marked() {
    for process in /proc/[0-9]*; do
        tr '\\0' '\\n' < "$process/environ" 2> /dev/null | grep -qxF "$1" && kill "-$2" "${process#/proc/}" 2> /dev/null
    done
}
cat > /dev/null
signal_marked "$1" TERM
sleep 5
signal_marked "$1" KILL
"""
"""Waits until the pipe from the run closes, then ends what carries the run's mark; by number, never by name. A server
that has not ended five seconds after it was asked to is made to: it waits for clients that are gone."""


@contextmanager
def children_end_with_this_process() -> Iterator[None]:
    """While the block runs: should this process be killed, its children are ended. Needs ``/proc``; idle elsewhere."""
    mark = f"{_MARK}={uuid.uuid4()}"
    before = os.environ.get(_MARK)
    # Its own session, so that an interrupt from the terminal does not end it first; no mark of its own.
    watch = subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, "trasgo-watch", mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.defpath},
    )
    os.environ[_MARK] = mark.split("=", 1)[1]
    try:
        yield
    finally:
        watch.kill()
        watch.communicate()
        os.environ.pop(_MARK, None) if before is None else os.environ.update({_MARK: before})
