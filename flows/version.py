"""One run of one version: what must hold before, the release flow, and what the version has become.

The command and the scheduled flow both go through here, so that neither can leave a check out.
"""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager, nullcontext

from flows.outcome import Outcome, finished, outcome_of
from tasks.session import RunRef, Session, open_session
from tasks.signing import require_signing_key
from tasks.workspace import Workspace
from trasgo_lib.errors import ConflictError, InputContractError, InterruptedRunError, Reason, TrasgoError


def run_version(
    ref: RunRef, *, may_start: bool = True, around: AbstractContextManager[object] | None = None
) -> tuple[Session, Outcome]:
    """Take a version as far as it goes; a finished one is left as it is.

    Args:
        ref: the run.
        may_start: False to refuse a version that was never begun.
        around: entered while the release flow works, to show its progress.

    Raises:
        InputContractError: with the row counts, which the orchestrator was not told; for the runner's eyes.
        TrasgoError: something that must hold does not.
    """
    session = open_session(ref)
    if not may_start and session.version() is None:
        raise _nothing_to_resume(session)
    session.require_whole_ledger()
    session.require_account()
    session.require_superseded()
    is_over = finished(session) is not None
    if not is_over:
        session.require_stores()
        with around or nullcontext():
            if session.publication().package is None:
                require_signing_key(session)
                _execute(ref, session)
            else:
                _go_on_waiting(ref, session)
    return session, outcome_of(session, already=is_over)


def _execute(ref: RunRef, session: Session) -> None:
    """Run the flow; where it refused the input, raise the counts that the orchestrator was not told."""
    logging.getLogger("trasgo").info("starting the orchestrator (about 10 s)")
    from flows.orchestrator_database import make_ready
    from flows.orphans import children_end_with_this_process

    make_ready()
    workspace = Workspace(session.work)
    workspace.clear_faults()
    told: TrasgoError | None
    try:
        with children_end_with_this_process():
            _run_flow(ref, session)
    except InputContractError:
        told = workspace.read_faults()
        if told is None:
            raise
    except RuntimeError as error:
        if not _never_started(error):
            raise
        told = _too_slow()
    else:
        return
    raise told from None


def _never_started(error: RuntimeError) -> bool:
    """Whether an error comes from the start of the embedded server: told by its place, not by its text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == "prefect.server.api.server"


def _too_slow() -> TrasgoError:
    seconds = os.environ.get("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "a few")
    return InterruptedRunError.of(
        Reason.INTERRUPTED,
        "the orchestrator",
        required=f"an embedded server that answers within {seconds} s",
        came="none: the machine is busy, or its loopback is closed",
        fix="Run again, with a larger PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS, or name a server of your own in"
        " PREFECT_API_URL. This run drew nothing.",
    )


def _run_flow(ref: RunRef, session: Session) -> None:
    if session.statistics is not None:
        from flows.statistics import statistics

        statistics(ref)
        return
    if session.training is not None:
        from flows.training import training

        training(ref)
        return
    from flows.release import release
    from flows.runners import runner_of

    with runner_of(session) as (runner, slots):
        release.with_options(task_runner=runner)(ref, slots)


def _go_on_waiting(ref: RunRef, session: Session) -> None:
    """A packaged version is published when it may be."""
    from tasks.waiting import may_be_published

    if not may_be_published(session):
        return
    from flows.orphans import children_end_with_this_process
    from flows.publish import publish

    with children_end_with_this_process():
        publish(ref)


def _nothing_to_resume(session: Session) -> ConflictError:
    return ConflictError.of(
        Reason.NOTHING_TO_RESUME,
        f"version {session.plan.dataset}/{session.plan.version}",
        required="a version that was begun",
        came="none",
        fix=f"Start it with: trasgo {session.verb}",
    )
