"""Under ``loss_from: released`` a target that no level can judge is refused before anything is spent on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import ReleasePlan, compile_plan

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "4", account: a, geo_total: "10"}
publish: {store: out}
loop: {loss_from: %s, correlation: %s, start: "1", ratio: "2"}
columns:
"""
TVD, CORRELATION = 'target: {tvd: "0.1"}', 'target: {correlation_loss: "40"}'
SEX = "{name: sex, type: category, domain: {codes: [m, f]}, mechanism: randomized_response"
CODE = "{name: code, type: category, domain: {codes: [a, b]}}"
POINT = (
    '{name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace, geo: {epsilon: "1",'
    ' radius_m: "1000"}, domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "1000"}'
)


def number(upper: int, more: str, name: str = "n") -> str:
    return f'{{name: {name}, type: number, domain: {{lower: "0", upper: "{upper}", step: "1"}}, {more}}}'


def group(target: str) -> str:
    return f"groups: [{{name: g, columns: [code, n], mechanism: kary_randomized_response, {target}}}]"


CASES = {
    "a point": ([f"{POINT}, {TVD}}}"], "", "columns[home].target.tvd", "pearson"),
    "too many codes": ([number(4096, f"mechanism: laplace, {TVD}")], "", "columns[n].target.tvd", "pearson"),
    "too many with the missing one": (
        [number(4095, f"mechanism: laplace, missing: code, {TVD}")],
        "",
        "columns[n].target.tvd",
        "pearson",
    ),
    "too many in one column of a group": ([CODE, number(4096, "")], group(TVD), "groups[g].target.tvd", "pearson"),
    "ranks of bins": (
        [number(9, f"mechanism: binned_randomized_response, noise_bins: 5, {CORRELATION}"), f"{SEX}}}"],
        "",
        "columns[n].mechanism",
        "spearman",
    ),
    "ranks of too many codes": (
        [number(300, f"mechanism: laplace, {CORRELATION}"), number(300, "mechanism: laplace", "m")],
        "",
        "columns[n].target.correlation_loss",
        "kendall",
    ),
}


def compiled(tmp_path: Path, columns: list[str], groups: str, loss_from: str, correlation: str) -> ReleasePlan:
    path = tmp_path / "release.yaml"
    listed = "".join(f"  - {column}\n" for column in columns)
    path.write_text(f"{HEAD % (loss_from, correlation)}{listed}{groups}\n".replace(", }", "}"), encoding="utf-8")
    return compile_plan(load_config(path))


@pytest.mark.parametrize("name", CASES)
def test_a_target_without_any_estimate_is_refused(tmp_path: Path, name: str) -> None:
    columns, groups, key, correlation = CASES[name]
    with pytest.raises(ConfigError) as caught:
        compiled(tmp_path, columns, groups, "released", correlation)
    (fault,) = caught.value.faults
    assert isinstance(fault, Fault)
    assert (fault.where, fault.reason, caught.value.exit_code) == (key, Reason.BAD_PARAMETER, 2)
    assert fault.line and fault.required and fault.came and "original" in fault.fix


@pytest.mark.parametrize("name", [name for name in CASES if name != "a point"])
def test_losses_on_the_raw_file_take_them_all(tmp_path: Path, name: str) -> None:
    columns, groups, _, correlation = CASES[name]
    assert compiled(tmp_path, columns, groups, "original", correlation).units


@pytest.mark.parametrize(
    ("columns", "correlation"),
    [
        ([number(4095, f"mechanism: laplace, {TVD}")], "pearson"),
        ([number(9999, f"mechanism: laplace, {CORRELATION}"), f"{SEX}}}"], "pearson"),
        ([number(255, f"mechanism: laplace, {CORRELATION}"), number(255, "mechanism: laplace", "m")], "spearman"),
        (
            [number(9, f"mechanism: binned_randomized_response, noise_bins: 10, {CORRELATION}"), f"{SEX}}}"],
            "spearman",
        ),
    ],
)
def test_what_can_be_estimated_compiles(tmp_path: Path, columns: list[str], correlation: str) -> None:
    assert compiled(tmp_path, columns, "", "released", correlation).units


def test_a_ladder_ends_where_its_levels_cannot_be_coupled_any_more(tmp_path: Path) -> None:
    """A total of 60 with a missing code: level 32.4 certifies by itself, not above ten others; 21.6 does."""
    path = tmp_path / "release.yaml"
    head = (HEAD % ("released", "pearson")).replace('"4"', '"60"').replace('"1", ratio: "2"', '"0.25", ratio: "1.5"')
    column = number(200, 'mechanism: laplace, missing: code, target: {tvd: "0.3"}')
    path.write_text(f"{head}  - {column}\n", encoding="utf-8")
    (unit,) = compile_plan(load_config(path)).units
    assert unit.is_chained and len(unit.rungs) == 12
    assert unit.chain.levels == unit.rungs
    assert unit.channel(unit.rungs[0]).certified_epsilon <= unit.rungs[0].decimal
