"""The training flow: the order of stages and nothing else."""

from __future__ import annotations

from typing import Literal

from prefect import flow

from tasks.ingest import ingest
from tasks.session import RunRef, open_session
from tasks.source import require_same_source
from tasks.train import mark_model_checked, publish_model, reserve_training, train_model


@flow(name="training", persist_result=False, validate_parameters=False)
def training(ref: RunRef) -> Literal["published"]:
    """Take a source file to a published model.

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
        publish_model(ref)
        return "published"
