"""The statistics flow: the order of stages and nothing else."""

from __future__ import annotations

from typing import Any, Literal

from prefect import flow, unmapped
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from tasks.artifacts import show_release
from tasks.ingest import ingest
from tasks.publish_central import package_central, publish_central
from tasks.query import answer_query, mark_answers_checked, reserve_queries, statistics_of
from tasks.session import RunRef, open_session
from tasks.source import require_same_source

_RUNNER: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=2)
"""Counting reads the same stored columns and adding noise holds the interpreter lock, so more threads gain nothing."""


@flow(
    name="statistics",
    persist_result=False,
    validate_parameters=False,
    task_runner=_RUNNER,
)
def statistics(ref: RunRef) -> Literal["published", "waiting"]:
    """Take a source file to published answers, or to packaged ones that wait.

    Args:
        ref: public facts from which every task opens the run.

    Raises:
        TrasgoError: without row counts; what a person may see of them is in the restricted root.
    """
    session = open_session(ref)
    with session.hold_lease() as held:
        table = ingest(ref)
        held.require()
        reserve_queries(ref, table.rows)
        names = [query.name for query in statistics_of(session).queries]
        for answered in answer_query.map(unmapped(ref), unmapped(table), names):
            answered.result()
        mark_answers_checked(ref)
        require_same_source(ref)
        held.require()
        if session.must_wait():
            package_central(ref)
            return "waiting"
        publish_central(ref)
        show_release(session)
        return "published"
