"""Groups, noise bins and hierarchies in the release file: what compiles, and what a wrong one gets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trasgo_lib.config import load_config
from trasgo_lib.data import ProductDomain
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import ReleasePlan, compile_plan, explain, read_plan, render, source_reading, worst_case
from trasgo_lib.utility import loss_columns

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "8", account: a}
publish: {store: out}
loop: {loss_from: original, composition: chain, start: "1", ratio: "2"}
columns:
"""
AGE = '{name: age, type: number, domain: {lower: "0", upper: "99", step: "1"}, noise_bins: 8, missing: code}'
SEX = "{name: sex, type: category, domain: {codes: [m, f]}}"
BORN = '{name: born, type: date, format: "%d/%m/%Y", domain: {lower: "2017-01-01", upper: "2017-12-31"}, noise_bins: 4}'
WAGE = '{name: wage, type: number, domain: {lower: "0", upper: "100", step: "1"}, mechanism: laplace}'
PUB = "{name: pub, role: public}"
KARY = "mechanism: kary_randomized_response"
GROUP = f"{{name: who, columns: [sex, age, born], {KARY}, target: {{tvd: '0.1'}}}}"


def text_of(columns: list[str], groups: list[str]) -> str:
    listed = "".join(f"  - {column}\n" for column in columns)
    return HEAD + listed + ("groups:\n" + "".join(f"  - {group}\n" for group in groups) if groups else "")


def plan_of(tmp_path: Path, columns: list[str], groups: list[str] | None = None) -> ReleasePlan:
    path = tmp_path / "release.yaml"
    path.write_text(text_of(columns, groups or []), encoding="utf-8")
    return compile_plan(load_config(path))


def faults_of(tmp_path: Path, columns: list[str], groups: list[str] | None = None) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as caught:
        plan_of(tmp_path, columns, groups)
    for fault in caught.value.faults:
        assert fault.line and fault.column and fault.required and fault.came and fault.fix
    return caught.value.faults


def only_fault(tmp_path: Path, columns: list[str], groups: list[str] | None = None) -> Fault:
    faults = faults_of(tmp_path, columns, groups)
    assert len(faults) == 1, faults
    return faults[0]


def test_a_group_is_one_unit_of_several_columns(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [WAGE, AGE, PUB, SEX, BORN], [GROUP])
    assert [unit.name for unit in plan.units] == ["wage", "who"]
    unit = plan.unit("who")
    assert (unit.type, unit.columns, unit.domain.size) == ("group", ("sex", "age", "born"), 2 * 9 * 4)
    assert isinstance(unit.domain, ProductDomain)
    assert [column.unit for column in plan.columns] == ["wage", "who", None, "who", "who"]
    assert [rung.text for rung in unit.rungs] == ["1", "2", "4"] and unit.is_chained
    assert worst_case(plan).epsilon.text == "5"
    for level in unit.rungs:
        assert unit.channel(level).certified_epsilon <= level.decimal
    assert unit.part("age").missing == "code"
    with pytest.raises(KeyError):
        unit.part("wage")


def test_a_group_is_read_column_by_column(tmp_path: Path) -> None:
    reading = source_reading(plan_of(tmp_path, [WAGE, AGE, PUB, SEX, BORN], [GROUP]))
    (group,) = reading.groups
    assert (group.name, group.columns) == ("who", ("sex", "age", "born"))
    by_name = {column.name: column for column in reading.columns}
    assert (by_name["age"].kind, by_name["age"].missing, by_name["born"].date_format) == ("number", "code", "%d/%m/%Y")


def test_losses_of_a_group_are_by_column_in_release_order(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [AGE, SEX, WAGE, BORN], [GROUP])
    columns = loss_columns(plan)
    assert [(column.name, column.unit, column.kind) for column in columns] == [
        ("age", "who", "number"),
        ("sex", "who", "label"),
        ("wage", "wage", "number"),
        ("born", "who", "number"),
    ]
    age, codes = columns[0], np.arange(plan.unit("who").domain.size, dtype=np.int32)
    assert set(age.own_codes(codes).tolist()) == {6, 18, 31, 43, 56, 68, 81, 93, 100}
    assert columns[2].own_codes(codes) is codes


def test_the_explanation_of_a_group_names_its_columns(tmp_path: Path) -> None:
    explanation = explain(plan_of(tmp_path, [WAGE, AGE, SEX, BORN], [GROUP]))
    text = " ".join(render(explanation).split())
    assert "who: group of sex, age, born, kary_randomized_response" in text
    assert "72 combinations of sex: 2 codes: m, f; age: 0 to 99, by 1: 100 values, in 8 bins" in text
    assert "the columns are kept or replaced together" in text
    assert "age: missing is one more code" in text and "sex: a missing value stops the run" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("noise_bins: 8", "noise_bins: 9"),
        ("missing: code", 'missing: {replace: "5"}'),
        ("[sex, age, born]", "[age, sex, born]"),
        ("[m, f]", "[f, m]"),
        ("name: who", "name: whom"),
        ("noise_bins: 8,", "noise_bins: 8, bins: 4,"),
    ],
)
def test_the_digest_of_a_plan_covers_its_groups(tmp_path: Path, old: str, new: str) -> None:
    before = plan_of(tmp_path, [AGE, SEX, BORN], [GROUP]).digest
    changed = [entry.replace(old, new) for entry in (AGE, SEX, BORN, GROUP)]
    assert plan_of(tmp_path, changed[:3], changed[3:]).digest != before


def test_a_group_past_its_size_names_the_nearest_that_works(tmp_path: Path) -> None:
    fine = [entry.replace("noise_bins: 8, ", "").replace(", noise_bins: 4", "") for entry in (AGE, BORN)]
    fault = only_fault(tmp_path, [*fine, SEX], [GROUP])
    assert (fault.where, fault.reason) == ("groups[who].columns", Reason.BAD_DOMAIN)
    assert "at most 65,536" in fault.required and fault.came == "73,730 (sex 2 x age 101 x born 365)"
    assert fault.fix == "Write noise_bins of at most 324 for age, born."
    codes = ", ".join(f"c{place}" for place in range(300))
    wide = [f"{{name: {name}, type: category, domain: {{codes: [{codes}]}}}}" for name in ("a", "b")]
    fault = only_fault(tmp_path, [*wide, SEX], [f"{{name: g, columns: [sex, a, b], {KARY}}}"])
    assert "Leave out a (the rest has 600 combinations)" in fault.fix


@pytest.mark.parametrize(
    ("columns", "groups", "where", "reason"),
    [
        ([SEX, AGE, PUB], [f"{{name: g, columns: [sex, pub], {KARY}}}"], "groups[g].columns[#2]", Reason.BAD_PARAMETER),
        ([SEX, AGE], [f"{{name: g, columns: [sex, ages], {KARY}}}"], "groups[g].columns[#2]", Reason.UNKNOWN_NAME),
        ([SEX, AGE], [f"{{name: g, columns: [sex, sex], {KARY}}}"], "groups[g].columns[#2]", Reason.DUPLICATE_COLUMN),
        ([SEX, AGE], [f"{{name: age, columns: [sex, age], {KARY}}}"], "groups[age].name", Reason.DUPLICATE_COLUMN),
        (
            [SEX, AGE],
            ["{name: g, columns: [sex, age], mechanism: laplace}"],
            "groups[g].mechanism",
            Reason.BAD_PARAMETER,
        ),
        ([SEX, AGE], ["{name: g, columns: [sex, age], mechanism: kary}"], "groups[g].mechanism", Reason.UNKNOWN_NAME),
        (
            [SEX.replace("}}", f"}}, {KARY}}}"), AGE],
            [f"{{name: g, columns: [sex, age], {KARY}}}"],
            "columns[sex].mechanism",
            Reason.BAD_PARAMETER,
        ),
        (
            [SEX.replace("}}", "}, target: {tvd: '0.1'}}"), AGE],
            [f"{{name: g, columns: [sex, age], {KARY}}}"],
            "columns[sex].target",
            Reason.BAD_PARAMETER,
        ),
        (
            [SEX, AGE.replace("missing", "delta: '1e-9', missing")],
            [f"{{name: g, columns: [sex, age], {KARY}}}"],
            "columns[age].delta",
            Reason.BAD_PARAMETER,
        ),
        (
            [SEX, AGE, BORN],
            [f"{{name: g, columns: [sex, age], {KARY}}}", f"{{name: h, columns: [age, born], {KARY}}}"],
            "groups[h].columns[#1]",
            Reason.DUPLICATE_COLUMN,
        ),
        (
            [SEX, AGE],
            [f"{{name: g, columns: [sex, age], {KARY}, epsilon: '99'}}"],
            "privacy.epsilon_total",
            Reason.OVER_TOTAL,
        ),
    ],
)
def test_groups_that_cannot_be_are_refused(
    tmp_path: Path, columns: list[str], groups: list[str], where: str, reason: Reason
) -> None:
    faults = faults_of(tmp_path, columns, groups)
    assert (where, reason) in [(fault.where, fault.reason) for fault in faults]


def test_a_group_without_all_its_columns_blames_only_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(text_of([SEX, AGE.replace("number", "numbr")], [GROUP]), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_plan(path)
    assert [fault.where for fault in caught.value.faults] == ["columns[age].type"]


BINNED = WAGE.replace("laplace", "binned_randomized_response, noise_bins: 10, target: {tvd: '0.2'}")
STAIRS = WAGE.replace("laplace", "staircase, width: 7, epsilon: '2'")


def test_mechanisms_take_their_own_keys(tmp_path: Path) -> None:
    (unit,) = plan_of(tmp_path, [BINNED]).units
    assert (unit.parameters, len(unit.channel(unit.rungs[0]).support)) == ((("bins", 10),), 10)
    (stairs,) = plan_of(tmp_path, [STAIRS]).units
    assert stairs.channel(stairs.rungs[0]).parameters["width"] == 7
    text = " ".join(render(explain(plan_of(tmp_path, [BINNED]))).split())
    assert "101 values, in 10 bins of which each is released as its middle value" in text
    assert "any of the 10 bins to any other" in text


@pytest.mark.parametrize(
    ("column", "where"),
    [
        (BINNED.replace("noise_bins: 10, ", ""), "noise_bins"),
        (BINNED.replace("noise_bins: 10", "noise_bins: 102"), "noise_bins"),
        (BINNED.replace("noise_bins: 10", "noise_bins: 10, bins: 4"), "bins"),
        (BINNED.replace("noise_bins: 10", "noise_bins: 10, width: 3"), "width"),
        (WAGE.replace("laplace", "laplace, noise_bins: 3"), "noise_bins"),
        (STAIRS.replace("width: 7", "width: 101"), "width"),
        (STAIRS.replace("width: 7", "missing: code"), "missing"),
        (BORN.replace("%d/%m/%Y", "%d/%m/%Y %d").replace("noise_bins: 4", "mechanism: laplace"), "format"),
        (BORN.replace("%d/%m/%Y", "%d/%m/%Y %Q").replace("noise_bins: 4", "mechanism: laplace"), "format"),
    ],
)
def test_keys_that_do_not_fit_are_refused_at_their_place(tmp_path: Path, column: str, where: str) -> None:
    assert only_fault(tmp_path, [column]).where.endswith(f"].{where}")


TREE = "{name: state, type: category, domain: {hierarchy: {area: {n: [me, vt], s: [tx]}, all: {us: [me, vt, tx]}}, "
STATE = TREE + f"level: area}}, {KARY}}}"


def test_a_hierarchy_coarsens_what_is_read(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [STATE])
    (unit,) = plan.units
    assert (unit.domain.describe()["codes"], unit.members) == (["n", "s"], (("n", ("me", "vt")), ("s", ("tx",))))
    assert source_reading(plan).columns[0].members == unit.members
    assert "3 codes of the file are coarsened to them" in explain(plan).units[0].values
    assert plan_of(tmp_path, [STATE.replace("vt], s: [tx]", "tx], s: [vt]")]).digest != plan.digest


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("level: area", "level: region", "domain.level"),
        ("level: area", "level: all", "domain.hierarchy.all"),
        ("s: [tx]", "s: [me]", "domain.hierarchy.area.s[#1]"),
        ("s: [tx]", "s: []", "domain.hierarchy.area.s"),
        ("[me, vt, tx]", "[me, vt]", "domain.hierarchy.all"),
        ("[me, vt, tx]", "[me, vt, tx, ny]", "domain.hierarchy.area"),
        ("[me,", '["",', "domain.hierarchy.area.n[#1]"),
    ],
)
def test_a_wrong_hierarchy_is_refused_at_its_place(tmp_path: Path, old: str, new: str, where: str) -> None:
    assert f"columns[state].{where}" in [fault.where for fault in faults_of(tmp_path, [STATE.replace(old, new)])]
