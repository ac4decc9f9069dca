"""The publication flow: a packaged version that has its approvals goes to the public root."""

from __future__ import annotations

from typing import Literal

from prefect import flow

from tasks.artifacts import show_release
from tasks.session import RunRef, open_session
from tasks.waiting import publish_waiting


@flow(name="publish", persist_result=False, validate_parameters=False)
def publish(ref: RunRef) -> Literal["published"]:
    """Publish the files that wait, as they were approved; nothing is drawn and no data is opened.

    Args:
        ref: public facts from which every task opens the run.

    Raises:
        TrasgoError: approvals are missing, the embargo has not ended, or the files are not those that were packaged.
    """
    with open_session(ref).hold_lease() as held:
        held.require()
        publish_waiting(ref)
        show_release(open_session(ref))
        return "published"
