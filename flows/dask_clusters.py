"""Where Dask workers come from: a private cluster on this machine, or a scheduler of the office's own.

Loaded only when a release file asks for it.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import dask
from distributed import Client, LocalCluster
from distributed.security import Security
from prefect.client.orchestration import get_client

from flows.dask_runner import CONNECT_SECONDS, DaskRunner, require_same
from tasks.made_with import deciders_of_bits
from trasgo_lib.config import DaskAddress
from trasgo_lib.data.disk import private_folder
from trasgo_lib.errors import ConfigError, Reason, StoreError

_QUIET = {
    # pages with task names and call stacks, open to every user of the machine
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.diagnostics.nvml": False,
}

_LOADS = ("trasgo", "code", "python")
"""What a scheduler must have in common with a run: it draws nothing, but it loads the tasks that it hands on."""

_NO_LIBRARY = (ImportError, AttributeError)
"""What a process raises that is to load a function it has not, or not yet."""

_CERTIFICATES = {
    "tls_ca_file": "DASK_DISTRIBUTED__COMM__TLS__CA_FILE",
    "tls_client_cert": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT",
    "tls_client_key": "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY",
}
"""What a connection under TLS needs, and the variables of Dask's own settings that name these files."""


@contextmanager
def local_workers(count: int | None, wait_s: int, folder: Path) -> Iterator[tuple[DaskRunner, int]]:
    """Workers on this machine for the time of the block: loopback only, under certificates of their own.

    Args:
        count: how many processes; one a core when None.
        wait_s: how long a run waits while all of them are gone, seconds.
        folder: the state folder, in which Dask keeps locks meanwhile. Nothing is spilled: references travel.

    Returns:
        The runner, and how many tasks it works on at a time.

    Raises:
        StoreError: they cannot be started.
    """
    _quiet()
    private_folder(folder)
    workers = count or os.cpu_count() or 1
    # whoever can speak to a scheduler can have its workers run anything, and loopback is open to all users
    security = Security.temporary()
    with (
        # a worker that died comes back after seconds of imports; Dask would give up its place after 15 of them
        dask.config.set({**_QUIET, "distributed.deploy.lost-worker-timeout": f"{wait_s}s"}),
        tempfile.TemporaryDirectory(prefix="dask-", dir=folder, ignore_cleanup_errors=True) as scratch,
        _started(workers, security, scratch) as cluster,
    ):
        yield DaskRunner(cluster.scheduler_address, security, _orchestrator(), wait_s), workers


def _started(workers: int, security: Security, scratch: str) -> LocalCluster:
    try:
        return LocalCluster(
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
        )
    except Exception as error:  # noqa: BLE001 processes, sockets, time: all that is told is that they do not start
        kind = type(error).__name__
    raise StoreError.of(
        Reason.WORKERS_LOST,
        "Dask workers of this machine",
        required=f"{workers} processes that start and speak to each other on loopback",
        came=f"a {kind}",
        fix="Ask for fewer (runner.dask.workers), or write runner: threads; nothing was read or charged.",
    )


@contextmanager
def workers_of(address: DaskAddress, wait_s: int) -> Iterator[tuple[DaskRunner, int]]:
    """Workers of a scheduler that runs already; certificates as Dask's own settings say.

    Args:
        address: of the scheduler; public.
        wait_s: how long a run waits while it has no worker, seconds, now and later.

    Raises:
        ConfigError: Dask's settings name no certificates, or files that hold none, and the address needs them.
        StoreError: it cannot be reached, or has no worker.
        ConflictError: a worker has another version of this library or of what decides its bits, or none; or the
            scheduler has another one of what it must load.
    """
    _quiet()
    security, kind, found = _security_for(address), None, {}
    at_scheduler: Mapping[str, str] = {}
    try:
        with Client(str(address), security=security, timeout=CONNECT_SECONDS, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=wait_s)
            slots = sum(client.nthreads().values())
            at_scheduler = _at_scheduler(client)
            # ``run`` itself takes no limit of time, and a worker that stands still would hold it for ever
            found = client.sync(client._run, deciders_of_bits, on_error="return", callback_timeout=wait_s)
    except Exception as error:  # noqa: BLE001 certificates, sockets, time: all that is told is that it cannot be reached
        kind = type(error).__name__
    if kind is not None:
        raise StoreError.of(
            Reason.WORKERS_LOST,
            f"Dask scheduler {address}",
            required=f"a scheduler with a worker, all of which answer within {wait_s} s (runner.dask.wait_s)",
            came=f"a {kind}",
            fix="Start it, and its workers, or correct runner.dask; nothing was read or charged.",
        )
    ours, so_far = deciders_of_bits(), "nothing was read or charged"
    require_same({name: ours[name] for name in _LOADS}, [at_scheduler], f"Dask scheduler {address}", so_far)
    seen = [{} if isinstance(one, _NO_LIBRARY) else one for one in found.values()]
    # one that was lost meanwhile tells nothing; each task looks again where it is done
    require_same(ours, [one for one in seen if not isinstance(one, Exception)], f"Dask workers of {address}", so_far)
    yield DaskRunner(str(address), security, _orchestrator(), wait_s), slots


def _at_scheduler(client: Client) -> Mapping[str, str]:
    """What the scheduler has of what decides bits; empty where it has no such library."""
    try:
        return cast(Mapping[str, str], client.run_on_scheduler(deciders_of_bits))
    except _NO_LIBRARY:
        return {}


def _security_for(address: DaskAddress) -> Security:
    """Dask's own settings, held against what the address needs."""
    security = Security()
    if address.scheme != "tls":
        return security
    absent = [variable for name, variable in _CERTIFICATES.items() if not getattr(security, name)]
    came = "no " + ", ".join(absent) if absent else None
    if came is None:
        try:
            security.get_connection_args("client")
        except (OSError, ssl.SSLError) as error:
            came = f"files that cannot be used: a {type(error).__name__}"
    if came is None:
        return security
    raise ConfigError.of(
        Reason.BAD_PARAMETER,
        f"certificates for Dask scheduler {address}",
        required="a certificate, its key, and that of the authority, in PEM files that Dask's settings name",
        came=came,
        fix="Set " + ", ".join(_CERTIFICATES.values()) + " to their paths.",
    )


def _quiet() -> None:
    """Dask tells of each worker and connection; what ends a run is told by our own errors."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


def _orchestrator() -> str:
    """Where the orchestrator is, whose embedded server is started when there is none."""
    with get_client(sync_client=True) as client:
        return str(client.api_url)
