"""A compiled plan and the facts of a finished run, without any data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from trasgo_lib.budget import Cost
from trasgo_lib.checks import CheckReport, CheckResult
from trasgo_lib.config import load_config
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.reporting import ReleaseFacts, UnitOutcome

RELEASE_FILE = """
format: 1
release: {dataset: demo, version: "1", title: "Wages | <b>and</b> places", description: "A *made up* file",
          licence: CC0-1.0, source_note: nowhere}
source: {path: private-source.csv, format: csv}
privacy: {epsilon_total: "12", delta_total: "0.000001", geo_total: "6.93", account: demo_account,
          unit: {column: person, max_rows: 2}, row_order: source}
columns:
  - {name: person, role: unit}
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10", unit: USD per week}, outside: clip,
     mechanism: laplace, start: "1", target: {correlation_loss: "40"}}
  - {name: region, type: category, domain: {codes: [north, west, south]}, mechanism: kary_randomized_response,
     start: "0.5", target: {tvd: "0.05"}}
  - {name: hours, type: number, domain: {lower: "0", upper: "40", step: "1"}, mechanism: gaussian, epsilon: "1",
     delta: "0.0000001"}
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2017-01-01", upper: "2017-01-31"},
     mechanism: laplace, epsilon: "0.25"}
  - {name: note, role: public}
  - {name: secret, role: drop}
loop: {loss_from: original, composition: sequential, start: "1", ratio: "1.25", on_unmet: publish}
publish: {store: releases, formats: [parquet, csv]}
"""


@dataclass(frozen=True)
class Kit:
    """What tests of this room build facts with."""

    plan: ReleasePlan
    make_facts: Callable[..., ReleaseFacts]


@pytest.fixture(scope="session")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    """The plan, and a builder of facts about it."""
    path: Path = tmp_path_factory.mktemp("plan") / "release.yaml"
    path.write_text(RELEASE_FILE, encoding="utf-8")
    plan = compile_plan(load_config(path))

    def make_facts(plan: ReleasePlan = plan, to_date: str = "20") -> ReleaseFacts:
        met = {"wage": True, "region": False}
        outcomes = tuple(
            UnitOutcome(unit.name, unit.rungs[: 2 if unit.name == "wage" else 1], met.get(unit.name))
            for unit in plan.units
        )
        results = (
            CheckResult("between", "wage", True, "0 failing of 5 released rows", "between 0 and 2000"),
            CheckResult("rows", None, True, "5 released rows", "5 rows, at least 1"),
        )
        spent = Cost.of(to_date, "0.000001", "0")
        return ReleaseFacts(plan, 5, outcomes, spent, CheckReport(results), "2026-11-30T09:00:00Z", "0.1.0", "0123abc")

    return Kit(plan, make_facts)
