"""``manifest.json`` and ``SHA256SUMS``: the lists of every file of a release; the manifest is put last."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.reporting import ReleaseFacts

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
ENVELOPE = "manifest.dsse.json"
SIGNING_KEY = "signing-key.pem"

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file that waits in the work folder to be published.

    Args:
        key: its path inside the release, with forward slashes.
        path: where it stands now, mode 0600.
        sha256: digest of its bytes, hex.
        bytes: its length.
    """

    key: str
    path: Path
    sha256: str
    bytes: int


def staged_file(key: str, path: Path) -> StagedFile:
    """Describe a file that was just written.

    Raises:
        OSError: when it cannot be read.
    """
    digest, length = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
            length += len(chunk)
    return StagedFile(key, path, digest.hexdigest(), length)


def sums_text(files: Iterable[StagedFile]) -> str:
    """The content of ``SHA256SUMS``, as ``sha256sum --check`` reads it, sorted by path."""
    return "".join(f"{file.sha256}  {file.key}\n" for file in sorted(files, key=lambda file: file.key))


def read_sums(text: str) -> dict[str, str]:
    """Digest by path from the text of ``SHA256SUMS``.

    Raises:
        ValueError: for a line of another form or a path that stands twice.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        digest, gap, key = line.partition("  ")
        if not gap or not key or len(digest) != hashlib.sha256().digest_size * 2 or key in found:
            raise ValueError("a line is not a digest, two blanks and a path, or repeats a path")
        found[key] = digest
    return found


def manifest_document(
    facts: ReleaseFacts,
    files: Iterable[StagedFile],
    columns: Sequence[str],
    key_id: str | None = None,
) -> dict[str, Any]:
    """The manifest's content, format 1.

    Args:
        facts: what the run states about itself.
        files: every other file of the release but the signed envelope, which names the manifest's digest.
        columns: published column names, in order.
        key_id: whose signature the release carries, or None when it is not signed.
    """
    superseded = facts.plan.config.release.supersedes
    return {
        "format": 1,
        "dataset": facts.plan.dataset,
        "version": facts.plan.version,
        **({"rehearsal": True} if facts.plan.is_rehearsal else {}),
        "supersedes": None if superseded is None else superseded.version,
        "created": facts.created,
        "rows": facts.rows,
        "columns": list(columns),
        "library_version": facts.library_version,
        "commit": facts.commit,
        "signature": None if key_id is None else {"path": ENVELOPE, "key_id": key_id},
        "files": [
            {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in sorted(files, key=lambda file: file.key)
        ],
    }
