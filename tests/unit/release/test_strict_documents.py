"""Stored JSON is strict both ways, and every schema is itself valid and closed."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from trasgo_lib.errors import Reason, VerificationError
from trasgo_lib.release.documents import FOREIGN, SCHEMAS, check_schema, dump, parse, validator

CHECKS = {
    "format": 1,
    "dataset": "demo",
    "version": "1",
    "checks": {"format": 1, "passed": True, "results": []},
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_closed_and_of_the_2020_draft(name: str) -> None:
    schema = validator(name).schema
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    branches = [schema["$defs"]["released"], schema["$defs"]["original"]] if name == "statement" else [schema]
    for branch in branches:
        assert branch["additionalProperties"] is False
        if name not in FOREIGN:
            assert branch["properties"]["format"] == {"const": 1}


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match="channel, statement, manifest"):
        validator("nothing")


def test_documents_read_back() -> None:
    assert parse(dump(CHECKS, "checks"), "checks") == CHECKS
    assert dump(CHECKS, "checks").endswith(b"}\n")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_number_that_json_lacks_is_written(number: float) -> None:
    # B64: NaN and Infinity make files that strict parsers refuse
    document = {
        "format": 1,
        "dataset": "demo",
        "version": "1",
        "input": {"loss": number},
    }
    with pytest.raises(ValueError, match="JSON compliant"):
        dump(document, "input_report")


@pytest.mark.parametrize(
    "text",
    [
        '{"format": 1, "format": 1}',
        '{"format": NaN}',
        '{"format": Infinity}',
        '{"format": -Infinity}',
        "{",
        "",
        "[]",
        "null",
        '{"format": 1}',
        "[" * 100_000,
    ],
)
def test_lenient_json_is_refused(text: str) -> None:
    with pytest.raises(VerificationError) as caught:
        parse(text.encode(), "checks")
    assert caught.value.reason is Reason.SCHEMA_VIOLATION


def test_other_encodings_are_refused() -> None:
    with pytest.raises(VerificationError):
        parse(json.dumps(CHECKS).encode("utf-16"), "checks")


def test_a_violation_names_the_place_and_not_the_value() -> None:
    document = json.loads(json.dumps(CHECKS))
    document["checks"]["passed"] = "canary"
    with pytest.raises(VerificationError) as caught:
        check_schema(document, "checks")
    assert "checks/passed" in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_format_of_the_future_is_refused() -> None:
    with pytest.raises(VerificationError, match="format"):
        check_schema({**CHECKS, "format": 2}, "checks")
