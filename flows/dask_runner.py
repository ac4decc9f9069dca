"""Dask through prefect-dask: a private cluster on this machine, or a scheduler of the office's own.

What travels to workers is a task, a run's reference and references to batches. Prefect would send its own settings
along, passwords among them, and the flow's runner with its certificate; both are left out here, so that a worker uses
what its own environment says. Loaded only when a release file asks for it.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, cast

import dask
from distributed import Client, LocalCluster
from distributed.security import Security
from prefect.client.orchestration import get_client
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.tasks import Task
from prefect_dask.client import PrefectDaskClient
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

import trasgo_lib
from trasgo_lib.config import DaskAddress
from trasgo_lib.data.disk import private_folder
from trasgo_lib.errors import ConflictError, Reason, StoreError, TrasgoError

_QUIET = {
    # pages with task names and call stacks, open to every user of the machine
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.nvml": False,
}

_CONNECT_SECONDS = 30
_WORKERS_SECONDS = 60
"""How long a scheduler may take to answer, and to have a first worker."""


class _OwnSettingsClient(Client):
    """Between Prefect's client and Dask's: takes out of each task what a worker must have of its own."""

    orchestrator = ""
    """Address of the orchestrator, the one setting that a worker is told."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        told = {"profile": {"name": "trasgo", "env_vars": {}}, "settings": {"api": {"url": self.orchestrator}}}
        return super().submit(func, *args, **{**kwargs, "context": {**kwargs["context"], "settings_context": told}})


class _Client(PrefectDaskClient, _OwnSettingsClient):
    """Prefect's client, which hands its tasks on to the class above."""


class _Future(PrefectDaskFuture[Any]):
    """What a worker came to; a worker that is lost for good is an error of ours."""

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        """The value of a task.

        Raises:
            StoreError: the worker was lost, several times, or its scheduler was.
            TrasgoError: as the task raised it.
        """
        kind = None
        try:
            return super().result(timeout, raise_on_failure)
        except TrasgoError:
            raise
        except Exception as error:  # noqa: BLE001 Dask's texts hold keys and arguments of tasks
            kind = type(error).__name__
        raise StoreError.of(
            Reason.WORKERS_LOST,
            "a Dask worker",
            required="a worker that ends its task",
            came=f"a {kind}: workers or their scheduler were lost, or cannot load what they were sent",
            fix="See to the workers (their log, their memory), then run again; no draw is paid twice.",
        )


class DaskRunner(DaskTaskRunner):
    """Prefect's runner on a cluster that is there already.

    Args:
        address: of its scheduler; public.
        security: how it is reached; secret where the cluster is this run's own.
        orchestrator: address of Prefect's server, as workers reach it; public.
    """

    def __init__(self, address: str, security: Security, orchestrator: str) -> None:
        super().__init__(address=address, client_kwargs={"security": security, "timeout": _CONNECT_SECONDS})
        self._security, self._orchestrator = security, orchestrator

    def duplicate(self) -> Self:
        """Another one for the same cluster."""
        return type(self)(cast(str, self.address), self._security, self._orchestrator)

    def __reduce__(self) -> tuple[type[ThreadPoolTaskRunner[Any]], tuple[int]]:
        """A worker starts no tasks: it gets a runner that knows no cluster and no certificate."""
        return ThreadPoolTaskRunner, (1,)

    @property
    def client(self) -> PrefectDaskClient:
        """The connection to the scheduler; made at first use."""
        if self._client is None:
            made: _Client = _Client(self.address, **self.client_kwargs)  # type: ignore[no-untyped-call]
            client = self._exit_stack.enter_context(made)
            client.orchestrator = self._orchestrator
            self._client = client
        return self._client

    def submit(  # type: ignore[override]
        self,
        task: Task[Any, Any],
        parameters: dict[str, Any],
        wait_for: Iterable[Any] | None = None,
        dependencies: Mapping[str, Set[Any]] | None = None,
    ) -> PrefectDaskFuture[Any]:
        """Hand a task to the scheduler."""
        future = super().submit(task, parameters, wait_for, dependencies)  # type: ignore[arg-type]
        return _Future(wrapped_future=future.wrapped_future, task_run_id=future.task_run_id)


@contextmanager
def local_workers(count: int | None, folder: Path) -> Iterator[tuple[DaskRunner, int]]:
    """Workers on this machine for the time of the block: loopback only, under certificates of their own.

    Args:
        count: how many processes; one a core when None.
        folder: the state folder, in which Dask keeps locks meanwhile. Nothing is spilled: references travel.

    Returns:
        The runner, and how many tasks it works on at a time.
    """
    _quiet()
    private_folder(folder)
    workers = count or os.cpu_count() or 1
    # whoever can speak to a scheduler can have its workers run anything, and loopback is open to all users
    security = Security.temporary()
    with (
        dask.config.set(_QUIET),
        tempfile.TemporaryDirectory(prefix="dask-", dir=folder, ignore_cleanup_errors=True) as scratch,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=security,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            memory_limit=0,
            local_directory=scratch,
            silence_logs=logging.CRITICAL,
        ) as cluster,
    ):
        yield DaskRunner(cluster.scheduler_address, security, _orchestrator()), workers


@contextmanager
def workers_of(address: DaskAddress) -> Iterator[tuple[DaskRunner, int]]:
    """Workers of a scheduler that runs already; certificates as Dask's own configuration says.

    Raises:
        StoreError: it cannot be reached, or has no worker.
        ConflictError: a worker has another version of this library, or none.
    """
    _quiet()
    security, kind, found = Security(), None, {}
    try:
        with Client(str(address), security=security, timeout=_CONNECT_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
            slots = sum(client.nthreads().values())
            found = client.run(_version, on_error="return")
    except Exception as error:  # noqa: BLE001 certificates, sockets, time: all that is told is that it cannot be reached
        kind = type(error).__name__
    if kind is not None:
        raise StoreError.of(
            Reason.WORKERS_LOST,
            f"Dask scheduler {address}",
            required="a scheduler that answers and has a worker",
            came=f"a {kind}",
            fix="Start it, and its workers, or correct runner.dask; nothing was read or charged.",
        )
    wrong = sorted({"none" if isinstance(one, Exception) else str(one) for one in found.values()} - {_version()})
    if wrong:
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"Dask workers of {address}",
            required=f"trasgo {_version()} on every worker",
            came=", ".join(wrong),
            fix="Install the same version on the workers; nothing was read or charged.",
        )
    yield DaskRunner(str(address), security, _orchestrator()), slots


def _quiet() -> None:
    """Dask tells of each worker and connection; what ends a run is told by our own errors."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _version() -> str:
    return trasgo_lib.__version__


def _orchestrator() -> str:
    """Where the orchestrator is, whose embedded server is started when there is none."""
    with get_client(sync_client=True) as client:
        return str(client.api_url)
