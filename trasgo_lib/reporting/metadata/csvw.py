"""``csvw.json``: the CSV file and its code lists as tables on the web.

Source: Metadata Vocabulary for Tabular Data, and Model for Tabular Data and Metadata on the Web (W3C, 2015). Code lists
are tables of their own, tied to the data by foreign keys; what the vocabulary has no word for is a note in Dublin Core
or schema.org terms.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from trasgo_lib.reporting.metadata.description import Described, Description, PublishedFile, noise_in_words
from trasgo_lib.reporting.metadata.variables import Variable

CSVW = "csvw.json"

_TYPES = {"integer": "integer", "number": "double", "text": "string", "date": "date", "boolean": "boolean"}
_DIALECT = {"encoding": "utf-8", "header": True, "delimiter": ",", "quoteChar": '"', "doubleQuote": True}


def csvw_document(description: Description) -> dict[str, Any] | None:
    """The metadata file's content, or None where no CSV file is published.

    Args:
        description: the release.
    """
    file = description.csv
    if file is None:
        return None
    coded = [variable for variable in description.variables if variable.codes]
    return table_group(description, [_data(description, file), *(_list(variable) for variable in coded)])


def table_group(description: Described, tables: list[dict[str, Any]]) -> dict[str, Any]:
    """The metadata file of some tables.

    Args:
        description: the package.
        tables: each as the vocabulary has it.
    """
    info, licence = description.info, description.licence_address
    return {
        "@context": ["http://www.w3.org/ns/csvw", {"@language": info.language}],
        "@type": "TableGroup",
        "dc:title": info.title,
        "dc:description": description.summary,
        "dc:identifier": f"{description.dataset}/{description.version}",
        "schema:version": description.version,
        **({} if licence is None else {"dc:license": {"@id": licence}}),
        **({} if info.publisher is None else {"dc:publisher": info.publisher.name}),
        "dialect": _DIALECT,
        "tables": tables,
    }


def _data(description: Description, file: PublishedFile) -> dict[str, Any]:
    keys = [
        {
            "columnReference": column_name(variable.name),
            "reference": {"resource": variable.code_list, "columnReference": "code"},
        }
        for variable in description.variables
        if variable.codes
    ]
    return {
        "url": file.key,
        "schema:sha256": file.sha256,
        "schema:contentSize": str(file.bytes),
        "tableSchema": {
            "columns": [_column(variable) for variable in description.variables],
            **({"foreignKeys": keys} if keys else {}),
        },
    }


def _column(variable: Variable) -> dict[str, Any]:
    described = {"dc:description": variable.description} if variable.description else {}
    concept = {"dc:subject": variable.concept} if variable.concept else {}
    unit = {"schema:unitText": variable.unit} if variable.unit else {}
    return {
        "name": column_name(variable.name),
        "titles": variable.name,
        "rdfs:label": variable.label,
        **described,
        **concept,
        **unit,
        "rdfs:comment": noise_in_words(variable),
        "datatype": _datatype(variable),
        "required": not variable.nullable,
    }


def _datatype(variable: Variable) -> str | dict[str, Any]:
    base = _TYPES[variable.type]
    if variable.lower is None:
        return base
    return {"base": base, "minimum": variable.lower, "maximum": variable.upper}


def _list(variable: Variable) -> dict[str, Any]:
    return {
        "url": variable.code_list,
        "dc:title": f"Codes of {variable.name}",
        "tableSchema": {
            "columns": [
                {"name": "code", "titles": "code", "datatype": _TYPES[variable.type], "required": True},
                {"name": "label", "titles": "label", "datatype": "string"},
                {"name": "position", "titles": "position", "datatype": "integer", "required": True},
            ],
            "primaryKey": "code",
        },
    }


def column_name(name: str) -> str:
    """A column's name as a variable of a URI template, which is what the vocabulary asks for."""
    return quote(name, safe="")
