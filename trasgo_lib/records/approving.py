"""Packaged versions that wait: packages put on record, approvals given, missed embargoes held."""

from __future__ import annotations

from typing import NoReturn

import sqlalchemy as sa

from trasgo_lib.errors import ConflictError, Reason, WaitingError
from trasgo_lib.records import lifecycle
from trasgo_lib.records.clock import database_time
from trasgo_lib.records.locking import lock_versions
from trasgo_lib.records.model import State, VersionRecord
from trasgo_lib.records.people import is_one_alphabet, person
from trasgo_lib.records.publication import Publication, publication_of

_WAITS_IN = (State.CHECKED, State.HELD, State.APPROVED)


def record_package(
    connection: sa.Connection, dataset: str, version_name: str, package: str, actor: str, at: str
) -> VersionRecord:
    """Put on record which files wait for publication; the same again changes nothing.

    Raises:
        ConflictError: other files wait already, or the version is not checked.
    """
    lock_versions(connection, [(dataset, version_name)])
    record = lifecycle.known(connection, dataset, version_name)
    found = publication_of(lifecycle.events(connection, dataset, version_name))
    if found.package == package:
        return record
    if found.package is not None or record.state is not State.CHECKED:
        _refuse(record, "a checked version without a package", "another package, or another state")
    evidence = {"package": package, "plan_digest": found.plan_digest}
    lifecycle.append(connection, record, "package", record.state, actor, "packaged", evidence, at)
    return lifecycle.known(connection, dataset, version_name)


def approve(
    connection: sa.Connection,
    dataset: str,
    version_name: str,
    package: str,
    actor: str,
    reason: str,
    evidence: dict[str, str],
    at: str,
) -> Publication:
    """Give one person's approval; the last that is needed makes the version approved.

    Args:
        connection: inside a write transaction.
        dataset: data set.
        version_name: release version.
        package: salted digest of the files that were looked at.
        actor: who approves.
        reason: why, in words.
        evidence: what was looked at, as text by name.
        at: now.

    Raises:
        ConflictError: nothing waits, other files wait, this person ran it or has approved it, or none are needed.
        WaitingError: the embargo has ended without the approvals; the caller holds the version.
    """
    lock_versions(connection, [(dataset, version_name)])
    record = lifecycle.known(connection, dataset, version_name)
    found = publication_of(lifecycle.events(connection, dataset, version_name))
    _require_approvable(record, found, package, actor)
    if found.missed or (found.terms.embargo is not None and not found.is_early(database_time(connection))):
        raise too_late(record, found)
    said = {**evidence, "package": package, "plan_digest": found.plan_digest}
    lifecycle.append(connection, record, "approval", record.state, actor, reason, said, at)
    found = publication_of(lifecycle.events(connection, dataset, version_name))
    if not found.missing:
        shown = {"package": package, "approvals": str(len(found.approvals))}
        lifecycle.transition(connection, dataset, version_name, State.APPROVED, actor, "approved", shown, at)
    return publication_of(lifecycle.events(connection, dataset, version_name))


def hold_when_missed(connection: sa.Connection, dataset: str, version_name: str, actor: str, at: str) -> Publication:
    """Hold a packaged version whose embargo has ended without its approvals: it is never published late by itself."""
    lock_versions(connection, [(dataset, version_name)])
    record = lifecycle.known(connection, dataset, version_name)
    found = publication_of(lifecycle.events(connection, dataset, version_name))
    is_over = found.terms.embargo is not None and not found.is_early(database_time(connection))
    if record.state is State.CHECKED and found.package is not None and found.missing and is_over:
        reason = f"{found.missing} of {found.terms.approvals} approvals missing at the end of the embargo"
        proof = {"embargo": found.terms.embargo or ""}
        lifecycle.append(connection, record, "state", State.HELD, actor, reason, proof, at)
        found = publication_of(lifecycle.events(connection, dataset, version_name))
    return found


def require_publishable(connection: sa.Connection, dataset: str, version_name: str, package: str | None) -> Publication:
    """Stop before any byte leaves when approvals are missing or the embargo has not ended, by the database's clock.

    Args:
        connection: inside a transaction.
        dataset: data set.
        version_name: release version.
        package: salted digest of the files that are to leave; None for a version of which nothing is asked.

    Raises:
        ConflictError: the version was withdrawn, perhaps since the run began: what was taken back stays away.
        WaitingError: approvals are missing, were given to other files, or the embargo has not ended.
    """
    record = lifecycle.known(connection, dataset, version_name)
    if record.state is State.WITHDRAWN:
        raise ConflictError.of(
            Reason.WITHDRAWN,
            _where(record),
            required="a version that was not withdrawn",
            came="one that was",
            fix="What was taken back is not put again. Publish a version that corrects it.",
        )
    found = publication_of(lifecycle.events(connection, dataset, version_name))
    if found.package != package or (found.missing and found.terms.approvals):
        raise waiting_for_approval(record, found)
    if found.is_early(database_time(connection)):
        raise waiting_for_embargo(record, found)
    return found


def waiting_for_approval(record: VersionRecord, found: Publication) -> WaitingError:
    """The version is packaged and approvals are missing."""
    given = ", ".join(event.actor for event in found.approvals) or "nobody"
    until = f", before the embargo ends: {found.terms.embargo_words}" if found.terms.embargo else ""
    return WaitingError.of(
        Reason.APPROVAL_MISSING,
        _where(record),
        required=f"{found.terms.approvals} approvals by different people who did not run it",
        came=f"{len(found.approvals)} ({given})",
        fix=f"Look and approve: trasgo approve CONFIG{until}. Then run again. Nothing is public.",
    )


def waiting_for_embargo(record: VersionRecord, found: Publication) -> WaitingError:
    """The version is packaged, has its approvals, and its embargo has not ended."""
    return WaitingError.of(
        Reason.EMBARGO,
        _where(record),
        required=f"a time from {found.terms.embargo_words} on ({found.terms.embargo})",
        came="an earlier one",
        fix="Run again then. Nothing is public.",
    )


def too_late(record: VersionRecord, found: Publication) -> WaitingError:
    """The embargo ended without the approvals: held, and never published late by itself."""
    return WaitingError.of(
        Reason.APPROVAL_MISSING,
        _where(record),
        required=f"{found.terms.approvals} approvals before {found.terms.embargo_words}",
        came=f"{len(found.approvals)}, and that time is over",
        fix="The version is held and nothing is public. Write a new publish.embargo, run again, and have it approved.",
    )


def waiting_of(record: VersionRecord, found: Publication, now: str) -> WaitingError | None:
    """Why a packaged version is not public; None when none waits, or when it may be published.

    Args:
        record: the version.
        found: how far it is.
        now: the database's time.
    """
    if found.package is None:
        return None
    if found.missing:
        is_over = found.terms.embargo is not None and not found.is_early(now)
        return too_late(record, found) if found.missed or is_over else waiting_for_approval(record, found)
    return waiting_for_embargo(record, found) if found.is_early(now) else None


def _require_approvable(record: VersionRecord, found: Publication, package: str, actor: str) -> None:
    if record.state not in _WAITS_IN or found.package is None:
        _refuse(record, "a packaged version that waits", f"one that is {record.state.value} and waits for nothing")
    if not found.terms.approvals:
        _refuse(record, "a version that was fixed with publish.approvals", "one that needs none")
    if package != found.package:
        _refuse(record, "the files that were packaged", "other files")
    if not person(actor) or not is_one_alphabet(actor):
        _refuse(record, "a name in the letters of one alphabet", "one that can be taken for another name")
    if found.ran(actor):
        _refuse(record, "an approval by someone who did not run it", f"one by {actor}, who did")
    if person(actor) in {person(name) for name in found.terms.service_accounts}:
        _refuse(record, "an approval by a person", f"one by {actor}, a service account")
    if any(person(event.actor) == person(actor) for event in found.approvals):
        _refuse(record, "an approval by someone who has not given one", f"a second one by {actor}")
    if not found.missing:
        _refuse(record, "a version that lacks an approval", "one that has all it needs")


def _refuse(record: VersionRecord, required: str, came: str) -> NoReturn:
    raise ConflictError.of(
        Reason.STATE_CONFLICT,
        _where(record),
        required=required,
        came=came,
        fix="Nothing was recorded. See: trasgo status CONFIG",
    )


def _where(record: VersionRecord) -> str:
    return f"version {record.dataset}/{record.version}"
