"""Published answers as catalogues and tools read them: one table of a fixed shape, whatever was asked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trasgo_lib.reporting import answers_words as words
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata.central import CentralDescription, resource
from trasgo_lib.reporting.metadata.codebook import identity_rows
from trasgo_lib.reporting.metadata.csvw import table_group
from trasgo_lib.reporting.metadata.data_package import package_head

_FIELDS = (
    ("query", "string", True, "Name of the question"),
    ("type", "string", True, "Kind of question"),
    ("key", "string", False, "Labels of the cell, column=label, joined by semicolons; empty for a single number"),
    ("value", "string", False, "What is published: a number, a label, true or false; empty where it is withheld"),
    ("noisy", "number", False, "The noisy number before post-processing; empty for choices and withheld cells"),
    ("low", "number", False, "Lower end of the 95 % interval; empty for choices"),
    ("high", "number", False, "Upper end of the 95 % interval; empty for choices"),
    ("reason", "string", False, "Why a value is withheld; empty for others"),
    ("post_processed", "string", False, "What was done to the noisy number, in words; empty for nothing"),
)
"""Columns of ``answers.csv``: name, type, whether every row has one, and what it holds."""

_CSVW = {"string": "string", "number": "double"}


def answers_csvw(description: CentralDescription) -> dict[str, Any]:
    """``csvw.json`` of the table of answers."""
    columns = [
        {
            "name": name,
            "titles": name,
            "dc:description": told,
            "datatype": _CSVW[kind],
            "required": required,
        }
        for name, kind, required, told in _FIELDS
    ]
    file = next(file for file in description.data if file.key.endswith(".csv"))
    one = {
        "url": file.key,
        "schema:sha256": file.sha256,
        "schema:contentSize": str(file.bytes),
        "tableSchema": {"columns": columns},
    }
    return table_group(description, [one])


def answers_data_package(description: CentralDescription) -> dict[str, Any]:
    """``datapackage.json`` of the answers: the CSV file as a table, the JSON file as it is."""
    resources = []
    for file in description.data:
        shape = resource(description, file)
        if file.key.endswith(".csv"):
            fields = [
                {
                    "name": name,
                    "type": kind_of,
                    "description": told,
                    "constraints": {"required": True} if full else {},
                }
                for name, kind_of, full, told in _FIELDS
            ]
            shape |= {"type": "table", "schema": {"fields": fields, "missingValues": [""]}}
        resources.append(shape)
    return {**package_head(description), "resources": resources}


def answers_codebook(description: CentralDescription, statement: words.Document) -> bytes:
    """``codebook.md``: what was asked of which declared columns, and what the table's columns hold.

    Args:
        description: the package.
        statement: the content of ``statement.json``.
    """
    info = description.info
    lines = [f"# Codebook: {cell(info.title)}", ""]
    if info.description:
        lines += [cell(info.description), ""]
    lines += table(("", ""), identity_rows(description))
    lines += section("How the answers were made", cell(description.privacy_in_words))
    lines += section("Questions")
    lines += table(("question", "in words", "numbers", "off by", "cost"), _questions(statement))
    lines += section("Columns of the source that were asked about, with their declared values")
    lines += table(("column", "type", "values", "values outside", "missing values"), _columns(statement))
    lines += section("Columns of data/answers.csv")
    lines += table(("column", "type", "holds"), ((name, kind, told) for name, kind, _, told in _FIELDS))
    lines += section("Reading the values")
    lines += bullets((words.INTERVALS, words.FITTED))
    return ("\n".join(lines).rstrip() + "\n").encode()


def _questions(statement: words.Document) -> Iterator[tuple[object, ...]]:
    for query in statement["queries"]:
        paid = words.charge_of(query, statement)
        yield query["name"], query["in_words"], query["numbers"], query["half_width"], paid


_OUTSIDE = {"clip": "moved to the nearest declared one", "reject": "refused"}
_MISSING = {"error": "refused", "code": "a label of their own", "replace": "replaced by a declared value"}


def _columns(statement: words.Document) -> Iterator[tuple[object, ...]]:
    for column in statement["columns"]:
        outside, missing = _OUTSIDE[column["outside"]], _MISSING[column["missing"]]
        yield column["name"], column["type"], words.domain_words(column), outside, missing
