"""Plans: resolved columns and units, ladders, worst cases, readings and digests."""

from __future__ import annotations

import dataclasses
import pickle
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trasgo_lib.amounts import Epsilon
from trasgo_lib.budget import cost
from trasgo_lib.config import load_config
from trasgo_lib.data import Domain
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms import Channel
from trasgo_lib.plan import ReleasePlan, compile_plan, source_reading, worst_case
from trasgo_lib.plan.channels import channel_of
from trasgo_lib.plan.ladder import MOST_RUNGS, ladder, most_draws

TEXT = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: data/t.csv, format: csv, csv: {decimal: ",", delimiter: ";", missing: ["", "?"]}}
privacy:
  {epsilon_total: "12", delta_total: "1e-7", geo_total: "20", account: a, unit: {column: who, max_rows: 2}}
publish: {store: ../out}
loop: {loss_from: original, composition: sequential, start: "0.5", ratio: "1.5"}
columns:
  - {name: age, source: AGE, type: number, domain: {lower: "0", upper: "100", step: "1"}, outside: clip,
     mechanism: laplace, missing_codes: ["999"], missing: {replace: "50"}, target: {correlation_loss: "40"}}
  - {name: rate, type: number, domain: {lower: "0", upper: "1", step: "0.25"}, mechanism: gaussian, delta: "1e-9",
     epsilon: "1", bins: 4}
  - {name: sex, type: category, domain: {codes: ["1", "2"]}, output: integer, mechanism: randomized_response,
     missing: code, target: {tvd: "0.1"}, start: "1"}
  - {name: born, type: date, format: "%d.%m.%Y", domain: {lower: "2000-01-01", upper: "2000-12-31", step: "5"},
     mechanism: laplace}
  - {name: home, type: point, columns: {latitude: la, longitude: lo}, mechanism: planar_laplace,
     domain: {box: ["41.6", "-87.9", "42.1", "-87.5"], crs: "EPSG:3435", step_m: "500"},
     geo: {epsilon: "1.386", radius_m: "200"}, missing: {replace: "41.8, -87.6"}, outside: clip}
  - {name: pub, role: public, source: PUB}
  - {name: who, role: unit}
  - {name: junk, role: drop}
"""


def plan_of(tmp_path: Path, text: str = TEXT) -> ReleasePlan:
    path = tmp_path / "release.yaml"
    path.write_text(text, encoding="utf-8")
    return compile_plan(load_config(path))


def test_b45_columns_keep_their_order_and_roles(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert [(column.name, column.role, column.sources, column.unit, column.released) for column in plan.columns] == [
        ("age", "noised", ("AGE",), "age", ("age",)),
        ("rate", "noised", ("rate",), "rate", ("rate",)),
        ("sex", "noised", ("sex",), "sex", ("sex",)),
        ("born", "noised", ("born",), "born", ("born",)),
        ("home", "noised", ("la", "lo"), "home", ("home_latitude", "home_longitude")),
        ("pub", "public", ("PUB",), None, ("pub",)),
        ("who", "unit", ("who",), None, ()),
        ("junk", "drop", ("junk",), None, ()),
    ]


def test_units_are_resolved(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    age, rate, sex, born, home = plan.units
    assert (age.type, age.domain.size, age.fill, age.missing, age.outside, age.bins) == (
        "number",
        101,
        50,
        "replace",
        "clip",
        20,
    )
    assert age.target is not None and (age.target.loss, age.target.ceiling) == ("correlation_loss", "40")
    assert (rate.delta.text, rate.bins, rate.target, rate.draws_at_most) == ("0.000000001", 4, None, 1)
    assert (sex.missing, sex.fill, sex.bins, sex.rungs[0].text) == ("code", None, None, "1")
    assert sex.channel(sex.rungs[0]).inputs == 3
    assert (born.date_format, born.domain.size, [rung.text for rung in born.rungs]) == ("%d.%m.%Y", 74, ["0.5"])
    assert (home.geo.text, [rung.text for rung in home.rungs], home.columns) == (
        "6.93",
        ["0"],
        ("home_latitude", "home_longitude"),
    )
    assert home.channel(home.rungs[0]).certified_epsilon <= Decimal("1.386")
    assert plan.unit("sex") is sex
    with pytest.raises(KeyError):
        plan.unit("junk")


def test_every_rung_of_every_unit_is_certified(tmp_path: Path) -> None:
    for unit in plan_of(tmp_path).units:
        for level in unit.rungs:
            channel = unit.channel(level)
            assert channel is unit.channel(level)
            if unit.type != "point":
                assert channel.certified_epsilon <= level.decimal


def test_channels_over_many_codes_are_built_anew(tmp_path: Path) -> None:
    text = TEXT.replace('upper: "100", step: "1"', 'upper: "131072", step: "1"').replace('"40"', '"95"', 1)
    unit = plan_of(tmp_path, text.replace('start: "0.5", ratio: "1.5"', 'start: "1", ratio: "1.5"')).unit("age")
    level = unit.rungs[0]
    assert unit.channel(level) is not unit.channel(level)
    assert unit.channel(level).digest == unit.channel(level).digest


def test_a_ladder_ends_at_what_the_mechanism_can_certify(tmp_path: Path) -> None:
    text = TEXT.replace('epsilon_total: "12"', 'epsilon_total: "1000"').replace("max_rows: 2", "max_rows: 1")
    unit = plan_of(tmp_path, text).unit("sex")
    assert 30 < unit.rungs[-1].decimal < 45


def test_places_are_resolved_beside_the_release_file(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert plan.source_path == (tmp_path / "data/t.csv").resolve()
    assert plan.public_root == (tmp_path.parent / "out/public").resolve().as_posix()
    assert plan.restricted_root == (tmp_path.parent / "out/restricted").resolve().as_posix()
    text = TEXT.replace("{store: ../out}", "{public: 'file:///p/', restricted: r}")
    apart = plan_of(tmp_path, text)
    assert apart.public_root == "file:///p"
    assert apart.restricted_root == (tmp_path / "r").resolve().as_posix()


def test_the_reading_is_what_ingest_takes(tmp_path: Path) -> None:
    reading = source_reading(plan_of(tmp_path))
    assert (reading.path, reading.format) == ((tmp_path / "data/t.csv").resolve(), "csv")
    assert (reading.csv.decimal, reading.csv.delimiter, reading.csv.missing) == (",", ";", ("", "?"))
    assert (reading.privacy_unit, reading.max_rows, reading.row_order) == ("who", 2, "shuffle")
    assert reading.sources == ("AGE", "rate", "sex", "born", "la", "lo", "PUB", "who", "junk")
    age, _, sex, born, home, public = reading.columns[:6]
    assert (age.kind, age.fill, age.missing_codes, age.outside) == ("number", 50, ("999",), "clip")
    assert (sex.kind, sex.missing, sex.outside) == ("category", "code", "reject")
    assert born.date_format == "%d.%m.%Y"
    assert (home.kind, home.sources) == ("point", ("la", "lo"))
    assert (public.kind, public.role, public.domain) == ("text", "public", None)


def test_the_reading_of_a_plain_row_has_no_unit_column(tmp_path: Path) -> None:
    text = TEXT.replace(", unit: {column: who, max_rows: 2}", "").replace("role: unit", "role: drop")
    plan = plan_of(tmp_path, text)
    assert (plan.privacy_unit, plan.max_rows) == ("row", 1)
    assert source_reading(plan).privacy_unit is None


def test_plans_travel_between_processes(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert (
        again.unit("age").channel(plan.unit("age").rungs[0]).digest
        == plan.unit("age").channel(plan.unit("age").rungs[0]).digest
    )


# worst cases


def test_b67_the_worst_case_counts_every_column_and_every_row_of_a_unit(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    worst = worst_case(plan)
    assert worst.epsilon.text == "12"
    assert worst.geo.text == "13.86"
    event = plan.unit("rate").channel(plan.unit("rate").rungs[0]).event
    assert worst.delta == cost(event, 2).delta
    assert worst.delta.decimal > 2 * plan.unit("rate").delta.decimal


def test_b67_three_columns_at_one_cost_three(tmp_path: Path) -> None:
    columns = "".join(
        f"  - {{name: c{place}, type: category, domain: {{codes: [a, b]}}, mechanism: randomized_response,"
        " epsilon: '1'}\n"
        for place in range(3)
    )
    text = TEXT[: TEXT.index("  - {name: age")].replace(", unit: {column: who, max_rows: 2}", "") + columns
    assert worst_case(plan_of(tmp_path, text)).to_json() == {"epsilon": "3", "delta": "0", "geo": "0"}


# ladders


def test_a_ladder_rises_by_the_ratio_and_rounds_down() -> None:
    rungs = ladder(Epsilon.parse("0.25"), "1.25", Epsilon.parse("1"))
    assert [rung.text for rung in rungs] == [
        "0.25",
        "0.3125",
        "0.390625",
        "0.488281",
        "0.610351",
        "0.762938",
        "0.953672",
    ]


def test_a_ladder_may_be_empty_or_end_on_its_ceiling() -> None:
    assert ladder(Epsilon.parse("2"), "1.5", Epsilon.parse("1")) == ()
    assert [rung.text for rung in ladder(Epsilon.parse("1"), "2", Epsilon.parse("4"))] == ["1", "2", "4"]


@pytest.mark.parametrize(("start", "ratio", "ceiling"), [("0.000001", "1.5", "1"), ("0.25", "1.001", "8")])
def test_ladders_that_stand_still_or_never_end_are_refused(start: str, ratio: str, ceiling: str) -> None:
    with pytest.raises(ConfigError):
        ladder(Epsilon.parse(start), ratio, Epsilon.parse(ceiling))


@given(
    start=st.integers(10, 10**7),
    ratio=st.decimals("1.05", "4", places=2),
    factor=st.integers(1, 400),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_ladders_rise_strictly_and_stay_under_the_ceiling(start: int, ratio: object, factor: int) -> None:
    ceiling = Epsilon(start * factor)
    try:
        rungs = ladder(Epsilon(start), str(ratio), ceiling)
    except ConfigError:
        assert start < 20  # one unit more is less than the ratio asks for
        return
    assert rungs[0].units == start
    assert len(rungs) <= MOST_RUNGS
    for low, high in pairwise(rungs):
        assert low < high <= ceiling
        assert high.units <= low.units * Fraction(str(ratio))


@given(
    rungs=st.lists(st.integers(1, 1000), min_size=1, max_size=12, unique=True).map(sorted),
    available=st.integers(0, 6000),
    rows=st.integers(1, 3),
    rounds=st.integers(1, 12),
)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_most_draws_is_the_longest_affordable_set_of_rungs(
    rungs: list[int], available: int, rows: int, rounds: int
) -> None:
    draws = most_draws(tuple(map(Epsilon, rungs)), Epsilon(available), rows, rounds)
    affordable = max((count for count in range(len(rungs) + 1) if sum(rungs[:count]) * rows <= available), default=0)
    assert draws == max(1, min(affordable, rounds))


# digests

CHANGES = {
    "mechanism": ("mechanism: laplace, missing_codes", "mechanism: gaussian, missing_codes"),
    "bound": ('upper: "100", step: "1"', 'upper: "110", step: "1"'),
    "step": ('lower: "0", upper: "100", step: "1"', 'lower: "0", upper: "100", step: "2"'),
    "ladder start": ('start: "0.5"', 'start: "0.6"'),
    "ladder ratio": ('ratio: "1.5"', 'ratio: "1.4"'),
    "fixed level": ('epsilon: "1", bins', 'epsilon: "1.1", bins'),
    "total": ('epsilon_total: "12"', 'epsilon_total: "12.5"'),
    "delta": ('delta: "1e-9"', 'delta: "2e-9"'),
    "delta total": ('delta_total: "1e-7"', 'delta_total: "2e-7"'),
    "missing policy": ("missing: code", "missing: error"),
    "fill": ('{replace: "50"}', '{replace: "52"}'),
    "missing codes": ('["999"]', '["998"]'),
    "file missing codes": ('["", "?"]', '["", "-"]'),
    "outside": ("outside: clip,\n", "outside: reject,\n"),
    "source column": ("source: AGE", "source: AGE2"),
    "decimal mark": ('decimal: ","', 'decimal: "."'),
    "date format": ("%d.%m.%Y", "%m.%d.%Y"),
    "codes": ('["1", "2"]', '["2", "1"]'),
    "geo": ('epsilon: "1.386"', 'epsilon: "1.385"'),
    "cell size": ('step_m: "500"', 'step_m: "600"'),
    "target": ('{tvd: "0.1"}', '{tvd: "0.2"}'),
    "unit rows": ("max_rows: 2", "max_rows: 1"),
    "row order": ("account: a,", "account: a, row_order: source,"),
    "account": ("account: a,", "account: b,"),
    "version": ('version: "1"', 'version: "2"'),
    "public column dropped": ("role: public", "role: drop"),
    "batches": ("{store: ../out}", "{store: ../out, rows_per_batch: 1000}"),
    "unmet": ('ratio: "1.5"}', 'ratio: "1.5", on_unmet: publish}'),
}

NO_CHANGES = {
    "title": ("title: T", "title: another"),
    "checks": ("publish:", 'checks: {max_share_at_bounds: "0.9"}\npublish:'),
    "places": ("{store: ../out}", "{store: ../elsewhere}"),
    "batches as usual": ("{store: ../out}", "{store: ../out, rows_per_batch: 262144}"),
    "source path": ("data/t.csv", "data/u.csv"),
    "amount spelling": ('epsilon_total: "12"', 'epsilon_total: "12.000"'),
    "start spelling": ('start: "0.5"', 'start: "0.50"'),
    "comment": ("columns:\n", "columns:  # all of them\n"),
}


def _digest(tmp_path: Path, change: tuple[str, str]) -> str:
    assert change[0] in TEXT
    return plan_of(tmp_path, TEXT.replace(*change)).digest


@pytest.mark.parametrize("name", CHANGES)
def test_what_touches_privacy_changes_the_plan_digest(tmp_path: Path, name: str) -> None:
    assert _digest(tmp_path, CHANGES[name]) != plan_of(tmp_path).digest


@pytest.mark.parametrize("name", NO_CHANGES)
def test_what_does_not_touch_privacy_keeps_the_plan_digest(tmp_path: Path, name: str) -> None:
    assert _digest(tmp_path, NO_CHANGES[name]) == plan_of(tmp_path).digest


def test_the_chain_digest_binds_the_reading_of_the_cells(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    for name in ("decimal mark", "file missing codes", "missing codes", "outside", "fill", "source column", "bound"):
        changed = plan_of(tmp_path, TEXT.replace(*CHANGES[name]))
        assert changed.unit("age").chain_digest != plan.unit("age").chain_digest, name
    assert len({unit.chain_digest for unit in plan.units}) == len(plan.units)


def test_the_chain_digest_binds_the_weights_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a machine that found other weights for the same release file must not draw them with words already used
    plan = plan_of(tmp_path)

    def elsewhere(mechanism: str, domain: Domain, level: Epsilon, parameters: tuple[tuple[str, Any], ...]) -> Channel:
        return channel_of(mechanism, domain, Epsilon(max(1, level.units - 1)), parameters)

    monkeypatch.setattr("trasgo_lib.plan.feasibility.channel_of", elsewhere)
    other = plan_of(tmp_path)
    assert other.digest != plan.digest
    for name in ("age", "rate", "sex", "born"):
        assert other.unit(name).rungs == plan.unit(name).rungs
        assert other.unit(name).chain_digest != plan.unit(name).chain_digest, name
    assert other.unit("home").chain_digest == plan.unit("home").chain_digest  # its epsilon stands in its parameters


def test_plans_are_frozen(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.version = "2"  # type: ignore[misc]


def test_csv_options_are_no_part_of_a_parquet_plan(tmp_path: Path) -> None:
    text = TEXT.replace(
        'data/t.csv, format: csv, csv: {decimal: ",", delimiter: ";", missing: ["", "?"]}',
        "data/t.parquet, format: parquet",
    )
    plan = plan_of(tmp_path, text)
    assert source_reading(plan).format == "parquet"
    assert plan.digest != plan_of(tmp_path).digest
