"""The chart of a forecast: the same bytes every time, no date, every column and the target in it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.loop.forecast import Questions, forecast
from trasgo_lib.plan import read_plan
from trasgo_lib.reporting.charts.forecast import forecast_chart

DEMO = Path(__file__).resolve().parents[3] / "configs" / "demo" / "cps1988.yaml"


@pytest.fixture(scope="module")
def found():
    loaded, plan = read_plan(DEMO)
    shares = {name: own for name, own in plan.prior.shares.items() if name in ("wage", "region", "smsa")}
    levels = tuple(Epsilon.parse(level) for level in ("0.5", "1", "2"))
    asked = Questions(rows=500, epsilons=levels, row_counts=(500, 2000), keys=1)
    return forecast(loaded, replace(plan, prior=replace(plan.prior, shares=shares)), asked)


def test_the_same_forecast_gives_the_same_bytes(found):
    first, second = forecast_chart(found), forecast_chart(found)
    assert first == second
    assert b"dc:date" not in first
    assert first.startswith(b"<?xml")


def test_every_known_column_has_two_panels_and_the_target_a_line(found):
    text = forecast_chart(found).decode()
    assert len(set(re.findall(r'id="(axes_\d+)"', text))) == 2 * 4  # three columns, two panels each, two left empty
    assert "#d55e00" in text.lower()
    for words in ("wage", "region", "smsa", "declared mechanism, with 95 % interval", "laplace"):
        assert f"<!-- {words}" in text, words


def test_another_forecast_gives_another_chart(found):
    fewer = replace(found, curves=tuple(curve for curve in found.curves if curve.column == "wage"))
    assert forecast_chart(fewer) != forecast_chart(found)
