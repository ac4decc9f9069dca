"""A published model as catalogues and tools read it: one file of weights, and what goes into it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.reporting.answers_words import Document, domain_words
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata.central import CentralDescription, resource
from trasgo_lib.reporting.metadata.codebook import identity_rows
from trasgo_lib.reporting.metadata.data_package import package_head

_FORM = (
    "layers: weights layer by layer, one row an input and one column an output, the bias as the last row; whole"
    " multiples of 2^-18",
    "inputs stand in the order of the features: a number takes one, scaled to -1 at its lower and 1 at its upper bound;"
    " a category one for each code, 1 for its own and 0 for others; a missing value, where declared, one more",
    "hidden layers are rectified linear, cut at 16; scores are cut at -16 and 16; two labels have one score, that of"
    " the second label, through the logistic function, more have a score each, through softmax",
)


def model_data_package(description: CentralDescription) -> dict[str, Any]:
    """``datapackage.json`` of a model: the file of weights as it is.

    Args:
        description: the package.
    """
    return {**package_head(description), "resources": [resource(description, file) for file in description.data]}


def model_codebook(description: CentralDescription, model: Document) -> bytes:
    """``codebook.md``: what is predicted, from which declared columns, and how the file of weights is read.

    Args:
        description: the package.
        model: the content of ``data/model.json``.
    """
    info = description.info
    lines = [f"# Codebook: {cell(info.title)}", ""]
    if info.description:
        lines += [cell(info.description), ""]
    lines += table(("", ""), identity_rows(description))
    lines += section("How the model was made", cell(description.privacy_in_words))
    lines += section("What is predicted")
    target = model["target"]
    lines += table(("column", "labels, in the order of their scores"), [(target["name"], ", ".join(target["labels"]))])
    lines += section("Columns that it is predicted from, with their declared values")
    lines += table(("column", "type", "values", "values outside", "missing values", "inputs"), _features(model))
    lines += section("Reading data/model.json")
    lines += bullets(_FORM)
    return ("\n".join(lines).rstrip() + "\n").encode()


def _features(model: Document) -> Iterator[tuple[object, ...]]:
    for one in model["features"]:
        kind = one["domain"]["kind"]
        missing = "code" if one["has_missing"] else "none"
        outside = "refused" if kind == "category" else "moved to the nearest declared one"
        told = "an input of their own" if one["has_missing"] else "refused"
        yield (
            one["name"],
            kind,
            domain_words({"domain": one["domain"], "missing": missing}),
            outside,
            told,
            one["inputs"],
        )
