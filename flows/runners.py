"""Who draws: threads of this process, or Dask workers, as the release file says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.places import scheduler_address
from tasks.session import Session
from trasgo_lib.config import dask_of


@contextmanager
def runner_of(session: Session) -> Iterator[tuple[TaskRunner[Any], int]]:
    """The task runner of a run, and how many tasks it works on at a time; workers of this machine end with the block.

    Args:
        session: the run.

    Raises:
        ConfigError: the scheduler's address is absent or no address, or there are no certificates for it.
        StoreError: the scheduler cannot be reached, or has no worker.
        ConflictError: its workers would draw other bits.
    """
    dask = dask_of(session.plan.config.runner)
    if dask is None:
        # sampling and Arrow release the interpreter lock, so threads use every core and share one server
        slots = os.cpu_count() or 1
        yield ThreadPoolTaskRunner(max_workers=slots), slots
        return
    address = scheduler_address(session.plan)
    # late: it takes a second or two, and only those wait who asked for it
    from flows.dask_clusters import local_workers, workers_of

    home = Path(session.ref.home)
    cluster = local_workers(dask.workers, dask.wait_s, home) if address is None else workers_of(address, dask.wait_s)
    with cluster as found:
        yield found
