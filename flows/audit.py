"""The audit: the order of its stages and nothing else. It orchestrates nothing, so it starts no orchestrator."""

from __future__ import annotations

from tasks.audit import (
    audit_folder,
    check_records,
    drift_of,
    prefix_of,
    published_digests,
    recorded_codes,
    redraw,
    require_audited,
    require_root,
    verify_published,
)
from tasks.session import Session
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.release import WRITER, AuditReport, VerificationResult, compare_codes, compare_files


def audit(session: Session) -> AuditReport:
    """Verify a published version against the records, redraw it, and compare; charges and publishes nothing.

    Args:
        session: the version, opened with restricted access and the wrapping key.

    Raises:
        ConflictError: the version is not published, or plan or source are not those it was made from.
        StoreError: the ledger does not hold together, or a store does not answer.
    """
    session.require_whole_ledger()
    record = require_audited(session)
    verified = verify_published(session)
    results: list[VerificationResult] = [*verified.results]
    if verified.passed:
        results += check_records(session, record)
    drift = drift_of(session)
    redrawn = with_bytes = False
    if _may_redraw(session):
        with_bytes = WRITER not in {one.name for one in drift}
        with audit_folder(session) as folder:
            drawn = redraw(session, folder)
            results += compare_codes(recorded_codes(session), drawn.codes)
            listed = published_digests(session)
            results += compare_files(session.public, prefix_of(session), listed, drawn.files, with_bytes=with_bytes)
        redrawn = True
    return AuditReport(prefix_of(session), tuple(results), drift, redrawn, with_bytes, verified.signature)


def _may_redraw(session: Session) -> bool:
    try:
        require_root(session)
    except ConflictError as error:
        if error.reason is Reason.ROOT_LOST:
            return False
        raise
    return True
