"""The published package of a model: weights, statement, card, report, metadata, sums, signature, manifest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.budget import Cost, cost, event_to_json
from trasgo_lib.noise.scales import laplace_half_width, laplace_scale
from trasgo_lib.plan import NOT_COVERED
from trasgo_lib.release import (
    REPORT_PAGE,
    STATEMENT,
    Signing,
    StagedFile,
    StagedPackage,
    documents,
    write_staged,
)
from trasgo_lib.release.corrections import supersedes_document
from trasgo_lib.release.crate import CrateFacts
from trasgo_lib.release.finishing import finish_package
from trasgo_lib.release.model_file import CARD, COMPOSITION, MODEL, card_text
from trasgo_lib.reporting import metadata
from trasgo_lib.reporting.wording import COMPUTATIONAL_ASSUMPTION, partition_words
from trasgo_lib.training.explain import training_document
from trasgo_lib.training.fitting import Fitted
from trasgo_lib.training.model import ACCURACY, TrainingPlan
from trasgo_lib.training.network import ACTIVATION_BITS, HIGHEST, WEIGHT_BITS

_GUARANTEE = (
    "Whoever sees the model and everything else that was published here, and knows all other rows, learns of one row "
    "at most what the stated epsilon and delta allow, compared with a file in which that row is replaced by another. "
    "The steps of the training are charged by their Renyi divergence, for one row taken out and another put in. The "
    "office holds the raw file: this is differential privacy with a trusted curator. The noise of the training is "
    f"keyed: whoever holds the version's key can take it off again. {COMPUTATIONAL_ASSUMPTION}"
)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Everything the public documents are made of.

    Args:
        plan: the compiled plan.
        fitted: what was drawn.
        account_to_date: what the account has spent, this version and earlier ones included.
        created: when it was made, ISO 8601 with a time zone.
        library_version: version of this library.
        commit: source revision, or ``unknown``.
    """

    plan: TrainingPlan
    fitted: Fitted
    account_to_date: Cost
    created: str
    library_version: str
    commit: str


def model_document(facts: ModelFacts) -> dict[str, Any]:
    """The content of ``data/model.json``, format 1."""
    plan, base = facts.plan, facts.plan.base
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "type": plan.spec.type,
        "target": {"name": plan.spec.target, "labels": list(plan.labels)},
        "features": [
            {
                "name": feature.name,
                "domain": base.unit(feature.name).domain.describe(),
                "has_missing": feature.has_missing,
                "inputs": feature.width,
            }
            for feature in plan.features
        ],
        "arithmetic": {"weight_bits": WEIGHT_BITS, "activation_bits": ACTIVATION_BITS, "highest": HIGHEST},
        "layers": [layer.tolist() for layer in facts.fitted.weights],
        "accuracy": accuracy_document(facts),
    }


def accuracy_document(facts: ModelFacts) -> dict[str, Any] | None:
    """The measured accuracy with the interval that its noise leaves, or None where none was measured."""
    measured, evaluation = facts.fitted.measured, facts.plan.evaluation
    if measured is None or evaluation is None or not measured.rows:
        return None
    width = 0 if evaluation.epsilon is None else laplace_half_width(laplace_scale(1, evaluation.epsilon))
    ends = (measured.right, measured.right - width, measured.right + width)
    share, low, high = (min(max(end / measured.rows, 0.0), 1.0) for end in ends)
    return {
        "measured_on": "public_file" if evaluation.epsilon is None else "rows_kept_out",
        "rows": measured.rows,
        "right": measured.right,
        "share": share,
        "low": low,
        "high": high,
    }


def statement_document(facts: ModelFacts) -> dict[str, Any]:
    """The content of ``statement.json`` of a model, format 1."""
    plan, base = facts.plan, facts.plan.base
    of_part = partition_words(base).strip().removesuffix(".")
    return {
        "format": 1,
        "kind": "model",
        "dataset": base.dataset,
        "version": base.version,
        "title": base.config.release.title,
        "supersedes": supersedes_document(base),
        "guarantee": _GUARANTEE,
        "unit": base.privacy_unit,
        "max_rows": base.max_rows,
        "neighbours": "same number of rows; the row of one unit is replaced" + (of_part and ", and it keeps its part"),
        "composition": COMPOSITION,
        "rows": facts.fitted.rows,
        "epsilon_guarantee": base.epsilon_total.text,
        "delta_guarantee": base.delta_total.text,
        "spent": plan.cost.to_json(),
        "account_to_date": facts.account_to_date.to_json(),
        "charges": [
            {"name": name, "event": event_to_json(event), "cost": cost(event, base.max_rows).to_json()}
            for name, event in plan.charges
        ],
        "not_covered": [*NOT_COVERED, *([of_part] if of_part else [])],
        "training": {key: value for key, value in training_document(plan).items() if key != "charges"},
        "created": facts.created,
        "library_version": facts.library_version,
        "commit": facts.commit,
    }


def stage_model(facts: ModelFacts, work: Path, signing: Signing | None) -> StagedPackage:
    """Write every public file, list all of them, and sign the list.

    Args:
        facts: what the run states about itself.
        work: restricted work folder.
        signing: what the package is signed with, or None.

    Returns:
        The whole package, manifest last.
    """
    # imported late: it loads what draws charts
    from trasgo_lib.reporting.model_page import render_model_page

    model, statement = model_document(facts), statement_document(facts)
    about, is_signed = facts.plan.base.config.release.description, signing is not None
    page = render_model_page(statement, model, is_signed=is_signed, description=about)
    data = write_staged(MODEL, documents.dump(model, "model"), work)
    described = [
        data,
        write_staged(STATEMENT, documents.dump(statement, "model_statement"), work),
        write_staged(CARD, card_text(model, statement).encode(), work),
        write_staged(REPORT_PAGE, page.encode(), work),
        *_standards(facts, data, model, statement, work),
    ]
    columns = [facts.plan.spec.target]
    return finish_package(described, _crate_facts(facts, statement), facts.fitted.rows, columns, work, signing)


def _standards(
    facts: ModelFacts, data: StagedFile, model: dict[str, Any], statement: dict[str, Any], work: Path
) -> Iterator[StagedFile]:
    """The metadata that fit a model: no table, so no CSV on the Web, and no codebook of microdata (DDI)."""
    base = facts.plan.base
    description = metadata.CentralDescription(
        info=base.config.release,
        dataset=base.dataset,
        version=base.version,
        created=facts.created,
        rows=facts.fitted.rows,
        data=(data,),
        privacy_in_words=_in_words(facts),
        content_words="Model",
        kind_words="Model trained with noise",
        pages=(metadata.CODEBOOK, REPORT_PAGE, CARD),
    )
    yield write_staged(metadata.CODEBOOK, metadata.model_codebook(description, model), work)
    package = metadata.model_data_package(description)
    yield write_staged(metadata.DATA_PACKAGE, documents.dump(package, "datapackage"), work)
    yield write_staged(metadata.DCAT, documents.dump(metadata.dcat_document(description), "dcat"), work)
    registry = metadata.central_deployment(description, statement)
    yield write_staged(metadata.DP_STATEMENT, documents.dump(registry, "dp_statement"), work)
    yield write_staged(metadata.DP_STATEMENT_TEXT, metadata.deployment_text(registry), work)


def _in_words(facts: ModelFacts) -> str:
    spent, is_paid = facts.plan.cost, any(name == ACCURACY for name, _ in facts.plan.charges)
    what = "The model and its accuracy" if is_paid else "The model"
    return f"{what} cost epsilon {spent.epsilon.text} and delta {spent.delta.text}. {_GUARANTEE}"


def _crate_facts(facts: ModelFacts, statement: dict[str, Any]) -> CrateFacts:
    base, spent = facts.plan.base, facts.plan.cost
    return CrateFacts(
        info=base.config.release,
        dataset=base.dataset,
        version=base.version,
        created=facts.created,
        library_version=facts.library_version,
        commit=facts.commit,
        made=f"training with noise by a trusted curator (DP-SGD); composition: {statement['composition']}",
        conditions=_in_words(facts),
        claims={
            "epsilon_guarantee": statement["epsilon_guarantee"],
            "delta_guarantee": statement["delta_guarantee"],
            "epsilon_spent": spent.epsilon.text,
            "delta_spent": spent.delta.text,
        },
    )
