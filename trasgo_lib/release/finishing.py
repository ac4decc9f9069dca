"""How a package of answers or of a model ends: public key, research metadata, sums, signature, manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trasgo_lib.release import documents
from trasgo_lib.release.crate import CRATE, CrateFacts, crate_of
from trasgo_lib.release.envelope import Signing, envelope_bytes, signed_statement
from trasgo_lib.release.manifest import ENVELOPE, MANIFEST, SIGNING_KEY, SUMS, StagedFile, sums_text
from trasgo_lib.release.package import StagedPackage, write_staged


def finish_package(
    described: Sequence[StagedFile],
    about: CrateFacts,
    rows: int,
    columns: Sequence[str],
    work: Path,
    signing: Signing | None,
) -> StagedPackage:
    """Describe every file, list all of them, and sign the list.

    Args:
        described: every file with content, staged.
        about: what is said of the package.
        rows: number of rows of the source; public.
        columns: what the manifest names beside the files: names of the answers, or the column that is predicted.
        work: restricted work folder.
        signing: what the package is signed with, or None.

    Returns:
        The whole package, manifest last.
    """
    written = list(described)
    if signing is not None:
        written.append(write_staged(SIGNING_KEY, signing.key.public.to_pem(), work))
    crate = crate_of(about, written, is_signed=signing is not None)
    written.append(write_staged(CRATE, documents.dump(crate, "crate"), work))
    written.append(write_staged(SUMS, sums_text(written).encode(), work))
    key_id = None if signing is None else signing.key.public.key_id
    manifest = _manifest(about, rows, columns, written, key_id)
    listing = write_staged(MANIFEST, documents.dump(manifest, "manifest"), work)
    if signing is None or key_id is None:
        return StagedPackage((*written, listing))
    superseded = about.info.supersedes
    note = None if superseded is None else superseded.note
    signed = signed_statement(manifest, [*written, listing], signing.anchors, key_id, note)
    envelope = write_staged(ENVELOPE, envelope_bytes(signed, signing.key), work)
    return StagedPackage((*written, envelope, listing))


def _manifest(
    about: CrateFacts, rows: int, columns: Sequence[str], files: Sequence[StagedFile], key_id: str | None
) -> dict[str, Any]:
    superseded = about.info.supersedes
    return {
        "format": 1,
        "dataset": about.dataset,
        "version": about.version,
        "supersedes": None if superseded is None else superseded.version,
        "created": about.created,
        "rows": rows,
        "columns": list(columns),
        "library_version": about.library_version,
        "commit": about.commit,
        "signature": None if key_id is None else {"path": ENVELOPE, "key_id": key_id},
        "files": [
            {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in sorted(files, key=lambda file: file.key)
        ],
    }
