"""One window of one collection: what must hold before, the flow, and whether it was public already.

The command and the scheduled flow both go through here, so that neither can leave a check out.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path

from prefect import flow

from flows.environment import home, prepare_prefect
from tasks.collection import is_published
from tasks.collection_closing import read_closing, require_over, require_same_plan
from tasks.collection_session import CollectionRef, CollectionSession, collection_of, open_collection, today
from tasks.policies import at_boundary


def run_window(
    digest: str, session: CollectionSession, window: str, around: AbstractContextManager[object] | None = None
) -> bool:
    """Take a window to its publication; a published one is left as it is and starts no orchestrator.

    Args:
        digest: of the collection file's text.
        session: the collection.
        window: its first day.
        around: entered while the flow works, to show its progress.

    Returns:
        Whether it was published before.

    Raises:
        TrasgoError: something that must hold does not.
    """
    require_over(session, window)
    if is_published(session, window):
        require_same_plan(session, window, read_closing(session, window))
        return True
    for store in (session.public, session.restricted):
        store.require_create_once()
    session.signing(window)
    from flows.collection import collection, counters
    from flows.orchestrator_database import make_ready
    from flows.orphans import children_end_with_this_process

    make_ready()
    ref = CollectionRef(str(session.config_path), digest, str(session.home), window)
    with around or nullcontext(), children_end_with_this_process(), counters(session) as runner:
        collection.with_options(task_runner=runner)(ref)
    return False


@flow(name="scheduled collection", persist_result=False, validate_parameters=False)
def scheduled_collection(config: str) -> str:
    """Publish the last window that is over; one that is public already is left as it is.

    Args:
        config: the collection file, from the worker's folder or absolute; public.

    Returns:
        The window, a public word.
    """
    return _run(config)


@at_boundary
def _run(config: str) -> str:
    prepare_prefect(home())
    collection_of.cache_clear()
    digest, session = open_collection(Path(config).absolute(), home())
    windows = session.plan.windows
    window = windows.of(today() - timedelta(days=windows.days + windows.late_days))
    run_window(digest, session, window)
    return window
