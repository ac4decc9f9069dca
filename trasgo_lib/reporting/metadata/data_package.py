"""``datapackage.json``: the data files and code lists as a Frictionless data package.

Source: Data Package, Data Resource, Table Dialect and Table Schema, version 2.0 (Frictionless Data, 2024).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trasgo_lib.reporting.metadata.description import CSV_NULLS, Described, Description, PublishedFile, noise_in_words
from trasgo_lib.reporting.metadata.variables import Variable

DATA_PACKAGE = "datapackage.json"

_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_TYPES = {"integer": "integer", "number": "number", "text": "string", "date": "date", "boolean": "boolean"}
_LICENCE_NAME = re.compile(r"[-a-zA-Z0-9._]+")
_KINDS: dict[str, tuple[str, dict[str, str]]] = {
    "csv": ("text/csv", {"encoding": "utf-8"}),
    "parquet": ("application/vnd.apache.parquet", {}),
}


def data_package_document(description: Description, lists: tuple[PublishedFile, ...]) -> dict[str, Any]:
    """The package file's content.

    Args:
        description: the release.
        lists: the files of code lists, in the order of their columns.
    """
    return {
        **package_head(description),
        "resources": [
            *(_data(description, file) for file in description.data),
            *(_list(variable, file) for variable, file in zip(_coded(description), lists, strict=True)),
        ],
    }


def package_head(description: Described) -> dict[str, Any]:
    """Everything of a package file but its resources.

    Args:
        description: the package.
    """
    info, licences = description.info, _licences(description)
    return {
        "$schema": _PROFILE,
        "name": description.dataset,
        "title": info.title,
        "description": description.summary,
        "version": description.version,
        "created": description.created,
        **({"homepage": info.landing_page} if info.landing_page else {}),
        **({"keywords": list(info.keywords)} if info.keywords else {}),
        **({"licenses": licences} if licences else {}),
        **({"contributors": people} if (people := list(_contributors(description))) else {}),
        **({"sources": [{"title": info.source_note}]} if info.source_note else {}),
    }


def _licences(description: Described) -> list[dict[str, str]]:
    """The licence by name and address, as far as the release file tells them; the profile asks for one of the two."""
    licence, address = description.info.licence, description.licence_address
    if not licence:
        return []
    if address == licence:
        return [{"path": address}]
    name = {"name": licence} if _LICENCE_NAME.fullmatch(licence) else {"name": "other", "title": licence}
    return [{**name, **({} if address is None else {"path": address})}]


def _coded(description: Description) -> list[Variable]:
    return [variable for variable in description.variables if variable.codes]


def _contributors(description: Described) -> Iterator[dict[str, Any]]:
    publisher, contact = description.info.publisher, description.info.contact
    if publisher is not None:
        yield {"title": publisher.name, **({"path": publisher.url} if publisher.url else {}), "roles": ["publisher"]}
    if contact is not None:
        email = {"email": contact.email} if contact.email else {}
        path = {"path": contact.url} if contact.url else {}
        yield {"title": contact.name, **email, **path, "roles": ["contact"]}


def _data(description: Description, file: PublishedFile) -> dict[str, Any]:
    kind = file.key.rpartition(".")[2]
    mediatype, encoding = _KINDS[kind]
    nulls = {"description": CSV_NULLS} if kind == "csv" else {}
    return {
        "name": f"{description.dataset}-{kind}",
        "path": file.key,
        "type": "table",
        "title": f"Released rows, {kind}",
        **nulls,
        "format": kind,
        "mediatype": mediatype,
        **encoding,
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
        "schema": {
            "fields": [_field(variable) for variable in description.variables],
            "missingValues": [""],
        },
    }


def _field(variable: Variable) -> dict[str, Any]:
    noise = variable.noise
    told = {"description": variable.description} if variable.description else {}
    concept = {"concept": variable.concept} if variable.concept else {}
    unit = {"unit": variable.unit} if variable.unit else {}
    codes = [code.value for code in variable.codes]
    return {
        "name": variable.name,
        "type": _TYPES[variable.type],
        "title": variable.label,
        **told,
        **concept,
        **unit,
        "noised": noise is not None,
        **({} if noise is None else {"noiseUnit": noise.unit, "mechanism": noise.mechanism}),
        "noise": noise_in_words(variable),
        "constraints": {
            **({} if variable.nullable else {"required": True}),
            **_bounds(variable),
            **({"enum": codes} if codes else {}),
        },
        **(_categories(variable) if codes else {}),
    }


def _bounds(variable: Variable) -> dict[str, int | str]:
    """Both bounds as JSON: whole numbers as numbers, all else as it stands in the CSV file."""
    ends = {"minimum": variable.lower, "maximum": variable.upper}
    return {name: int(end) if variable.type == "integer" else end for name, end in ends.items() if end is not None}


def _categories(variable: Variable) -> dict[str, Any]:
    categories = [
        {"value": code.value, "label": code.label} if code.label else {"value": code.value} for code in variable.codes
    ]
    return {"categories": categories, "categoriesOrdered": variable.is_ordered}


def _list(variable: Variable, file: PublishedFile) -> dict[str, Any]:
    required = {"required": True, "unique": True}
    return {
        "name": f"codes-{variable.position}",
        "path": file.key,
        "type": "table",
        "title": f"Codes of {variable.name}",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": file.bytes,
        "hash": f"sha256:{file.sha256}",
        "schema": {
            "fields": [
                {"name": "code", "type": _TYPES[variable.type], "constraints": required},
                {"name": "label", "type": "string"},
                {"name": "position", "type": "integer", "constraints": {"required": True}},
            ],
            "primaryKey": ["code"],
        },
    }
