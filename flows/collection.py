"""The collection flow: the order of stages and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from prefect import flow, unmapped
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.collection import close_window, count_reports, publish_collection
from tasks.collection_session import CollectionRef, CollectionSession
from trasgo_lib.config import dask_of
from trasgo_lib.errors import ConfigError, Reason


@flow(name="collection", persist_result=False, validate_parameters=False)
def collection(ref: CollectionRef) -> Literal["published"]:
    """Take a window from the reports that were collected to its published map.

    Args:
        ref: public facts from which every task opens the window.

    Raises:
        TrasgoError: without counts; what a person may see of them is in the restricted root.
    """
    parts = close_window(ref)
    counted = count_reports.map(unmapped(ref), list(range(parts)))
    publish_collection(ref, [future.result() for future in counted])
    return "published"


@contextmanager
def counters(session: CollectionSession) -> Iterator[TaskRunner[Any]]:
    """Who counts: threads of this process, or Dask workers of this machine.

    Raises:
        ConfigError: the file names a scheduler.
    """
    dask = dask_of(session.config.runner)
    if dask is None:
        yield ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
        return
    if not dask.is_local:
        raise ConfigError.of(
            Reason.NOT_BUILT_YET,
            "runner.dask",
            required="threads, or Dask workers of this machine, for a collection",
            came="a scheduler",
            fix="Write `runner: dask`.",
        )
    # late: it takes a second or two, and only those wait who asked for it
    from flows.dask_clusters import local_workers

    with local_workers(dask.workers, dask.wait_s, session.home) as (runner, _):
        yield runner
