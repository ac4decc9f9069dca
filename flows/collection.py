"""The collection flow: the order of stages and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from prefect import flow, unmapped
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.collection import close_window, count_reports, publish_collection, publish_waiting_window
from tasks.collection_life import life_of_ref
from tasks.collection_session import CollectionRef, CollectionSession
from tasks.places import declared_scheduler
from trasgo_lib.config import dask_of


@flow(name="collection", persist_result=False, validate_parameters=False)
def collection(ref: CollectionRef) -> Literal["published", "waiting"]:
    """Take a window from the reports that were collected to its published map, or to a packaged one that waits.

    Args:
        ref: public facts from which every task opens the window.

    Raises:
        TrasgoError: without counts; what a person may see of them is in the restricted root.
    """
    with life_of_ref(ref).hold_lease() as held:
        parts = close_window(ref)
        counted = count_reports.map(unmapped(ref), list(range(parts)))
        keys = [future.result() for future in counted]
        held.require()
        return publish_collection(ref, keys)


@flow(name="publish window", persist_result=False, validate_parameters=False)
def publish_window(ref: CollectionRef) -> Literal["published"]:
    """Publish the files of a window that wait, as they were approved; no report is opened.

    Args:
        ref: public facts from which every task opens the window.

    Raises:
        TrasgoError: approvals are missing, the embargo has not ended, or the files are not those that were packaged.
    """
    with life_of_ref(ref).hold_lease() as held:
        held.require()
        publish_waiting_window(ref)
        return "published"


@contextmanager
def counters(session: CollectionSession) -> Iterator[TaskRunner[Any]]:
    """Who counts: threads of this process, Dask workers of this machine, or those of a scheduler of the office's own.

    Raises:
        ConfigError: the scheduler's address is absent or no address, or there are no certificates for it.
        StoreError: the scheduler cannot be reached, or has no worker.
        ConflictError: its workers have another version of this library.
    """
    dask = dask_of(session.config.runner)
    if dask is None:
        yield ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1)
        return
    address = declared_scheduler(dask)
    # late: it takes a second or two, and only those wait who asked for it
    from flows.dask_clusters import local_workers, workers_of

    home = session.home
    cluster = local_workers(dask.workers, dask.wait_s, home) if address is None else workers_of(address, dask.wait_s)
    with cluster as (runner, _):
        yield runner
