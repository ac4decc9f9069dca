"""The worked examples of README and how-to, run on the demonstration release; those in R where Rscript is installed."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from published_people import published, release_of

from trasgo_lib.analysis import Estimate, NoisedColumn, NoiseWarning, Release, open_release
from trasgo_lib.budget import Cost
from trasgo_lib.checks import check_batches, expected_table
from trasgo_lib.config import load_config
from trasgo_lib.data import CategoryDomain, NumberDomain, PrivateCodes, ReleasedTable, read_source
from trasgo_lib.estimation import joint_subset_shares, mean, subset_shares
from trasgo_lib.mechanisms import build_channel, draw_codes, reveal_codes
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
from trasgo_lib.release.channel_file import decoder
from trasgo_lib.reporting import ReleaseFacts, UnitOutcome
from trasgo_lib.reporting.howto_columns import howto_columns
from trasgo_lib.reporting.howto_r import r_example
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


def test_the_how_to_of_the_demonstration_runs_in_its_folder(
    releases: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = releases / "releases" / "public" / "cps1988" / "1"
    monkeypatch.chdir(place)
    (example,) = re.findall(r"```python\n(.*?)```", (place / "HOWTO_ANALYSE.md").read_text(encoding="utf-8"), re.S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        exec(compile(example, "HOWTO_ANALYSE.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out
    for words in ("share of ethnicity", "share of ethnicity and smsa", "mean of wage by ethnicity", "interpolated"):
        assert words in printed


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="Rscript is not installed")
@pytest.mark.parametrize("which", ["demonstration", "golden"])
def test_the_how_to_in_r_prints_what_python_answers(which: str, releases: Path, golden: Path) -> None:
    place = golden if which == "golden" else releases / "releases" / "public" / "cps1988" / "1"
    (script,) = re.findall(r"```r\n(.*?)```", (place / "HOWTO_ANALYSE.md").read_text(encoding="utf-8"), re.S)
    printed = run_r(script, place)
    release = open_release(place, verify=False)
    one, two = ("region", "smsa") if which == "golden" else ("ethnicity", "smsa")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        shares, joint = raw_shares(release, one), raw_crosstab(release, one, two)
    assert printed[: 2 * len(shares)] == pytest.approx([figure for pair in shares for figure in pair], rel=1e-6)
    assert printed[2 * len(shares) : 2 * len(shares) + len(joint)] == pytest.approx(joint, rel=1e-6)
    if which == "golden":
        wage = release.noised["wage"]
        found = mean(wage.channel, release.data.count(wage), values=wage.numbers)
        after = printed[2 * len(shares) + len(joint) :]
        assert after[:2] == pytest.approx([found.value, found.standard_error], rel=1e-6)
        assert len(after) == 2 + len(shares)


def test_r_undoes_missing_codes_and_takes_the_noise_out_of_a_slope(tmp_path: Path) -> None:
    """Base R on a release of two numbers under Laplace noise and labels with a missing code."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    rows, regions = np.arange(40_000), CategoryDomain(["north", 'so,"uth', "west"])
    pay, age = NumberDomain("0", "100", "5"), NumberDomain("10", "46", "2")
    private = {"pay": rows % 19 // 2 + rows // 19 % 5, "age": rows % 19, "region": rows % 7 % 4}
    made = {
        "pay": NoisedColumn("pay", "pay", pay, build_channel("laplace", pay, "6")),
        "age": NoisedColumn("age", "age", age, build_channel("laplace", age, "6")),
        "region": NoisedColumn(
            "region", "region", regions, build_channel("kary_randomized_response", regions, "2", missing=True)
        ),
    }
    drawn = {
        name: published(column, column.channel.sample(private[name].astype(np.int32), Keystream(KEY, "r", name)))
        for name, column in made.items()
    }
    release = release_of(pa.table(drawn), made)
    (tmp_path / "data").mkdir()
    pacsv.write_csv(pa.table(drawn), tmp_path / "data" / "people.csv")
    units = [
        {
            "name": name,
            "columns": [{"name": name}],
            "mechanism": column.channel.name,
            "domain": column.domain.describe(),
            "missing": {"policy": "code" if name == "region" else "error"},
            "parameters": dict(column.channel.parameters),
            "inputs": column.channel.inputs,
            "decoder": decoder(column.channel),
        }
        for name, column in made.items()
    ]
    printed = run_r(r_example(howto_columns({"units": units}), "people", has_csv=True), tmp_path)
    shares = raw_shares(release, "region")
    assert printed[:8] == pytest.approx([figure for pair in shares for figure in pair], rel=1e-6)
    found = release.mean("pay")
    assert printed[8:10] == pytest.approx([found.value, found.standard_error], rel=1e-6)
    means = [one.value for one in release.mean("pay", by="region").values()]
    assert printed[10:14] == pytest.approx(means, rel=1e-6)
    assert printed[14:] == pytest.approx([release.regression("pay", "age")["age"].value], rel=1e-6)


def run_r(script: str, folder: Path) -> list[float]:
    """Numbers that a script prints, in order, headers and labels left out."""
    wide = "options(digits = 15, width = 250, scipen = 50)\n" + script
    command = ["Rscript", "--vanilla", "-e", wide]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found = []
    for word in done.stdout.split():
        with contextlib.suppress(ValueError):
            found.append(float(word))
    return found


def raw_shares(release: Release, name: str) -> list[tuple[float, float]]:
    """Shares and standard errors before any of them is withheld."""
    column = release.noised[name]
    found = subset_shares(column.channel, release.data.count(column), column.cells()[1])
    return [(float(one.value or 0), float(one.standard_error or 0)) for one in found]


def raw_crosstab(release: Release, a: str, b: str) -> list[float]:
    """Joint shares before any of them is withheld."""
    left, right = release.noised[a], release.noised[b]
    table = release.data.count_pairs(left, right)
    found = joint_subset_shares(left.channel, right.channel, table, left.cells()[1], right.cells()[1])
    return [float(one.value or 0) for one in found]
