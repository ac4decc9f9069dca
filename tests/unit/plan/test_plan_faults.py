"""What a release file of the right shape but the wrong meaning gets, before any data is opened."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import load_config
from trasgo_lib.errors import ConfigError, Fault, Reason
from trasgo_lib.plan import ReleasePlan, compile_plan, feasibility, read_plan

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv, csv: {missing: ["", "?"]}}
privacy: {epsilon_total: "8", account: a}
publish: {store: out}
loop: {loss_from: original, composition: sequential}
columns:
"""
FIRST_LINE = HEAD.count("\n") + 1
WAGE = '{name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace}'
SEX = "{name: sex, type: category, domain: {codes: [m, f]}, mechanism: randomized_response}"
PLACE = (
    '{name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace, geo: {epsilon: "1",'
    ' radius_m: "1000"}, domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "1000"}}'
)


def file_of(tmp_path: Path, columns: Iterable[str], head: str = HEAD) -> Path:
    path = tmp_path / "release.yaml"
    path.write_text(head + "".join(f"  - {column}\n" for column in columns), encoding="utf-8")
    return path


def plan_of(tmp_path: Path, columns: Iterable[str], head: str = HEAD) -> ReleasePlan:
    return compile_plan(load_config(file_of(tmp_path, columns, head)))


def faults_of(tmp_path: Path, columns: Iterable[str], head: str = HEAD) -> tuple[Fault, ...]:
    with pytest.raises(ConfigError) as caught:
        plan_of(tmp_path, columns, head)
    assert caught.value.exit_code == 2
    for fault in caught.value.faults:
        assert fault.line and fault.column and fault.where and fault.required and fault.came and fault.fix
    return caught.value.faults


def only_fault(tmp_path: Path, columns: Iterable[str], head: str = HEAD) -> Fault:
    faults = faults_of(tmp_path, columns, head)
    assert len(faults) == 1, faults
    return faults[0]


@pytest.mark.parametrize(
    ("old", "new", "key", "reason"),
    [
        ('lower: "0"', 'lower: "2000"', "domain.upper", Reason.BAD_DOMAIN),
        ('lower: "0"', 'lower: "3000"', "domain.upper", Reason.BAD_DOMAIN),
        ('step: "10"', 'step: "7"', "domain.step", Reason.BAD_DOMAIN),
        ('step: "10"', 'step: "0.000001"', "domain.step", Reason.BAD_DOMAIN),
        ("mechanism: laplace", "mechanism: laplce", "mechanism", Reason.UNKNOWN_NAME),
        ("mechanism: laplace", "mechanism: auto", "mechanism", Reason.BAD_PARAMETER),
        ("mechanism: laplace", "mechanism: planar_laplace", "mechanism", Reason.BAD_PARAMETER),
        ("mechanism: laplace", 'mechanism: laplace, delta: "1e-9"', "delta", Reason.BAD_PARAMETER),
        ("mechanism: laplace", "mechanism: laplace, utility: ordinal", "utility", Reason.BAD_PARAMETER),
        ("mechanism: laplace", "mechanism: laplace, bins: 202", "bins", Reason.BAD_PARAMETER),
        ("mechanism: laplace", 'mechanism: laplace, missing: {replace: "5"}', "missing.replace", Reason.BAD_PARAMETER),
        (
            "mechanism: laplace",
            'mechanism: laplace, missing: {replace: "-10"}',
            "missing.replace",
            Reason.BAD_PARAMETER,
        ),
        ("mechanism: laplace", 'mechanism: laplace, missing: {replace: "x"}', "missing.replace", Reason.BAD_PARAMETER),
        (
            "mechanism: laplace",
            'mechanism: laplace, missing: {replace: "NaN"}',
            "missing.replace",
            Reason.BAD_PARAMETER,
        ),
        (
            "mechanism: laplace",
            'mechanism: laplace, missing: {replace: "1e-999999999"}',
            "missing.replace",
            Reason.BAD_PARAMETER,
        ),
        (
            "mechanism: laplace",
            'mechanism: laplace, target: {correlation_loss: "40"}',
            "target.correlation_loss",
            Reason.BAD_PARAMETER,
        ),
    ],
)
def test_b31_numbers_are_checked_before_any_noise(tmp_path: Path, old: str, new: str, key: str, reason: Reason) -> None:
    fault = only_fault(tmp_path, [WAGE.replace(old, new)])
    assert (fault.where, fault.reason, fault.line) == (f"columns[wage].{key}", reason, FIRST_LINE)


def test_a_step_that_does_not_divide_names_bounds_that_work(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [WAGE.replace('step: "10"', 'step: "7"')])
    assert "1995" in fault.fix and "2002" in fault.fix


def test_unknown_mechanisms_list_the_known_ones(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [WAGE.replace("mechanism: laplace", "mechanism: laplce")])
    assert "kary_randomized_response" in fault.required
    assert "Did you mean `laplace`?" in fault.fix


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_labels_take_no_numeric_mechanism(tmp_path: Path, mechanism: str) -> None:
    fault = only_fault(tmp_path, [SEX.replace("randomized_response", mechanism)])
    assert fault.where == "columns[sex].mechanism"
    assert "kary_randomized_response" in fault.required


def test_b41_a_domain_of_one_value_is_refused(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [SEX.replace("[m, f]", "[a]")])
    assert (fault.where, fault.reason) == ("columns[sex].domain.codes", Reason.BAD_DOMAIN)
    assert fault.came == "1"


def test_b28_binary_response_over_three_codes_is_refused(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [SEX.replace("[m, f]", "[M, F, m]")])
    assert fault.where == "columns[sex].domain"
    assert "kary_randomized_response" in fault.fix


@pytest.mark.parametrize("code", ["' m'", "'m '"])
def test_b10_b28_codes_with_blanks_can_never_occur_under_trim(tmp_path: Path, code: str) -> None:
    column = SEX.replace("[m, f]", f"[{code}, f]")
    fault = only_fault(tmp_path, [column])
    assert fault.where == "columns[sex].domain.codes[#1]"
    plan_of(tmp_path, [column], HEAD.replace('csv: {missing: ["", "?"]}', "csv: {trim: false}"))


def test_b13_a_code_that_also_means_missing_is_refused(tmp_path: Path) -> None:
    by_file = only_fault(tmp_path, [SEX.replace("[m, f]", "[m, '?']")])
    by_column = only_fault(tmp_path, [SEX.replace("mechanism", "missing_codes: [f], mechanism")])
    assert by_file.where == by_column.where == "columns[sex].domain.codes[#2]"


def test_b87_b04_integer_output_keeps_no_leading_zeros(tmp_path: Path) -> None:
    column = SEX.replace("[m, f]", '["01", "02"]').replace("mechanism", "output: integer, mechanism")
    fault = only_fault(tmp_path, [column])
    assert (fault.where, fault.reason) == ("columns[sex].domain.codes", Reason.BAD_DOMAIN)
    assert (
        plan_of(tmp_path, [column.replace('"01", "02"', '"1", "2"')]).units[0].domain.describe()["output"] == "integer"
    )


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "kary_randomized_response"])
def test_a_huge_epsilon_names_the_largest_that_works(tmp_path: Path, mechanism: str) -> None:
    column = WAGE.replace("laplace}", f'{mechanism}, epsilon: "900"}}')
    fault = only_fault(tmp_path, [column], HEAD.replace('"8"', '"1000"'))
    assert fault.where == "columns[wage].epsilon"
    largest = fault.required.split()[2]
    plan_of(tmp_path, [column.replace('"900"', f'"{largest}"')], HEAD.replace('"8"', '"1000"'))


def test_b35_gaussian_works_above_epsilon_one_and_on_every_rung(tmp_path: Path) -> None:
    column = WAGE.replace("laplace}", 'gaussian, target: {tvd: "0.1"}, start: "0.9"}')
    unit = plan_of(tmp_path, [column]).units[0]
    assert unit.rungs[0].text == "0.9" and unit.rungs[1].text == "1.125"
    for level in unit.rungs:
        certified = unit.channel(level).certified_epsilon
        assert level.decimal * 999 / 1000 <= certified <= level.decimal


def test_b36_missing_as_a_code_needs_delta_zero(tmp_path: Path) -> None:
    column = WAGE.replace("laplace}", 'gaussian, delta: "1e-9", missing: code}')
    fault = only_fault(tmp_path, [column], HEAD.replace("account", 'delta_total: "1e-6", account'))
    assert fault.where == "columns[wage].missing"


def test_b36_deltas_of_all_draws_must_fit_the_total(tmp_path: Path) -> None:
    column = WAGE.replace("laplace}", 'gaussian, delta: "1e-9", target: {tvd: "0.1"}}')
    fault = only_fault(tmp_path, [column])
    assert (fault.where, fault.reason) == ("privacy.delta_total", Reason.OVER_TOTAL)
    needed = fault.required.split()[2].rstrip(",")
    plan = plan_of(tmp_path, [column], HEAD.replace("account", f'delta_total: "{needed}", account'))
    assert plan.units[0].delta.text == "0.000000001"
    assert plan.units[0].delta.times(plan.units[0].draws_at_most).text == needed


def test_b68_first_draws_over_the_total_are_refused_with_the_sum(tmp_path: Path) -> None:
    columns = [
        WAGE.replace("laplace}", 'laplace, epsilon: "5"}'),
        SEX.replace("response}", 'response, epsilon: "3.000001"}'),
    ]
    fault = only_fault(tmp_path, columns)
    assert (fault.where, fault.reason) == ("privacy.epsilon_total", Reason.OVER_TOTAL)
    assert "8.000001" in fault.required
    assert fault.came == "8 for wage 5 + sex 3.000001"


def _many(levels: Iterable[str]) -> list[str]:
    return [
        SEX.replace("name: sex", f"name: c{place}").replace("response}", f'response, epsilon: "{level}"}}')
        for place, level in enumerate(levels)
    ]


@pytest.mark.parametrize(
    ("levels", "total", "fits"),
    [
        (["0.1", "0.2"], "0.3", True),
        (["0.1"] * 10, "1.0", True),
        (["1.000001"], "1.0", False),
        (["0.1"] * 10 + ["0.000001"], "1.0", False),
    ],
)
def test_b70_totals_are_exact_at_the_limit(tmp_path: Path, levels: list[str], total: str, fits: bool) -> None:
    head = HEAD.replace('"8"', f'"{total}"')
    if fits:
        assert len(plan_of(tmp_path, _many(levels), head).units) == len(levels)
    else:
        assert only_fault(tmp_path, _many(levels), head).reason is Reason.OVER_TOTAL


def test_points_need_a_geo_total_that_is_large_enough(tmp_path: Path) -> None:
    for head in (HEAD, HEAD.replace("account", 'geo_total: "0.999999", account')):
        fault = only_fault(tmp_path, [PLACE], head)
        assert (fault.where, fault.reason) == ("privacy.geo_total", Reason.OVER_TOTAL)
        assert fault.required.startswith("at least 1 per km")
    plan = plan_of(tmp_path, [PLACE], HEAD.replace("account", 'geo_total: "1", account'))
    assert plan.units[0].geo.text == "1"


def test_b52_the_unit_of_geo_epsilon_is_explicit(tmp_path: Path) -> None:
    place = PLACE.replace('step_m: "1000"', 'step_m: "500"')
    near = place.replace('geo: {epsilon: "1",', 'geo: {epsilon: "0.01",').replace('radius_m: "1000"', 'radius_m: "1"')
    far = place.replace('geo: {epsilon: "1",', 'geo: {epsilon: "10",')
    head = HEAD.replace("account", 'geo_total: "10", account')
    assert plan_of(tmp_path, [near], head).units[0].geo == plan_of(tmp_path, [far], head).units[0].geo
    assert plan_of(tmp_path, [far], head).units[0].geo.text == "10"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("planar_laplace", "laplace", "columns[home].mechanism"),
        ("EPSG:3435", "EPSG:4326", "columns[home].domain.crs"),
        ('step_m: "1000"', 'step_m: "9000"', "columns[home].domain.step_m"),
        ("EPSG:3435", "EPSG:1", "columns[home].domain.crs"),
        ('"42.1"', '"41.5"', "columns[home].domain.box"),
        ("planar_laplace,", 'planar_laplace, target: {js: "0.1"},', "columns[home].target.js"),
        ("planar_laplace,", "planar_laplace, missing: {replace: 'Chicago'},", "columns[home].missing.replace"),
        ("planar_laplace,", "planar_laplace, missing: {replace: '10, 10'},", "columns[home].missing.replace"),
    ],
)
def test_points_are_checked_before_any_noise(tmp_path: Path, old: str, new: str, where: str) -> None:
    fault = only_fault(tmp_path, [PLACE.replace(old, new)], HEAD.replace("account", 'geo_total: "1", account'))
    assert fault.where == where


@pytest.mark.parametrize("mechanism", ["exponential, utility: ordinal", "laplace"])
def test_under_chain_a_target_needs_a_mechanism_whose_levels_can_be_coupled(tmp_path: Path, mechanism: str) -> None:
    column = WAGE.replace("laplace}", mechanism + ', target: {tvd: "0.1"}}')
    head = HEAD.replace("sequential", "chain")
    if mechanism == "laplace":
        unit = plan_of(tmp_path, [column], head).unit("wage")
        assert unit.is_chained and unit.chain.levels == unit.rungs
        return
    fault = only_fault(tmp_path, [column], head)
    assert (fault.where, fault.reason) == ("columns[wage].mechanism", Reason.BAD_PARAMETER)
    assert "laplace" in fault.required and "sequential" in fault.fix


def test_under_chain_a_fixed_level_needs_no_coupling(tmp_path: Path) -> None:
    column = WAGE.replace("laplace}", 'exponential, utility: ordinal, epsilon: "1"}')
    assert not plan_of(tmp_path, [column], HEAD.replace("sequential", "chain")).unit("wage").is_chained


def test_b44_a_column_without_a_mechanism_is_refused(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [WAGE.replace(", mechanism: laplace", ""), SEX])
    assert (fault.where, fault.reason, fault.came) == ("columns[wage].mechanism", Reason.BAD_SHAPE, "nothing")


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        ([WAGE, WAGE], "columns[wage].name"),
        ([WAGE, SEX.replace("type", "source: wage, type")], "columns[sex].source"),
        ([WAGE, "{name: other, role: drop, source: wage}"], "columns[other].source"),
        ([PLACE, "{name: home_latitude, role: public}"], "columns[home_latitude].name"),
        ([PLACE.replace("longitude: lo", "longitude: la")], "columns[home].columns.longitude"),
        ([WAGE, "{name: x, role: drop, source: ' x'}"], "columns[x].source"),
    ],
)
def test_b07_names_stand_once(tmp_path: Path, columns: list[str], where: str) -> None:
    head = HEAD.replace("account", 'geo_total: "1", account')
    assert only_fault(tmp_path, columns, head).where == where


@pytest.mark.parametrize(
    ("unit", "columns", "where"),
    [
        ("{column: id, max_rows: 2}", [WAGE], "privacy.unit.column"),
        ("{column: wage, max_rows: 2}", [WAGE], "privacy.unit.column"),
        ("{column: row, max_rows: 2}", [WAGE, "{name: row, role: unit}"], "privacy.unit.column"),
        ("row", [WAGE, "{name: id, role: unit}"], "columns[id].role"),
        ("{column: id, max_rows: 2}", [WAGE, "{name: id, role: unit}", "{name: jd, role: unit}"], "columns[jd].role"),
    ],
)
def test_the_privacy_unit_and_the_roles_agree(tmp_path: Path, unit: str, columns: list[str], where: str) -> None:
    assert only_fault(tmp_path, columns, HEAD.replace("account: a", f"account: a, unit: {unit}")).where == where


def test_b44_a_release_without_noised_columns_is_refused(tmp_path: Path) -> None:
    assert only_fault(tmp_path, ["{name: id, role: public}"]).where == "columns"


@pytest.mark.parametrize(
    ("publish", "where"),
    [
        ("{public: ../p, restricted: ../p/r}", "publish.restricted"),
        ("{public: ../p/q, restricted: ../p}", "publish.restricted"),
        ("{public: a/../p/q, restricted: p}", "publish.restricted"),
        ("{public: ./p, restricted: p/r}", "publish.restricted"),
        ("{public: 'file:///srv/p', restricted: /srv/p/r}", "publish.restricted"),
        ("{public: linked, restricted: real/r}", "publish.restricted"),
        ("{store: 's3://bucket/x'}", "publish.store"),
        ("{store: 'ftp://host/x'}", "publish.store"),
        ("{public: 'memory://', restricted: r}", "publish.public"),
        ("{public: ., restricted: ../r}", "source.path"),
        ("{public: p, restricted: r}\nkeys: {file: p/wrapping.key}", "keys.file"),
        ("{public: /srv/p, restricted: r}\nledger: {url: 'sqlite:////srv/p/ledger.db'}", "ledger.url"),
    ],
)
def test_places_are_folders_and_nothing_private_lies_in_the_public_one(
    tmp_path: Path, publish: str, where: str
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    assert only_fault(tmp_path, [WAGE], HEAD.replace("{store: out}", publish)).where == where


@pytest.mark.parametrize("publish", ["{public: ../p, restricted: ../pr}", "{store: 'file:///srv/p'}"])
def test_places_that_are_apart_pass(tmp_path: Path, publish: str) -> None:
    plan = plan_of(tmp_path, [WAGE], HEAD.replace("{store: out}", publish))
    assert plan.public_root != plan.restricted_root


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (('lower: "2017-01-01"', 'lower: "2017-13-01"'), "columns[d].domain.lower"),
        (('lower: "2017-01-01"', 'lower: "2018-01-01"'), "columns[d].domain.upper"),
        (("mechanism", 'missing: {replace: "2018-05-05"}, mechanism'), "columns[d].missing.replace"),
        (("mechanism", 'missing: {replace: "yesterday"}, mechanism'), "columns[d].missing.replace"),
    ],
)
def test_dates_are_checked_before_any_noise(tmp_path: Path, change: tuple[str, str], where: str) -> None:
    date = (
        '{name: d, type: date, format: "%d/%m/%Y", domain: {lower: "2017-01-01", upper: "2017-12-31"},'
        " mechanism: laplace}"
    )
    plan_of(tmp_path, [date])
    assert only_fault(tmp_path, [date.replace(*change)]).where == where


def test_a_ratio_close_to_one_is_refused(tmp_path: Path) -> None:
    column = WAGE.replace("laplace}", 'laplace, target: {tvd: "0.1"}}')
    fault = only_fault(tmp_path, [column], HEAD.replace("sequential}", 'sequential, ratio: "1.0001"}'))
    assert (fault.where, fault.reason) == ("loop.ratio", Reason.BAD_PARAMETER)


@pytest.mark.parametrize("matrix", ['[["1", "0"]]', '[["1"], ["0", "1"]]', '[["1", "1"], ["1", "1"]]'])
def test_utilities_that_do_not_fit_are_refused(tmp_path: Path, matrix: str) -> None:
    column = SEX.replace("randomized_response}", f"exponential, utility: {matrix}}}")
    assert only_fault(tmp_path, [column]).where == "columns[sex].utility"


def test_all_faults_of_meaning_come_at_once(tmp_path: Path) -> None:
    columns = [
        WAGE.replace('step: "10"', 'step: "7"'),
        SEX.replace("randomized_response", "laplace"),
        SEX.replace("name: sex", "name: two").replace("[m, f]", "[m]"),
    ]
    faults = faults_of(tmp_path, columns, HEAD)
    assert [fault.where for fault in faults] == [
        "columns[wage].domain.step",
        "columns[sex].mechanism",
        "columns[two].domain.codes",
    ]


def test_faults_of_shape_and_of_meaning_come_together(tmp_path: Path) -> None:
    columns = [
        WAGE.replace('step: "10"', 'step: "7"'),
        SEX.replace("[m, f]", "[true, f]"),
        SEX.replace("name: sex", "name: two").replace("[m, f]", "[m]"),
    ]
    path = file_of(tmp_path, columns, HEAD.replace('"8"', "8.0"))
    with pytest.raises(ConfigError) as caught:
        read_plan(path)
    assert [fault.where for fault in caught.value.faults] == [
        "privacy.epsilon_total",
        "columns[wage].domain.step",
        "columns[sex].domain.codes[#1]",
        "columns[two].domain.codes",
    ]


@pytest.mark.parametrize("text", ["a: [", "", "- a", "format: 1\ncolumns: none\n", "format: 1\ncolumns: []\n"])
def test_hopeless_files_give_their_faults_of_shape_only(tmp_path: Path, text: str) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as shape:
        load_config(path)
    with pytest.raises(ConfigError) as both:
        read_plan(path)
    assert set(shape.value.faults) <= set(both.value.faults)
    extra = set(both.value.faults) - set(shape.value.faults)
    assert all(fault.reason is Reason.NOT_BUILT_YET for fault in extra)


def test_read_plan_gives_the_plan_of_a_sound_file(tmp_path: Path) -> None:
    loaded, plan = read_plan(file_of(tmp_path, [WAGE]))
    assert plan == compile_plan(loaded)


def test_a_level_that_was_not_planned_is_never_built(tmp_path: Path) -> None:
    unit = plan_of(tmp_path, [WAGE]).units[0]
    with pytest.raises(ValueError, match="not a rung"):
        unit.channel(Epsilon.parse("7"))


def test_a_category_replacement_is_one_of_the_codes(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, [SEX.replace("mechanism", "missing: {replace: x}, mechanism")])
    assert (fault.where, fault.required) == (
        "columns[sex].missing.replace",
        "a value of the declared domain, such as m",
    )


def test_a_cell_list_asks_for_replacements_as_latitude_and_longitude(tmp_path: Path) -> None:
    cells = ["862664c1fffffff", "862664c17ffffff"]
    place = (
        "{name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace,"
        f" geo: {{epsilon: '1', radius_m: '5000'}}, domain: {{cells: {cells}}}, missing: {{replace: x}}}}"
    )
    fault = only_fault(tmp_path, [place], HEAD.replace("account", 'geo_total: "1", account'))
    assert (fault.where, fault.came) == ("columns[home].missing.replace", "'x'")


def test_levels_are_blamed_where_they_stand(tmp_path: Path) -> None:
    head = HEAD.replace('"8"', '"1000"')
    target = WAGE.replace("laplace}", 'laplace, target: {tvd: "0.1"}, start: "900"}')
    assert only_fault(tmp_path, [target], head).where == "columns[wage].start"
    assert only_fault(tmp_path, [WAGE], head.replace("sequential}", 'sequential, start: "900"}')).where == "loop.start"
    far = PLACE.replace('"1", radius_m: "1000"', '"1", radius_m: "0.0000001"').replace(
        'geo: {epsilon: "1"', 'geo: {epsilon: "9"'
    )
    faults = faults_of(tmp_path, [far], HEAD.replace("account", 'geo_total: "1000000", account'))
    assert all(fault.where.startswith(("columns[home]", "privacy.geo_total")) for fault in faults)


def test_points_with_a_huge_epsilon_are_blamed_at_geo(tmp_path: Path) -> None:
    far = PLACE.replace('geo: {epsilon: "1"', 'geo: {epsilon: "100000"')
    faults = faults_of(tmp_path, [far], HEAD.replace("account", 'geo_total: "1000000", account'))
    assert all(fault.where.startswith("columns[home].") for fault in faults)


def test_a_channel_that_certifies_too_much_or_too_little_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for share, words in ((Fraction(11, 10), "above the claim"), (Fraction(1, 2), "far below the claim")):
        monkeypatch.setattr(feasibility, "channel_of", lambda *facts, share=share: _Claims("laplace", facts[2], share))
        fault = only_fault(tmp_path, [WAGE])
        assert (fault.where, fault.reason) == ("loop.start", Reason.CLAIM_NOT_CERTIFIED)
        assert words in fault.came


class _Claims:
    """A channel whose certificate is a share of its claim."""

    def __init__(self, name: str, level: Epsilon, share: Fraction) -> None:
        self.name = name
        self.certified_epsilon = Decimal(level.units) * share.numerator / share.denominator / 10**6
