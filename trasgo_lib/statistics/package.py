"""The published package of a statistics file: answers, statement, report, sums, signature, manifest."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.budget import Cost
from trasgo_lib.plan import NOT_COVERED
from trasgo_lib.release import (
    REPORT,
    REPORT_PAGE,
    STATEMENT,
    Signing,
    StagedFile,
    StagedPackage,
    documents,
    write_staged,
)
from trasgo_lib.release.answers_file import ANSWERS, ANSWERS_CSV, HOWTO_USE, csv_rows
from trasgo_lib.release.corrections import supersedes_document
from trasgo_lib.release.crate import CrateFacts
from trasgo_lib.release.finishing import finish_package
from trasgo_lib.release.verify_charges import composition_of
from trasgo_lib.reporting import metadata
from trasgo_lib.reporting.answers_howto import answers_howto
from trasgo_lib.reporting.answers_report import answers_report
from trasgo_lib.statistics.answers import Answer
from trasgo_lib.statistics.explain import query_document, shared_charges
from trasgo_lib.statistics.model import StatisticsPlan
from trasgo_lib.statistics.partitions import guarantee_of_parts, kept_parts, uncovered_parts
from trasgo_lib.statistics.question import column_documents

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
    base = facts.plan.base
    asked = {
        "queries": [query_document(query, facts.plan.rows) for query in facts.plan.queries],
        **shared_charges(facts.plan),
    }
    return {
        "format": 1,
        "kind": "statistics",
        "dataset": base.dataset,
        "version": base.version,
        "title": base.config.release.title,
        "supersedes": supersedes_document(base),
        "guarantee": _GUARANTEE + guarantee_of_parts(facts.plan),
        "unit": base.privacy_unit,
        "max_rows": base.max_rows,
        "neighbours": "same rows per unit; the values of one unit are replaced" + kept_parts(facts.plan),
        "composition": composition_of(asked),
        "epsilon_guarantee": base.epsilon_total.text,
        "delta_guarantee": base.delta_total.text,
        "spent": facts.plan.cost.to_json(),
        "account_to_date": facts.account_to_date.to_json(),
        "not_covered": [*NOT_COVERED, *uncovered_parts(facts.plan)],
        "interval": "95 % each by itself; it counts the noise of the answer and nothing else",
        "columns": column_documents(base),
        **asked,
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
    # imported late: it loads what draws charts
    from trasgo_lib.reporting.answers_page import render_answers_page

    content, statement = answers_document(facts, answers), statement_document(facts)
    data = (
        write_staged(ANSWERS, documents.dump(content, "answers"), work),
        write_staged(ANSWERS_CSV, _csv(content), work),
    )
    about = facts.plan.base.config.release.description
    page = render_answers_page(statement, content, is_signed=signing is not None, description=about)
    described = [
        *data,
        write_staged(STATEMENT, documents.dump(statement, "answers_statement"), work),
        write_staged(REPORT, answers_report(statement, content).encode(), work),
        write_staged(REPORT_PAGE, page.encode(), work),
        write_staged(HOWTO_USE, answers_howto(statement, content).encode(), work),
        *_standards(facts, data, statement, work),
    ]
    names = [query.name for query in facts.plan.queries]
    return finish_package(described, _crate_facts(facts, statement), facts.rows, names, work, signing)


def _standards(
    facts: StatisticsFacts, data: tuple[StagedFile, ...], statement: dict[str, Any], work: Path
) -> Iterator[StagedFile]:
    """The metadata that fit answers; a codebook of microdata (DDI) does not."""
    base = facts.plan.base
    description = metadata.CentralDescription(
        info=base.config.release,
        dataset=base.dataset,
        version=base.version,
        created=facts.created,
        rows=facts.rows,
        data=data,
        privacy_in_words=_in_words(facts),
        content_words="Answers",
        kind_words="Statistics with noise",
        pages=(metadata.CODEBOOK, REPORT_PAGE, HOWTO_USE),
    )
    yield write_staged(metadata.CODEBOOK, metadata.answers_codebook(description, statement), work)
    yield write_staged(metadata.CSVW, documents.dump(metadata.answers_csvw(description), "csvw"), work)
    package = metadata.answers_data_package(description)
    yield write_staged(metadata.DATA_PACKAGE, documents.dump(package, "datapackage"), work)
    yield write_staged(metadata.DCAT, documents.dump(metadata.dcat_document(description), "dcat"), work)
    registry = metadata.central_deployment(description, statement)
    yield write_staged(metadata.DP_STATEMENT, documents.dump(registry, "dp_statement"), work)
    yield write_staged(metadata.DP_STATEMENT_TEXT, metadata.deployment_text(registry), work)


def _in_words(facts: StatisticsFacts) -> str:
    spent = facts.plan.cost
    delta = f" and delta {spent.delta.text}" if spent.delta.units else ""
    told = _GUARANTEE + guarantee_of_parts(facts.plan)
    return f"All answers of this version together cost epsilon {spent.epsilon.text}{delta}. {told}"


def _crate_facts(facts: StatisticsFacts, statement: dict[str, Any]) -> CrateFacts:
    base, spent = facts.plan.base, facts.plan.cost
    return CrateFacts(
        info=base.config.release,
        dataset=base.dataset,
        version=base.version,
        created=facts.created,
        library_version=facts.library_version,
        commit=facts.commit,
        made=f"noisy answers of a trusted curator; composition: {statement['composition']}",
        conditions=_in_words(facts),
        claims={
            "epsilon_guarantee": statement["epsilon_guarantee"],
            "delta_guarantee": statement["delta_guarantee"],
            "epsilon_spent": spent.epsilon.text,
            "delta_spent": spent.delta.text,
        },
    )


def _csv(content: dict[str, Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(csv_rows(content))
    return text.getvalue().encode()
