"""The source once more, before anything leaves: what is published was drawn from the file that is there."""

from __future__ import annotations

from prefect import task

from tasks.policies import PURE, at_boundary
from tasks.session import RunRef, open_session
from trasgo_lib.errors import ConflictError, InputContractError, Reason


@task(name="same source", **PURE)
@at_boundary
def require_same_source(ref: RunRef) -> None:
    """Digest the source again and stop when it is no longer the file that was read.

    Raises:
        ConflictError: the file was changed, replaced or removed since; nothing is published.
    """
    session = open_session(ref)
    try:
        now = session.source_digest()
    except InputContractError:
        now = None
    if now != session.begin().input_digest:
        raise ConflictError.of(
            Reason.INPUT_CHANGED,
            f"source {session.plan.source_path.name}",
            required="the file that was read, until its release is published",
            came="another file, or none",
            fix="Bring back the file that was read and run again; or publish a new version, charged in full.",
        )
