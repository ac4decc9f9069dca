"""Publish answers or a model: write the package, put it create-once, manifest last, or let it wait."""

from __future__ import annotations

import json
import logging
from typing import Any

from prefect import task

from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.publish import ledger_row, provenance_of
from tasks.query import answers_facts, read_answers
from tasks.session import RunRef, Session, open_session
from tasks.signing import own_entries, signing_of
from tasks.train import model_facts
from tasks.waiting import announce, put_waiting
from tasks.workspace import INPUT_REPORT, Workspace
from trasgo_lib.errors import BudgetError, ConflictError, Reason
from trasgo_lib.release import MANIFEST, REPORT, StagedPackage, documents, publish_package, release_prefix, write_staged
from trasgo_lib.release.answers_file import ANSWERS
from trasgo_lib.release.model_file import MODEL
from trasgo_lib.reporting.answers_restricted import restricted_answers_report
from trasgo_lib.statistics.package import stage_statistics
from trasgo_lib.training.package import stage_model

_LOGGER = logging.getLogger("trasgo")

_DATA = {"query": ANSWERS, "train": MODEL}
"""The file of a package that tells which one it is, by the command that makes it."""


@task(name="publish", **IDEMPOTENT_IO)
@at_boundary
def publish_central(ref: RunRef) -> None:
    """Publish answers or a model; the same version again puts the same bytes and changes nothing.

    Raises:
        BudgetError: the ledger's sum for this version is not what its charges add up to.
        ConflictError: the store holds other bytes under a key of this version.
    """
    session = open_session(ref)
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    session.records.require_publishable(plan.dataset, plan.version, None)
    session.require_superseded()
    staged = _stage(session)
    _put_evidence(session)
    if session.public.exists(f"{prefix}/{MANIFEST}"):
        _require_same_data(session, staged, _DATA[session.verb])
    else:
        publish_package(staged, session.public, prefix)
    announce(session, {})
    session.remove_work()
    _LOGGER.info("publish: %s", prefix)


@task(name="package", **IDEMPOTENT_IO)
@at_boundary
def package_central(ref: RunRef) -> None:
    """Put answers or a model into the restricted root, whole, where they wait for approvals or their embargo.

    Raises:
        BudgetError: the ledger's sum for this version is not what its charges add up to.
        ConflictError: other files wait there already.
    """
    session = open_session(ref)
    staged = _stage(session)
    _put_evidence(session)
    put_waiting(session, staged)
    session.remove_work()
    _LOGGER.info("package: %s/%s waits in the restricted root", session.plan.dataset, session.plan.version)


def _stage(session: Session) -> StagedPackage:
    _require_charged(session)
    work, signing = session.work / "staged", signing_of(session)
    if session.training is not None:
        return stage_model(model_facts(session), work, signing)
    return stage_statistics(answers_facts(session), read_answers(session), work, signing)


def _require_charged(session: Session) -> None:
    plan, asked = session.plan, session.training or session.statistics
    if asked is None or session.spent() != asked.cost:
        raise BudgetError.of(
            Reason.STATE_CONFLICT,
            f"version {plan.dataset}/{plan.version}",
            required="charges of nothing" if asked is None else f"charges of {asked.cost}",
            came=str(session.spent()),
            fix="Nothing was published; report this.",
        )


def _require_same_data(session: Session, staged: StagedPackage, data: str) -> None:
    """A manifest that is there already must be the one this version put before a crash: it lists the same data.

    The package is not compared as a whole, so that a newer library can finish what an older one began.

    Raises:
        ConflictError: it is another one.
    """
    prefix = release_prefix(session.plan.dataset, session.plan.version)
    listed = json.loads(session.public.get(f"{prefix}/{MANIFEST}"))["files"]
    digests = {entry["path"]: entry["sha256"] for entry in listed}
    if digests.get(data) != staged.file(data).sha256:
        raise ConflictError.of(
            Reason.ALREADY_EXISTS,
            f"{prefix}/{MANIFEST}",
            required=f"no manifest, or that of this {data}",
            came="the manifest of another release",
            fix="A release is never overwritten: publish a new version.",
        )


def _put_evidence(session: Session) -> None:
    """Input report, ledger extract, provenance and a report of them; kept as they are once the report is there."""
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    if session.restricted.exists(f"{prefix}/{REPORT}"):
        return
    report = Workspace(session.work).read_json(INPUT_REPORT) or {}
    ledger = [ledger_row(entry) for entry in own_entries(session)]
    provenance = provenance_of(session)
    bodies: dict[str, dict[str, Any]] = {
        "input_report": {"input": report},
        "ledger": {"account": plan.account, "entries": ledger},
        "provenance": {"provenance": provenance},
    }
    head = {"format": 1, "dataset": plan.dataset, "version": plan.version}
    folder = session.work / "restricted"
    files = [write_staged(f"{name}.json", documents.dump(head | body, name), folder) for name, body in bodies.items()]
    words = restricted_answers_report(plan.config.release.title, report, ledger, provenance)
    files.append(write_staged(REPORT, words.encode(), folder))
    publish_package(StagedPackage(tuple(files)), session.restricted, prefix)
