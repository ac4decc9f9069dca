"""Queries: charge them, draw each answer once, keep it restricted; what is made of it is published elsewhere."""

from __future__ import annotations

import logging

from prefect import task

from tasks.central_draw import Kept, charge, mark_checked, require_stored, require_undrawn, reservation, store, stored
from tasks.policies import NOISE_DRAW, PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from trasgo_lib.budget import Cost
from trasgo_lib.data import PrivateTable
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.noise import derive
from trasgo_lib.records import Reservation, State
from trasgo_lib.statistics import QueryPlan, StatisticsPlan
from trasgo_lib.statistics.answering import Drawn, draw_answer
from trasgo_lib.statistics.answers import Answer, answers_of
from trasgo_lib.statistics.package import StatisticsFacts
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
    return charge(session, [_reservation(session, query) for query in statistics_of(session).queries], "all queries")


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
    if stored(session, _kept(query)) is not None:
        _LOGGER.info("answer: %s (stored already)", name)
        return
    require_undrawn(session, _kept(query))
    # paid already by ``reserve_queries``: asking again returns that entry, and makes an unpaid draw impossible
    session.reserve([_reservation(session, query)])
    unit = None if session.plan.privacy_unit == "row" else session.plan.privacy_unit
    rows = StoredRows(table, session.digest_key(), unit)
    store(session, _kept(query), draw_answer(query, rows, _contribution_key(session, query)))
    _LOGGER.info("answer: %s", name)


@task(name="mark answers checked", **PURE)
@at_boundary
def mark_answers_checked(ref: RunRef) -> None:
    """Record that every answer is drawn and stored, by keyed digests, and that it is of its query.

    Raises:
        ConflictError: a stored answer is gone, or is another one than was recorded.
    """
    session = open_session(ref)
    draws = {f"answer of {query.name}": _kept(query) for query in statistics_of(session).queries}
    mark_checked(session, draws, "every answer is stored", f"{len(draws)} answers are those of their queries")


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
    return answers_of(statistics_of(session), _drawn(session))


def answers_facts(session: Session) -> StatisticsFacts:
    """What the public documents of a drawn version are made of, beside its answers.

    Raises:
        ConflictError: a stored answer is gone or answers another query.
    """
    made = session.event_of(State.DRAWN).evidence
    return StatisticsFacts(
        plan=statistics_of(session),
        rows=next(iter(_drawn(session).values())).rows,
        account_to_date=session.account_to_date(),
        created=session.event_of(State.CHECKED).at,
        library_version=made["library_version"],
        commit=made["commit"],
    )


def _drawn(session: Session) -> dict[str, Drawn]:
    return {query.name: require_stored(session, _kept(query)) for query in statistics_of(session).queries}


def _kept(query: QueryPlan) -> Kept[Drawn]:
    return Kept(
        noun="answer",
        name=query.name,
        path=f"answers/{query.name}.json",
        digest=query.digest,
        read=Drawn.from_json,
        other="the answer to another question",
        again="ask again",
    )


def _contribution_key(session: Session, query: QueryPlan) -> bytes:
    """Chooses which rows of a unit count; secret, and the same whenever the query is asked of the same input."""
    record = session.begin()
    return derive(session.digest_key(), "contribution", query.digest, record.input_digest or "")


def _reservation(session: Session, query: QueryPlan) -> Reservation:
    charged = statistics_of(session).charge_of(query.name)
    return reservation(session, charged.name, charged.digest, charged.event)
