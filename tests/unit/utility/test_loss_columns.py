"""What a compiled plan says is to be measured, and that a plan is all the loop needs."""

from pathlib import Path

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import load_config
from trasgo_lib.loop import Continue, first_step
from trasgo_lib.plan import compile_plan
from trasgo_lib.utility import loss_columns

RELEASE = """
format: 1
release: {dataset: trips, version: "1", title: Trips}
source: {path: trips.csv, format: csv}
privacy: {epsilon_total: "8", geo_total: "7", account: trips, unit: row}
columns:
  - {name: fare, type: number, domain: {lower: "0", upper: "100", step: "1"}, outside: clip, mechanism: laplace,
     bins: 7, target: {tvd: "0.1"}}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2020-01-01", upper: "2020-01-31"}, outside: clip,
     mechanism: laplace}
  - {name: grade, type: category, domain: {codes: [low, mid, top], ordered: true}, missing: code,
     mechanism: kary_randomized_response}
  - {name: company, type: category, domain: {codes: [x, y, z]}, mechanism: kary_randomized_response}
  - {name: pickup, type: point, columns: {latitude: a, longitude: b}, mechanism: planar_laplace,
     domain: {box: ["41.85", "-87.65", "41.9", "-87.6"], crs: "EPSG:3435", step_m: "200"},
     geo: {epsilon: "1.386", radius_m: "200"}}
loop: {loss_from: original, composition: sequential, start: "0.5"}
publish: {store: releases, formats: [parquet, csv]}
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    path = Path(tmp_path_factory.mktemp("release")) / "trips.yaml"
    path.write_text(RELEASE, encoding="utf-8")
    return compile_plan(load_config(path))


def test_columns_follow_the_plan(plan):
    fare, day, grade, company, pickup = loss_columns(plan)
    assert [column.name for column in (fare, day, grade, company, pickup)] == [unit.name for unit in plan.units]
    assert (fare.kind, fare.size, fare.bins) == ("number", 101, 7)
    assert (day.kind, day.size, day.bins) == ("number", 31, plan.unit("day").bins)
    assert (grade.kind, grade.size, grade.bins) == ("ordered", 3, None)
    assert (company.kind, company.size) == ("label", 3)
    assert (pickup.kind, pickup.size) == ("point", plan.unit("pickup").domain.size)
    assert [column.is_correlated for column in (fare, grade, company, pickup)] == [True, True, True, False]
    assert pickup.grid.size <= 400


def test_the_loop_takes_a_compiled_plan(plan):
    step = first_step(plan)
    assert isinstance(step, Continue)
    assert step.levels == tuple((unit.name, unit.rungs[0]) for unit in plan.units)
    assert step.left == Epsilon(plan.epsilon_total.units - sum(level.units for _, level in step.levels))
