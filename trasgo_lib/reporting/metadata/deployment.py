"""``dp_statement.json`` and ``.md``: the claim in the shape of the registry of deployments, with NIST's questions.

Source: field names of the public registry of differential privacy deployments (OpenDP; tiers 1 to 3); prompts after
NIST SP 800-226. What only people can say is named and left to them. The registry's ``epsilon`` is the cap of the run;
where losses were measured on raw data there is none without a footnote, so it is left out and the words give the
amounts of the draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trasgo_lib.budget import Cost
from trasgo_lib.reporting import wording
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata.description import CHANNEL, REPORT, STATEMENT, Described, Description
from trasgo_lib.reporting.metadata.prompts import prompts

if TYPE_CHECKING:
    from trasgo_lib.plan import ReleasePlan

DP_STATEMENT = "dp_statement.json"
DP_STATEMENT_TEXT = "dp_statement.md"

TO_FILL = "To be filled in by the publisher."
_TITLES = {
    "basic": "The product",
    "dp_variant": "The kind of differential privacy",
    "privacy_loss": "Privacy loss",
    "deployment_model": "Who is trusted, and what is released",
    "implementation": "How it was done",
    "administrative": "About this entry",
}
_SOURCE = "Documentation by the deploying organisation"
_EVIDENCE = (
    ("statement", "Privacy statement of the release", STATEMENT),
    ("channels", "Law of every noised column", CHANNEL),
    ("report", "Report of the release", REPORT),
)


def deployment_document(description: Description) -> dict[str, Any]:
    """The statement's content for a release of rows, format 1.

    Args:
        description: the release.
    """
    parts = {
        "dp_variant": _variant(description),
        "privacy_loss": _privacy_loss(description),
        "deployment_model": _model(description),
        "implementation": _implementation(description),
        "administrative": administrative(_EVIDENCE),
    }
    return registry_document(description, parts, prompts(description))


def registry_document(
    description: Described, parts: Mapping[str, dict[str, Any]], questions: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """The content of a package of any kind: its identity, what is said of it, and what is left to people.

    Args:
        description: the package.
        parts: parts of the registry's entry after the first.
        questions: of NIST SP 800-226, with answers.
    """
    registry = {
        "url_slug": f"{description.dataset}-{description.version}".lower(),
        "deployment": {"basic": _basic(description), **parts},
    }
    return {
        "format": 1,
        "dataset": description.dataset,
        "version": description.version,
        "registry": registry,
        "nist_sp_800_226": [{"question": question, "answer": answer} for question, answer in questions],
        "to_be_filled_in": [path for path, value in _leaves(registry, "") if value in (None, TO_FILL, [])],
    }


def deployment_text(document: dict[str, Any]) -> bytes:
    """The same for people, as markdown.

    Args:
        document: what :func:`deployment_document` gave.
    """
    deployment = document["registry"]["deployment"]
    lines = [f"# Differential privacy statement: {cell(deployment['basic']['name'])}", ""]
    lead = "In the shape of the public registry of deployments; every amount is that of `statement.json`."
    lines += [lead, ""]
    for title, part in deployment.items():
        lines += section(_TITLES[title])
        rows = [(path, TO_FILL if value in (None, []) else value) for path, value in _leaves(part, "")]
        lines += table(("field", "content"), rows)
    lines += section("Questions of NIST SP 800-226")
    for entry in document["nist_sp_800_226"]:
        lines += [f"**{cell(entry['question'])}**", "", cell(entry["answer"]), ""]
    lines += section("To be filled in by the publisher")
    lines += bullets(document["to_be_filled_in"])
    return ("\n".join(lines).rstrip() + "\n").encode()


def _leaves(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every plain value with its path; an empty list counts as one."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield from _leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(part, list) and part:
        for place, value in enumerate(part):
            yield from _leaves(value, f"{path}[{place}]")
    else:
        yield path, part


def _basic(description: Described) -> dict[str, Any]:
    info = description.info
    name = TO_FILL if info.publisher is None else info.publisher.name
    return {
        "name": info.title,
        "data_curators": [{"data_curator_name": name, "data_curator_type": None}],
        "description": description.summary,
        "intended_use": TO_FILL,
        "data_product_type": "Dataset",
        "data_product_region": info.spatial or TO_FILL,
        "data_product_sector": None,
        "publication_date": None,
    }


def _variant(description: Description) -> dict[str, Any]:
    plan, facts = description.facts.plan, description.facts
    geo = " Points: metric privacy, per kilometre." if plan.geo_total.units else ""
    return {
        "variant_name": "Approximate DP" if facts.guarantee.delta.units else "Pure DP",
        "data_domain": f"Tables with the declared columns and domains of {CHANNEL}. {wording.neighbours(plan)}{geo}",
        "unprotected_quantities": "; ".join(wording.not_covered(plan)),
    }


def _privacy_loss(description: Description) -> dict[str, Any]:
    facts = description.facts
    plan, covered = facts.plan, wording.covers_selection(facts.plan)
    parameters = {"epsilon": float(facts.guarantee.epsilon.decimal)} if covered else {}
    if covered and facts.guarantee.delta.units:
        parameters["delta"] = float(facts.guarantee.delta.decimal)
    details = [
        *([] if covered else ["All amounts are those of the random draws only."]),
        f"Cap of the run, fixed before the data were opened: {_amounts(facts.guarantee)}.",
        f"Spent by this version: {_amounts(facts.realised)}.",
        f"Account {plan.account} to date: {_amounts(facts.account_to_date)}. {wording.account_words(plan)}",
        f"By noise unit: {'; '.join(f'{unit.name} {_amounts(facts.charged(unit.name))}' for unit in plan.units)}.",
        wording.selection(plan),
        *([wording.geo_words()] if plan.geo_total.units else []),
    ]
    return {
        "privacy_unit": "Row" if plan.privacy_unit == "row" else f"All rows of one {plan.privacy_unit}",
        "privacy_unit_details": f"{wording.privacy_unit(plan)} {wording.neighbours(plan)}",
        "number_of_privacy_units": facts.rows if plan.privacy_unit == "row" else None,
        "privacy_parameters": parameters,
        "privacy_parameters_details": " ".join(details),
    }


def _amounts(cost: Cost) -> str:
    """The amounts of a cost that are not zero, in words."""
    amounts = [f"epsilon {cost.epsilon.text}"] if cost.epsilon.units else []
    amounts += [f"delta {cost.delta.text}"] if cost.delta.units else []
    amounts += [f"geo epsilon {cost.geo.text} per km"] if cost.geo.units else []
    return ", ".join(amounts) or "nothing"


def _model(description: Description) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": (
            f"{wording.TRUST_MODEL.capitalize()}: every row passes a local randomiser on its own, and the publisher,"
            " who holds the raw rows, runs it. It is not local in the sense that nobody sees raw data."
        ),
        "trust_assumptions": (
            f"Users trust the publisher with the raw rows and the sealed key. {wording.COMPUTATIONAL_ASSUMPTION}"
        ),
        "actors": "The publisher holds raw rows and key and draws once; everyone else sees the published files only.",
        "release_type": "One release",
        "release_type_details": (
            "Versions are immutable. A correction is a new version, drawn afresh and charged again to the same account."
            f"{corrected(description)}"
        ),
        "data_source_type": "Static",
        "data_source_type_details": "One source file, read for this version.",
        "access_type": "Non-interactive",
        "access_type_details": "Files.",
    }


def corrected(description: Described) -> str:
    """What is said of the version that this one takes the place of; empty where it takes none's."""
    superseded = description.info.supersedes
    if superseded is None:
        return ""
    return f" This one takes the place of version {superseded.version}; what that one spent stays spent."


def _implementation(description: Description) -> dict[str, Any]:
    facts = description.facts
    mechanisms = "; ".join(
        f"{', '.join(unit.columns)}: {facts.published_channel(unit.name).name}" for unit in facts.plan.units
    )
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Domains, bounds and code lists are declared from public knowledge. Levels of noise are"
            f" {_found(facts.plan)}. {wording.selection(facts.plan)}"
        ),
        "mechanisms": (
            f"{mechanisms}. Each is a table of integers from which it is sampled and certified; its law stands in"
            f" {CHANNEL}. Library: trasgo {facts.library_version}, commit {facts.commit}."
        ),
        "composition": (
            f"{facts.plan.composition.capitalize()}; exact decimal amounts, charged before each draw, never refunded."
        ),
        "post_processing": (
            "Released codes are decoded to declared values, and rows written. Decoders and estimators need the public"
            " files only."
        ),
        "justification": TO_FILL,
        "utility": f"Losses estimated from released data, where there are any, stand in {STATEMENT} and {REPORT}.",
        "additional_information": description.privacy_in_words,
    }


def _found(plan: ReleasePlan) -> str:
    """How the levels of noise came about: with a target by the loop, without one by declaration."""
    looped = [unit.target is not None for unit in plan.units]
    if all(looped):
        return "found by a loop"
    return "found by a loop, or declared where a column has no target" if any(looped) else "declared"


def administrative(evidence: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """The part about the entry itself.

    Args:
        evidence: name, title and path of each file that the claim rests on.
    """
    sources = {
        name: {"evidence_source_type": _SOURCE, "citation": {"title": title, "url": path}}
        for name, title, path in evidence
    }
    return {"evidence_sources": sources, "status": "Draft", "registry_authors": [], "tier": 3}
