"""Ingest: the source becomes private codes, or one error that lists everything wrong with it."""

from __future__ import annotations

import logging
from dataclasses import replace

from prefect import task

from tasks.policies import PURE, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.workspace import INPUT_REPORT, Workspace
from trasgo_lib.data import CODE_BYTES, PrivateTable, read_source, require_room
from trasgo_lib.errors import InputContractError
from trasgo_lib.plan import source_reading
from trasgo_lib.statistics.membership import asserts_membership, require_membership
from trasgo_lib.statistics.private_rows import StoredRows

_DRAWS_AT_LEAST = 2
"""Stage files of a first draw and of a second one; what the loop needs more is not known before."""

_LOGGER = logging.getLogger("trasgo")


@task(name="ingest", **PURE)
@at_boundary
def ingest(ref: RunRef) -> PrivateTable:
    """Read, validate and encode the source; freeze plan and input with the version.

    Raises:
        InputContractError: with the counts dropped; the full report stays in the restricted work folder.
        ConflictError: plan or input differ from those the version was charged with, or the account counts other units.
    """
    session = open_session(ref)
    session.require_account()
    session.require_stores()
    session.begin()
    workspace = Workspace(session.work)
    try:
        table, report = read_source(
            replace(source_reading(session.plan), keeps_units=_keeps_units(session)),
            digest_key=session.digest_key(),
            permutation=lambda input_digest: session.stream("permute", input_digest),
            work=session.work,
            rows_per_batch=session.plan.rows_per_batch,
        )
        if _asserts_membership(session):
            _require_membership(session, table)
    except InputContractError as error:
        workspace.write_faults(error)
        raise
    workspace.write_json(INPUT_REPORT, report.to_json())
    plan = session.plan
    # asked before anything is charged
    require_room(session.work, CODE_BYTES * table.rows * len(plan.units) * _DRAWS_AT_LEAST)
    session.freeze(table.input_digest)
    session.advance("validated", "the source keeps its contract")
    _LOGGER.info("ingest: %d rows, %d noise units", table.rows, len(plan.units))
    return table


def _keeps_units(session: Session) -> bool:
    """Whether it must be known whose rows they are: a query leaves rows of a unit out, or parts are to hold units."""
    trims = session.statistics is not None and any(query.bounds.trims for query in session.statistics.queries)
    return trims or _asserts_membership(session)


def _asserts_membership(session: Session) -> bool:
    return session.statistics is not None and asserts_membership(session.statistics)


def _require_membership(session: Session, table: PrivateTable) -> None:
    if session.statistics is not None:
        rows = StoredRows(table, session.digest_key(), session.plan.privacy_unit)
        require_membership(session.statistics, rows)
