"""The whole forecast: what it needs, what it leaves out, and its document."""

import json
from dataclasses import replace

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.errors import ConfigError
from trasgo_lib.loop.forecast import Questions, forecast, forecast_document

QUICK = Questions(rows=1000, epsilons=(Epsilon.parse("1"), Epsilon.parse("2")), row_counts=(1000,), keys=1)


def without(plan, *names):
    shares = {name: own for name, own in plan.prior.shares.items() if name not in names}
    return replace(plan, prior=replace(plan.prior, shares=shares))


@pytest.fixture(scope="module")
def found(demo):
    told = []
    plan = without(demo.plan, "wage", "education", "experience")
    asked = replace(QUICK, row_counts=(500, 1000), groups=(("smsa", "region"),))
    return forecast(demo.loaded, plan, asked, told.append), told


def test_columns_without_a_prior_are_named_and_left_out(found):
    forecast_, _ = found
    assert forecast_.unknown == ("wage", "education", "experience")
    assert {curve.column for curve in forecast_.curves} == {"ethnicity", "smsa", "region", "parttime"}
    assert [target.unit for target in forecast_.targets] == ["ethnicity", "smsa", "region", "parttime"]


def test_the_document_is_strict_and_whole(found):
    forecast_, told = found
    document = json.loads(json.dumps(forecast_document(forecast_), allow_nan=False))
    assert document["least_epsilon_total"] == forecast_.rehearsals.most.text
    assert [entry["rows"] for entry in document["by_rows"]] == [500, 1000]
    assert {entry["rehearsals"] for entry in document["by_rows"]} == {1}
    curve = document["losses"][0]
    assert curve["declared"] and {cell["epsilon"] for cell in curve["expected"]} == {"1", "2"}
    assert all(cell["low"] <= cell["value"] <= cell["high"] for cell in curve["expected"])
    assert document["groups"][0]["reason"].startswith("the prior tells no correlation among them")
    assert any("rehearsal at 1,000 rows" in words for words in told)


def test_assumed_columns_are_marked(demo):
    plan = without(demo.plan, *[name for name in demo.plan.prior.shares if name != "smsa"])
    found = forecast(demo.loaded, plan, replace(QUICK, assume_uniform=True))
    assert "region" in found.assumed and "smsa" not in found.assumed
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("change", "asked", "words"),
    [
        (lambda plan: replace(plan, prior=None), QUICK, "trasgo prior"),
        (lambda plan: replace(plan, prior=replace(plan.prior, rows=None)), replace(QUICK, rows=None), "--rows"),
        (lambda plan: replace(plan, prior=replace(plan.prior, shares={})), QUICK, "--assume-uniform"),
        (lambda plan: plan, replace(QUICK, rows=2), "30 to 10,000,000"),
        (lambda plan: plan, replace(QUICK, groups=(("smsa", "nobody"),)), "nobody"),
        (lambda plan: without(plan, "smsa"), replace(QUICK, groups=(("smsa", "region"),)), "--assume-uniform"),
    ],
)
def test_what_a_forecast_needs(demo, change, asked, words):
    with pytest.raises(ConfigError) as caught:
        forecast(demo.loaded, change(demo.plan), asked)
    assert words in str(caught.value.faults[0])


def test_a_number_without_bins_is_no_part_of_a_group(demo):
    unit = replace(demo.plan.unit("wage"), mechanism="laplace", parameters=())
    plan = replace(demo.plan, units=(unit, *demo.plan.units[1:]))
    with pytest.raises(ConfigError, match="noise_bins"):
        forecast(demo.loaded, plan, replace(QUICK, groups=(("wage", "region"),)))
