"""Names of the files of a published model, whether a manifest is that of one, and its card, made from its documents."""

from __future__ import annotations

from typing import Any

from trasgo_lib.reporting.answers_words import MODEL_TYPES
from trasgo_lib.reporting.markdown import cell

MODEL = "data/model.json"
CARD = "model_card.md"

COMPOSITION = "basic over all charges; Renyi over the steps of the training"
"""By which rules the charges of a model add up: what its statement has to say."""


def holds_a_model(manifest: dict[str, Any]) -> bool:
    """Whether a manifest lists a model instead of released rows."""
    return any(entry["path"] == MODEL for entry in manifest["files"])


def card_text(model: dict[str, Any], statement: dict[str, Any]) -> str:
    """The model card: what the model is, what it may be used for, how good it is, and what was promised to whom.

    Args:
        model: content of ``data/model.json``.
        statement: content of ``statement.json``.
    """
    training, spent = statement["training"], statement["spent"]
    lines = [
        f"# {cell(statement['title'])}",
        "",
        f"{MODEL_TYPES[training['type']]} that predicts `{model['target']['name']}` "
        f"({', '.join(cell(label) for label in model['target']['labels'])}), trained with differential privacy. "
        f"Data set {statement['dataset']}, version {statement['version']}.",
        "",
        "## What it promises",
        "",
        f"Epsilon {spent['epsilon']}, delta {spent['delta']} for each {_unit(statement['unit'])}.",
        "",
        statement["guarantee"],
        "",
        "Not covered: " + "; ".join(statement["not_covered"]) + ".",
        "",
        "## How good it is",
        "",
        *_accuracy(model["accuracy"]),
        "",
        "## How it was made",
        "",
        *_making(training, statement["rows"]),
        "",
        "| charged for | epsilon | delta |",
        "|---|---|---|",
        *(
            f"| {charge['name']} | {charge['cost']['epsilon']} | {charge['cost']['delta']} |"
            for charge in statement["charges"]
        ),
        "",
        "## How to use it",
        "",
        *_use(model),
    ]
    return "\n".join(lines) + "\n"


def _making(training: dict[str, Any], rows: int) -> list[str]:
    inputs = sum(feature["inputs"] for feature in training["features"])
    layers = " - ".join(str(outputs) for _, outputs in training["layers"])
    return [
        "| | |",
        "|---|---|",
        f"| inputs | {inputs}, from {', '.join(cell(feature['name']) for feature in training['features'])} |",
        f"| layers | {inputs} - {layers}; {training['parameters']} weights |",
        f"| rows | {rows} |",
        f"| steps | {training['steps']}, of {training['sampling']['expected_rows']:.6g} expected rows each, "
        "every row drawn by itself |",
        f"| gradient of a row | clipped to {training['clip_norm']} |",
        f"| noise | discrete Gaussian, {training['noise']['multiplier']} times the sensitivity, on every weight in "
        "every step |",
        f"| learning rate | {training['learning_rate']}; weights averaged over the last "
        f"{training['averaged_share']:.0%} of the steps |",
    ]


def _use(model: dict[str, Any]) -> list[str]:
    names = [one["name"] for one in model["features"]]
    columns = ", ".join(f"{name!r}: [...]" for name in names[:2]) + (", ..." if len(names) > 2 else "")
    return [
        "Meant for predicting the label of rows like those it was trained on, and for teaching. It was not examined",
        "for fairness between groups, nor for rows of another time or place; do not decide about single people by it.",
        "Values outside the declared bounds are moved to them.",
        "",
        "```python",
        "from trasgo_lib.training import open_model",
        "",
        'model = open_model("this/folder")',
        f"model.predict({{{columns}}})   # one label a row",
        "model.shares({...})    # float64[rows, labels], in the order of model.labels",
        "```",
        "",
        "`data/model.json` holds the weights as whole multiples of 2^-18, layer after layer, the bias as the last row.",
    ]


def _unit(unit: str) -> str:
    return "row" if unit == "row" else f"value of `{unit}`"


def _accuracy(accuracy: dict[str, Any] | None) -> list[str]:
    if accuracy is None:
        return ["Its accuracy was not measured: none was paid for, and no public file was declared."]
    value = f"Accuracy {accuracy['share']:.1%}"
    if accuracy["measured_on"] == "public_file":
        return [f"{value} of the {accuracy['rows']} rows of a public file that the office declared."]
    return [
        f"{value}, {accuracy['low']:.1%} to {accuracy['high']:.1%} with 95 % as far as its noise goes, of "
        f"{accuracy['rows']} rows that were kept out of training.",
        "The number of right predictions was noised and paid for. Compare it with the share of the commonest label,",
        "which is not published here.",
    ]
