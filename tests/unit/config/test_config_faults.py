"""What a release file of the wrong shape gets: every fault at once, each with line, key and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from trasgo_lib.config import load_collection, load_config, load_statistics, load_training
from trasgo_lib.errors import ConfigError, Fault, Reason

GOOD = """\
format: 1
release: {dataset: cps, version: "1", title: CPS}
source: {path: cps.csv, format: csv, csv: {delimiter: ","}}
privacy: {epsilon_total: "8", delta_total: "0", account: cps, unit: row}
columns:
  - {name: wage, type: number, domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace, epsilon: "1"}
  - {name: region, type: category, domain: {codes: [north, south]}, mechanism: randomized_response, missing: error}
  - {name: born, type: date, format: "%d/%m/%Y", domain: {lower: "2017-01-01", upper: "2017-12-31"}, mechanism: laplace}
  - {name: id, role: drop}
loop: {ratio: "1.25", start: "0.25", max_rounds: 10}
checks: {max_share_at_bounds: "0.7"}
publish: {store: out, formats: [parquet, csv]}
"""


def faults_of(tmp_path: Path, text: str) -> tuple[Fault, ...]:
    path = tmp_path / "release.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert caught.value.exit_code == 2
    return caught.value.faults


def only_fault(tmp_path: Path, old: str, new: str) -> Fault:
    assert GOOD.count(old) >= 1
    faults = faults_of(tmp_path, GOOD.replace(old, new, 1))
    assert len(faults) == 1, faults
    return faults[0]


def test_the_good_file_loads(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert load_config(path).config.release.dataset == "cps"


@pytest.mark.parametrize(
    ("written", "came"),
    [
        ("8.50", "8.50, an unquoted number"),
        ("8", "8, an unquoted number"),
        ("true", "true, an unquoted Boolean"),
        (".nan", ".nan, an unquoted number"),
        (".inf", ".inf, an unquoted number"),
        ("null", "null"),
        ("[1]", "a list"),
    ],
)
def test_b33_amounts_that_are_not_text_say_quote_it(tmp_path: Path, written: str, came: str) -> None:
    fault = only_fault(tmp_path, 'epsilon_total: "8"', f"epsilon_total: {written}")
    assert (fault.where, fault.line, fault.column) == ("privacy.epsilon_total", 4, 26)
    assert fault.came == came
    if "unquoted" in came:
        assert fault.fix == f'Quote it: "{written}".'


@pytest.mark.parametrize("key", ['epsilon_total: "8"', 'epsilon: "1"', 'start: "0.25"'])
@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "nan",
        "inf",
        "-inf",
        "Infinity",
        "0",
        "-1",
        "0.0",
        "abc",
        "",
        " 1",
        "1_0",
        "1e99",
        "0.0000001",
        "1e-999999999",
        "\u0661",
    ],
)
def test_b33_epsilons_must_be_finite_positive_and_exact(tmp_path: Path, key: str, text: str) -> None:
    name = key.split(":")[0]
    fault = only_fault(tmp_path, key, f'{name}: "{text}"')
    assert fault.reason is Reason.BAD_AMOUNT
    assert fault.where.endswith(name)
    assert fault.line in (4, 6, 10)
    assert repr(text) in fault.came


@pytest.mark.parametrize("text", ["1", "0.99", "0.01", "NaN", "-0.1", "inf", "1.5"])
def test_b36_deltas_near_one_are_refused(tmp_path: Path, text: str) -> None:
    fault = only_fault(tmp_path, 'delta_total: "0"', f'delta_total: "{text}"')
    assert fault.where == "privacy.delta_total"
    assert fault.reason is Reason.BAD_AMOUNT


def test_b36_small_deltas_pass(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(GOOD.replace('delta_total: "0"', 'delta_total: "1e-9"'), encoding="utf-8")
    assert load_config(path).config.privacy.delta_total == "1e-9"


@pytest.mark.parametrize("key", ["lower", "upper", "step"])
@pytest.mark.parametrize("text", ["NaN", "inf", "-inf", "ten", "", "1e999999999", "1e-999999999", "1e-40", "0x10"])
def test_b31_bounds_must_be_finite_decimals(tmp_path: Path, key: str, text: str) -> None:
    old = {"lower": 'lower: "0"', "upper": 'upper: "2000"', "step": 'step: "10"'}[key]
    fault = only_fault(tmp_path, old, f'{key}: "{text}"')
    assert fault.where == f"columns[wage].domain.{key}"
    assert fault.line == 6


@pytest.mark.parametrize("text", ["0", "-10"])
def test_b31_steps_must_be_positive(tmp_path: Path, text: str) -> None:
    assert only_fault(tmp_path, 'step: "10"', f'step: "{text}"').reason is Reason.BAD_PARAMETER


@pytest.mark.parametrize(
    ("written", "came", "fix"),
    [
        ("true", "true, an unquoted Boolean", 'Quote it: "true".'),
        ("False", "False, an unquoted Boolean", 'Quote it: "False".'),
        ("01001", "01001, an unquoted number", 'Quote it: "01001".'),
        ("1.10", "1.10, an unquoted number", 'Quote it: "1.10".'),
        ("0x1F", "0x1F, an unquoted number", 'Quote it: "0x1F".'),
        ("~", "null", 'Write a text in quotes ("" for an empty one), or leave the key out.'),
        ("{a: b}", "a mapping", "Write one text in quotes."),
    ],
)
def test_b04_codes_are_text_and_keep_their_spelling(tmp_path: Path, written: str, came: str, fix: str) -> None:
    fault = only_fault(tmp_path, "[north, south]", f"[north, {written}]")
    assert fault.where == "columns[region].domain.codes[#2]"
    assert (fault.came, fault.fix) == (came, fix)


def test_yes_and_no_and_dates_are_text_in_yaml_1_2(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    text = "%YAML 1.1\n---\n" + GOOD.replace("[north, south]", "[yes, no, on, 2017-01-01]").replace(
        '"2017-01-01"', "2017-01-01"
    )
    path.write_text(text, encoding="utf-8")
    columns = load_config(path).config.columns
    assert columns[1].domain.codes == ("yes", "no", "on", "2017-01-01")
    assert columns[2].domain.lower == "2017-01-01"


def test_b28_a_code_listed_twice_is_shown(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, "[north, south]", "[north, south, north]")
    assert (fault.where, fault.came) == ("columns[region].domain.codes[#3]", "'north' again")


@pytest.mark.parametrize("role", ["", "role: noised, "])
def test_b44_a_column_without_bounds_is_refused(tmp_path: Path, role: str) -> None:
    old = 'domain: {lower: "0", upper: "2000", step: "10"}, mechanism: laplace'
    fault = only_fault(tmp_path, old, f"{role}mechanism: laplace")
    assert fault.where == "columns[wage].domain"
    assert fault.came == "nothing"
    assert "Add it, as in `domain: {" in fault.fix


def test_b37_a_category_without_codes_is_refused(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, "domain: {codes: [north, south]}, ", "domain: {}, ")
    assert fault.where == "columns[region].domain.codes"


def test_b11_a_date_without_format_is_refused(tmp_path: Path) -> None:
    assert only_fault(tmp_path, 'format: "%d/%m/%Y", ', "").where == "columns[born].format"


@pytest.mark.parametrize("text", ["%d/%m", "dd/mm/yyyy", "%H:%M", "%Y"])
def test_b11_a_date_format_names_year_month_and_day(tmp_path: Path, text: str) -> None:
    assert only_fault(tmp_path, "%d/%m/%Y", text).where == "columns[born].format"


@pytest.mark.parametrize("text", ["%Y-%m-%d", "%d %b %y", "%Y%j", "%F", "%e.%m.%Y"])
def test_b11_known_date_formats_pass(tmp_path: Path, text: str) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(GOOD.replace("%d/%m/%Y", text), encoding="utf-8")
    assert load_config(path).config.columns[2].format == text


def test_unknown_keys_are_named_with_the_known_ones(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, 'step: "10"}', 'step: "10", stpe: "1"}')
    assert fault.reason is Reason.UNKNOWN_KEY
    assert (fault.where, fault.line) == ("columns[wage].domain.stpe", 6)
    assert fault.required == "one of lower, step, unit, upper"
    assert "Did you mean `step`?" in fault.fix


def test_unknown_sections_are_refused(tmp_path: Path) -> None:
    fault = faults_of(tmp_path, GOOD + "extra: 1\n")[0]
    assert (fault.reason, fault.where, fault.line, fault.column) == (Reason.UNKNOWN_KEY, "extra", 13, 1)


def test_b67_a_level_and_a_target_exclude_each_other(tmp_path: Path) -> None:
    fault = only_fault(tmp_path, 'epsilon: "1"', 'epsilon: "1", target: {tvd: "0.1"}')
    assert (fault.where, fault.came) == ("columns[wage].epsilon", "both")


def test_start_needs_a_target(tmp_path: Path) -> None:
    assert only_fault(tmp_path, 'epsilon: "1"', 'start: "1"').where == "columns[wage].start"


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("{}", "columns[wage].target"),
        ('{tvd: "0.1", js: "0.1"}', "columns[wage].target"),
        ('{tvd: "1.5"}', "columns[wage].target.tvd"),
        ('{js: "0.7"}', "columns[wage].target.js"),
        ('{kl: "0"}', "columns[wage].target.kl"),
        ("{tvd: 0.1}", "columns[wage].target.tvd"),
        ('{correlation_loss: "NaN"}', "columns[wage].target.correlation_loss"),
    ],
)
def test_targets_name_one_reachable_loss(tmp_path: Path, target: str, where: str) -> None:
    assert only_fault(tmp_path, 'epsilon: "1"', f"target: {target}").where == where


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("format: 1", "format: 2", "format"),
        ("format: 1", "format: true", "format"),
        ("format: 1", 'format: "1"', "format"),
        ("format: csv", "format: xlsx", "source.format"),
        ('delimiter: ","', 'delimiter: ";;"', "source.csv.delimiter"),
        ('delimiter: ","', "decimal: ','", "source.csv.delimiter"),
        ('delimiter: ","', "delimiter: '\"'", "source.csv.delimiter"),
        ('delimiter: ","', "delimiter: '\u20ac'", "source.csv.delimiter"),
        ('delimiter: ","', 'delimiter: "\\0"', "source.csv.delimiter"),
        ('delimiter: ","', "quote: '\u00ab'", "source.csv.quote"),
        ('delimiter: ","', 'quote: "\\n"', "source.csv.quote"),
        ("path: cps.csv", 'path: "cps\\0.csv"', "source.path"),
        ("store: out", 'store: "out\\n"', "publish.store"),
        ("store: out", f"store: {'x' * 2000}", "publish.store"),
        ('delimiter: ","', "thousands: '.'", "source.csv.thousands"),
        ('delimiter: ","', "thousands: '5'", "source.csv.thousands"),
        ('delimiter: ","', "encoding: utf-9", "source.csv.encoding"),
        ('delimiter: ","', "encoding: base64", "source.csv.encoding"),
        ('delimiter: ","', 'header: "yes"', "source.csv.header"),
        ('delimiter: ","', 'missing: ""', "source.csv.missing"),
        ("format: csv", "format: parquet", "source.csv"),
        ("dataset: cps", "dataset: CPS 1988", "release.dataset"),
        ('version: "1"', "version: 1", "release.version"),
        ('version: "1"', 'version: "../1"', "release.version"),
        ("title: CPS", "title: ''", "release.title"),
        ("account: cps", "account: ''", "privacy.account"),
        ("unit: row", "unit: person", "privacy.unit"),
        ("unit: row", "unit: {column: id}", "privacy.unit.max_rows"),
        ("unit: row", "unit: {column: id, max_rows: 0}", "privacy.unit.max_rows"),
        ("unit: row", "unit: {column: id, max_rows: true}", "privacy.unit.max_rows"),
        ("unit: row", 'unit: {column: id, max_rows: "3"}', "privacy.unit.max_rows"),
        ("unit: row", "row_order: sorted", "privacy.row_order"),
        ("type: number", "type: nubmer", "columns[wage].type"),
        ("type: number, ", "", "columns[wage].type"),
        ("role: drop", "role: dropped", "columns[id].role"),
        ("role: drop", "role: drop, mechanism: laplace", "columns[id].mechanism"),
        ("{name: id, role: drop}", "{name: id, type: text}", "columns[id].role"),
        ("{name: id, role: drop}", "id", "columns[#4]"),
        ("name: id", "name: ' id'", "columns[ id].name"),
        ("name: id", "name: a/b", "columns[a/b].name"),
        ("name: id", "name: true", "columns[#4].name"),
        ("missing: error", "missing: skip", "columns[region].missing"),
        ("missing: error", "missing: {replace: 3}", "columns[region].missing.replace"),
        ("missing: error", "missing: {value: a}", "columns[region].missing.value"),
        ("missing: error", "outside: clip", "columns[region].outside"),
        ("missing: error", "utility: best", "columns[region].utility"),
        ("missing: error", "utility: [[1, 0], [0, 1]]", "columns[region].utility[#1][#1]"),
        ("missing: error", "bins: 4", "columns[region].bins"),
        ('epsilon: "1"', "bins: 1", "columns[wage].bins"),
        ('epsilon: "1"', 'bins: "4"', "columns[wage].bins"),
        ('ratio: "1.25"', 'ratio: "1"', "loop.ratio"),
        ('ratio: "1.25"', "ratio: 1.25", "loop.ratio"),
        ("max_rounds: 10", "max_rounds: 0", "loop.max_rounds"),
        ('max_share_at_bounds: "0.7"', 'max_share_at_bounds: "1.2"', "checks.max_share_at_bounds"),
        ("store: out, ", "", "publish"),
        ("store: out", "public: out", "publish"),
        ("store: out", "public: out, restricted: out", "publish.restricted"),
        ("formats: [parquet, csv]", "formats: [csv]", "publish.formats"),
        ("formats: [parquet, csv]", "formats: [parquet, parquet]", "publish.formats"),
        ("formats: [parquet, csv]", "formats: [parquet, sav]", "publish.formats[#2]"),
    ],
)
def test_one_wrong_value_gives_its_one_fault(tmp_path: Path, old: str, new: str, where: str) -> None:
    faults = faults_of(tmp_path, GOOD.replace(old, new, 1))
    assert where in [fault.where for fault in faults]
    assert all(fault.line and fault.column and fault.required and fault.came and fault.fix for fault in faults)
    first = next(fault for fault in faults if fault.where == where)
    changed = next(
        number
        for number, (before, after) in enumerate(zip(GOOD.split("\n"), GOOD.replace(old, new, 1).split("\n")), start=1)
        if before != after
    )
    assert first.line == changed


def test_all_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        GOOD.replace("format: 1", "format: 3")
        .replace('"8"', "8.0")
        .replace("[north, south]", "[true, 1]")
        .replace("store: out", "stroe: out")
    )
    faults = faults_of(tmp_path, text)
    assert [fault.where for fault in faults] == [
        "format",
        "privacy.epsilon_total",
        "columns[region].domain.codes[#1]",
        "columns[region].domain.codes[#2]",
        "publish.stroe",
    ]
    assert [fault.line for fault in faults] == [1, 4, 7, 7, 12]


@pytest.mark.parametrize(
    "section",
    [
        "keys: {file: %s, env: X}",
        "keys: {fiel: %s}",
        "keys: {file: [%s]}",
        "ledger: {url: {a: %s}}",
        "ledger: {url: x, password: %s}",
        "ledger: {url: x, password_env: %s, password_block: y}",
    ],
)
def test_a_secret_written_by_mistake_is_never_repeated(tmp_path: Path, section: str) -> None:
    secret = "c2VjcmV0LWtleQ"
    faults = faults_of(tmp_path, GOOD + section % secret + "\n")
    assert faults
    assert secret not in str(ConfigError(*faults))


def test_a_number_in_the_keys_section_is_not_repeated(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, GOOD + "keys: {file: 998877}\n")
    assert "998877" not in str(ConfigError(*faults))


def test_the_models_do_not_print_places_of_keys(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(GOOD + "ledger: {url: 'postgresql://me:secret@host/db'}\n", encoding="utf-8")
    assert "secret" not in repr(load_config(path).config)


def test_duplicate_keys_come_together_with_faults_of_shape(tmp_path: Path) -> None:
    text = GOOD.replace("account: cps", "account: cps, account: cps").replace('"8"', "8.5")
    faults = faults_of(tmp_path, text)
    assert [(fault.reason, fault.where) for fault in faults] == [
        (Reason.BAD_SHAPE, "privacy.epsilon_total"),
        (Reason.DUPLICATE_KEY, "privacy.account"),
    ]


def test_a_duplicate_key_alone_is_enough(tmp_path: Path) -> None:
    assert only_fault(tmp_path, "account: cps", "account: cps, account: cps").reason is Reason.DUPLICATE_KEY


def test_an_alias_is_told_once(tmp_path: Path) -> None:
    faults = faults_of(tmp_path, GOOD.replace("account: cps", "account: &a cps").replace("store: out", "store: *a"))
    assert [fault.reason for fault in faults] == [Reason.BAD_YAML, Reason.BAD_YAML]


@pytest.mark.parametrize(
    ("section", "came"), [("keys: {file: a, env: B}", "both"), ("keys: {}", "none"), ("ledger: {}", "nothing")]
)
def test_keys_and_ledger_name_one_place(tmp_path: Path, section: str, came: str) -> None:
    fault = faults_of(tmp_path, GOOD + section + "\n")[0]
    assert (fault.line, fault.came) == (13, came if came == "nothing" else "another text")


def test_a_box_has_four_sides(tmp_path: Path) -> None:
    point = (
        "{name: home, type: point, columns: {latitude: a, longitude: b}, mechanism: planar_laplace,"
        ' geo: {epsilon: "1", radius_m: "9"}, domain: {box: ["1", "2", "3"], crs: "EPSG:3435", step_m: "1"}}'
    )
    fault = only_fault(tmp_path, "{name: id, role: drop}", point)
    assert (fault.where, fault.came) == ("columns[home].domain.box", "3")


def test_a_point_domain_is_a_box_or_cells(tmp_path: Path) -> None:
    point = (
        "{name: home, type: point, columns: {latitude: a, longitude: b}, mechanism: planar_laplace,"
        ' geo: {epsilon: "1", radius_m: "9"}, domain: {cells: ["a"], crs: "EPSG:3435"}}'
    )
    fault = only_fault(tmp_path, "{name: id, role: drop}", point)
    assert (fault.where, fault.required) == ("columns[home].domain.crs", "one of cells")


@pytest.mark.parametrize(
    ("old", "new", "required"),
    [
        ("unit: row", "unit: person", "row or {column: NAME, max_rows: NUMBER}"),
        ("missing: error", "missing: drop", "error, code or {replace: VALUE}"),
        ("checks:", "runner: spark\nchecks:", "threads, dask or {dask: {...}}"),
    ],
)
def test_a_key_that_takes_a_word_or_a_mapping_says_both(tmp_path: Path, old: str, new: str, required: str) -> None:
    fault = only_fault(tmp_path, old, new)
    assert (fault.required, fault.fix) == (required, f"Write {required}.")


@pytest.mark.parametrize("key", ["queries", "model", "area"])
def test_a_misspelt_key_of_another_kind_of_file_is_understood(tmp_path: Path, key: str) -> None:
    written = key[:-1] + "x"
    assert f"Did you mean `{key}`?" in only_fault(tmp_path, "checks:", f"{written}: []\nchecks:").fix


@pytest.mark.parametrize(
    ("key", "kind", "verb"),
    [
        ("queries", "a statistics file", "trasgo query"),
        ("model", "a training file", "trasgo train"),
        ("area", "a collection file", "trasgo collect run"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_kind(tmp_path: Path, key: str, kind: str, verb: str) -> None:
    text = f"format: 1\n{key}: {{}}\n"
    (fault,) = faults_of(tmp_path, text)
    assert fault.came == f"{kind}: it has `{key}`"
    assert verb in fault.fix
    loads = {"queries": load_statistics, "model": load_training, "area": load_collection}
    for other, load in loads.items():
        with pytest.raises(ConfigError) as caught:
            load(tmp_path / "release.yaml")
        assert (caught.value.faults[0].came == fault.came) == (other != key)


@pytest.mark.parametrize(
    ("text", "required", "fix"),
    [
        ("1.1234567", "at most 6 decimals", "Round the amount."),
        ("0.0000001", "at most 6 decimals", "Round the amount."),
        ("1e-999", "at most 6 decimals", "Round the amount."),
        ("99999999999999", "at most 4611686018427.387904", "Lower the amount."),
        ("1e999", "at most 4611686018427.387904", "Lower the amount."),
    ],
)
def test_an_amount_is_told_the_one_limit_that_it_breaks(tmp_path: Path, text: str, required: str, fix: str) -> None:
    fault = only_fault(tmp_path, 'epsilon_total: "8"', f'epsilon_total: "{text}"')
    assert (fault.required, fault.fix) == (required, fix)
