"""What is said in public of corrections and withdrawals: files of their own, since no published file changes.

``<dataset>/_ERRATA/<version>.json`` says which version takes the place of which and why, one file a correction; no
version's name begins with ``_``. ``<dataset>/<version>/withdrawn.json`` stands where data files were taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from trasgo_lib.release import documents

if TYPE_CHECKING:
    from trasgo_lib.config import ReleaseInfo


class _DeclaresRelease(Protocol):
    @property
    def release(self) -> ReleaseInfo: ...


class Correcting(Protocol):
    """A compiled file whose version may take the place of another one."""

    @property
    def dataset(self) -> str:
        """The data set."""

    @property
    def version(self) -> str:
        """The version."""

    @property
    def config(self) -> _DeclaresRelease:
        """Its models."""


WITHDRAWN = "withdrawn.json"
CHARGED_AGAIN = "It was drawn afresh, and what it cost was charged in full beside what the earlier one had cost."
"""What a correction of a release, of answers or of a model costs."""

_REASONS = {"error": "corrects an error in", "revision": "is the planned revision of"}


def erratum_key(dataset: str, version: str) -> str:
    """Where the erratum of a correction stands below the public root.

    Args:
        dataset: data set.
        version: the new version.
    """
    return f"{dataset}/_ERRATA/{version}.json"


def supersedes_document(plan: Correcting) -> dict[str, str] | None:
    """What a version says of the one it takes the place of; None when it takes none's."""
    return supersedes_of(plan.config.release)


def supersedes_of(info: ReleaseInfo) -> dict[str, str] | None:
    """The same, from what its file says of the release."""
    declared = info.supersedes
    if declared is None:
        return None
    return {"version": declared.version, "reason": declared.reason, "note": declared.note}


def erratum_bytes(
    plan: Correcting, created: str, manifest_digest: str, superseded_digest: str, price: str = CHARGED_AGAIN
) -> bytes:
    """The erratum of a version that supersedes another one.

    Args:
        plan: the compiled plan.
        created: when the new version was made, ISO 8601; the same however often it is written.
        manifest_digest: SHA-256 of the new version's manifest.
        superseded_digest: that of the old one's.
        price: what the correction cost those who are protected, in words.

    Raises:
        ValueError: the version supersedes none.
    """
    declared = plan.config.release.supersedes
    if declared is None:
        raise ValueError("this version supersedes none")
    words = (
        f"Version {plan.version} of {plan.dataset} {_REASONS[declared.reason]} version {declared.version} and takes its"
        f" place. {price}"
    )
    document: dict[str, Any] = {
        "format": 1,
        "dataset": plan.dataset,
        "version": plan.version,
        "manifest_sha256": manifest_digest,
        "supersedes": declared.version,
        "superseded_manifest_sha256": superseded_digest,
        "reason": declared.reason,
        "note": declared.note,
        "created": created,
        "in_words": words,
    }
    return documents.dump(document, "erratum")


def withdrawal_bytes(
    dataset: str, version: str, manifest_digest: str, at: str, reason: str, removed: Sequence[str]
) -> bytes:
    """The notice that stands in the place of a version's data.

    Args:
        dataset: data set.
        version: release version.
        manifest_digest: SHA-256 of its manifest, which stays.
        at: when it was withdrawn, as the record says.
        reason: why, in words; public.
        removed: paths that were taken back.
    """
    words = (
        "The files that are listed as removed were taken back. Everything else that the manifest lists stays, and so"
        " does what was spent: noise that was published once can have been copied."
    )
    document: dict[str, Any] = {
        "format": 1,
        "dataset": dataset,
        "version": version,
        "manifest_sha256": manifest_digest,
        "withdrawn": at,
        "reason": reason,
        "removed": sorted(removed),
        "in_words": words,
    }
    return documents.dump(document, "withdrawn")
