"""Strict JSON documents: written without NaN, read without duplicates, checked against their schema both times."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from trasgo_lib.errors import Reason, VerificationError

_LARGEST_PATH_SHOWN = 8

_OWN = (
    "channel",
    "statement",
    "manifest",
    "input_report",
    "losses",
    "checks",
    "provenance",
    "ledger",
    "erratum",
    "withdrawn",
    "dp_statement",
    "risk_audit",
    "answers",
    "answers_statement",
    "model",
    "model_statement",
    "alphabet",
    "collection_channels",
    "collection_counts",
    "collection_statement",
)
FOREIGN = ("crate", "envelope", "signed_statement", "csvw", "datapackage", "dcat")
"""Formats that others define: RO-Crate, DSSE, in-toto, CSV on the Web, Frictionless, DCAT; their versions stand where
those say."""

SCHEMAS = (*_OWN, *FOREIGN)
"""Names of the stored formats; each has ``schemas/<name>.schema.json``."""


def dump(document: dict[str, Any], schema: str) -> bytes:
    """A document as UTF-8 JSON, two blanks of indent, keys in the order given, a newline at the end.

    Args:
        document: plain values; amounts are decimal text.
        schema: name of its format; the document must satisfy it.

    Raises:
        ValueError: for NaN or infinity.
        VerificationError: when the document does not satisfy its own schema.
    """
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=2)
    check_schema(json.loads(text), schema)
    return f"{text}\n".encode()


def parse(data: bytes, schema: str) -> dict[str, Any]:
    """Read a document strictly.

    Args:
        data: the file's bytes.
        schema: name of its format.

    Raises:
        VerificationError: not UTF-8, not JSON, NaN or infinity, a key twice, or against its schema.
    """
    fault = None
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except (UnicodeDecodeError, json.JSONDecodeError, _NotStrictError) as error:
        fault = str(error) if isinstance(error, _NotStrictError) else "a file that is not strict JSON"
        document = None
    except RecursionError:
        fault = "JSON nested too deeply"
        document = None
    if fault is not None:
        raise _violation(schema, "strict JSON in UTF-8", fault)
    check_schema(document, schema)
    checked: dict[str, Any] = document
    return checked


def check_schema(document: object, schema: str) -> None:
    """Check parsed JSON against a stored format.

    Raises:
        VerificationError: with the place of the first difference; never with the value that stands there.
    """
    found = best_match(validator(schema).iter_errors(document))
    if found is not None:
        place = "/".join(str(part) for part in list(found.absolute_path)[:_LARGEST_PATH_SHOWN]) or "the document"
        rule = f"{found.validator} of {schema}.schema.json"
        raise _violation(schema, rule, f"something else at {place}")


@lru_cache(maxsize=len(SCHEMAS))
def validator(schema: str) -> Draft202012Validator:
    """The validator of a stored format.

    Raises:
        KeyError: for a name that is no stored format; the message lists those there are.
    """
    if schema not in SCHEMAS:
        raise KeyError(f"no stored format {schema!r}; known: {', '.join(SCHEMAS)}")
    text = files("trasgo_lib.release").joinpath("schemas", f"{schema}.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


class _NotStrictError(ValueError):
    """Valid for a lenient reader, refused here."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotStrictError(f"the number {name}, which JSON does not have")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise _NotStrictError("a key that stands twice in one object")
    return dict(pairs)


def _violation(schema: str, required: str, came: str) -> VerificationError:
    return VerificationError.of(
        Reason.SCHEMA_VIOLATION,
        f"{schema} document",
        required=required,
        came=came,
        fix="The file is not what this version of trasgo writes; compare with the publisher's copy.",
    )
