"""Packages in which something was changed and every digest made right again, as an honest-looking forger would."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trasgo_lib.release import documents
from trasgo_lib.release.manifest import staged_file, sums_text


def changed(package: Path, folder: Path, path: str, change: Callable[[Any], Any]) -> Path:
    """A copy in which one JSON file is changed and every digest is made right again."""
    copy = folder / "copy"
    shutil.copytree(package, copy)
    document = json.loads((copy / path).read_text(encoding="utf-8"))
    change(document)
    (copy / path).write_text(json.dumps(document), encoding="utf-8")
    return listed_anew(copy)


def listed_anew(copy: Path) -> Path:
    """A package whose metadata, sums and manifest have the digests of its files as they are now."""
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    names = [entry["path"] for entry in manifest["files"] if entry["path"] != "SHA256SUMS"]

    def again(name: str, entries: Callable[[Any], Any], put: Callable[[Any, Any], None]) -> None:
        document = json.loads((copy / name).read_text(encoding="utf-8"))
        for place, entry in entries(document):
            if (copy / place).is_file():
                put(entry, staged_file(place, copy / place))
        (copy / name).write_text(json.dumps(document), encoding="utf-8")

    again(
        "datapackage.json",
        lambda found: [(one["path"], one) for one in found["resources"]],
        lambda entry, file: entry.update(hash=f"sha256:{file.sha256}", bytes=file.bytes),
    )
    again(
        "csvw.json",
        lambda found: [(one["url"], one) for one in found["tables"]],
        lambda entry, file: entry.update({"schema:sha256": file.sha256}),
    )

    def distribute(entry: Any, file: Any) -> None:
        entry["spdx:checksum"]["spdx:checksumValue"]["@value"] = file.sha256
        entry["dcat:byteSize"]["@value"] = str(file.bytes)

    again(
        "dcat.jsonld",
        lambda found: [(one["dcat:accessURL"]["@id"], one) for one in found["dcat:distribution"]],
        distribute,
    )
    again(
        "ro-crate-metadata.json",
        lambda found: [(one["@id"], one) for one in found["@graph"] if "sha256" in one],
        lambda entry, file: entry.update(sha256=file.sha256),
    )
    files = [staged_file(name, copy / name) for name in names]
    (copy / "SHA256SUMS").write_text(sums_text(files), encoding="utf-8")
    files.append(staged_file("SHA256SUMS", copy / "SHA256SUMS"))
    manifest["files"] = [
        {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
        for file in sorted(files, key=lambda one: one.key)
    ]
    (copy / "manifest.json").write_bytes(documents.dump(manifest, "manifest"))
    return copy
