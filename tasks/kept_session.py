"""What a worker keeps of a run, held against the ledger before each draw.

A Dask worker outlives runs. Meanwhile the wrapping key can be rotated, or a prior beside the release file be replaced,
so that the plan it compiled is no longer the one that the version is charged for.
"""

from __future__ import annotations

from tasks.session import RunRef, Session, open_session
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.keys import root_context
from trasgo_lib.records import VersionRecord


def session_for_draw(ref: RunRef) -> Session:
    """The run, opened anew where what this process kept of it is out of date.

    Args:
        ref: the run.

    Raises:
        ConflictError: this process compiles another plan than the version was frozen with, so nothing is drawn; or the
            version's root is gone.
    """
    session = open_session(ref)
    record = session.begin()
    if record.plan_digest == session.plan.digest and _opens(session, record):
        return session
    open_session.cache_clear()
    session = open_session(ref)
    if record.plan_digest != session.plan.digest:
        raise ConflictError.of(
            Reason.PLAN_CHANGED,
            f"version {record.dataset}/{record.version} on this worker",
            required="the plan that the version was frozen with",
            came="another plan, from other files or another build of the library",
            fix="Give workers the same files and the same build; nothing was charged or drawn by this task.",
        )
    return session


def _opens(session: Session, record: VersionRecord) -> bool:
    """Whether the wrapping key that was kept is still that of the ledger; a destroyed root says nothing of it."""
    if not record.wrapped_root:
        return True
    try:
        session.wrapping_key.unwrap(record.wrapped_root, root_context(record.dataset, record.version))
    except ConflictError:
        return False
    return True
