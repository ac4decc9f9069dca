"""``undecided``: what a draft writes where a person must decide; no command takes it for a decision."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic.fields import FieldInfo

from trasgo_lib.config.document import Document, KeyPath, Plain
from trasgo_lib.config.faults import flow_text, placed_fault
from trasgo_lib.config.keys import models_by_pattern
from trasgo_lib.config.shape import UNDECIDED
from trasgo_lib.errors import Fault, Reason

_MECHANISMS = {"category": "kary_randomized_response", "point": "planar_laplace"}
"""Examples by type, since that of the key itself is for numbers."""


def undecided_faults(document: Document) -> tuple[Fault, ...]:
    """One fault for every key that is still undecided, in the order of the file."""
    paths = (path for path, word in document.bare.items() if word == UNDECIDED and path and isinstance(path[-1], str))
    return tuple(_fault(path, document) for path in paths)


def not_undecided(faults: Iterable[Fault], undecided: Iterable[Fault]) -> tuple[Fault, ...]:
    """Faults without those that only say again, in other words, that a key is undecided.

    Args:
        faults: whatever was found.
        undecided: what ``undecided_faults`` found in the same file.
    """
    told = {(fault.line, fault.column) for fault in undecided if fault.reason is Reason.UNDECIDED}
    return tuple(fault for fault in faults if (fault.line, fault.column) not in told)


def _fault(path: KeyPath, document: Document) -> Fault:
    field = _field_at(path, document)
    key = str(path[-1])
    required = "a decision" if field is None else f"a decision: {field.description}"
    examples = [] if field is None else field.examples or []
    example = _MECHANISMS.get(str(_column(path, document).get("type"))) if key == "mechanism" else None
    shown = flow_text(examples[0]) if example is None and examples else example
    fix = "Decide it." if shown is None else f"Decide it, as in `{key}: {shown}`."
    return placed_fault(document, Reason.UNDECIDED, path, required=required, came=UNDECIDED, fix=fix)


def _field_at(path: KeyPath, document: Document) -> FieldInfo | None:
    """The key at a path; where several forms of a mapping have it, that of the column's declared type."""
    steps = tuple("[]" if isinstance(step, int) else step for step in path)
    tag = f"?{_column(path, document).get('type')}"
    found = {
        pattern: model.model_fields[steps[-1]]
        for pattern, model in models_by_pattern().items()
        if steps[-1] in model.model_fields and tuple(part for part in pattern if part[:1] != "?") == steps[:-1]
    }
    of_type = [field for pattern, field in found.items() if tag in pattern]
    return next(iter([*of_type, *found.values()]), None)


def _column(path: KeyPath, document: Document) -> dict[str, Plain]:
    """The entry of ``columns`` that a path leads into; empty for other paths."""
    column = document.at(path[:2]) if path[0] == "columns" else None
    return column if isinstance(column, dict) else {}
