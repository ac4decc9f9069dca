"""Names of the files of a published statistics package, and whether a manifest is that of one."""

from __future__ import annotations

from typing import Any

from trasgo_lib.release.collection_file import holds_counts, is_map
from trasgo_lib.release.model_file import CARD, holds_a_model

ANSWERS = "data/answers.json"
ANSWERS_CSV = "data/answers.csv"
HOWTO_USE = "HOWTO_USE.md"

_REPORTS = ("report.md", "report.html")
"""Reports that tell every answer; those of rows tell none."""

_REPORTS_OF_MODEL = (CARD, "report.html")
"""Pages that tell weights or the accuracy."""

CSV_HEADER = ("query", "type", "key", "value", "noisy", "low", "high", "reason", "post_processed")


def holds_answers(manifest: dict[str, Any]) -> bool:
    """Whether a manifest lists answers instead of released rows."""
    return any(entry["path"] == ANSWERS for entry in manifest["files"])


def withdrawable(manifest: dict[str, Any]) -> list[str]:
    """The files that a withdrawal takes back: rows, answers, weights or estimates, and the pages that tell of these.

    Args:
        manifest: of a release of rows, of answers, of a model or of a collection.
    """
    is_collection = holds_counts(manifest)
    pages = _REPORTS_OF_MODEL if holds_a_model(manifest) else ()
    reports = _REPORTS if holds_answers(manifest) or is_collection else pages
    paths = [str(entry["path"]) for entry in manifest["files"]]
    return [path for path in paths if path.startswith("data/") or path in reports or (is_collection and is_map(path))]


def csv_rows(document: dict[str, Any]) -> list[tuple[str, ...]]:
    """The rows of ``answers.csv`` from the content of ``answers.json``, header first.

    Args:
        document: the answers, format 1.
    """
    rows: list[tuple[str, ...]] = [CSV_HEADER]
    for query in document["queries"]:
        done = "; ".join(query["post_processed"])
        for cell in query["cells"]:
            key = "; ".join(f"{name}={label}" for name, label in cell["key"].items())
            numbers = (_text(cell[name]) for name in ("value", "noisy", "low", "high"))
            rows.append((query["name"], query["type"], key, *numbers, cell.get("reason", ""), done))
    return rows


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
