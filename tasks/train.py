"""Training: charge it, train once, keep what came of it restricted; what is made of it is published elsewhere."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial

from prefect import task

from tasks.central_draw import Kept, charge, mark_checked, require_stored, require_undrawn, reservation, store, stored
from tasks.policies import NOISE_DRAW, PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from trasgo_lib.budget import Cost, cost
from trasgo_lib.data import PrivateTable, read_source
from trasgo_lib.errors import ConfigError, InputContractError, Reason
from trasgo_lib.plan import source_reading
from trasgo_lib.records import Reservation, State
from trasgo_lib.statistics.private_rows import StoredRows
from trasgo_lib.training import TrainingPlan, pld_epsilon
from trasgo_lib.training.fitting import Fitted, fit
from trasgo_lib.training.package import ModelFacts

_LOGGER = logging.getLogger("trasgo")
_TOLD_PARTS = 10


@task(name="reserve training", **PURE)
@at_boundary
def reserve_training(ref: RunRef, rows: int) -> Cost:
    """Charge training and evaluation, or nothing; what was charged before is not charged again.

    Args:
        ref: the run.
        rows: of the source; public.

    Returns:
        What the version has been charged so far.

    Raises:
        ConfigError: the delta is not below one in so many rows; nothing was charged.
        InputContractError: the public file of the evaluation does not hold what is declared; nothing was charged.
        BudgetError: the account's cap would be passed; nothing was charged and nothing is drawn.
        ConflictError: the version was charged with another plan, input or root.
    """
    session = open_session(ref)
    plan = training_of(session)
    if plan.cost.delta.fraction * rows >= 1:
        required = f"a delta below 1/{rows}, for the {rows} rows of the source"
        fix = "Correct `rows`, and use a delta far below one in it."
        raise ConfigError.of(Reason.BAD_PARAMETER, "model.delta", required=required, came=plan.cost.delta.text, fix=fix)
    if session.spent().is_zero:
        _public_rows(session)  # what is wrong with them is said before anything is paid
        said = "reserve: Renyi charges epsilon %s for the steps; privacy loss distributions say %.4f"
        _LOGGER.info(said, cost(plan.event, plan.base.max_rows).epsilon, pld_epsilon(plan))
    return charge(session, _reservations(session), "training")


@task(name="train", **NOISE_DRAW)
@at_boundary
def train_model(ref: RunRef, table: PrivateTable) -> None:
    """Train, measure, and store both in the restricted root; what is stored is kept and nothing is drawn.

    The noise of the training is keyed, so a training that was killed gives the same weights. That of the accuracy is
    not: it exists from the moment it is stored, and was seen by nobody before.

    Raises:
        ConflictError: what was stored is gone, or is of another plan.
    """
    session = open_session(ref)
    plan = training_of(session)
    if stored(session, _kept(session)) is not None:
        _LOGGER.info("train: stored already")
        return
    require_undrawn(session, _kept(session))
    # paid already by ``reserve_training``: asking again returns those entries, and makes an unpaid draw impossible
    session.reserve(_reservations(session))
    rows = StoredRows(table, session.digest_key())
    streams = partial(session.streams("train"), plan.base.digest, session.begin().input_digest or "")
    fitted = fit(plan, rows, streams, _public_rows(session), partial(_tell, plan.descent.steps))
    store(session, _kept(session), fitted)
    _LOGGER.info("train: %d steps", plan.descent.steps)


@task(name="mark model checked", **PURE)
@at_boundary
def mark_model_checked(ref: RunRef) -> None:
    """Record that the model is drawn and stored, by keyed digest, and that it is of its plan.

    Raises:
        ConflictError: the stored model is gone, or is another one than was recorded.
    """
    session = open_session(ref)
    mark_checked(session, {"model": _kept(session)}, "the model is stored", "the model is that of its plan")


def training_of(session: Session) -> TrainingPlan:
    """The training of a run.

    Raises:
        ConfigError: it is something else.
    """
    if session.training is None:
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            "training file",
            required="a training file, with `model`",
            came="another file",
            fix="Look at what it is: trasgo plan",
        )
    return session.training


def model_facts(session: Session) -> ModelFacts:
    """What the public documents of a drawn version are made of.

    Raises:
        ConflictError: what was stored is gone, or is of another plan.
    """
    drawn = session.event_of(State.DRAWN).evidence
    return ModelFacts(
        plan=training_of(session),
        fitted=require_stored(session, _kept(session)),
        account_to_date=session.account_to_date(),
        created=session.event_of(State.CHECKED).at,
        library_version=drawn["library_version"],
        commit=drawn["commit"],
    )


def _kept(session: Session) -> Kept[Fitted]:
    return Kept(
        noun="model",
        name="",
        path="model.json",
        digest=session.plan.digest,
        read=Fitted.from_json,
        other="the model of another plan",
        again="train again",
    )


def _public_rows(session: Session) -> StoredRows | None:
    """The declared public file as codes, in a work folder of its own.

    Raises:
        InputContractError: it does not hold what is declared; every fault says that it is of this file.
    """
    evaluation = training_of(session).evaluation
    if evaluation is None or evaluation.public_file is None:
        return None
    try:
        table, _ = read_source(
            replace(source_reading(session.plan), path=evaluation.public_file, row_order="source"),
            digest_key=session.digest_key(),
            permutation=lambda input_digest: session.stream("permute", "public file", input_digest),
            work=session.work / "public_file",
            rows_per_batch=session.plan.rows_per_batch,
        )
    except InputContractError as error:
        faults = (replace(fault, where=f"evaluation.public_file, {fault.where}") for fault in error.faults)
        raise InputContractError(*faults) from None
    return StoredRows(table, session.digest_key())


def _tell(steps: int, step: int) -> None:
    if (step + 1) % max(1, steps // _TOLD_PARTS) == 0:
        _LOGGER.info("train: step %d of %d", step + 1, steps)


def _reservations(session: Session) -> list[Reservation]:
    digest = session.plan.digest
    return [reservation(session, name, digest, event) for name, event in training_of(session).charges]
