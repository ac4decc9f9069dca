"""Risk audit: what classes and attacks show, for the restricted root only, after every decision and read by none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from prefect import task

from tasks.draw import Draw
from tasks.policies import IDEMPOTENT_IO, at_boundary
from tasks.session import RunRef, Session, open_session
from tasks.workspace import RISK, Workspace
from trasgo_lib.config import RiskSpec
from trasgo_lib.data import PrivateTable, ReleasedCodes, read_batches, read_value_batches
from trasgo_lib.release import require_risk_audit, stored_risk_audit
from trasgo_lib.risk import audit_risk


@task(name="risk", **IDEMPOTENT_IO)
@at_boundary
def assess_risk(ref: RunRef, table: PrivateTable, released: Sequence[ReleasedCodes], draws: Sequence[Draw]) -> None:
    """Audit the draws that are released, where the release file asks for it; without ``risk`` nothing is done.

    Whatever goes wrong, the run goes on as it would have: the restricted report names the kind of error. A release that
    is published or not as its raw file allows a computation would tell something of that file. An audit that an
    earlier run of this version has put is kept as it is, so that a resumed run cannot come to other bytes.

    Args:
        ref: the run.
        table: the private table; row i of every draw is its row i.
        released: the newest draw of each unit.
        draws: which draws those are, in the same order.
    """
    session = open_session(ref)
    spec = session.plan.config.risk
    if spec is None:
        return
    document = stored_risk_audit(session.plan, session.restricted)
    if document is None:
        try:
            document = _audited(session, spec, table, released, draws)
            require_risk_audit(session.plan, document)
        except Exception as error:  # noqa: BLE001 whatever it is, it must not decide on publication
            document = {"not_computed": type(error).__name__}
    Workspace(session.work).write_json(RISK, document)


def _audited(
    session: Session, spec: RiskSpec, table: PrivateTable, released: Sequence[ReleasedCodes], draws: Sequence[Draw]
) -> dict[str, Any]:
    key = session.digest_key()
    original, noised = (
        {codes.unit: partial(read_batches, codes, key) for codes in units} for units in (table.units, released)
    )
    audit = audit_risk(
        session.plan,
        spec,
        {draw.unit: draw.level for draw in draws},
        (original, noised),
        {values.column: partial(read_value_batches, values, key) for values in table.public},
        table.rows,
        session.stream("risk", table.input_digest),
    )
    return audit.to_json()
