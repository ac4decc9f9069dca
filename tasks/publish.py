"""Publish: write the package, put it create-once, manifest last; keep the evidence in the restricted root."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

from prefect import task

import trasgo_lib
from tasks.check import Checked
from tasks.made_with import STATED_PACKAGES, made_with, source_revision
from tasks.policies import IDEMPOTENT_IO, PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.signing import own_entries, previous_evidence, signing_of
from tasks.waiting import announce, put_waiting
from tasks.workspace import COMPARISON, ESTIMATES, INPUT_REPORT, LOSSES, RISK, Workspace
from trasgo_lib.checks import DATA_DOCS, CheckReport
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.keys import KeyedDigest
from trasgo_lib.loop import History, Predictions, RoundEntry, Stop
from trasgo_lib.records import Entry, State
from trasgo_lib.release import (
    MANIFEST,
    Evidence,
    StagedPackage,
    publish_package,
    release_prefix,
    stage_package,
    stage_restricted,
)
from trasgo_lib.reporting import ReleaseFacts, RestrictedFacts, RoundFacts, metadata, unit_outcomes

_LOGGER = logging.getLogger("trasgo")


@dataclass(frozen=True, slots=True)
class Course:
    """How the loop went; private under ``loss_from: original``.

    Args:
        history: every round.
        stop: why it ended.
        predictions: after each round, the losses expected at levels not drawn yet; from released codes alone.
    """

    history: History = field(repr=False)
    stop: Stop = field(repr=False)
    predictions: tuple[Predictions, ...] = field(default=(), repr=False)

    @property
    def draws(self) -> tuple[RoundEntry, ...]:
        """One entry for each draw, as it stood when its draw was last measured, in the order of drawing."""
        last: dict[tuple[str, int], RoundEntry] = {}
        for entries in self.history.rounds:
            last.update({(entry.unit, entry.attempt): entry for entry in entries})
        return tuple(last.values())

    @property
    def drawn_in(self) -> dict[tuple[str, int], int]:
        """The round of each draw, from 1, by unit and number of the draw."""
        rounds: dict[tuple[str, int], int] = {}
        for number, entries in enumerate(self.history.rounds, 1):
            for entry in entries:
                rounds.setdefault((entry.unit, entry.attempt), number)
        return rounds

    @property
    def foreseen(self) -> dict[tuple[str, int], tuple[float, float, float]]:
        """What each draw was predicted to lose, from the round before it; draws of the first round are not in it."""
        levels = self.history.draws
        found = {}
        for (unit, attempt), number in self.drawn_in.items():
            for one in self.predictions[number - 2].get(unit, ()) if 2 <= number <= len(self.predictions) + 1 else ():
                loss = one.loss
                if one.level == levels[unit, attempt] and None not in (loss.value, loss.low, loss.high):
                    found[unit, attempt] = (float(loss.value or 0), float(loss.low or 0), float(loss.high or 0))
        return found


@task(name="hold", **IDEMPOTENT_IO)
@at_boundary
def hold(ref: RunRef, course: Course) -> None:
    """Keep the evidence of a version whose targets are not met; nothing is published, what was drawn stays charged."""
    session = open_session(ref)
    session.advance("drawn", course.stop.reason, **_made_with(session))
    _put_evidence(session, course, State.HELD)
    session.advance("held", f"targets not met: {course.stop.reason}")
    session.remove_work()
    _LOGGER.info("hold: targets not met within the total")


@task(name="mark checked", **PURE)
@at_boundary
def mark_checked(ref: RunRef, course: Course, checked: Checked) -> None:
    """Record that the output checks passed, or stop.

    Raises:
        CheckFailedError: one fault for each failed check; nothing is published.
    """
    session = open_session(ref)
    session.advance("drawn", course.stop.reason, **_made_with(session))
    checked.report.require()
    # keyed: should this version never be published, its draws stay private
    digest = KeyedDigest(session.digest_key())
    digest.update("".join(file.sha256 for file in checked.files).encode())
    reason = f"{len(checked.report.results)} output checks passed"
    session.advance("checked", reason, data=digest.hexdigest(), **_codes(checked), **previous_evidence(session))


def _codes(checked: Checked) -> dict[str, str]:
    """Keyed digests of the released codes, by unit: what an audit holds its redraw against."""
    return {f"codes of {unit}": digest for unit, digest in checked.codes}


@task(name="publish", **IDEMPOTENT_IO)
@at_boundary
def publish(ref: RunRef, rows: int, course: Course, checked: Checked) -> None:
    """Publish a checked release; the same release again puts the same bytes and changes nothing.

    Raises:
        ConflictError: the store holds other bytes under a key of this version.
        BudgetError: the ledger's sum for this version is not what the draws add up to.
    """
    session = open_session(ref)
    plan = session.plan
    prefix = release_prefix(plan.dataset, plan.version)
    session.records.require_publishable(plan.dataset, plan.version, None)
    session.require_superseded()
    if not session.public.exists(f"{prefix}/{MANIFEST}"):
        staged = _stage(session, rows, course, checked)
        _put_evidence(session, course, State.PUBLISHED, checked)
        publish_package(staged, session.public, prefix)
    else:
        _require_these_data(session, prefix, checked)
    announce(session, {})
    session.remove_work()
    _LOGGER.info("publish: %s/%s", plan.dataset, plan.version)


@task(name="package", **IDEMPOTENT_IO)
@at_boundary
def package(ref: RunRef, rows: int, course: Course, checked: Checked) -> None:
    """Put a checked release into the restricted root, whole, where it waits for approvals or its embargo.

    Raises:
        ConflictError: other files wait there already.
        BudgetError: the ledger's sum for this version is not what the draws add up to.
    """
    session = open_session(ref)
    staged = _stage(session, rows, course, checked)
    _put_evidence(session, course, State.CHECKED, checked)
    put_waiting(session, staged)
    session.remove_work()
    _LOGGER.info("package: %s/%s waits in the restricted root", session.plan.dataset, session.plan.version)


def _stage(session: Session, rows: int, course: Course, checked: Checked) -> StagedPackage:
    facts = _facts(session, rows, course, checked)
    facts.require_ledger(session.spent())
    columns = [name for column in session.plan.columns for name in column.released]
    return stage_package(facts, checked.files, columns, session.work / "staged", signing_of(session))


def _require_these_data(session: Session, prefix: str, checked: Checked) -> None:
    """A manifest that is there already must be the one this version put before a crash: it lists the same data files.

    The package is not compared as a whole, so that a newer library can finish what an older one began.
    """
    listed = json.loads(session.public.get(f"{prefix}/{MANIFEST}"))["files"]
    digests = {entry["path"]: entry["sha256"] for entry in listed}
    for file in checked.files:
        if digests.get(file.key) != file.sha256:
            raise ConflictError.of(
                Reason.ALREADY_EXISTS,
                f"{prefix}/{MANIFEST}",
                required="no manifest, or that of these draws",
                came="the manifest of another release",
                fix="A release is never overwritten: publish a new version.",
            )


def _facts(session: Session, rows: int, course: Course, checked: Checked) -> ReleaseFacts:
    plan = session.plan
    drawn = session.event_of(State.DRAWN).evidence
    return ReleaseFacts(
        plan=plan,
        rows=rows,
        outcomes=unit_outcomes(plan, course.draws, course.drawn_in, course.foreseen),
        account_to_date=session.account_to_date(),
        checks=checked.report,
        created=session.event_of(State.CHECKED).at,
        library_version=drawn["library_version"],
        commit=drawn["commit"],
    )


def _put_evidence(session: Session, course: Course, state: State, checked: Checked | None = None) -> None:
    plan = session.plan
    workspace = Workspace(session.work)
    prefix = release_prefix(plan.dataset, plan.version)
    if _has_evidence(session, prefix, state):
        return
    rounds = tuple(
        RoundFacts(number, entry.unit, entry.level, entry.loss, entry.met, entry.interval)
        for number, entries in enumerate(course.history.rounds, 1)
        for entry in entries
    )
    facts = RestrictedFacts(
        plan=plan,
        state=state.value,
        reason=course.stop.reason,
        rounds=rounds,
        input_report=workspace.read_json(INPUT_REPORT) or {},
        losses=workspace.read_json(LOSSES) or {},
        estimates=workspace.read_json(ESTIMATES) or {},
        comparison=workspace.read_json(COMPARISON) or {},
        risk=workspace.read_json(RISK) or {},
        shortfalls=tuple((shortfall.unit, shortfall.message) for shortfall in course.stop.shortfalls),
    )
    ledger = [ledger_row(entry) for entry in own_entries(session)]
    report, pages = (CheckReport(()), ()) if checked is None else (checked.report, (checked.docs,))
    evidence = Evidence(facts, report, provenance_of(session), ledger, pages)
    publish_package(stage_restricted(evidence, session.work), session.restricted, prefix)


def _has_evidence(session: Session, prefix: str, state: State) -> bool:
    """Whether an interrupted run of this version has put all of its evidence, of which a last file tells.

    It is then kept as it is: a newer library, a risk audit declared since, an embargo that ended meanwhile or memory
    that ran out would make other bytes, and these must not stop a publication.
    """
    last = metadata.IMPACT_ASSESSMENT if state is State.HELD else DATA_DOCS
    if not session.restricted.exists(f"{prefix}/{last}"):
        return False
    told: str = json.loads(session.restricted.get(f"{prefix}/losses.json"))["state"]
    drawn: str = json.loads(session.restricted.get(f"{prefix}/provenance.json"))["provenance"]["root_commitment"]
    # that of a version of this name in a ledger that was lost is of other draws, and stands in the way
    return (told == State.HELD.value) == (state is State.HELD) and drawn == session.begin().commitment


def ledger_row(entry: Entry) -> dict[str, Any]:
    """One entry of the ledger for the restricted root."""
    drawn = entry.reservation
    return {
        "seq": entry.seq,
        "at": entry.at,
        "unit": "" if drawn is None else drawn.unit,
        "attempt": 0 if drawn is None else drawn.attempt,
        "level": "" if drawn is None else drawn.level,
        "cost": entry.cost.to_json(),
        "prev": entry.prev,
        "hash": entry.hash,
    }


def provenance_of(session: Session) -> dict[str, Any]:
    """What drew a version, on what and by whom; private, for the restricted root."""
    record = session.begin()
    drawn = session.event_of(State.DRAWN).evidence
    return {
        # as it was when the draws ended: another runner changes the file's text, and not what is put here
        "config_sha256": drawn.get("config_sha256", session.ref.config_digest),
        "plan_digest": record.plan_digest,
        "input_hmac": record.input_digest,
        "root_commitment": record.commitment,
        "begun": session.event_of(State.PLANNED).at,
        "actor": session.event_of(State.PLANNED).actor,
        **{name: drawn[name] for name in ("library_version", "commit", "python", "machine")},
        "packages": {name: drawn[name] for name in STATED_PACKAGES},
        "rows_per_batch": session.plan.rows_per_batch,
    }


def _made_with(session: Session) -> dict[str, str]:
    """What drew a version; recorded once, so that a run finished by another build still writes the same bytes."""
    return {**made_with(trasgo_lib.__version__, source_revision()), "config_sha256": session.ref.config_digest}
