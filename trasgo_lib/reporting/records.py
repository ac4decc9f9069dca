"""JSON documents as rows of tables, for both forms of the restricted report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def is_records(value: Any) -> bool:
    """Whether a value is a list of records, which makes a table of its own."""
    return isinstance(value, list) and bool(value) and all(isinstance(record, Mapping) for record in value)


def flat(document: Any, path: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf of a JSON document with its path, in document order."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from flat(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, (list, tuple)):
        for place, value in enumerate(document):
            yield from flat(value, f"{path}[{place}]")
    else:
        yield path, shown(document)


def shown(value: Any) -> object:
    """A leaf as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    return "none" if value is None else value
