"""Rules about the runner: what workers on other machines need that workers on this one do not."""

from __future__ import annotations

from typing import Protocol

from trasgo_lib.config import (
    DaskAddress,
    KeyPath,
    LedgerSpec,
    PostgresDatabase,
    Publish,
    ReleaseConfig,
    dask_address,
    dask_of,
    ledger_address,
)
from trasgo_lib.config.runner import Runner
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.storage import Bucket, place_of


class HasRunner(Protocol):
    """A file whose work can be shared out."""

    @property
    def runner(self) -> Runner:
        """By whom."""

    @property
    def publish(self) -> Publish:
        """Where it goes."""

    @property
    def ledger(self) -> LedgerSpec | None:
        """Where its records are; None where it does not say."""


def check_runner(config: HasRunner, faults: FaultCollector, *, asks_ledger: bool = True) -> None:
    """Refuse an address that is none, and workers that could not reach stage files or ledger.

    Args:
        config: the file's models.
        faults: where faults go.
        asks_ledger: whether a worker asks the ledger before its work.
    """
    dask = dask_of(config.runner)
    if dask is None or dask.is_local:
        return
    path: KeyPath = ("runner", "dask", "address" if dask.address is not None else "address_env")
    away = dask.shared_disk is False
    if dask.address is not None:
        try:
            away = away or not dask_address(dask.address, allow_tcp=dask.allow_tcp).is_loopback
        except ConfigError as error:
            faults.take(error, path)
    if dask.shared_disk is False and not _is_bucket(config):
        faults.add(
            Reason.BAD_PARAMETER,
            ("runner", "dask", "shared_disk"),
            required="a restricted root that is s3://bucket/prefix, where workers without a shared disk find codes",
            came="a folder",
            fix="Move the restricted root to a bucket, or use workers that see this folder.",
        )
    if asks_ledger and away and _has_ledger_file(config):
        required, came, fix = _POSTGRESQL
        faults.add(Reason.BAD_PARAMETER, path, required=required, came=came, fix=fix)


_POSTGRESQL = (
    "a ledger on PostgreSQL, which every worker asks before it draws",
    "a SQLite file, which belongs to one machine",
    "Move the ledger (trasgo ledger migrate), or use workers of this machine.",
)


def require_ledger_for(config: ReleaseConfig, address: DaskAddress) -> None:
    """As :func:`check_runner`, for an address that only the environment knows.

    Raises:
        ConfigError: the scheduler is on another machine and the ledger is a file.
    """
    if not address.is_loopback and _has_ledger_file(config):
        required, came, fix = _POSTGRESQL
        raise ConfigError.of(Reason.BAD_PARAMETER, "runner.dask.address_env", required=required, came=came, fix=fix)


def _has_ledger_file(config: HasRunner) -> bool:
    if config.ledger is None:
        return True
    try:
        return not isinstance(ledger_address(config.ledger.url), PostgresDatabase)
    except ConfigError:
        return False  # told by another check


def _is_bucket(config: HasRunner) -> bool:
    root = config.publish.restricted or config.publish.store or ""
    try:
        return isinstance(place_of(root), Bucket)
    except ConfigError:
        return True  # told by another check
