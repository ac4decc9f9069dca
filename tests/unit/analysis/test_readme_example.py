"""The worked example of the README, run on the demonstration release, and the closed forms that it gives for R."""

from __future__ import annotations

import re
import shutil
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trasgo_lib.analysis import Estimate, NoiseWarning, Release, open_release
from trasgo_lib.budget import Cost
from trasgo_lib.checks import check_batches, expected_table
from trasgo_lib.config import load_config
from trasgo_lib.data import CategoryDomain, NumberDomain, PrivateCodes, ReleasedTable, read_source
from trasgo_lib.mechanisms import build_chain, build_channel, draw_codes, reveal_codes
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, UnitPlan, compile_plan
from trasgo_lib.plan.reading import source_reading
from trasgo_lib.release import (
    compare_staged,
    public_types,
    publish_package,
    read_parquet_batches,
    stage_data,
    stage_package,
)
from trasgo_lib.reporting import ReleaseFacts, UnitOutcome
from trasgo_lib.storage import open_store

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
KEY = bytes(32)


def blocks(language: str) -> list[str]:
    section = README[README.index("## Analyse a release") :]
    return re.findall(rf"```{language}\n(.*?)```", section[: section.index("\n## ", 4)], re.S)


def level(plan: ReleasePlan, unit: UnitPlan) -> int:
    """The highest rung within an equal part of the total."""
    part = plan.epsilon_total.units // len(plan.units)
    return max((place for place, rung in enumerate(unit.rungs) if rung.units <= part), default=0)


def draw(plan: ReleasePlan, unit: UnitPlan, codes: PrivateCodes, work: Path) -> Any:
    chosen = unit.rungs[level(plan, unit)]
    if unit.is_chained:
        streams = partial(lambda name, step, rung: Keystream(KEY, name, step, rung.text), unit.name)
        return reveal_codes(unit.chain, chosen, codes, streams, work / "released", KEY)
    return draw_codes(unit.channel(chosen), codes, Keystream(KEY, unit.name), work / "released", KEY)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration data, released without an orchestrator at one level a column."""
    folder = tmp_path_factory.mktemp("demo")
    for name in ("cps1988.yaml", "cps1988.csv"):
        shutil.copy(ROOT / "configs" / "demo" / name, folder / name)
    plan, work = compile_plan(load_config(folder / "cps1988.yaml")), folder / "work"
    private, _ = read_source(
        source_reading(plan),
        digest_key=KEY,
        permutation=lambda _: Keystream(KEY, "permute"),
        work=work,
        rows_per_batch=10_000,
    )
    units = tuple(draw(plan, plan.unit(codes.unit), codes, work) for codes in private.units)
    table = ReleasedTable(private.rows, units, private.public)
    data = stage_data(table, plan, work)
    expected = expected_table(plan, table.rows, public_types(table))
    report = check_batches(expected, read_parquet_batches(work / "data" / "cps1988.parquet"))
    outcomes = tuple(
        UnitOutcome(unit.name, (unit.rungs[level(plan, unit)],), False if unit.target else None) for unit in plan.units
    )
    facts = ReleaseFacts(
        plan,
        table.rows,
        outcomes,
        Cost.zero(),
        report.with_results(compare_staged(data)),
        "2030-01-31T12:00:00+00:00",
        "0.1.0",
        "0123abc",
    )
    facts = replace(facts, account_to_date=facts.realised)
    package = stage_package(facts, data, [column.name for column in expected.columns], work)
    publish_package(package, open_store(folder / "releases" / "public"), "cps1988/1")
    return folder


def test_the_python_example_runs_and_says_something(
    releases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = blocks("python")
    monkeypatch.chdir(releases)
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        exec(compile(example, "README.md", "exec"), scope)  # noqa: S102
    assert isinstance(scope["release"], Release)
    printed = capsys.readouterr().out
    for words in ("release cps1988 1, ", "share of region, from", "share of smsa and region", "mean of wage by region"):
        assert words in printed


def test_answers_about_the_demonstration_are_near_its_rows(releases: Path) -> None:
    """One fixed key; four standard errors, because one of seven answers is outside two in every third release.

    The demonstration's bins hide a variance and a correlation: these two are withheld with a reason, and no other is.
    """
    release = open_release(releases / "releases" / "public" / "cps1988" / "1", verify=False)
    rows = np.genfromtxt(releases / "cps1988.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    wage = np.clip(np.rint(rows["wage"] / 10) * 10, 0, 2000)
    south = rows["region"] == "south"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        found: list[tuple[Estimate, float]] = [
            (release.share("region", "south"), south.mean()),
            (release.share("region", ["south", "west"]), np.isin(rows["region"], ["south", "west"]).mean()),
            (release.crosstab("smsa", "region")["yes", "south"], (south & (rows["smsa"] == "yes")).mean()),
            (release.mean("wage"), wage.mean()),
            (release.mean("wage", by="region")["south"], wage[south].mean()),
            (release.variance("experience"), np.clip(rows["experience"], 0, 60).var()),
            (release.correlation("education", "wage"), np.corrcoef(rows["education"], wage)[0, 1]),
        ]
    answered = [(estimate, truth) for estimate, truth in found if estimate.value is not None]
    assert {place for place, (estimate, _) in enumerate(found) if estimate.value is None} == {5, 6}
    assert all(estimate.reason for estimate, _ in found if estimate.value is None)
    for estimate, truth in answered:
        assert abs(estimate.value - truth) < 4 * estimate.standard_error


def test_the_r_snippet_is_short_and_its_closed_forms_are_the_channels() -> None:
    (snippet,) = blocks("r")
    assert sum(not line.startswith("#") for line in snippet.strip().splitlines()) <= 12
    regions = CategoryDomain(["a", "b", "c", "d"])
    chain = build_chain("kary_randomized_response", regions, ["0.5", "1", "2"])
    counts = np.array([400.0, 300.0, 200.0, 100.0])
    for channel in (*map(chain.channel, chain.levels), build_channel("kary_randomized_response", regions, "1")):
        parameters: Any = channel.parameters
        others = parameters.get("others") or [parameters["other"]]
        ran = (
            others[: len(others) - parameters["levels"].index(parameters["revealed"])]
            if "levels" in parameters
            else others
        )
        kept = float(np.prod([1 - 4 * float(other) / 2**64 for other in ran]))
        assert (counts / 1000 - (1 - kept) / 4) / kept == pytest.approx(channel.invert(counts / 1000))
    years = NumberDomain("0", "60", "1")
    ladder = build_chain("laplace", years, ["0.5", "1", "2"])
    for channel in (*map(ladder.channel, ladder.levels), build_channel("laplace", years, "1")):
        scores = channel.scores
        assert scores is not None and scores[1:-1] == pytest.approx(np.arange(1, 60), abs=1e-6)
