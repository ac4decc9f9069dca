"""Task option sets, and the boundary at which errors lose what an orchestrator must not store.

Prefect pickles exceptions and keeps their text in its database, whatever the persistence settings say. So every task
body runs inside ``at_boundary``: our own errors are raised anew without row counts, all others without their text, and
no cause is chained.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar, cast

from prefect.cache_policies import NO_CACHE
from prefect.utilities.annotations import quote

from trasgo_lib.errors import Fault, Reason, StoreError, TrasgoError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class TaskOptions(TypedDict):
    """The options this product sets on every task; nothing is ever cached or persisted."""

    cache_policy: Any
    persist_result: bool
    log_prints: bool
    retries: int
    retry_delay_seconds: float
    retry_condition_fn: Callable[..., bool]


_STAND = frozenset({Reason.STORE_REFUSED, Reason.STORE_FULL, Reason.STORE_UNSAFE, Reason.CHAIN_BROKEN})
"""What a store or the ledger says and will say again until someone mends it."""


def _may_pass(task: object, task_run: object, state: Any) -> bool:
    """Whether trying again can help: a store or machine fault may pass, a refusal stands."""
    error = state.result(raise_on_failure=False)
    if isinstance(error, StoreError):
        return error.reason not in _STAND
    return isinstance(error, TrasgoError) and error.reason is Reason.INTERNAL


def _options(retries: int) -> TaskOptions:
    return TaskOptions(
        cache_policy=NO_CACHE,
        persist_result=False,
        log_prints=False,
        retries=retries,
        retry_delay_seconds=1.0,
        retry_condition_fn=_may_pass,
    )


PURE = _options(0)
"""Reads files, decides; a failure is the user's to mend."""

NOISE_DRAW = _options(2)
"""A retried draw is bit-identical (the keystream is addressed by row), so a retry is free."""

IDEMPOTENT_IO = _options(2)
"""Create-once puts: the same bytes twice are one success."""


def opaque(value: T) -> T:
    """The value, marked so that the orchestrator hands it on without looking into it for futures or copying it."""
    return cast(T, quote(value))


def at_boundary(body: Callable[P, R]) -> Callable[P, R]:
    """Wrap a task body so that what it raises may be stored: no row count, no foreign text, no cause."""

    @functools.wraps(body)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return body(*args, **kwargs)
        except TrasgoError as error:
            clean: TrasgoError = error.without_counts()
        except Exception as error:  # noqa: BLE001 any foreign text could hold a cell value
            disk = StoreError.of_disk(error) if isinstance(error, OSError) else None
            clean = disk or _withheld(error)
        raise clean from None

    return wrapped


def _withheld(error: Exception) -> TrasgoError:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return TrasgoError(
        Fault(
            reason=Reason.INTERNAL,
            where=f"{Path(frame.filename).name}:{frame.lineno} {frame.name}",
            required="no unexpected error",
            came=f"a {type(error).__name__}; its text is withheld, since it could hold a value",
            fix="Report this place; run again to resume.",
        )
    )
