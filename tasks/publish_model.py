"""Publish a model: write the package, put it create-once, manifest last, or let it wait; keep the evidence."""

from __future__ import annotations

import logging

from prefect import task

from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.publish_answers import put_evidence, require_same_data
from tasks.session import RunRef, Session, open_session
from tasks.signing import signing_of
from tasks.train import model_facts, training_of
from tasks.waiting import announce, put_waiting
from trasgo_lib.errors import BudgetError, Reason
from trasgo_lib.release import MANIFEST, StagedPackage, publish_package, release_prefix
from trasgo_lib.release.model_file import MODEL
from trasgo_lib.training.package import stage_model

_LOGGER = logging.getLogger("trasgo")


@task(name="publish model", **IDEMPOTENT_IO)
@at_boundary
def publish_model(ref: RunRef) -> None:
    """Publish the model; the same version again puts the same bytes and changes nothing.

    Raises:
        BudgetError: the ledger's sum for this version is not what training and evaluation add up to.
        ConflictError: the store holds other bytes under a key of this version.
    """
    session = open_session(ref)
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    session.records.require_publishable(plan.dataset, plan.version, None)
    session.require_superseded()
    staged = _stage(session)
    put_evidence(session)
    if session.public.exists(f"{prefix}/{MANIFEST}"):
        require_same_data(session, staged, MODEL)
    else:
        publish_package(staged, session.public, prefix)
    announce(session, {})
    session.remove_work()
    _LOGGER.info("publish: %s", prefix)


@task(name="package model", **IDEMPOTENT_IO)
@at_boundary
def package_model(ref: RunRef) -> None:
    """Put the model into the restricted root, whole, where it waits for approvals or its embargo.

    Raises:
        BudgetError: the ledger's sum for this version is not what training and evaluation add up to.
        ConflictError: other files wait there already.
    """
    session = open_session(ref)
    staged = _stage(session)
    put_evidence(session)
    put_waiting(session, staged)
    session.remove_work()
    _LOGGER.info("package: %s/%s waits in the restricted root", session.plan.dataset, session.plan.version)


def _stage(session: Session) -> StagedPackage:
    plan, training = session.plan, training_of(session)
    if session.spent() != training.cost:
        raise BudgetError.of(
            Reason.STATE_CONFLICT,
            f"version {plan.dataset}/{plan.version}",
            required=f"charges of {training.cost}",
            came=str(session.spent()),
            fix="Nothing was published; report this.",
        )
    return stage_model(model_facts(session), session.work / "staged", signing_of(session))
