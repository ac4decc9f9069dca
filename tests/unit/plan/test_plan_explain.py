"""What ``trasgo plan`` says: true figures, in words, for this file's columns and units."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trasgo_lib.amounts import Delta, Epsilon
from trasgo_lib.config import load_config
from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.plan import PlanExplanation, compile_plan, explain, precision, render, words
from trasgo_lib.plan.render import figure, table

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "12", delta_total: "1e-6", geo_total: "20", account: a}
publish: {store: out}
loop: {loss_from: original, composition: sequential, start: "0.5", ratio: "1.5"}
columns:
"""
WAGE = (
    '  - {name: wage, type: number, domain: {lower: "-10000", upper: "100000", step: "1000", unit: USD per year},'
    ' mechanism: laplace, outside: clip, target: {correlation_loss: "40"}}\n'
)
REGION = (
    "  - {name: region, type: category, domain: {codes: [a, b, c, d]}, mechanism: kary_randomized_response,"
    " missing: code, epsilon: '2'}\n"
)
BORN = (
    '  - {name: born, type: date, format: "%d/%m/%Y", domain: {lower: "2017-01-01", upper: "2017-12-31"},'
    ' mechanism: gaussian, delta: "1e-9", epsilon: "3", missing: {replace: "2017-07-01"}}\n'
)
HOME = (
    "  - {name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace,"
    ' domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "500"},'
    ' geo: {epsilon: "1.386", radius_m: "200"}, outside: clip, target: {tvd: "0.5"}}\n'
)


def explanation_of(tmp_path: Path, *columns: str, head: str = HEAD) -> PlanExplanation:
    path = tmp_path / "release.yaml"
    path.write_text(head + "".join(columns), encoding="utf-8")
    return explain(compile_plan(load_config(path)))


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_b47_sensitivity_is_the_whole_declared_range_negative_amounts_too(tmp_path: Path) -> None:
    said = explanation_of(tmp_path, WAGE, REGION).units[0].sensitivity
    assert said.startswith(
        "one person's record can move anywhere in -10000..100000 USD per year, a distance of 110000 USD per year;"
    )
    assert "scaled to that whole range" in said


def test_sensitivity_of_each_type_is_in_its_own_words(tmp_path: Path) -> None:
    wage, region, born, home = explanation_of(tmp_path, WAGE, REGION, BORN, HOME).units
    assert "any of the 4 codes to any other" in region.sensitivity
    assert "any day from 2017-01-01 to 2017-12-31" in born.sensitivity
    assert "epsilon 1.386 for places 200 m apart" in home.sensitivity
    assert (wage.unit, region.unit, born.unit, home.unit) == ("USD per year", "", "days", "metres")
    assert wage.values == "-10000 to 100000 USD per year, by 1000: 111 values"
    assert region.values == "4 codes: a, b, c, d"
    assert born.values == "2017-01-01 to 2017-12-31, by 1 days: 365 values"
    assert "7,797 cells of 500 m (EPSG:3435)" in home.values
    assert region.missing == "missing is one more code, protected like every value"
    assert born.missing == "missing values become a declared constant before the noise"
    assert "1,000,000,000 rows" in born.delta and wage.delta == ""
    assert "nearest cell" in home.outside and "nearest end" in wage.outside and "stops the run" in born.outside


def test_b46_whole_domains_are_whole_numbers(tmp_path: Path) -> None:
    text = WAGE.replace('"-10000"', '"1"').replace('"100000"', '"4"').replace('"1000"', '"1"')
    path = tmp_path / "release.yaml"
    path.write_text(HEAD + text + REGION, encoding="utf-8")
    assert compile_plan(load_config(path)).unit("wage").domain.values.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("epsilon", ["0.5", "2", "4.25"])
def test_laplace_figures_agree_with_their_definitions(epsilon: str) -> None:
    domain = NumberDomain(lower="0", upper="40", step="1")
    channel = build_channel("laplace", domain, epsilon=epsilon)
    rows = [[weight / channel.total for weight in channel.weights(code)] for code in range(41)]
    at_ends = sum(row[0] + row[-1] for row in rows) / 41
    assert precision.share_at_bounds(channel, 41) == pytest.approx(at_ends, rel=0.02)
    scores = channel.scores
    assert scores is not None
    mean = sum(chance * score for chance, score in zip(rows[20], scores, strict=True))
    variance = sum(chance * score**2 for chance, score in zip(rows[20], scores, strict=True)) - mean**2
    assert precision.noise_sd_steps(channel, 41) == pytest.approx(math.sqrt(variance), rel=1e-6)
    assert precision.share_released_missing(channel, 41) == 0


@pytest.mark.parametrize(("epsilon", "codes"), [("0.5", 2), ("1", 4), ("3", 7)])
def test_k_ary_figures_agree_with_their_closed_forms(epsilon: str, codes: int) -> None:
    domain = CategoryDomain([f"c{place}" for place in range(codes)])
    channel = build_channel("kary_randomized_response", domain, epsilon=epsilon)
    odds = math.exp(float(epsilon))
    keep, other = odds / (odds + codes - 1), 1 / (odds + codes - 1)
    assert precision.keep_probability(channel, codes) == pytest.approx(keep, rel=1e-6)
    largest = max(keep * (1 - keep), other * (1 - other)) / (keep - other) ** 2
    assert precision.share_error(channel) == pytest.approx(1.96 * math.sqrt(largest / 10_000), rel=1e-6)


def test_figures_of_large_domains_are_left_out_where_they_would_take_long() -> None:
    domain = CategoryDomain([f"c{place}" for place in range(100)])
    channel = build_channel("kary_randomized_response", domain, epsilon="1")
    assert precision.share_error(channel) is None
    assert precision.noise_sd_steps(channel, 100) is None


def test_missing_as_a_code_says_how_many_values_turn_missing(tmp_path: Path) -> None:
    region = explanation_of(tmp_path, WAGE, REGION).units[1].rungs[0]
    odds = math.exp(2)
    assert region.share_released_missing == pytest.approx(1 / (odds + 4), rel=1e-6)
    assert region.keep_probability == pytest.approx(odds / (odds + 4), rel=1e-6)


def test_noise_is_told_in_the_unit_of_the_column(tmp_path: Path) -> None:
    first = explanation_of(tmp_path, WAGE, REGION).units[0].rungs[0]
    channel = build_channel("laplace", NumberDomain(lower="-10000", upper="100000", step="1000"), epsilon="0.5")
    steps = precision.noise_sd_steps(channel, 111)
    assert steps is not None
    assert first.noise_sd == pytest.approx(1000 * steps)
    assert first.noise_of_range == pytest.approx(steps / 110)
    assert first.mean_error == pytest.approx(1.96 * 1000 * steps / 100)


def test_b52_displacement_is_two_over_epsilon(tmp_path: Path) -> None:
    point = explanation_of(tmp_path, WAGE, REGION, HOME).units[2].rungs[0]
    assert point.displacement_m is not None
    assert point.displacement_m == pytest.approx((288.6, 242.2, 684.5), abs=0.1)
    assert (point.level, point.charged) == ("1.386", "6.93")
    assert words.displacement_m(0.01)[0] == pytest.approx(200)


def test_at_most_five_levels_get_figures_first_and_last_among_them(tmp_path: Path) -> None:
    wage = explanation_of(tmp_path, WAGE, REGION).units[0]
    assert len(wage.levels) > 5
    assert len(wage.rungs) == 5
    assert (wage.rungs[0].level, wage.rungs[-1].level) == (wage.levels[0], wage.levels[-1])


def test_large_domains_get_figures_at_the_first_and_the_last_level(tmp_path: Path) -> None:
    wage = explanation_of(tmp_path, WAGE.replace('"1000"', '"10"').replace("laplace", "laplace"), REGION).units[0]
    assert [rung.level for rung in wage.rungs] == [wage.levels[0], wage.levels[-1]]


@pytest.mark.parametrize(
    ("epsilon", "band", "odds", "guess"),
    [
        ("0.05", "very strong", "1.06", "51.3 %"),
        ("0.1", "very strong", "1.11", "52.5 %"),
        ("1", "strong", "2.72", "73.2 %"),
        ("1.000001", "moderate", "2.72", "73.2 %"),
        ("2", "moderate", "7.39", "88.1 %"),
        ("4", "weak", "55", "98.3 %"),
        ("8", "very weak", "2,981", "99.967 %"),
        ("20", "close to none", "4.9e+08", "almost 100 %"),
        ("5000", "close to none", "more than 1e300", "almost 100 %"),
    ],
)
def test_how_strong_each_epsilon_is(epsilon: str, band: str, odds: str, guess: str) -> None:
    amount = Epsilon.parse(epsilon)
    assert (words.strength(amount), words.odds_factor(amount), words.even_guess(amount)) == (band, odds, guess)
    assert band in words.strength_in_words(amount) and odds in words.strength_in_words(amount)


def test_delta_is_told_only_when_there_is_one() -> None:
    assert words.delta_in_words(Delta(0)) == ""
    assert "0.000001" in words.delta_in_words(Delta.parse("1e-6"))


def test_b67_costs_are_told_per_column_and_in_total(tmp_path: Path) -> None:
    explanation = explanation_of(tmp_path, WAGE, REGION, BORN, HOME)
    assert explanation.first_round == "5.5"
    assert explanation.worst_case == {"epsilon": "12", "delta": "0.000000001", "geo": "6.93"}
    text = _flat(render(explanation))
    assert "first draws 5.5 = sum of wage 0.5, region 2, born 3" in text
    assert "worst case epsilon 12, delta 0.000000001, geo 6.93 per km" in text
    assert "e^12" in text


def test_several_rows_per_unit_are_charged_and_said(tmp_path: Path) -> None:
    head = HEAD.replace("account: a", "account: a, unit: {column: who, max_rows: 2}")
    explanation = explanation_of(tmp_path, WAGE, REGION, "  - {name: who, role: unit}\n", head=head)
    rung = explanation.units[1].rungs[0]
    assert (rung.level, rung.charged, rung.strength) == ("2", "4", "weak")
    assert "all rows of one who, at most 2" in explanation.privacy_unit
    assert explanation.units[0].sensitivity.startswith("each of one unit's 2 records")
    assert explanation.dropped == ("who",)
    assert "charged" in render(explanation)


def test_warnings_name_what_a_person_should_look_at(tmp_path: Path) -> None:
    head = HEAD.replace("account: a", "account: a, row_order: source")
    head = head.replace("sequential,", "sequential, on_unmet: publish,")
    head = head.replace("publish: {store", 'checks: {max_share_at_bounds: "0.2"}\npublish: {store')
    warnings = explanation_of(tmp_path, WAGE, REGION, "  - {name: open, role: public}\n", head=head).warnings
    assert [warning.split(":")[0] for warning in warnings] == [
        "wage",
        "open",
        "on_unmet publish",
        "row_order source",
    ]
    one_draw = explanation_of(tmp_path, WAGE, REGION, head=HEAD.replace('"12"', '"3.2"')).warnings
    assert one_draw[0] == (
        "wage: the total allows one draw only, at epsilon 0.5; when its target is not met there,"
        " nothing is left for a second one"
    )


def test_what_is_not_covered_is_listed(tmp_path: Path) -> None:
    plain = explanation_of(tmp_path, WAGE, REGION).not_covered
    placed = explanation_of(tmp_path, WAGE, REGION, HOME).not_covered
    assert any("loss_from original" in entry for entry in plain)
    assert set(placed) - set(plain) == {"which region a place is in: points are protected among near places only"}


def test_the_explanation_is_strict_json_and_the_text_has_every_column(tmp_path: Path) -> None:
    explanation = explanation_of(tmp_path, WAGE, REGION, BORN, HOME, "  - {name: open, role: public}\n")
    document = json.loads(json.dumps(explanation.to_json(), allow_nan=False))
    assert [unit["name"] for unit in document["units"]] == ["wage", "region", "born", "home"]
    assert document["epsilon_total"] == "12"
    text = render(explanation)
    for heading in ("wage: number, laplace", "region: category", "born: date, gaussian", "home: point", "Not covered"):
        assert heading in text
    sentences = [line for line in text.splitlines() if not line.startswith("    ")]
    assert max(map(len, sentences)) <= 100


def test_tables_are_aligned() -> None:
    assert list(table([{"a": "1", "long": "2"}, {"a": "333", "long": ""}])) == [
        "    a    long",
        "    1    2",
        "    333",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,234"), (99.95, "100.0"), (12.34, "12.3"), (1.234, "1.23"), (0.01234, "0.0123")],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert figure(value) == text


def test_h3_cells_are_told_and_charged(tmp_path: Path) -> None:
    h3 = pytest.importorskip("h3")
    centre = h3.latlng_to_cell(41.88, -87.63, 6)
    cells = ", ".join(f'"{cell}"' for cell in sorted(h3.grid_disk(centre, 1)))
    home = (
        "  - {name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace,"
        f" domain: {{cells: [{cells}]}}, geo: {{epsilon: '1', radius_m: '5000'}},"
        " missing: {replace: '41.88, -87.63'}}\n"
    )
    explanation = explanation_of(tmp_path, WAGE, REGION, home)
    assert explanation.units[2].values == "7 H3 cells"
    assert explanation.units[2].rungs[0].charged == "0.2"
