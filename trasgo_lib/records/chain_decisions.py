"""Checking what people decided: approvals by others than the runners, of these files, before anything became public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from trasgo_lib.errors import Fault, Reason
from trasgo_lib.records.model import Event, State
from trasgo_lib.records.publication import PublicationTerms, package_digest, publication_of


def broken(where: str, required: str, came: str) -> Fault:
    """A place at which the record does not hold."""
    return Fault(
        reason=Reason.CHAIN_BROKEN,
        where=where,
        required=required,
        came=came,
        fix="Restore the database from a backup and draw nothing until then.",
    )


def check_decision(where: str, event: Event, before: Sequence[Event]) -> Iterator[Fault]:
    """Whether an approval, or a step that needs approvals, was allowed after the events before it.

    Args:
        where: how a fault names the event.
        event: the event.
        before: the life of its version up to it.
    """
    try:
        yield from _check(where, event, before)
    except ValueError:
        yield broken(where, "terms of publication that can be read", "others")


def _check(where: str, event: Event, before: Sequence[Event]) -> Iterator[Fault]:
    if event.kind == "freeze":
        terms = PublicationTerms.of(event.evidence)
        if terms.approvals < 0 or (terms.embargo and datetime.fromisoformat(terms.embargo).utcoffset() != timedelta(0)):
            raise ValueError
    if event.kind == "approval":
        counted = publication_of((*before, event)).approvals
        if not any(one.seq == event.seq for one in counted):
            yield broken(where, "an approval of what was packaged, once, by one who did not run it", "another one")
    if event.kind != "state" or event.state not in (State.APPROVED, State.PUBLISHED):
        return
    found = publication_of(before)
    package = event.evidence.get("package")
    if found.missing:
        came = f"{len(found.approvals)}: {', '.join(one.actor for one in found.approvals) or 'nobody'}"
        yield broken(where, f"{found.terms.approvals} approvals by different people before it", came)
    if package != found.package and not (package is None and found.terms.ask_nothing):
        yield broken(where, "the files that were packaged", "other files")
    salt = event.evidence.get("package_salt")
    if event.state is State.PUBLISHED and package is not None:
        try:
            same = salt is not None and package_digest(salt, event.evidence["manifest_digest"]) == package
        except (ValueError, KeyError):
            same = False
        if not same:
            yield broken(where, "the manifest that was packaged and approved", "another one")
