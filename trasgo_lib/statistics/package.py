"""The published package of a statistics file: answers, statement, report, sums, signature, manifest."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.budget import Cost
from trasgo_lib.plan import NOT_COVERED
from trasgo_lib.release import (
    ENVELOPE,
    MANIFEST,
    REPORT,
    SIGNING_KEY,
    STATEMENT,
    SUMS,
    Signing,
    StagedFile,
    StagedPackage,
    documents,
    write_staged,
)
from trasgo_lib.release.answers_file import ANSWERS, ANSWERS_CSV, csv_rows
from trasgo_lib.release.envelope import envelope_bytes, signed_statement
from trasgo_lib.release.manifest import sums_text
from trasgo_lib.statistics.answers import Answer
from trasgo_lib.statistics.explain import half_width_in_words, query_document, shared_charges
from trasgo_lib.statistics.model import StatisticsPlan
from trasgo_lib.statistics.partitions import kept_parts, uncovered_parts

_GUARANTEE = (
    "Whoever sees everything that was published here, and knows all other rows, learns of one privacy unit's values at "
    "most what the stated epsilon and delta allow, compared with a file of the same rows per unit in which these "
    "values are others. The office holds the raw file: this is differential privacy with a trusted curator. The noise "
    "of each answer was drawn once, by OpenDP, from the operating system's secure random numbers; it is not keyed and "
    "cannot be drawn again."
)


@dataclass(frozen=True, slots=True)
class StatisticsFacts:
    """Everything the public documents are made of.

    Args:
        plan: the compiled plan.
        rows: number of rows; public.
        account_to_date: what the account has spent, this version and earlier ones included.
        created: when it was made, ISO 8601 with a time zone.
        library_version: version of this library.
        commit: source revision, or ``unknown``.
    """

    plan: StatisticsPlan
    rows: int
    account_to_date: Cost
    created: str
    library_version: str
    commit: str


def answers_document(facts: StatisticsFacts, answers: Sequence[Answer]) -> dict[str, Any]:
    """The content of ``answers.json``, format 1."""
    base = facts.plan.base
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "rows": facts.rows,
        "queries": [answer.to_json() for answer in answers],
    }


def statement_document(facts: StatisticsFacts) -> dict[str, Any]:
    """The content of ``statement.json`` of a statistics package, format 1."""
    base, info = facts.plan.base, facts.plan.base.config.release
    superseded = info.supersedes
    return {
        "format": 1,
        "kind": "statistics",
        "dataset": base.dataset,
        "version": base.version,
        "title": info.title,
        "supersedes": None if superseded is None else {"version": superseded.version, "reason": superseded.reason},
        "guarantee": _GUARANTEE,
        "unit": base.privacy_unit,
        "max_rows": base.max_rows,
        "neighbours": "same rows per unit; the values of one unit are replaced" + kept_parts(facts.plan),
        "composition": "basic",
        "epsilon_guarantee": base.epsilon_total.text,
        "delta_guarantee": base.delta_total.text,
        "spent": facts.plan.cost.to_json(),
        "account_to_date": facts.account_to_date.to_json(),
        "not_covered": [*NOT_COVERED, *uncovered_parts(facts.plan)],
        "interval": "95 % each by itself; it counts the noise of the answer and nothing else",
        "queries": [query_document(query, facts.plan.rows) for query in facts.plan.queries],
        **shared_charges(facts.plan),
        "created": facts.created,
        "library_version": facts.library_version,
        "commit": facts.commit,
    }


def stage_statistics(
    facts: StatisticsFacts, answers: Sequence[Answer], work: Path, signing: Signing | None
) -> StagedPackage:
    """Write every public file, list all of them, and sign the list.

    Args:
        facts: what the run states about itself.
        answers: as published.
        work: restricted work folder.
        signing: what the package is signed with, or None.

    Returns:
        The whole package, manifest last.
    """
    content = answers_document(facts, answers)
    written = [
        write_staged(ANSWERS, documents.dump(content, "answers"), work),
        write_staged(ANSWERS_CSV, _csv(content), work),
        write_staged(STATEMENT, documents.dump(statement_document(facts), "answers_statement"), work),
        write_staged(REPORT, _report(facts, answers).encode(), work),
    ]
    if signing is not None:
        written.append(write_staged(SIGNING_KEY, signing.key.public.to_pem(), work))
    written.append(write_staged(SUMS, sums_text(written).encode(), work))
    key_id = None if signing is None else signing.key.public.key_id
    manifest = _manifest(facts, written, key_id)
    listing = write_staged(MANIFEST, documents.dump(manifest, "manifest"), work)
    if signing is None or key_id is None:
        return StagedPackage((*written, listing))
    superseded = facts.plan.base.config.release.supersedes
    note = None if superseded is None else superseded.note
    signed = signed_statement(manifest, [*written, listing], signing.anchors, key_id, note)
    envelope = write_staged(ENVELOPE, envelope_bytes(signed, signing.key), work)
    return StagedPackage((*written, envelope, listing))


def _manifest(facts: StatisticsFacts, files: Sequence[StagedFile], key_id: str | None) -> dict[str, Any]:
    base = facts.plan.base
    superseded = base.config.release.supersedes
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "supersedes": None if superseded is None else superseded.version,
        "created": facts.created,
        "rows": facts.rows,
        "columns": [query.name for query in facts.plan.queries],
        "library_version": facts.library_version,
        "commit": facts.commit,
        "signature": None if key_id is None else {"path": ENVELOPE, "key_id": key_id},
        "files": [
            {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in sorted(files, key=lambda file: file.key)
        ],
    }


def _csv(content: dict[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(csv_rows(content))
    return text.getvalue().encode()


def _report(facts: StatisticsFacts, answers: Sequence[Answer]) -> str:
    """The answers for people, in Markdown."""
    base, spent = facts.plan.base, facts.plan.cost
    delta = f", delta {spent.delta.text}" if spent.delta.units else ""
    lines = [
        f"# {base.config.release.title}",
        "",
        f"{facts.rows} rows. Privacy unit: {base.privacy_unit}. All answers together cost epsilon "
        f"{spent.epsilon.text}{delta} of at most {base.epsilon_total.text}.",
        "",
        _GUARANTEE,
        "",
        "Intervals hold the true figure of the file with probability 95 %, each by itself. They count the noise only.",
    ]
    for answer in answers:
        query = answer.query
        lines += ["", f"## {query.name} ({query.kind})", "", f"Noise: {half_width_in_words(query, facts.plan.rows)}."]
        if answer.post_processed:
            lines.append(f"Post-processed: {'; '.join(answer.post_processed)}.")
        lines += ["", "| | value | 95 % |", "|---|---|---|"]
        for cell in answer.cells:
            key = ", ".join(label for _, label in cell.key) or "all"
            value = f"withheld: {cell.reason}" if cell.value is None else _short(cell.value)
            span = "" if cell.low is None or cell.high is None else f"{_short(cell.low)} to {_short(cell.high)}"
            lines.append(f"| {key} | {value} | {span} |")
    return "\n".join(lines) + "\n"


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
