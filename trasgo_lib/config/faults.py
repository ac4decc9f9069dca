"""Validation errors of the models, told as faults: line, key, what was required, what came, what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from trasgo_lib.config.document import Document, KeyPath, Plain
from trasgo_lib.config.keys import Pattern, fields_at
from trasgo_lib.config.queries import QUERY_TYPES
from trasgo_lib.errors import Fault, Reason

_SECRET_SECTIONS = frozenset({"keys", "ledger"})
"""Sections in which people mistake a secret for its address; their values are never repeated."""

_SECRET_KEYS = frozenset({"public_s3", "restricted_s3"})
"""Keys below a section of which the same is true."""

_PLAIN_WORD = re.compile(r"(?!(?i:true|false|null|yes|no|on|off)\Z)[A-Za-z][A-Za-z0-9_ /-]*[A-Za-z0-9]|[A-Za-z]")
"""Texts that YAML 1.2 reads as text without quotes; the rest is shown quoted."""

_ROLES = "noised, public, drop or unit"
_WORDS_OR_MAPPINGS = {
    "missing": "error, code or {replace: VALUE}",
    "runner": "threads, dask or {dask: {...}}",
    "unit": "row or {column: NAME, max_rows: NUMBER}",
}
"""Keys that take a word or a mapping: what they take, in full."""

_SISTER_KEYS = ("queries", "model", "area")
"""What makes a file one of statistics, training or collection; misspelt, it is taken for a release file."""

_TYPES = "number, category, date, point (noised), or text (public, drop, unit)"

_KINDS = {
    "string_type": "text in quotes",
    "int_type": "a whole number without quotes",
    "bool_type": "true or false, without quotes",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
}


def faults_of(error: ValidationError, document: Document, root: Pattern = ()) -> tuple[Fault, ...]:
    """Every error of a failed validation, in the order of the file.

    Args:
        error: what pydantic found.
        document: the file.
        root: pattern of the release file at which the validated model stands.
    """
    found = [_fault_of(detail, document, root) for detail in error.errors(include_url=False)]
    return in_file_order(found)


def in_file_order(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Faults sorted by line and column, repetitions dropped."""
    return tuple(sorted(dict.fromkeys(faults), key=lambda fault: (fault.line or 0, fault.column or 0)))


def closest(word: str, known: Iterable[str]) -> str:
    """``Did you mean `step`? `` when a known word is close, else nothing."""
    near = difflib.get_close_matches(word, tuple(known), n=1, cutoff=0.7)
    return f"Did you mean `{near[0]}`? " if near else ""


def placed_fault(
    document: Document, reason: Reason, path: KeyPath, *, required: str, came: str, fix: str, key: bool = False
) -> Fault:
    """A fault with line, column and the readable name of a path."""
    mark = document.mark(path, key=key)
    return Fault(reason, document.name_of(path), required, came, fix, line=mark.line, column=mark.column)


def _fault_of(detail: Any, document: Document, root: Pattern) -> Fault:
    kind: str = detail["type"]
    pattern = root + tuple("[]" if isinstance(step, int) else str(step) for step in detail["loc"])
    path: KeyPath = tuple(step for step in detail["loc"] if isinstance(step, int) or not step.startswith("?"))
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind == "trasgo":
        return _own(context, path, document)
    if kind == "extra_forbidden":
        return _unknown_key(path, pattern, document)
    if kind == "missing":
        return _missing_key(path, pattern, document)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _no_column_type(path, document)
    required = _KINDS.get(kind) or _expected(kind, path, context, detail["msg"])
    value = document.at(path)
    fix = _quoting(path, document) if kind == "string_type" else f"Write {required}."
    return placed_fault(document, Reason.BAD_SHAPE, path, required=required, came=_came(path, value, document), fix=fix)


def _own(context: Mapping[str, Any], path: KeyPath, document: Document) -> Fault:
    here = (*path, *context["at"])
    came = "another text" if _is_secret(here) else context["came"]
    return placed_fault(
        document, Reason(context["reason"]), here, required=context["required"], came=came, fix=context["fix"]
    )


def _unknown_key(path: KeyPath, pattern: Pattern, document: Document) -> Fault:
    known = sorted(fields_at(pattern[:-1]))
    word = str(path[-1])
    meant = closest(word, [*known, *(key for key in _SISTER_KEYS if key != word)] if pattern == (word,) else known)
    return placed_fault(
        document,
        Reason.UNKNOWN_KEY,
        path,
        required=f"one of {', '.join(known)}",
        came=f"`{word}`",
        fix=f"{meant}Rename or remove it.",
        key=True,
    )


def _missing_key(path: KeyPath, pattern: Pattern, document: Document) -> Fault:
    field = fields_at(pattern[:-1]).get(pattern[-1])
    name = str(path[-1])
    required = "this key" if field is None else f"{field.description}"
    example = f"{name}: {flow_text(field.examples[0])}" if field is not None and field.examples else f"{name}: ..."
    if name == "role":
        required = f"a role beside type text, which is never noised: {_ROLES}"
    return placed_fault(
        document, Reason.BAD_SHAPE, path, required=required, came="nothing", fix=f"Add it, as in `{example}`."
    )


def flow_text(value: object) -> str:
    """A value as one would write it in the release file, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow_text(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow_text(entry) for entry in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if _PLAIN_WORD.fullmatch(value) else f'"{value}"' if '"' not in value else f"'{value}'"
    return str(value)


def _no_column_type(path: KeyPath, document: Document) -> Fault:
    entry = document.at(path)
    if not isinstance(entry, dict):
        came = _came(path, entry, document)
        return placed_fault(
            document, Reason.BAD_SHAPE, path, required="a mapping", came=came, fix="Write `{name: ..., role: drop}`."
        )
    here = (*path, "type")
    word = entry.get("type")
    came = _came(here, word, document) if "type" in entry else "nothing"
    if path[0] == "queries":
        required = ", ".join(QUERY_TYPES)
        hint = closest(word, QUERY_TYPES) if isinstance(word, str) else ""
        fix = f"{hint}Write one of them."
        return placed_fault(document, Reason.BAD_SHAPE, here, required=required, came=came, fix=fix)
    hint = closest(word, ("number", "category", "date", "point", "text")) if isinstance(word, str) else ""
    return placed_fault(
        document,
        Reason.BAD_SHAPE,
        here,
        required=_TYPES,
        came=came,
        fix=f"{hint}Types come from here, never from a guess.",
    )


def _expected(kind: str, path: KeyPath, context: Mapping[str, Any], message: str) -> str:
    if kind == "literal_error":
        if path[-1] == "role":
            return _ROLES
        if path[-1] in _WORDS_OR_MAPPINGS:
            return _WORDS_OR_MAPPINGS[str(path[-1])]
        return str(context["expected"]).replace("'", "")
    if kind in ("greater_than_equal", "less_than_equal"):
        return (
            f"a whole number of {'at least' if 'ge' in context else 'at most'} {context.get('ge', context.get('le'))}"
        )
    if kind in ("string_too_short", "string_too_long"):
        return "exactly one character"
    return message[:1].lower() + message[1:]


def _quoting(path: KeyPath, document: Document) -> str:
    """What to do about something that is not text where text was required."""
    value = document.at(path)
    if _is_secret(path):
        return "Write a text in quotes."
    if isinstance(value, (bool, int, float)):
        return f'Quote it: "{document.bare.get(path, value)}".'
    if value is None:
        return 'Write a text in quotes ("" for an empty one), or leave the key out.'
    return "Write one text in quotes."


def _came(path: KeyPath, value: Plain, document: Document) -> str:
    """What stands in the file, in words."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, tuple):
        return "a list"
    if value is None:
        return "null"
    if _is_secret(path):
        return "another value"
    written = document.bare.get(path, repr(value))
    if isinstance(value, bool):
        return f"{written}, an unquoted Boolean"
    if isinstance(value, (int, float)):
        return f"{written}, an unquoted number"
    return repr(value)


def _is_secret(path: KeyPath) -> bool:
    return bool(path) and (path[0] in _SECRET_SECTIONS or (len(path) > 1 and path[1] in _SECRET_KEYS))
