"""What is drawn once, with a trusted curator: charged first, kept restricted, and never drawn a second time.

Answers of queries and models go this way. A draw exists from the moment it is stored: what was drawn and not stored was
seen by nobody. Once the version is drawn, a stored draw that is gone is an error.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import trasgo_lib
from tasks.made_with import made_with, source_revision
from tasks.session import Session
from tasks.signing import previous_evidence
from trasgo_lib.budget import Cost, LossEvent, cost
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.keys import KeyedDigest
from trasgo_lib.records import Reservation, State
from trasgo_lib.release import release_prefix

_LOGGER = logging.getLogger("trasgo")


class Draw(Protocol):
    """What was drawn."""

    @property
    def digest(self) -> str:
        """Of what it was drawn for."""

    def to_json(self) -> Mapping[str, object]:
        """Strict JSON."""


D = TypeVar("D", bound=Draw)


@dataclass(frozen=True, slots=True)
class Kept(Generic[D]):
    """A draw that is made once: where it is kept, what it must be of, and how that is said.

    Args:
        noun: what it is: ``answer`` or ``model``.
        name: the query it answers; empty where a version has one draw.
        path: below the version's restricted folder.
        digest: of the question or plan that it must be of.
        read: reads what ``to_json`` of a draw wrote.
        other: what one of another digest is.
        again: what to do for another draw.
    """

    noun: str
    name: str
    path: str
    digest: str
    read: Callable[[Mapping[str, Any]], D]
    other: str
    again: str


def charge(session: Session, reservations: Sequence[Reservation], what: str) -> Cost:
    """Charge draws, all of them or none; what was charged before is not charged again.

    Args:
        session: the run.
        reservations: of every draw.
        what: what they are, for the progress.

    Returns:
        What the version has been charged so far.

    Raises:
        BudgetError: the account's cap would be passed; nothing was charged and nothing is drawn.
        ConflictError: the version was charged with another plan, input or root.
    """
    before = session.spent()
    session.reserve(reservations)
    spent = session.spent()
    _LOGGER.info("reserve: %s%s", what, " (already paid)" if spent == before else f"; spent so far: {spent}")
    return spent


def reservation(session: Session, unit: str, digest: str, event: LossEvent) -> Reservation:
    """The charge of one draw.

    Args:
        session: the run.
        unit: name under which it is charged.
        digest: of what is drawn.
        event: what it may tell of one privacy unit.
    """
    plan, record = session.plan, session.begin()
    return Reservation(
        account=plan.account,
        dataset=plan.dataset,
        version=plan.version,
        commitment=record.commitment,
        unit=unit,
        chain_digest=digest,
        attempt=1,
        level=cost(event, plan.max_rows).epsilon.text,
        input_digest=record.input_digest or "",
        event=event,
        max_rows=plan.max_rows,
        part=session.part,
    )


def stored(session: Session, kept: Kept[D]) -> D | None:
    """The draw, or None before it is made.

    Raises:
        ConflictError: what is stored is of another form, digest or root.
    """
    key = _key(session, kept)
    if not session.restricted.exists(key):
        return None
    try:
        document = json.loads(session.restricted.get(key))
        draw, commitment = kept.read(document), document.get("commitment")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _gone(session, kept, "a file of another form") from None
    if draw.digest != kept.digest:
        raise _gone(session, kept, kept.other)
    if commitment != session.begin().commitment:
        raise _gone(session, kept, "one that was drawn under another root")
    return draw


def require_stored(session: Session, kept: Kept[D]) -> D:
    """The draw of a version whose draws are made.

    Raises:
        ConflictError: it is gone, or is of another form, digest or root.
    """
    found = stored(session, kept)
    if found is None:
        raise _gone(session, kept, "none")
    return found


def require_undrawn(session: Session, kept: Kept[D]) -> None:
    """Stop where a draw is not stored and the version is drawn: it was published or recorded, and is gone.

    Raises:
        ConflictError: so it is.
    """
    if State.DRAWN in session.begin().passed:
        raise _gone(session, kept, "none")


def store(session: Session, kept: Kept[D], draw: D) -> None:
    """Keep a draw, create-once; where another attempt has stored one, that is the draw, and this one is forgotten.

    It is bound to the version's root: what another ledger drew under this name, perhaps of other data, is never served.

    Raises:
        ConflictError: what is stored is of another form, digest or root.
    """
    bound = {**draw.to_json(), "commitment": session.begin().commitment}
    try:
        session.restricted.put_once(_key(session, kept), json.dumps(bound, sort_keys=True).encode())
    except ConflictError:
        if stored(session, kept) is None:
            raise


def mark_checked(session: Session, draws: Mapping[str, Kept[D]], drawn: str, checked: str) -> None:
    """Record that every draw is stored, by keyed digests, and that each is of its question or plan.

    Args:
        session: the run.
        draws: under their names in the record.
        drawn: why the version is drawn.
        checked: why it is checked.

    Raises:
        ConflictError: a stored draw is gone, or is another one than was recorded.
    """
    digests = {name: _keyed_digest(session, kept) for name, kept in draws.items()}
    made = made_with(trasgo_lib.__version__, source_revision())
    session.advance("drawn", drawn, config_sha256=session.ref.config_digest, **made, **digests)
    recorded = session.event_of(State.DRAWN).evidence
    for name, kept in draws.items():
        if recorded.get(name) != digests[name]:
            raise _gone(session, kept, f"another {kept.noun} than was recorded")
    session.advance("checked", checked, **previous_evidence(session))


def _keyed_digest(session: Session, kept: Kept[D]) -> str:
    """Keyed: should this version never be published, its draws stay private."""
    require_stored(session, kept)
    digest = KeyedDigest(session.digest_key())
    digest.update(session.restricted.get(_key(session, kept)))
    return digest.hexdigest()


def _key(session: Session, kept: Kept[D]) -> str:
    return f"{release_prefix(session.plan.dataset, session.plan.version)}/{kept.path}"


def _gone(session: Session, kept: Kept[D], came: str) -> ConflictError:
    of = f"{kept.name} in " if kept.name else ""
    return ConflictError.of(
        Reason.STATE_CONFLICT,
        f"stored {kept.noun} of {of}{session.plan.dataset}/{session.plan.version}",
        required=f"the {kept.noun} that was drawn once",
        came=came,
        fix=f"Restore the restricted root from a backup, or {kept.again} under a new version, charged in full.",
    )
