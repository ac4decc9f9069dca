"""``dp_statement.json`` of answers and of models: what a trusted curator drew, in the shape of the registry.

Everything is read from the package's own ``statement.json``, so the two cannot tell different things. The questions are
those that releases of rows answer, after NIST SP 800-226.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trasgo_lib.budget import Cost
from trasgo_lib.reporting.answers_words import LAWS, cost_words, unit_words
from trasgo_lib.reporting.metadata.central import CentralDescription
from trasgo_lib.reporting.metadata.deployment import TO_FILL, administrative, corrected, registry_document
from trasgo_lib.reporting.wording import COMPUTATIONAL_ASSUMPTION

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Kind:
    """What differs between answers and models, in words.

    Args:
        data: the file with what was drawn, and what it is called.
        domain: where the declared columns stand.
        noise: what the noise is made with, and whether it can be drawn again.
        trust: what else users trust in.
        floats: whether floating-point numbers can tell something.
        tuning: where bounds, queries or parameters come from.
        after: what is done to what was drawn.
        utility: where errors are told.
        checked: what ``trasgo verify`` derives again.
    """

    data: tuple[str, str]
    domain: str
    noise: str
    trust: str
    floats: str
    tuning: str
    after: str
    utility: str
    checked: str


_KINDS = {
    "statistics": _Kind(
        data=("data/answers.json", "Answers as they were drawn and post-processed"),
        domain="statement.json",
        noise=(
            "The noise of each answer was drawn once, by OpenDP, from the operating system's secure random numbers. It"
            " is not keyed and cannot be drawn again: a rerun serves the stored answer."
        ),
        trust="with the raw rows, and with having drawn the noise as is said.",
        floats=(
            "Sums and counts are whole numbers, and exact discrete noise of whole numbers is added to them. Choices"
            " compare scores that are whole numbers with exact samples of their noise. Answers are published once,"
            " after the draw; nobody outside can measure the time of a draw."
        ),
        tuning="Domains, bounds, keys and questions are declared from public knowledge before the data are opened.",
        after=(
            "Rounding, cutting at zero, fitting tables to their totals and withholding cells by their noisy count,"
            " where the statement says so; each answer tells what was done to it, and holds the number before it."
        ),
        utility="Every number has its 95 % interval, which counts the noise alone; choices say how far they can be"
        " off.",
        checked="derives the sensitivity of every question again, and holds scales, claims and charges against it",
    ),
    "model": _Kind(
        data=("data/model.json", "Weights of the model"),
        domain="data/model.json",
        noise=(
            "The noise of the training comes from a sealed key and a table of whole numbers (discrete Gaussian), so a"
            " training that was interrupted gives the same weights; the noise of an accuracy that was paid for was"
            " drawn once, by OpenDP."
        ),
        trust=f"with the raw rows and the sealed key. {COMPUTATIONAL_ASSUMPTION}",
        floats=(
            "Inputs, weights and gradients are whole multiples of powers of two, small enough that every sum is exact"
            " in any order; clipped sums are whole numbers before noise of whole numbers is added. The weights are"
            " published once, after the last step; nobody outside can measure the time of one."
        ),
        tuning=(
            "Domains, features, steps, sampling rate, clipping norm and learning rate are declared before the data are"
            " opened. A setting that was chosen by looking at these data is covered only if the look was charged."
        ),
        after="Weights are averaged over the last steps, which costs nothing.",
        utility="The accuracy, where one was paid for or measured on public rows, stands in data/model.json.",
        checked="runs the accountant again from the stated steps, rate and noise, and holds weights and charges against"
        " it",
    ),
}


def central_deployment(description: CentralDescription, statement: Document) -> dict[str, Any]:
    """The statement's content, format 1.

    Args:
        description: the package.
        statement: the content of its ``statement.json``.
    """
    kind = _KINDS[statement["kind"]]
    path, title = kind.data
    evidence = (
        ("statement", "Privacy statement of the package", "statement.json"),
        ("data", title, path),
        ("report", "Report of the package", "report.html"),
    )
    parts = {
        "dp_variant": _variant(statement, kind),
        "privacy_loss": _privacy_loss(description, statement),
        "deployment_model": _model(description, kind),
        "implementation": _implementation(description, statement, kind),
        "administrative": administrative(evidence),
    }
    return registry_document(description, parts, _questions(description, statement, kind))


def _variant(statement: Document, kind: _Kind) -> dict[str, Any]:
    return {
        "variant_name": "Pure DP" if _cap(statement).delta.units == 0 else "Approximate DP",
        "data_domain": f"Tables with the declared columns and domains of {kind.domain}. {_neighbours(statement)}",
        "unprotected_quantities": "; ".join(statement["not_covered"]),
    }


def _privacy_loss(description: CentralDescription, statement: Document) -> dict[str, Any]:
    cap, is_row = _cap(statement), statement["unit"] == "row"
    parameters = {"epsilon": float(cap.epsilon.decimal)}
    if cap.delta.units:
        parameters["delta"] = float(cap.delta.decimal)
    details = (
        f"Cap of the version, fixed before the data were opened: {cost_words(cap.to_json())}.",
        f"Spent by this version: {cost_words(statement['spent'])}.",
        f"Account to date, this version and earlier ones: {cost_words(statement['account_to_date'])}; releases about"
        " the same people under another account add to it.",
        f"Composition: {statement['composition']}.",
    )
    return {
        "privacy_unit": "Row" if is_row else f"All rows of one {statement['unit']}",
        "privacy_unit_details": f"{unit_words(statement).capitalize()}. {_neighbours(statement)}",
        "number_of_privacy_units": description.rows if is_row else None,
        "privacy_parameters": parameters,
        "privacy_parameters_details": " ".join(details),
    }


def _model(description: CentralDescription, kind: _Kind) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": f"A trusted curator holds the raw rows and draws once. {kind.noise}",
        "trust_assumptions": f"Users trust the publisher {kind.trust}",
        "actors": "The publisher holds the raw rows and draws once; everyone else sees the published files only.",
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


def _implementation(description: CentralDescription, statement: Document, kind: _Kind) -> dict[str, Any]:
    library = f"Library: trasgo {statement['library_version']}, commit {statement['commit']}."
    return {
        "preprocessing_and_hyperparameter_tuning": kind.tuning,
        "mechanisms": f"{'; '.join(_mechanisms(statement))}. {library}",
        "composition": (
            f"{statement['composition'][0].upper()}{statement['composition'][1:]}; exact decimal amounts, charged"
            " before anything is drawn, never refunded."
        ),
        "post_processing": kind.after,
        "justification": TO_FILL,
        "utility": kind.utility,
        "additional_information": description.privacy_in_words,
    }


def _mechanisms(statement: Document) -> Iterator[str]:
    """By law of noise, which questions it answers; or how a model was trained."""
    if statement["kind"] == "model":
        training = statement["training"]
        yield (
            f"DP-SGD: {training['steps']} steps, Poisson samples of {training['sampling']['expected_rows']:.6g}"
            f" expected rows, gradients of a row clipped to {training['clip_norm']}, discrete Gaussian noise of"
            f" {training['noise']['multiplier']} times the sensitivity on every weight in every step"
        )
        return
    by_law: dict[str, list[str]] = {}
    for query in statement["queries"]:
        for law in dict.fromkeys(part["noise"] for part in query["parts"]):
            by_law.setdefault(law, []).append(query["name"])
    for law, names in by_law.items():
        yield f"{', '.join(names)}: {LAWS[law]}"


def _questions(description: CentralDescription, statement: Document, kind: _Kind) -> Iterator[tuple[str, str]]:
    yield "What is the unit of privacy?", f"{unit_words(statement).capitalize()}."
    yield (
        "Which data sets are neighbours: add or remove, or change one?",
        f"Change one; the number of rows is public. {_neighbours(statement)}",
    )
    yield "How large is delta against one over the number of rows?", _delta(description, statement)
    yield "Do bounds, code lists or parameters depend on the data?", f"No. {kind.tuning}"
    yield "Can floating-point numbers or timing leak?", kind.floats
    yield (
        "Where do the raw data lie, and who can reach them?",
        "With the publisher, a trusted curator. How raw rows were collected and stored is no part of this claim.",
    )
    yield (
        "Who can spend the budget, and is it shared?",
        "Whoever may run the publisher's files; all versions of one account share its cap, which never changes.",
    )
    yield (
        "Do several releases add up?",
        f"Yes. Within this version: {statement['composition']}. Versions add up within the account, whose sum so far"
        " the statement gives.",
    )
    yield (
        "Is noise kept or drawn anew when the same rows are released again?",
        f"{kind.noise} A new version is new noise.",
    )
    yield (
        "Are weights, strata and sampling units protected?",
        "Rows are taken as they are: intervals count the noise and not the draw of a sample.",
    )
    yield "What is not protected?", "; ".join(statement["not_covered"]) + "."
    yield "How can the claim be checked?", f"trasgo verify {kind.checked}, offline and without a key."


def _cap(statement: Document) -> Cost:
    return Cost.of(statement["epsilon_guarantee"], statement["delta_guarantee"])


def _neighbours(statement: Document) -> str:
    return f"Compared are files with the {statement['neighbours']}."


def _delta(description: CentralDescription, statement: Document) -> str:
    delta = _cap(statement).delta
    if not delta.units:
        return "Delta is 0."
    side = "below" if delta.fraction * description.rows < 1 else "NOT below"
    return f"Delta is at most {delta.text}, which is {side} one over the number of rows ({description.rows})."
