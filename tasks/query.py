"""Queries: charge them, draw each answer once, keep it restricted; what is made of it is published elsewhere."""

from __future__ import annotations

import json
import logging

from prefect import task

import trasgo_lib
from tasks.made_with import made_with, source_revision
from tasks.policies import NOISE_DRAW, PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.signing import previous_evidence
from trasgo_lib.budget import Cost, cost
from trasgo_lib.data import PrivateTable
from trasgo_lib.errors import ConfigError, ConflictError, Reason
from trasgo_lib.keys import KeyedDigest
from trasgo_lib.noise import derive
from trasgo_lib.records import Reservation, State
from trasgo_lib.release import release_prefix
from trasgo_lib.statistics import QueryPlan, StatisticsPlan
from trasgo_lib.statistics.answering import Drawn, draw_answer
from trasgo_lib.statistics.answers import Answer, answers_of
from trasgo_lib.statistics.private_rows import StoredRows
from trasgo_lib.statistics.row_count import require_row_count

_LOGGER = logging.getLogger("trasgo")


@task(name="reserve queries", **PURE)
@at_boundary
def reserve_queries(ref: RunRef, rows: int) -> Cost:
    """Charge every query, or none of them; one that was charged before is not charged again.

    Args:
        ref: the run.
        rows: of the source; public.

    Returns:
        What the version has been charged so far.

    Raises:
        ConfigError: so many rows do not allow a query; nothing was charged.
        BudgetError: the account's cap would be passed; nothing was charged and nothing is drawn.
        ConflictError: the version was charged with another plan, input or root.
    """
    session = open_session(ref)
    require_row_count(statistics_of(session), rows)
    before = session.spent()
    session.reserve([_reservation(session, query) for query in statistics_of(session).queries])
    spent = session.spent()
    _LOGGER.info("reserve: all queries%s", " (already paid)" if spent == before else f"; spent so far: {spent}")
    return spent


@task(name="answer", **NOISE_DRAW)
@at_boundary
def answer_query(ref: RunRef, table: PrivateTable, name: str) -> None:
    """Draw the answer of one query and store it in the restricted root; a stored one is kept and nothing is drawn.

    Noise is not keyed, so an answer exists from the moment it is stored: what was drawn and not stored was seen by
    nobody. Once the version is drawn, a stored answer that is gone is an error and never a second draw.

    Raises:
        ConflictError: a stored answer is gone or answers another query.
    """
    session = open_session(ref)
    query = statistics_of(session).query(name)
    if _stored(session, query) is not None:
        _LOGGER.info("answer: %s (stored already)", name)
        return
    _require_undrawn(session, query)
    # paid already by ``reserve_queries``: asking again returns that entry, and makes an unpaid draw impossible
    session.reserve([_reservation(session, query)])
    unit = None if session.plan.privacy_unit == "row" else session.plan.privacy_unit
    rows = StoredRows(table, session.digest_key(), unit)
    drawn = draw_answer(query, rows, _contribution_key(session, query))
    # bound to the version's root: what another ledger drew under this name, perhaps of other data, is never served
    bound = drawn.to_json() | {"commitment": session.begin().commitment}
    content = json.dumps(bound, sort_keys=True, indent=2).encode()
    try:
        session.restricted.put_once(_key(session, name), content)
    except ConflictError:
        # another attempt has stored one: that is the answer, and this one is forgotten
        if _stored(session, query) is None:
            raise
    _LOGGER.info("answer: %s", name)


@task(name="mark answers checked", **PURE)
@at_boundary
def mark_answers_checked(ref: RunRef) -> None:
    """Record that every answer is drawn and stored, by keyed digests, and that it is of its query.

    Raises:
        ConflictError: a stored answer is gone, or is another one than was recorded.
    """
    session = open_session(ref)
    digests = {f"answer of {query.name}": _digest(session, query) for query in statistics_of(session).queries}
    session.advance(
        "drawn",
        "every answer is stored",
        config_sha256=ref.config_digest,
        **made_with(trasgo_lib.__version__, source_revision()),
        **digests,
    )
    recorded = session.event_of(State.DRAWN).evidence
    for name, digest in digests.items():
        if recorded.get(name) != digest:
            raise _gone(session, name, "another answer than was recorded")
    session.advance("checked", f"{len(digests)} answers are those of their queries", **previous_evidence(session))


def statistics_of(session: Session) -> StatisticsPlan:
    """The queries of a run.

    Raises:
        ConfigError: it is a release.
    """
    if session.statistics is None:
        raise ConfigError.of(
            Reason.BAD_SHAPE,
            "statistics file",
            required="a statistics file, with `queries`",
            came="a release file",
            fix="Run it with: trasgo run",
        )
    return session.statistics


def read_answers(session: Session) -> tuple[Answer, ...]:
    """The answers of a version whose draws are stored, as they are published.

    Raises:
        ConflictError: a stored answer is gone or answers another query.
    """
    statistics = statistics_of(session)
    drawn = {}
    for query in statistics.queries:
        found = _stored(session, query)
        if found is None:
            raise _gone(session, query.name, "none")
        drawn[query.name] = found
    return answers_of(statistics, drawn)


def _stored(session: Session, query: QueryPlan) -> Drawn | None:
    key = _key(session, query.name)
    if not session.restricted.exists(key):
        return None
    try:
        document = json.loads(session.restricted.get(key))
        drawn, commitment = Drawn.from_json(document), document.get("commitment")
    except (ValueError, KeyError, TypeError):
        raise _gone(session, query.name, "a file of another form") from None
    if drawn.digest != query.digest:
        raise _gone(session, query.name, "the answer to another question")
    if commitment != session.begin().commitment:
        raise _gone(session, query.name, "one that was drawn under another root")
    return drawn


def _require_undrawn(session: Session, query: QueryPlan) -> None:
    record = session.begin()
    if State.DRAWN in record.passed:
        raise _gone(session, query.name, "none")


def _gone(session: Session, name: str, came: str) -> ConflictError:
    return ConflictError.of(
        Reason.STATE_CONFLICT,
        f"stored answer of {name} in {session.plan.dataset}/{session.plan.version}",
        required="the answer that was drawn once",
        came=came,
        fix="Restore the restricted root from a backup, or ask again under a new version, charged in full.",
    )


def _digest(session: Session, query: QueryPlan) -> str:
    """Keyed: should this version never be published, its answers stay private."""
    key = _key(session, query.name)
    if _stored(session, query) is None:
        raise _gone(session, query.name, "none")
    digest = KeyedDigest(session.digest_key())
    digest.update(session.restricted.get(key))
    return digest.hexdigest()


def _key(session: Session, name: str) -> str:
    return f"{release_prefix(session.plan.dataset, session.plan.version)}/answers/{name}.json"


def _contribution_key(session: Session, query: QueryPlan) -> bytes:
    """Chooses which rows of a unit count; secret, and the same whenever the query is asked of the same input."""
    record = session.begin()
    return derive(session.digest_key(), "contribution", query.digest, record.input_digest or "")


def _reservation(session: Session, query: QueryPlan) -> Reservation:
    plan, record, charge = session.plan, session.begin(), statistics_of(session).charge_of(query.name)
    return Reservation(
        account=plan.account,
        dataset=plan.dataset,
        version=plan.version,
        commitment=record.commitment,
        unit=charge.name,
        chain_digest=charge.digest,
        attempt=1,
        level=cost(charge.event, plan.max_rows).epsilon.text,
        input_digest=record.input_digest or "",
        event=charge.event,
        max_rows=plan.max_rows,
        part=session.part,
    )
