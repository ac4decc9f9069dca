"""One window of one collection: what must hold before, the flow, and what the window has become.

The command and the scheduled flow both go through here, so that neither can leave a check out.
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from prefect import State, flow
from prefect.states import Completed

from flows.environment import actor, home, prepare_prefect
from tasks.collection_closing import last_over, read_closing, require_over, require_same_plan
from tasks.collection_corrections import require_place
from tasks.collection_life import WindowPlan, life_of
from tasks.collection_session import CollectionRef, CollectionSession, collection_of, open_collection
from tasks.policies import at_boundary
from tasks.signing import require_signing_key
from tasks.version_life import VersionLife
from tasks.waiting import may_be_published
from tasks.wholeness import lost_files
from trasgo_lib.errors import WaitingError
from trasgo_lib.records import State as RecordState
from trasgo_lib.records import waiting_of

_LOGGER = logging.getLogger("trasgo")

_OVER = (RecordState.PUBLISHED, RecordState.SUPERSEDED, RecordState.WITHDRAWN)


@dataclass(frozen=True, slots=True)
class WindowOutcome:
    """What a window has come to.

    Args:
        state: its lifecycle state.
        already: whether this run found it finished.
        waiting: why a packaged window is not public yet; None for others.
    """

    state: RecordState
    already: bool
    waiting: WaitingError | None = None


def run_window(
    digest: str,
    session: CollectionSession,
    window: str,
    person: str,
    around: AbstractContextManager[object] | None = None,
) -> WindowOutcome:
    """Take a window as far as it goes; a finished one is left as it is and starts no orchestrator.

    Args:
        digest: of the collection file's text.
        session: the collection.
        window: its first day.
        person: who runs it, for the records.
        around: entered while the flow works, to show its progress.

    Raises:
        TrasgoError: something that must hold does not.
    """
    require_over(session, window)
    life = life_of(session, window, person)
    life.require_whole_ledger()
    life.require_superseded()
    if _is_over(session, life, window):
        return _outcome(life, already=True)
    require_place(session.plan, life, window)
    life.require_stores()
    ref = CollectionRef(str(session.config_path), digest, str(session.home), window, person)
    with around or nullcontext():
        if life.publication().package is None:
            require_signing_key(life)
            _execute(ref, session)
        # one that was packaged a moment ago goes on, too: its embargo can have ended meanwhile
        if life.publication().package is not None:
            _go_on_waiting(ref, session, life)
    return _outcome(life, already=False)


def _is_over(session: CollectionSession, life: VersionLife[WindowPlan], window: str) -> bool:
    """Whether nothing is left to do; public files that were lost are put again, those of a withdrawn window are not."""
    record = life.version()
    if record is None or record.state not in _OVER:
        return False
    if record.manifest_digest is None:
        return True  # ended before it was published, perhaps before it was closed
    require_same_plan(session, window, read_closing(session, window))
    lost = lost_files(life)
    if lost:
        _LOGGER.warning("%s: %d files of it are lost; they are put again", session.prefix(window), len(lost))
    return not lost


def _execute(ref: CollectionRef, session: CollectionSession) -> None:
    from flows.collection import collection, counters
    from flows.orchestrator_database import make_ready
    from flows.orphans import children_end_with_this_process

    make_ready()
    with children_end_with_this_process(), counters(session) as runner:
        collection.with_options(task_runner=runner)(ref)


def _go_on_waiting(ref: CollectionRef, session: CollectionSession, life: VersionLife[WindowPlan]) -> None:
    """A packaged window is published when it may be."""
    require_same_plan(session, ref.window, read_closing(session, ref.window))
    if not may_be_published(life):
        return
    from flows.collection import publish_window
    from flows.orchestrator_database import make_ready
    from flows.orphans import children_end_with_this_process

    make_ready()
    with children_end_with_this_process():
        publish_window(ref)


def _outcome(life: VersionLife[WindowPlan], *, already: bool) -> WindowOutcome:
    record = life.begin()
    over = record.state in _OVER
    waiting = None if over else waiting_of(record, life.publication(), life.records.now())
    return WindowOutcome(record.state, already, waiting)


@flow(name="scheduled collection", persist_result=False, validate_parameters=False)
def scheduled_collection(config: str) -> str | State[str]:
    """Publish the last window that is over; one that is public already is left as it is.

    Args:
        config: the collection file, from the worker's folder or absolute; public.

    Returns:
        The window, a public word. One that waits as it should, for people or for its hour, completes as ``Waiting``.
    """
    window, outcome = _run(config)
    if outcome.waiting is None:
        return window
    if outcome.state is RecordState.HELD:
        raise outcome.waiting
    return Completed(name="Waiting", message=str(outcome.waiting.reason), data=window)


@at_boundary
def _run(config: str) -> tuple[str, WindowOutcome]:
    prepare_prefect(home())
    collection_of.cache_clear()
    digest, session = open_collection(Path(config).absolute(), home())
    window = last_over(session.plan)
    return window, run_window(digest, session, window, actor())
