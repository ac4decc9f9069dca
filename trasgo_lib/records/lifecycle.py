"""Versions and their life: created with a wrapped root, frozen at the first draw, moved forward by chained events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from trasgo_lib.errors import BudgetError, ConfigError, ConflictError, Reason, StoreError, WaitingError
from trasgo_lib.records import documents
from trasgo_lib.records.locking import lock_name, lock_versions
from trasgo_lib.records.model import Event, State, VersionRecord
from trasgo_lib.records.publication import NO_TERMS, PublicationTerms, publication_of
from trasgo_lib.records.tables import ACCOUNTS, ENTRIES, EVENTS, VERSIONS

NEXT_STATES: Mapping[State, frozenset[State]] = {
    State.PLANNED: frozenset({State.VALIDATED, State.WITHDRAWN}),
    State.VALIDATED: frozenset({State.DRAWN, State.WITHDRAWN}),
    State.DRAWN: frozenset({State.CHECKED, State.HELD, State.WITHDRAWN}),
    State.CHECKED: frozenset({State.HELD, State.APPROVED, State.PUBLISHED, State.WITHDRAWN}),
    State.HELD: frozenset({State.APPROVED, State.WITHDRAWN}),
    State.APPROVED: frozenset({State.PUBLISHED, State.WITHDRAWN}),
    State.PUBLISHED: frozenset({State.SUPERSEDED, State.WITHDRAWN}),
    State.SUPERSEDED: frozenset({State.WITHDRAWN}),
    State.WITHDRAWN: frozenset(),
}
"""Where a version may go from each state; a held one reaches the public only through an approval."""

_FINISHED = frozenset({State.PUBLISHED, State.SUPERSEDED, State.WITHDRAWN})


@dataclass(frozen=True, slots=True)
class _Tip:
    """The end of a version's chain, which the next event extends."""

    dataset: str
    version: str
    seq: int
    head: str


def create_version(
    connection: sa.Connection,
    dataset: str,
    version_name: str,
    account: str,
    wrapped_root: bytes,
    commitment: str,
    actor: str,
    at: str,
) -> VersionRecord:
    """Store a version with its wrapped root; its first state is planned.

    Raises:
        ConflictError: the version exists, or its root is already another version's; a root is never replaced.
        BudgetError: there is no such account.
        ConfigError: an empty name, root or commitment.
    """
    if not (dataset and version_name and commitment and wrapped_root):
        raise ConfigError.of(
            Reason.BAD_PARAMETER,
            "version",
            required="a data set, a version, a wrapped root and its commitment",
            came="an empty one",
            fix="Pass all four.",
        )
    lock_name(connection, "versions")
    if connection.scalar(sa.select(ACCOUNTS.c.name).where(ACCOUNTS.c.name == account)) is None:
        raise BudgetError.of(
            Reason.NO_ACCOUNT,
            f"account {account}",
            required="an open account",
            came="none of this name",
            fix="Open it first: trasgo ledger open",
        )
    here = sa.and_(VERSIONS.c.dataset == dataset, VERSIONS.c.version == version_name)
    if connection.execute(sa.select(VERSIONS).where(here | (VERSIONS.c.commitment == commitment))).first() is not None:
        raise ConflictError.of(
            Reason.ALREADY_EXISTS,
            f"version {dataset}/{version_name}",
            required="a version and a root that are new",
            came="one that exists",
            fix="Resume it, or publish another version.",
        )
    connection.execute(
        VERSIONS.insert().values(
            dataset=dataset,
            version=version_name,
            account=account,
            wrapped_root=wrapped_root,
            commitment=commitment,
            seq=0,
            head=documents.GENESIS,
        )
    )
    evidence = {"account": account, "commitment": commitment}
    start = _Tip(dataset, version_name, 0, documents.GENESIS)
    _append(connection, start, "state", State.PLANNED, actor, "created", evidence, at)
    return _known(connection, dataset, version_name)


def version(connection: sa.Connection, dataset: str, version_name: str) -> VersionRecord | None:
    """The version as it stands, or None.

    Raises:
        StoreError: its events cannot be read.
    """
    here = sa.and_(VERSIONS.c.dataset == dataset, VERSIONS.c.version == version_name)
    row = connection.execute(sa.select(VERSIONS).where(here)).one_or_none()
    return None if row is None else _to_version(row, events(connection, dataset, version_name))


def versions(connection: sa.Connection) -> tuple[VersionRecord, ...]:
    """Every version, by data set and version."""
    rows = connection.execute(sa.select(VERSIONS).order_by(VERSIONS.c.dataset, VERSIONS.c.version)).all()
    return tuple(_to_version(row, events(connection, row.dataset, row.version)) for row in rows)


def events(connection: sa.Connection, dataset: str, version_name: str) -> tuple[Event, ...]:
    """The life of a version so far; empty for an unknown one."""
    here = sa.and_(EVENTS.c.dataset == dataset, EVENTS.c.version == version_name)
    query = sa.select(EVENTS.c.document).where(here).order_by(EVENTS.c.seq)
    return tuple(documents.read_event(document) for document in connection.scalars(query))


def freeze(
    connection: sa.Connection,
    dataset: str,
    version_name: str,
    plan_digest: str,
    input_digest: str,
    actor: str,
    at: str,
    terms: PublicationTerms = NO_TERMS,
) -> VersionRecord:
    """Fix plan, input and the terms of publication; from the first charge on only embargo and place can change.

    Until then another plan or input takes the place of the one before (a corrected file after a refused contract), as
    a further event. A further event makes approvals that were given void. The same again changes nothing.

    Raises:
        ConflictError: something was charged, or the version is past its draws, and plan or approvals
            (``PLAN_CHANGED``) or input (``INPUT_CHANGED``) differ; or there is no such version.
    """
    lock_versions(connection, [(dataset, version_name)])
    record = _known(connection, dataset, version_name)
    fixed = publication_of(events(connection, dataset, version_name)).terms
    same = (record.plan_digest, record.input_digest) == (plan_digest, input_digest)
    if same and (fixed == terms or record.state in _FINISHED):
        return record
    here = sa.and_(ENTRIES.c.dataset == dataset, ENTRIES.c.version == version_name)
    charged = connection.execute(sa.select(ENTRIES.c.seq).where(here)).first() is not None
    if charged or record.state not in (State.PLANNED, State.VALIDATED):
        changed_plan = record.plan_digest != plan_digest
        people = (fixed.approvals, fixed.service_accounts) != (terms.approvals, terms.service_accounts)
        what = "plan" if changed_plan else "input" if not same else "approvals" if people else ""
    else:
        what = ""
    if what:
        raise ConflictError.of(
            Reason.INPUT_CHANGED if what == "input" else Reason.PLAN_CHANGED,
            f"version {dataset}/{version_name}",
            required=f"the {what} this version was frozen with",
            came=f"other {what}" if what == "approvals" else f"another {what}",
            fix=f"Restore the {what}, or publish a new version, charged in full.",
        )
    evidence = {"plan_digest": plan_digest, "input_digest": input_digest, **terms.evidence()}
    if charged:
        evidence = _with_people_as_frozen(evidence, events(connection, dataset, version_name))
    _append(connection, _tip(record), "freeze", record.state, actor, "plan and input fixed", evidence, at)
    return _known(connection, dataset, version_name)


def _with_people_as_frozen(evidence: Mapping[str, str], life: Sequence[Event]) -> dict[str, str]:
    """The same terms, with approvals spelled as the event before spells them: no approvals are "0", or not said at all.

    The database compares these texts, since a charge fixes them; an embargo that is lifted or set leaves them alone.
    """
    before = next((event.evidence for event in reversed(life) if event.kind == "freeze"), {})
    names = ("approvals", "service_accounts")
    kept = {name: before[name] for name in names if name in before}
    return {name: text for name, text in evidence.items() if name not in names} | kept


def transition(
    connection: sa.Connection,
    dataset: str,
    version_name: str,
    state: State | str,
    actor: str,
    reason: str,
    evidence: Mapping[str, str],
    at: str,
) -> VersionRecord:
    """Move a version forward by one event.

    A state it has already been in is passed over while the version is unfinished, so that a resumed run may announce
    its stages again; once published, superseded or withdrawn only the state it is in is.

    Raises:
        ConflictError: the version is unknown or may not go there from where it is.
        ConfigError: an unknown state, evidence that is not text, or a publication without ``manifest_digest``.
    """
    target = _state(state)
    if not all(isinstance(key, str) and isinstance(value, str) for key, value in evidence.items()):
        raise ConfigError.of(
            Reason.BAD_PARAMETER, "evidence", required="text by name", came="other values", fix="Pass text."
        )
    if target is State.PUBLISHED and not evidence.get("manifest_digest"):
        raise ConfigError.of(
            Reason.BAD_PARAMETER, "evidence", required="manifest_digest", came="none", fix="Pass the digest."
        )
    lock_versions(connection, [(dataset, version_name)])
    record = _known(connection, dataset, version_name)
    if target is record.state or (target in record.passed and record.state not in _FINISHED):
        return record
    if target not in NEXT_STATES[record.state]:
        allowed = ", ".join(sorted(state.value for state in NEXT_STATES[record.state])) or "nothing"
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"version {dataset}/{version_name}",
            required=f"a step from {record.state.value} to {allowed}",
            came=target.value,
            fix="A version only moves forward; for another outcome publish a new version.",
        )
    if target in (State.APPROVED, State.PUBLISHED):
        _require_approved(connection, record, evidence)
    _append(connection, _tip(record), "state", target, actor, reason, evidence, at)
    return _known(connection, dataset, version_name)


def supersede(connection: sa.Connection, dataset: str, old: str, new: str, actor: str, at: str) -> None:
    """Make a version superseded by another one of its data set; one that was withdrawn since stays withdrawn.

    Raises:
        ConflictError: there is none, it was never published, or another version has superseded it.
    """
    record = require_supersedable(connection, dataset, old, new)
    if record.state is State.PUBLISHED:
        _append(
            connection,
            _tip(record),
            "state",
            State.SUPERSEDED,
            actor,
            f"superseded by {new}",
            {"superseded_by": new},
            at,
        )


def require_supersedable(connection: sa.Connection, dataset: str, old: str, new: str) -> VersionRecord:
    """The version that another one corrects.

    Raises:
        ConflictError: there is none, it was never published, or another version has superseded it.
    """
    record = version(connection, dataset, old)
    life = events(connection, dataset, old)
    by = next((event.evidence.get("superseded_by") for event in life if event.state is State.SUPERSEDED), None)
    if record is not None and record.manifest_digest is not None and by in (None, new):
        return record
    came = "none of this name" if record is None else f"one that is {record.state.value}"
    raise ConflictError.of(
        Reason.STATE_CONFLICT,
        f"version {dataset}/{old}",
        required="a published version that no other one has superseded",
        came=came if by is None else f"one that {by} has superseded",
        fix="Correct release.supersedes: name the version that is published now.",
    )


def append(
    connection: sa.Connection,
    record: VersionRecord,
    kind: str,
    state: State,
    actor: str,
    reason: str,
    evidence: Mapping[str, str],
    at: str,
) -> None:
    """Add an event after a version's last one; the rooms' other modules check what it says."""
    _append(connection, _tip(record), kind, state, actor, reason, evidence, at)


def known(connection: sa.Connection, dataset: str, version_name: str) -> VersionRecord:
    """The version as it stands.

    Raises:
        ConflictError: there is none (``NOTHING_TO_RESUME``).
    """
    return _known(connection, dataset, version_name)


def _require_approved(connection: sa.Connection, record: VersionRecord, evidence: Mapping[str, str]) -> None:
    found = publication_of(events(connection, record.dataset, record.version))
    if found.missing or (found.terms.approvals and evidence.get("package") != found.package):
        raise WaitingError.of(
            Reason.APPROVAL_MISSING,
            f"version {record.dataset}/{record.version}",
            required=f"{found.terms.approvals} approvals of these files by different people who did not run it",
            came=str(len(found.approvals)),
            fix="Look and approve: trasgo approve CONFIG",
        )


def _tip(record: VersionRecord) -> _Tip:
    return _Tip(record.dataset, record.version, record.seq, record.head)


def _append(
    connection: sa.Connection,
    tip: _Tip,
    kind: str,
    state: State,
    actor: str,
    reason: str,
    evidence: Mapping[str, str],
    at: str,
) -> None:
    """Insert the event after the tip; the database itself moves the version's length and head."""
    event = documents.lifecycle_event(
        {
            "dataset": tip.dataset,
            "version": tip.version,
            "seq": tip.seq + 1,
            "prev": tip.head,
            "kind": kind,
            "state": state.value,
            "actor": actor,
            "reason": reason,
            "evidence": dict(evidence),
            "at": at,
        }
    )
    connection.execute(
        EVENTS.insert().values(
            dataset=event.dataset,
            version=event.version,
            seq=event.seq,
            kind=event.kind,
            state=event.state.value,
            prev=event.prev,
            hash=event.hash,
            document=event.document,
        )
    )


def _known(connection: sa.Connection, dataset: str, version_name: str) -> VersionRecord:
    record = version(connection, dataset, version_name)
    if record is None:
        raise ConflictError.of(
            Reason.NOTHING_TO_RESUME,
            f"version {dataset}/{version_name}",
            required="a version that was created",
            came="none",
            fix="Start it with: trasgo run",
        )
    return record


def _to_version(row: sa.Row[Any], life: tuple[Event, ...]) -> VersionRecord:
    if not life:
        raise StoreError.of(
            Reason.CHAIN_BROKEN,
            f"version {row.dataset}/{row.version}",
            required="the event of its creation",
            came="no event",
            fix="Restore the database from a backup.",
        )
    frozen = next((event.evidence for event in reversed(life) if event.kind == "freeze"), {})
    published = next((event.evidence for event in life if event.state is State.PUBLISHED), {})
    return VersionRecord(
        dataset=row.dataset,
        version=row.version,
        account=row.account,
        wrapped_root=row.wrapped_root,
        commitment=row.commitment,
        state=life[-1].state,
        passed=frozenset(event.state for event in life),
        plan_digest=frozen.get("plan_digest"),
        input_digest=frozen.get("input_digest"),
        manifest_digest=published.get("manifest_digest"),
        head=row.head,
        seq=row.seq,
    )


def _state(state: State | str) -> State:
    try:
        return State(state)
    except ValueError:
        raise ConfigError.of(
            Reason.UNKNOWN_NAME, "state", required=", ".join(State), came=repr(state)[:50], fix="Use one of them."
        ) from None
