"""``report.html`` of a published model: how good it is, what it learned, what it promises and what it cost.

Made of the public documents alone, so it holds no figure that they do not.
"""

from __future__ import annotations

from collections.abc import Iterator

from trasgo_lib.reporting import answers_words as words
from trasgo_lib.reporting.answers_words import Document
from trasgo_lib.reporting.central_sections import promise_section, strength_section
from trasgo_lib.reporting.charts import Bar, signed_bars, stacked_bars
from trasgo_lib.reporting.figures import percent_text
from trasgo_lib.reporting.markup import Html, Page, Section, bullets, code, figure, key_facts, note, paragraph, table

_KEYED = (
    "The noise of the training comes from a sealed key: a training that was interrupted gives the same weights and is"
    " charged once, and whoever holds the key can take the noise off again."
)
_ACCURACY_ONCE = (
    " The noise of the accuracy was drawn once, from the operating system's secure random numbers, and stored before it"
    " was used."
)
_CHARGED = {
    "model": "all steps of the training",
    "noise table": "what a finite table of the noise lacks",
    "accuracy": "the number of right predictions among the rows kept out",
}
_ROWS_IN_A_CHART = 30


def render_model_page(statement: Document, model: Document, *, is_signed: bool, description: str = "") -> str:
    """The report as one HTML document.

    Args:
        statement: the content of ``statement.json``.
        model: the content of ``data/model.json``.
        is_signed: whether the package is signed.
        description: what the data are, for people.
    """
    lead: list[Html] = [paragraph(description)] if description else []
    lead.append(key_facts(_key_facts(statement, model)))
    learned, is_measured = _learned(model), any(charge["name"] == "accuracy" for charge in statement["charges"])
    seen = "the model and its accuracy" if is_measured else "the model"
    sections = [
        _quality(model),
        *([learned] if learned else []),
        promise_section(statement, seen, _KEYED + (_ACCURACY_ONCE if is_measured else "")),
        strength_section(statement, seen),
        _charges(statement),
        _training(statement),
        _use(model),
        _verify(statement, is_signed),
    ]
    return Page(
        title=statement["title"],
        above=f"Model report: {statement['dataset']}, version {statement['version']}",
        lead=tuple(lead),
        sections=tuple(sections),
        below=f"Made {statement['created']} by trasgo {statement['library_version']}, commit {statement['commit']}."
        " Every figure here follows from statement.json and data/model.json beside it.",
    ).markup


def _key_facts(statement: Document, model: Document) -> Iterator[tuple[str, object]]:
    spent, accuracy = statement["spent"], model["accuracy"]
    yield "Predicts", model["target"]["name"]
    yield "Rows", f"{statement['rows']:,}"
    yield "Accuracy", "not measured" if accuracy is None else percent_text(accuracy["share"])
    yield "Epsilon spent", f"{spent['epsilon']} of {statement['epsilon_guarantee']}"
    yield "Delta spent", f"{spent['delta']} of {statement['delta_guarantee']}"
    yield "Protected", words.unit_words(statement)


def _quality(model: Document) -> Section:
    accuracy = model["accuracy"]
    labels = f"The labels are {', '.join(model['target']['labels'])}."
    if accuracy is None:
        body = [paragraph("Its accuracy was not measured: none was paid for, and no public file was declared.", labels)]
        return Section("quality", "How good it is", tuple(body))
    share = percent_text(accuracy["share"])
    if accuracy["measured_on"] == "public_file":
        told = (
            f"{share} of the {accuracy['rows']:,} rows of a public file that the office declared are predicted right."
        )
        return Section("quality", "How good it is", (paragraph(told, labels),))
    span = f"{percent_text(accuracy['low'])} to {percent_text(accuracy['high'])}"
    return Section(
        "quality",
        "How good it is",
        (
            paragraph(
                f"{share} of {accuracy['rows']:,} rows that were kept out of training are predicted right; {span} with"
                " 95 %, as far as the noise of this number goes.",
                labels,
            ),
            note(
                "Compare it with the share of the commonest label: a model that always tells that one is right so"
                " often. That share is not published here. The interval counts the noise, not which rows were kept out"
                " by chance."
            ),
        ),
    )


def _learned(model: Document) -> Section | None:
    """The weights of a logistic regression with two labels, which can be read one by one; None for others."""
    if model["type"] != "logistic_regression" or len(model["target"]["labels"]) != 2:
        return None
    unit = 2.0 ** -model["arithmetic"]["weight_bits"]
    values = [row[0] * unit for row in model["layers"][0]]
    names = [*_inputs(model), "constant"]
    pairs = list(zip(names, values, strict=True))
    drawn = _heaviest(pairs)
    first, second = (f"{model['target']['name']} = {label}" for label in model["target"]["labels"])
    caption = f"The heaviest {len(drawn)} of {len(pairs)}." if len(pairs) > len(drawn) else ""
    said = f"Weight of each input towards {second}. All values are in the table below."
    axis = f"weight towards {second}"
    return Section(
        "learned",
        "What it learned",
        (
            paragraph(
                f"A weight above 0 speaks for {second}, one below 0 for {first}. A number counts"
                " -1 at its lower bound and 1 at its upper one; a label counts 1 for rows that have it. The score of a"
                " row is the constant and the sum of its weighted inputs. Of the labels of one column only differences"
                " count, since one of them holds for every row.",
            ),
            figure(signed_bars("weights", drawn, axis), said, caption),
            table("inputs", "Weights", ("input", axis), [(name, f"{value:+.4f}") for name, value in pairs]),
            note(
                "Every weight carries the noise of the training, so small ones may be noise; they say what predicts,"
                " not what causes."
            ),
        ),
    )


def _heaviest(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """As many as a chart holds, in the order of the inputs."""
    if len(pairs) <= _ROWS_IN_A_CHART:
        return pairs
    least = sorted((abs(value) for _, value in pairs), reverse=True)[_ROWS_IN_A_CHART - 1]
    return [pair for pair in pairs if abs(pair[1]) >= least][:_ROWS_IN_A_CHART]


def _inputs(model: Document) -> Iterator[str]:
    """The inputs in their order, by name."""
    for feature in model["features"]:
        name, domain = feature["name"], feature["domain"]
        yield from (f"{name} = {label}" for label in domain["codes"]) if domain["kind"] == "category" else (name,)
        if feature["has_missing"]:
            yield f"{name} missing"


def _charges(statement: Document) -> Section:
    rows = [
        (charge["name"], _CHARGED.get(charge["name"], ""), charge["cost"]["epsilon"], charge["cost"]["delta"])
        for charge in statement["charges"]
    ]
    bars = [
        Bar(charge["name"], (float(charge["cost"]["epsilon"]),), charge["cost"]["epsilon"])
        for charge in statement["charges"]
        if charge["cost"]["epsilon"] != "0"
    ]
    said = "Epsilon by charge: " + "; ".join(f"{bar.name} {bar.text}" for bar in bars) + "."
    return Section(
        "budget",
        "What it cost",
        (
            paragraph("All was charged before data was looked at, in full, and is never refunded."),
            figure(stacked_bars("budget", bars, "epsilon"), said, "All figures are in the table below."),
            table("charges", "Budget by charge", ("charged", "for", "epsilon", "delta"), rows),
        ),
    )


def _training(statement: Document) -> Section:
    return Section(
        "training",
        "How it was trained, and where the noise comes from",
        (
            paragraph(
                "Each step draws every row by itself, shortens the gradient of each drawn row to the clipping norm,"
                " adds them up, adds noise to every weight whether or not a row was drawn, and divides by the expected"
                " number of rows."
            ),
            table("steps", "Training", ("", "value"), _steps(statement["training"])),
            paragraph(f"Sensitivity of a step: {statement['training']['sensitivity']['words']}."),
        ),
    )


def _steps(training: Document) -> Iterator[tuple[str, object]]:
    yield "model", words.MODEL_TYPES[training["type"]]
    yield "inputs", ", ".join(one["name"] for one in training["features"])
    layers = [str(training["layers"][0][0] - 1), *(str(outputs) for _, outputs in training["layers"])]
    yield "layers", f"{' - '.join(layers)}; {training['parameters']:,} weights"
    yield "steps", f"{training['steps']:,}"
    yield "expected rows of a step", f"{training['sampling']['expected_rows']:,.6g}"
    yield "clipping norm", training["clip_norm"]
    yield "noise", f"discrete Gaussian, {training['noise']['multiplier']} times the sensitivity"
    yield "learning rate", training["learning_rate"]
    yield "averaged over", f"the last {percent_text(training['averaged_share'])} of the steps"


def _use(model: Document) -> Section:
    names = [one["name"] for one in model["features"]]
    columns = ", ".join(f'"{name}": [...]' for name in names)
    lines = (
        "from trasgo_lib.training import open_model\n\n"
        'model = open_model("this/folder")\n'
        f"model.predict({{{columns}}})  # one label a row\n"
        "model.shares({...})  # probability of each label, in the order of model.labels"
    )
    body = (
        bullets(
            (
                "It is meant for predicting the label of rows like those it was trained on, and for teaching.",
                "It was not examined for fairness between groups, nor for rows of another time or place: do not decide"
                " about single people by it.",
                "Values outside the declared bounds are moved to them; undeclared labels are refused.",
            )
        ),
        code(lines),
        paragraph("model_card.md says the same in plain text, and codebook.md how to read data/model.json without us."),
    )
    return Section("use", "How to use it", body)


def _verify(statement: Document, is_signed: bool) -> Section:
    place = f"{statement['dataset']}/{statement['version']}"
    body: list[Html] = [
        paragraph("In a copy of this folder, offline and without a key:"),
        code(f"trasgo verify {place}"),
        bullets(
            (
                "every file is the one that the manifest lists, with its digest;",
                "the accountant runs again, in exact decimals, from the stated steps, rate and noise;",
                "the noise is at least what the sensitivity of a step and the charge ask for;",
                "the weights have the stated shapes, and the accuracy the interval of the noise that was paid for.",
            )
        ),
    ]
    if is_signed:
        body.append(paragraph("With the office's public key, got by another road, also who published it:"))
        body.append(code(f"trasgo verify {place} --key office.pem"))
    body.append(note("What cannot be checked from here: that the noise was drawn as is said."))
    return Section("verify", "How to check this", tuple(body))
