"""Prefect's tasks on Dask workers, which clusters of ``flows.dask_clusters`` give.

What travels to workers is a task, a run's reference and references to batches. Prefect would send its own settings
along, passwords among them, and the flow's runner with its certificate; both are left out here, so that a worker uses
what its own environment says. Loaded only when a release file asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from time import monotonic
from typing import Any, Self, cast

from distributed import Client
from distributed.security import Security
from prefect.task_runners import ThreadPoolTaskRunner
from prefect.tasks import Task
from prefect_dask.client import PrefectDaskClient
from prefect_dask.task_runners import DaskTaskRunner, PrefectDaskFuture

from tasks.made_with import deciders_of_bits
from trasgo_lib.errors import ConflictError, Reason, StoreError, TrasgoError

CONNECT_SECONDS = 30
"""How long a scheduler may take to answer."""

_LOOK_SECONDS = 2.0
"""How often a run that waits for draws looks whether there are workers."""

_ANSWER_SECONDS = 10.0
"""How long a scheduler may take to say so; one that does not has none."""


class _OwnSettingsClient(Client):
    """Between Prefect's client and Dask's: takes out of each task what a worker must have of its own."""

    orchestrator = ""
    """Address of the orchestrator, the one setting that a worker is told."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        told = {"profile": {"name": "trasgo", "env_vars": {}}, "settings": {"api": {"url": self.orchestrator}}}
        kwargs |= {"context": {**kwargs["context"], "settings_context": told}}
        return super().submit(run_on_same_code, deciders_of_bits(), func, *args, **kwargs)


class _Client(PrefectDaskClient, _OwnSettingsClient):
    """Prefect's client, which hands its tasks on to the class above."""


def run_on_same_code(deciders: Mapping[str, str], func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Do a task on a worker; one that would draw other bits than the run says so instead.

    Args:
        deciders: what decides the bits of a draw, as the run has it; public.
        func: the task.
        args: its arguments.
        kwargs: likewise.

    Raises:
        ConflictError: this worker has another version, other code or other packages. Workers come and go, so what was
            compared before the run does not hold for those that came later.
    """
    require_same(deciders, [deciders_of_bits()], "a Dask worker", "nothing was drawn by this task")
    return func(*args, **kwargs)


def require_same(ours: Mapping[str, str], found: Iterable[Mapping[str, str]], where: str, so_far: str) -> None:
    """Stop where workers would draw other bits.

    Args:
        ours: what decides the bits of a draw, as the run has it; public.
        found: the same of some workers; empty for one that has no such library.
        where: who they are.
        so_far: what has happened, for the person who mends it.

    Raises:
        ConflictError: naming what differs.
    """
    others = [{name: one.get(name, "none") for name in ours if one.get(name) != ours[name]} for one in found]
    names = [name for name in ours if any(name in other for other in others)]
    if names:
        came = {", ".join(f"{name} {other[name]}" for name in names if name in other) for other in others if other}
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            where,
            required="what this run draws with: " + ", ".join(f"{name} {ours[name]}" for name in names),
            came=" or ".join(sorted(came)),
            fix=f"Install the same version and the same lock there; {so_far}.",
        )


class Workers:
    """Whether a scheduler has workers; a run does not wait for ever for some to come.

    Args:
        client: the connection to the scheduler.
        wait_s: how long the run waits while there is none, seconds.
    """

    def __init__(self, client: Client, wait_s: int) -> None:
        self._client, self._wait_s = client, wait_s
        self._none_since: float | None = None

    def require(self) -> None:
        """Look whether there are any.

        Raises:
            StoreError: every look for so long found none.
        """
        scheduler: Any = self._client.scheduler
        try:
            # a client that was closed, since it lost its scheduler, has none
            cores = scheduler and self._client.sync(scheduler.ncores, callback_timeout=_ANSWER_SECONDS)
        except (OSError, TimeoutError):
            cores = {}
        if cores:
            self._none_since = None
            return
        now = monotonic()
        self._none_since = now if self._none_since is None else self._none_since
        if now - self._none_since >= self._wait_s:
            raise StoreError.of(
                Reason.WORKERS_LOST,
                "the Dask scheduler",
                required=f"a worker within {self._wait_s} s (runner.dask.wait_s)",
                came="none",
                fix="Start workers, then run again; no draw is paid twice.",
            )


class _Future(PrefectDaskFuture[Any]):
    """What a worker came to; a worker that is lost for good is an error of ours."""

    workers: Workers

    def result(self, timeout: float | None = None, raise_on_failure: bool = True) -> Any:
        """The value of a task.

        Raises:
            StoreError: the worker was lost, several times, or its scheduler was, or there are no workers any more.
            TrasgoError: as the task raised it.
        """
        kind = None
        try:
            while timeout is None and not self.wrapped_future.done():
                with suppress(TimeoutError):
                    self.wrapped_future.exception(timeout=_LOOK_SECONDS)  # waits for the end, whatever it is
                    break
                self.workers.require()
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
        wait_s: how long a run waits while there is no worker, seconds.
    """

    def __init__(self, address: str, security: Security, orchestrator: str, wait_s: int) -> None:
        super().__init__(address=address, client_kwargs={"security": security, "timeout": CONNECT_SECONDS})
        self._security, self._orchestrator, self._wait_s = security, orchestrator, wait_s
        self._workers: Workers | None = None

    def duplicate(self) -> Self:
        """Another one for the same cluster."""
        return type(self)(cast(str, self.address), self._security, self._orchestrator, self._wait_s)

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
            self._client, self._workers = client, Workers(client, self._wait_s)
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
        made = _Future(wrapped_future=future.wrapped_future, task_run_id=future.task_run_id)
        made.workers = cast(Workers, self._workers)
        return made
