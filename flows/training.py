"""The training flow: the order of stages and nothing else."""

from __future__ import annotations

from typing import Literal

from prefect import flow

from tasks.artifacts import show_release
from tasks.ingest import ingest
from tasks.publish_central import package_central, publish_central
from tasks.session import RunRef, open_session
from tasks.source import require_same_source
from tasks.train import mark_model_checked, reserve_training, train_model


@flow(name="training", persist_result=False, validate_parameters=False)
def training(ref: RunRef) -> Literal["published", "waiting"]:
    """Take a source file to a published model, or to a packaged one that waits.

    Args:
        ref: public facts from which every task opens the run.

    Raises:
        TrasgoError: without row counts; what a person may see of them is in the restricted root.
    """
    session = open_session(ref)
    with session.hold_lease() as held:
        table = ingest(ref)
        held.require()
        reserve_training(ref, table.rows)
        train_model(ref, table)
        mark_model_checked(ref)
        require_same_source(ref)
        held.require()
        if session.must_wait():
            package_central(ref)
            return "waiting"
        publish_central(ref)
        show_release(session)
        return "published"
