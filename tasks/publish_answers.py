"""Publish answers: write the package, put it create-once, manifest last, or let it wait; keep the evidence."""

from __future__ import annotations

import json
import logging
from typing import Any

from prefect import task

from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.publish import ledger_row, provenance_of
from tasks.query import read_answers, statistics_of
from tasks.session import RunRef, Session, open_session
from tasks.signing import own_entries, signing_of
from tasks.waiting import announce, put_waiting
from tasks.workspace import INPUT_REPORT, Workspace
from trasgo_lib.errors import BudgetError, ConflictError, Reason
from trasgo_lib.records import State
from trasgo_lib.release import MANIFEST, REPORT, StagedPackage, documents, publish_package, release_prefix, write_staged
from trasgo_lib.release.answers_file import ANSWERS
from trasgo_lib.reporting.answers_restricted import restricted_answers_report
from trasgo_lib.statistics.package import StatisticsFacts, stage_statistics

_LOGGER = logging.getLogger("trasgo")


@task(name="publish answers", **IDEMPOTENT_IO)
@at_boundary
def publish_answers(ref: RunRef, rows: int) -> None:
    """Publish the answers; the same version again puts the same bytes and changes nothing.

    Raises:
        BudgetError: the ledger's sum for this version is not what the queries add up to.
        ConflictError: the store holds other bytes under a key of this version.
    """
    session = open_session(ref)
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    session.records.require_publishable(plan.dataset, plan.version, None)
    session.require_superseded()
    staged = _stage(session, rows)
    put_evidence(session)
    if session.public.exists(f"{prefix}/{MANIFEST}"):
        require_same_data(session, staged, ANSWERS)
    else:
        publish_package(staged, session.public, prefix)
    announce(session, {})
    session.remove_work()
    _LOGGER.info("publish: %s/%s", plan.dataset, plan.version)


@task(name="package answers", **IDEMPOTENT_IO)
@at_boundary
def package_answers(ref: RunRef, rows: int) -> None:
    """Put the answers into the restricted root, whole, where they wait for approvals or their embargo.

    Raises:
        BudgetError: the ledger's sum for this version is not what the queries add up to.
        ConflictError: other files wait there already.
    """
    session = open_session(ref)
    staged = _stage(session, rows)
    put_evidence(session)
    put_waiting(session, staged)
    session.remove_work()
    _LOGGER.info("package: %s/%s waits in the restricted root", session.plan.dataset, session.plan.version)


def _stage(session: Session, rows: int) -> StagedPackage:
    plan, statistics = session.plan, statistics_of(session)
    if session.spent() != statistics.cost:
        raise BudgetError.of(
            Reason.STATE_CONFLICT,
            f"version {plan.dataset}/{plan.version}",
            required=f"charges of {statistics.cost}",
            came=str(session.spent()),
            fix="Nothing was published; report this.",
        )
    return stage_statistics(_facts(session, rows), read_answers(session), session.work / "staged", signing_of(session))


def require_same_data(session: Session, staged: StagedPackage, data: str) -> None:
    """A manifest that is there already must be the one this version put before a crash: it lists the same data.

    The package is not compared as a whole, so that a newer library can finish what an older one began.

    Args:
        session: the run.
        staged: the package as it is made now.
        data: path of the answers, or of the model.

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


def put_evidence(session: Session) -> None:
    """Input report, ledger extract, provenance and a report of them; kept as they are once the report is there.

    Args:
        session: the run of a statistics file or a training file.
    """
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


def _facts(session: Session, rows: int) -> StatisticsFacts:
    drawn = session.event_of(State.DRAWN).evidence
    return StatisticsFacts(
        plan=statistics_of(session),
        rows=rows,
        account_to_date=session.account_to_date(),
        created=session.event_of(State.CHECKED).at,
        library_version=drawn["library_version"],
        commit=drawn["commit"],
    )
