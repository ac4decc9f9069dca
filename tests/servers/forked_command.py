"""The ``trasgo`` command in processes of its own, forked from one that has loaded the product and done nothing else.

Loading takes several times as long as a small run. Each process of the tests has one such process, which ends with it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Mapping
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

_FORKS = multiprocessing.get_context("forkserver")


def server_url() -> str:
    """The server that the flow tests of this process share: a run starts in seconds when it need not start its own."""
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return str(client.api_url)


def as_it_is() -> None:
    """Nothing is changed before the command starts."""


def started(
    arguments: list[str], environment: Mapping[str, str], log: Path, before: Callable[[], None] = as_it_is
) -> ForkServerProcess:
    """Start the command in a process of its own.

    Args:
        arguments: the command's.
        environment: what it finds there beside the environment of the tests.
        log: file to which both streams are appended.
        before: called in that process first; must be importable.

    Returns:
        The process: ``join``, ``exitcode``, ``kill``.
    """
    told = {"PREFECT_API_URL": server_url(), "PYTHONPATH": os.pathsep.join(sys.path)}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in told.items():
            patch.setenv(name, value)
        _FORKS.set_forkserver_preload(["loaded_product", "forked_command"])
        forkserver.ensure_running()  # Prefect reads its settings there, once
    run = _FORKS.Process(target=_command, args=(arguments, {**os.environ, **told, **environment}, log, before))
    run.start()
    return run


def _command(arguments: list[str], environment: dict[str, str], log: Path, before: Callable[[], None]) -> None:
    with log.open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    before()
    from flows.cli import main

    sys.argv = ["trasgo", *arguments]
    main()
