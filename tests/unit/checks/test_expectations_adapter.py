"""The adapter to Great Expectations stores no value, writes nothing, calls nobody and is loaded late."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pytest

from trasgo_lib.checks.expectations import RESULT_FORMAT, BatchValidator, Rule

CANARY = "123-45-6789"


@pytest.fixture(scope="module")
def validator() -> BatchValidator:
    return BatchValidator(
        [
            Rule("columns", allowed=("ssn", "n")),
            Rule("in_set", "ssn", allowed=("a", "b")),
            Rule("between", "n", 0, 10),
            Rule("between", "ssn", 0, 10),
            Rule("not_null", "absent"),
            Rule("rows", lower=1, upper=3),
            Rule("not_null", "n"),
        ]
    )


def frame(*texts: str) -> pa.RecordBatch:
    return pa.record_batch([pa.array(texts), pa.array(range(len(texts)))], names=["ssn", "n"])


def test_outcomes_come_in_the_order_of_the_rules(validator: BatchValidator) -> None:
    assert validator.outcomes(frame("a", CANARY)) == (True, False, True, False, False, True, True)
    assert validator.outcomes(frame("a", "b", "a", "b")) == (True, True, True, False, False, False, True)


def test_a_rule_that_raises_does_not_hold(validator: BatchValidator) -> None:
    outcomes = validator.outcomes(frame("a"))
    assert outcomes[3] is False
    assert outcomes[4] is False


def test_stored_results_hold_no_value(validator: BatchValidator) -> None:
    # B20, B21: neither failing values nor the frame itself in what the library keeps
    result = validator.validate(frame("a", CANARY))
    assert RESULT_FORMAT == "BOOLEAN_ONLY"
    evaluated = [one for one in result.results if one.exception_info.get("raised_exception") is False]
    assert len(evaluated) == 5
    for one in evaluated:
        assert one.result == {}
        assert CANARY not in json.dumps(one.to_json_dict())
    assert CANARY not in json.dumps(result.meta, default=str)
    assert CANARY not in json.dumps(result.to_json_dict()["statistics"])


def test_other_formats_would_hold_values(validator: BatchValidator) -> None:
    """Negative control: the leak that BOOLEAN_ONLY prevents is real in this version."""
    batch = validator._batches.get_batch({"dataframe": frame("a", CANARY).to_pandas()})
    assert CANARY in json.dumps(batch.validate(validator._suite, result_format="BASIC").to_json_dict())


_QUIET = """
import socket, sys
def refuse(*args, **options):
    raise SystemExit("network touched")
socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
socket.create_connection = refuse
import trasgo_lib.checks
assert "great_expectations" not in sys.modules, "loaded at import"
import pyarrow as pa
from trasgo_lib.checks.expectations import BatchValidator, Rule, ephemeral_context
assert ephemeral_context().variables.config.analytics_enabled is False
assert BatchValidator([Rule("not_null", "x")]).outcomes(pa.record_batch([pa.array([1])], names=["x"])) == (True,)
assert "great_expectations" in sys.modules
assert not {"posthog", "prefect"} & set(sys.modules)
print("quiet")
"""


def test_import_is_late_and_no_network_is_touched() -> None:
    done = subprocess.run([sys.executable, "-c", _QUIET], capture_output=True, text=True, check=False, timeout=600)
    assert done.stdout.strip() == "quiet", done.stderr
    assert "Calculating Metrics" not in done.stderr
