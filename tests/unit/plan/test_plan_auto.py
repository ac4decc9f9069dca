"""``auto`` in a plan, and targets that are refused because no epsilon or no estimate can meet them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.estimation.decoding import MOST_CODES
from trasgo_lib.plan import ReleasePlan, compile_plan, explain, read_plan, render, unseen
from trasgo_lib.utility import released_ranks

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "TOTAL", account: a}
publish: {store: out}
loop: {LOOP}
prior:
  public: true
  source: Tables
  rows: 28000
  columns:
    - {name: age, mean: "40", deviation: "8"}
    - {name: region, shares: {n: "0.7", s: "0.2", w: "0.1"}}
columns:
"""
AGE = '{name: age, type: number, domain: {lower: "18", upper: "78", step: "1"}, mechanism: auto, epsilon: "2"}'
WAGE = '{name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace, epsilon: "1"}'
REGION = '{name: region, type: category, domain: {codes: [n, s, w]}, mechanism: kary_randomized_response, epsilon: "1"}'
SEX = '{name: sex, type: category, domain: {codes: [m, f]}, mechanism: auto, epsilon: "1"}'
PLACE = (
    '{name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace, geo: {epsilon: "1",'
    ' radius_m: "1000"}, domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "5000"}}'
)
RELEASED = "loss_from: released"
KNOWN = {"age": AGE.replace('auto, epsilon: "2"', 'laplace, epsilon: "1"'), "region": REGION}


def file_of(tmp_path: Path, columns: Iterable[str], loop: str = RELEASED, total: str = "12", head: str = HEAD) -> Path:
    path = tmp_path / "release.yaml"
    listed = list(columns)
    # the columns that the prior knows stand in every release
    listed += [column for name, column in KNOWN.items() if not any(f"{{name: {name}," in one for one in listed)]
    text = head.replace("LOOP", loop).replace("TOTAL", total) + "".join(f"  - {column}\n" for column in listed)
    path.write_text(text, encoding="utf-8")
    return path


def plan_of(tmp_path: Path, columns: Iterable[str], loop: str = RELEASED, total: str = "12") -> ReleasePlan:
    return compile_plan(load_config(file_of(tmp_path, columns, loop, total)))


def only_fault(
    tmp_path: Path, columns: Iterable[str], loop: str = RELEASED, total: str = "12", head: str = HEAD
) -> Fault:
    with pytest.raises(ConfigError) as caught:
        read_plan(file_of(tmp_path, columns, loop, total, head))
    (fault,) = caught.value.faults
    assert fault.line and fault.column and fault.required and fault.came and fault.fix
    return fault


def with_target(column: str, target: str) -> str:
    level = 'epsilon: "2"' if 'epsilon: "2"' in column else 'epsilon: "1"'
    return column.replace(level, f"target: {target}")


def test_auto_becomes_an_ordinary_mechanism(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [AGE, SEX])
    age, sex = plan.unit("age"), plan.unit("sex")
    assert (age.mechanism, dict(age.parameters), age.bins) == ("binned_randomized_response", {"bins": 3}, 3)
    assert age.selection is not None and age.selection.source == "Tables"
    assert sex.mechanism == "randomized_response"
    assert sex.selection is not None and not sex.selection.digest
    named = plan_of(
        tmp_path,
        [
            AGE.replace("auto", "binned_randomized_response, noise_bins: 3"),
            SEX.replace("auto", "randomized_response"),
        ],
    )
    assert [unit.chain_digest for unit in named.units] == [unit.chain_digest for unit in plan.units]
    assert named.digest == plan.digest
    assert "decided from public knowledge (Tables; prior" in " ".join(render(explain(plan)).split())


def test_a_prior_counts_by_what_it_decides(tmp_path: Path) -> None:
    first = plan_of(tmp_path, [AGE])
    text = file_of(tmp_path, [AGE]).read_text(encoding="utf-8")
    path = tmp_path / "release.yaml"
    path.write_text(text.replace('deviation: "8"', 'deviation: "8.1"'), encoding="utf-8")
    same = compile_plan(load_config(path))
    path.write_text(text.replace('mean: "40", deviation: "8"', 'mean: "18", deviation: "2"'), encoding="utf-8")
    other = compile_plan(load_config(path))
    assert first.prior is not None and same.prior is not None
    assert first.prior.digest != same.prior.digest
    assert first.digest == same.digest != other.digest


def test_auto_does_not_hide_the_correlations_of_others(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, [AGE, with_target(WAGE, '{correlation_loss: "60"}')])
    assert plan.unit("age").mechanism == "staircase"
    ranks = plan_of(
        tmp_path, [AGE, with_target(WAGE, '{correlation_loss: "60"}')], f"{RELEASED}, correlation: spearman"
    )
    assert ranks.unit("age").mechanism == "laplace"


@pytest.mark.parametrize("target", ['{tvd: "0.2"}', '{js: "0.02"}', '{kl: "0.1"}', '{correlation_loss: "60"}'])
@pytest.mark.parametrize("loop", [RELEASED, "loss_from: original, composition: sequential"])
def test_auto_with_a_target(tmp_path: Path, target: str, loop: str) -> None:
    plan = plan_of(tmp_path, [with_target(AGE, target), WAGE], loop)
    age = plan.unit("age")
    assert age.is_chained == (loop == RELEASED)
    assert age.selection is not None
    best = age.selection.prospects[0]
    assert best.loss is not None and age.target is not None
    assert best.loss <= float(age.target.ceiling)
    assert best.level in age.rungs


def test_auto_with_missing_values(tmp_path: Path) -> None:
    column = AGE.replace("mechanism: auto", "mechanism: auto, missing: code")
    plan = plan_of(tmp_path, [column])
    assert dict(plan.unit("age").parameters)["missing"] is True


@pytest.mark.parametrize(
    ("column", "key"),
    [
        (WAGE.replace("laplace", "auto"), "columns[wage].mechanism"),
        (PLACE.replace("planar_laplace", "auto"), "columns[home].mechanism"),
        (AGE.replace("auto", "auto, noise_bins: 4"), "columns[age].noise_bins"),
        (AGE.replace("auto", "auto, width: 4"), "columns[age].width"),
        (AGE.replace("auto", 'auto, delta: "1e-9"'), "columns[age].delta"),
    ],
)
def test_auto_is_refused_without_knowledge_or_beside_a_choice(tmp_path: Path, column: str, key: str) -> None:
    head = HEAD.replace("account: a}", 'account: a, geo_total: "1"}')
    fault = only_fault(tmp_path, [column, REGION], head=head)
    assert (fault.where, fault.line) == (key, head.count("\n") + 1)


def test_auto_under_a_faulty_prior_is_not_blamed(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [AGE, REGION], head=HEAD.replace('mean: "40"', 'mean: "400"'))
    assert fault.where == "prior.columns[age].mean"


def test_auto_says_when_no_candidate_can_be_seen(tmp_path: Path) -> None:
    head = HEAD.replace("rows: 28000", "rows: 60")
    fault = only_fault(tmp_path, [with_target(AGE, '{tvd: "0.9"}'), REGION], total="2", head=head)
    assert (fault.where, fault.reason) == ("columns[age].mechanism", Reason.BAD_PARAMETER)
    assert "hides the loss" in fault.came


def test_two_rungs_of_the_same_integers_are_refused(tmp_path: Path) -> None:
    column = SEX.replace("auto", "randomized_response").replace(
        'epsilon: "1"', 'target: {tvd: "0.1"}, start: "40.490618"'
    )
    fault = only_fault(tmp_path, [column, REGION], f'{RELEASED}, ratio: "1.0005"', total="42.6")
    assert fault.where == "columns[sex].mechanism"
    assert "40.490618 and 40.510863" in fault.came
    assert "loop.ratio" in fault.fix


def test_a_target_beyond_the_total_names_what_would_be_enough(tmp_path: Path) -> None:
    column = with_target(REGION, '{tvd: "0.02"}')
    fault = only_fault(tmp_path, [column, SEX], total="3")
    assert (fault.where, fault.reason) == ("columns[region].target.tvd", Reason.BAD_PARAMETER)
    assert "predicted from the prior" in fault.came
    enough = fault.required.split("epsilon ")[1].split()[0]
    plan = plan_of(tmp_path, [column.replace("target", f'start: "{enough}", target'), SEX], total="12")
    assert plan.unit("region").rungs[0].text == enough
    warned = plan_of(tmp_path, [column, SEX], f"{RELEASED}, on_unmet: publish", total="3")
    assert any("region: a tvd of about" in warning for warning in explain(warned).warnings)
    lower = str(float(enough) / 1.03)[:6]
    below = column.replace("target", f'start: "{lower}", target')
    assert only_fault(tmp_path, [below, SEX], total=f"{float(lower) + 2:.6f}").reason is Reason.BAD_PARAMETER


def test_a_target_that_no_epsilon_meets(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [with_target(REGION, '{tvd: "0.00000001"}'), SEX])
    assert "no epsilon up to 16" in fault.required
    unknown = HEAD.replace('    - {name: region, shares: {n: "0.7", s: "0.2", w: "0.1"}}\n', "")
    read_plan(file_of(tmp_path, [with_target(REGION, '{tvd: "0.00000001"}'), SEX], head=unknown))


def test_a_group_is_judged_by_its_columns(tmp_path: Path) -> None:
    columns = [column.replace(', mechanism: auto, epsilon: "2"', ", noise_bins: 4") for column in (AGE,)]
    columns += [REGION.replace(', mechanism: kary_randomized_response, epsilon: "1"', "")]
    group = "groups:\n  - {name: g, columns: [age, region], mechanism: kary_randomized_response, target: {tvd: "
    head = HEAD.replace("prior:", f'{group}"0.01"}}}}\nprior:')
    fault = only_fault(tmp_path, columns, total="2", head=head)
    assert fault.where == "groups[g].target.tvd"
    assert read_plan(file_of(tmp_path, columns, total="12", head=head))


UNSEEN = [
    (
        [
            AGE.replace("auto", "binned_randomized_response, noise_bins: 4"),
            with_target(WAGE, '{correlation_loss: "60"}'),
        ],
        RELEASED,
        "columns[age].noise_bins",
        "noise_bins: 5",
    ),
    (
        [AGE.replace("auto", "gaussian"), with_target(WAGE, '{correlation_loss: "60"}')],
        f"{RELEASED}, correlation: kendall",
        "columns[age].mechanism",
        "laplace",
    ),
    (
        [
            WAGE.replace('"10"', '"1"').replace("wage", "hours"),
            with_target(WAGE, '{correlation_loss: "60"}'),
        ],
        f"{RELEASED}, correlation: spearman",
        "columns[wage].target.correlation_loss",
        "coarser",
    ),
    (
        [with_target(WAGE.replace('"10"', '"0.25"'), '{tvd: "0.1"}'), REGION],
        RELEASED,
        "columns[wage].target.tvd",
        "coarser",
    ),
]


@pytest.mark.parametrize(("columns", "loop", "key", "fix"), UNSEEN)
def test_targets_without_any_estimate_are_refused(
    tmp_path: Path, columns: list[str], loop: str, key: str, fix: str
) -> None:
    fault = only_fault(tmp_path, columns, loop)
    assert fault.where == key
    assert fix in fault.fix
    original = loop.replace("loss_from: released", "loss_from: original, composition: sequential")
    assert read_plan(file_of(tmp_path, columns, original))


def test_a_point_has_no_target_where_losses_are_estimated(tmp_path: Path) -> None:
    head = HEAD.replace("account: a}", 'account: a, geo_total: "1"}')
    column = PLACE.replace("mechanism", 'target: {tvd: "0.5"}, mechanism')
    fault = only_fault(tmp_path, [column, REGION], head=head)
    assert fault.where == "columns[home].target.tvd"
    assert read_plan(file_of(tmp_path, [column, REGION], "loss_from: original, composition: sequential", head=head))


def test_a_group_hides_correlations(tmp_path: Path) -> None:
    head = HEAD.replace(
        "prior:", "groups:\n  - {name: g, columns: [sex, region], mechanism: kary_randomized_response}\nprior:"
    )
    plain = [column.replace(', mechanism: auto, epsilon: "1"', "") for column in (SEX,)]
    plain += [REGION.replace(', mechanism: kary_randomized_response, epsilon: "1"', "")]
    fault = only_fault(tmp_path, [*plain, with_target(WAGE, '{correlation_loss: "60"}')], head=head)
    assert fault.where == "groups[g].columns"


def test_limits_are_those_of_the_rooms_above() -> None:
    assert (unseen.MOST_ESTIMATED_CODES, unseen.MOST_CELLS) == (MOST_CODES, released_ranks.MOST_CELLS)


def test_a_target_is_not_held_against_a_stand_in(tmp_path: Path) -> None:
    column = with_target(REGION, '{tvd: "0.00000001"}')
    fault = only_fault(tmp_path, [column, SEX], head=HEAD.replace('epsilon_total: "TOTAL"', "epsilon_total: 8.5"))
    assert fault.where == "privacy.epsilon_total"
