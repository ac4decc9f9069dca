"""Losses agree to 1e-9 with those of the reference library on the same files."""

import json
from pathlib import Path

import pandas as pd
import pytest

from trasgo_lib.utility import correlation_loss, divergence

PARITY = Path(__file__).resolve().parents[3].parent / "shared" / "cases" / "parity"

if not PARITY.is_dir():
    pytest.skip("the reference library's files are not beside this checkout", allow_module_level=True)

EXPECTED = json.loads((PARITY / "expected.json").read_text(encoding="utf-8"))
ORIGINAL, RELEASED = (pd.read_csv(PARITY / name) for name in ("original.csv", "released.csv"))


@pytest.mark.parametrize(
    "case", EXPECTED["correlation_loss"], ids=lambda case: f"{case['method']}{len(case['features'])}"
)
def test_correlation_loss(case):
    found = correlation_loss(ORIGINAL, RELEASED, case["features"], case["method"], EXPECTED["category_order"])
    assert found.percent == pytest.approx(case["percent"], abs=1e-9)
    assert found.reliable


@pytest.mark.parametrize("column", EXPECTED["divergence"])
def test_divergence(column):
    found, expected = divergence(ORIGINAL[column], RELEASED[column]), EXPECTED["divergence"][column]
    assert found.tvd == pytest.approx(expected["tvd"], abs=1e-9)
    assert found.js == pytest.approx(expected["js"], abs=1e-9)
    if expected["kl"] is None or expected["kl"] == float("inf"):
        assert found.kl is None
        assert found.lost > 0
    else:
        assert found.kl == pytest.approx(expected["kl"], abs=1e-9)
