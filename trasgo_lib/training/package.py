"""The published package of a model: weights, statement, card, sums, signature, manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trasgo_lib.budget import Cost, cost, event_to_json
from trasgo_lib.noise.scales import laplace_half_width, laplace_scale
from trasgo_lib.plan import NOT_COVERED
from trasgo_lib.release import (
    ENVELOPE,
    MANIFEST,
    SIGNING_KEY,
    STATEMENT,
    SUMS,
    Signing,
    StagedFile,
    StagedPackage,
    documents,
    write_staged,
)
from trasgo_lib.release.corrections import supersedes_document
from trasgo_lib.release.envelope import envelope_bytes, signed_statement
from trasgo_lib.release.manifest import sums_text
from trasgo_lib.release.model_file import CARD, MODEL, card_text
from trasgo_lib.reporting.wording import partition_words
from trasgo_lib.training.explain import training_document
from trasgo_lib.training.fitting import Fitted
from trasgo_lib.training.model import TrainingPlan
from trasgo_lib.training.network import ACTIVATION_BITS, HIGHEST, WEIGHT_BITS

_GUARANTEE = (
    "Whoever sees the model and everything else that was published here, and knows all other rows, learns of one row "
    "at most what the stated epsilon and delta allow, compared with a file in which that row is replaced by another. "
    "The steps of the training are charged by their Renyi divergence, for one row taken out and another put in. The "
    "office holds the raw file: this is differential privacy with a trusted curator. The noise of the training is "
    "keyed: whoever holds the version's key can take it off again."
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
        "composition": "basic over training and evaluation; Renyi over the steps of the training",
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
    model, statement = model_document(facts), statement_document(facts)
    written = [
        write_staged(MODEL, documents.dump(model, "model"), work),
        write_staged(STATEMENT, documents.dump(statement, "model_statement"), work),
        write_staged(CARD, card_text(model, statement).encode(), work),
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


def _manifest(facts: ModelFacts, files: Sequence[StagedFile], key_id: str | None) -> dict[str, Any]:
    base = facts.plan.base
    superseded = base.config.release.supersedes
    return {
        "format": 1,
        "dataset": base.dataset,
        "version": base.version,
        "supersedes": None if superseded is None else superseded.version,
        "created": facts.created,
        "rows": facts.fitted.rows,
        "columns": [facts.plan.spec.target],
        "library_version": facts.library_version,
        "commit": facts.commit,
        "signature": None if key_id is None else {"path": ENVELOPE, "key_id": key_id},
        "files": [
            {"path": file.key, "sha256": file.sha256, "bytes": file.bytes}
            for file in sorted(files, key=lambda file: file.key)
        ],
    }
