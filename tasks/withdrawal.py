"""Taking a version's data back: the record first, then the notice, then the files; again finishes what was begun.

Only files of the manifest that the record knows are touched: another release at that place is left alone.
"""

from __future__ import annotations

import hashlib
import json

from tasks.review import Review
from tasks.stores import open_root
from tasks.version_life import hold_lease, now
from trasgo_lib.errors import ConflictError, Reason
from trasgo_lib.records import State
from trasgo_lib.release import MANIFEST, WITHDRAWN, release_prefix, withdrawal_bytes
from trasgo_lib.release.answers_file import withdrawable


def withdraw(review: Review, actor: str, reason: str) -> tuple[str, ...]:
    """Withdraw a published version; manifest, statement, channels and spend stay.

    Args:
        review: the version.
        actor: who does it.
        reason: why, in words; public.

    Returns:
        The paths that were taken away by this call.

    Raises:
        ConflictError: it was never published, what stands at the public root is not what was, or a run holds it: one
            that puts lost files again would put what is removed here.
        StoreError: the public root is out of reach, or does not allow to delete.
    """
    with hold_lease(review.records, review.plan.dataset, review.plan.version):
        return _take_back(review, actor, reason)


def _take_back(review: Review, actor: str, reason: str) -> tuple[str, ...]:
    plan = review.plan
    # read again: a run may have ended since the version was looked at
    record = review.records.version(plan.dataset, plan.version) or review.record
    if record.manifest_digest is None:
        raise ConflictError.of(
            Reason.STATE_CONFLICT,
            f"version {record.dataset}/{record.version}",
            required="a version that was published",
            came=f"one that is {record.state.value}",
            fix="Nothing of it is public. To end an unfinished version: trasgo key destroy, with --force-unfinished.",
        )
    public = open_root(plan.public_root, plan.config.publish.public_s3, create=False)
    prefix = release_prefix(plan.dataset, plan.version)
    manifest = public.get(f"{prefix}/{MANIFEST}")
    if hashlib.sha256(manifest).hexdigest() != record.manifest_digest:
        raise ConflictError.of(
            Reason.DIGEST_MISMATCH,
            public.uri(f"{prefix}/{MANIFEST}"),
            required="the manifest that the record says was published",
            came="another one",
            fix="Nothing was removed or recorded. Correct publish.store or publish.public, or restore the manifest.",
        )
    review.records.transition(plan.dataset, plan.version, State.WITHDRAWN, actor, reason, {}, now())
    life = review.records.events(plan.dataset, plan.version)
    event = next(event for event in life if event.kind == "state" and event.state is State.WITHDRAWN)
    listed = withdrawable(json.loads(manifest))
    notice = withdrawal_bytes(plan.dataset, plan.version, record.manifest_digest, event.at, event.reason, listed)
    public.put_once(f"{prefix}/{WITHDRAWN}", notice)
    return tuple(path for path in listed if public.remove(f"{prefix}/{path}"))
