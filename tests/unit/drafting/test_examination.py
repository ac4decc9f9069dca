"""What an examination calls unwise, from the file alone, and how its findings are told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trasgo_lib.config import read_document
from trasgo_lib.drafting.examination import examine_plan
from trasgo_lib.drafting.findings import Finding, Weight, must
from trasgo_lib.drafting.outlook import examine_targets
from trasgo_lib.drafting.source_names import examine_source
from trasgo_lib.drafting.visibility import examine_visibility
from trasgo_lib.errors import Fault, Reason
from trasgo_lib.plan import read_plan

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

RELEASE: dict[str, Any] = {
    "format": 1,
    "release": {
        "dataset": "people",
        "version": "1",
        "title": "People of a town",
        "licence": "CC0-1.0",
        "source_note": "A survey",
    },
    "source": {"path": "people.csv", "format": "csv"},
    "privacy": {"epsilon_total": "8", "account": "people"},
    "columns": [
        {
            "name": "age",
            "type": "number",
            "domain": {"lower": "0", "upper": "100", "step": "1"},
            "mechanism": "laplace",
            "epsilon": "4",
        },
        {
            "name": "sex",
            "type": "category",
            "domain": {"codes": ["f", "m"]},
            "mechanism": "randomized_response",
            "epsilon": "1",
        },
    ],
    "publish": {"public": "public", "restricted": "restricted", "approvals": 1, "service_accounts": ["robot"]},
}


def _examined(tmp_path: Path, **sections: dict[str, Any]) -> list[Finding]:
    document: dict[str, Any] = json.loads(json.dumps(RELEASE))
    for name, changed in sections.items():
        document[name] = {**document.get(name, {}), **changed}
    return _of(tmp_path, document)


def _of(tmp_path: Path, document: dict[str, Any]) -> list[Finding]:
    path = tmp_path / "release.yaml"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    loaded, plan = read_plan(path)
    return list(examine_plan(loaded, plan, NOW))


def test_a_careful_file_gives_nothing_to_look_at(tmp_path: Path) -> None:
    assert _examined(tmp_path) == []


@pytest.mark.parametrize(
    ("section", "changed", "words"),
    [
        ("release", {"licence": ""}, "no licence"),
        ("release", {"source_note": " "}, "where the rows come from"),
        ("release", {"title": "people"}, "the title says no more"),
        ("publish", {"approvals": 0, "service_accounts": []}, "whoever runs it publishes it"),
        ("publish", {"approvals": 0}, "but no approval is asked for"),
        ("publish", {"service_accounts": []}, "no service account is named"),
        ("publish", {"embargo": "2026-05-31T09:00:00 Europe/Madrid"}, "the embargo has ended"),
        ("publish", {"sign": "none"}, "not signed"),
        ("loop", {"loss_from": "original"}, "losses are computed on the raw data before publication"),
        ("loop", {"on_unmet": "publish"}, "on_unmet publish"),
        ("privacy", {"row_order": "source"}, "row_order source"),
    ],
)
def test_what_is_unwise_is_said(tmp_path: Path, section: str, changed: dict[str, Any], words: str) -> None:
    found = _examined(tmp_path, **{section: changed})
    assert [finding.weight for finding in found if words in finding.words] == [Weight.LOOK], found


def test_raw_losses_that_steer_the_loop_are_told_as_such(tmp_path: Path) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["columns"][1] = {**document["columns"][1], "target": {"tvd": "0.05"}}
    del document["columns"][1]["epsilon"]
    document["loop"] = {"loss_from": "original"}
    told = [finding.words for finding in _of(tmp_path, document)]
    assert [words for words in told if "the raw data steer the loop" in words]


@pytest.mark.parametrize(
    ("codes", "told"),
    [
        (["=f", "+m", "-x", "@y"], "spreadsheets read '=f', '+m', '-x' in the CSV file as a formula, and 1 codes more"),
        (["-a", "b"], "spreadsheets read '-a' in the CSV file as a formula"),
        (["-9", "+1", "-1.5", "a=b", "f-m"], None),
    ],
)
def test_codes_that_spreadsheets_take_for_formulas(tmp_path: Path, codes: list[str], told: str | None) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["columns"][1] |= {"mechanism": "kary_randomized_response", "domain": {"codes": codes}}
    found = _of(tmp_path, document)
    assert [finding.words for finding in found] == ([] if told is None else [f"sex: {told}"])
    document["publish"]["formats"] = ["parquet"]
    assert _of(tmp_path, document) == []


def test_names_that_spreadsheets_take_for_formulas(tmp_path: Path) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["columns"].append({"name": "=sum", "role": "public"})
    document["columns"].append({"name": "@id", "role": "drop"})
    told = [finding.words for finding in _of(tmp_path, document) if "formula" in finding.words]
    assert told == ["=sum: spreadsheets read this name in the CSV file as a formula"]


def _seen(tmp_path: Path, **changed: Any) -> list[Finding]:
    """What is said of a number with a divergence target."""
    document = json.loads(json.dumps(RELEASE))
    prior = changed.pop("prior", None)
    on_unmet = changed.pop("on_unmet", "hold")
    age = {key: value for key, value in document["columns"][0].items() if key != "epsilon"}
    document["columns"][0] = {**age, "target": {"tvd": "0.1"}, **changed}
    document["loop"] = {"on_unmet": on_unmet}
    if prior is not None:
        document["prior"] = {"public": True, "source": "a table", **prior}
    path = tmp_path / "release.yaml"
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return list(examine_visibility(*read_plan(path)))


def test_a_divergence_that_laplace_noise_hides_is_told_before_the_loop_climbs_for_it(tmp_path: Path) -> None:
    (found,) = _seen(tmp_path)
    assert found.words.startswith("age: even at epsilon") and "its tvd shows from about" in found.words
    assert "climbs its whole ladder" in found.words and found.line is not None
    assert found.weight is Weight.LOOK
    wide = {"lower": "0", "upper": "1000", "step": "1"}
    (hidden,) = _seen(tmp_path, domain=wide)
    assert "laplace noise over 1,001 values hides its tvd" in hidden.words and hidden.weight is Weight.FIX
    (published,) = _seen(tmp_path, domain=wide, on_unmet="publish")
    assert published.weight is Weight.LOOK
    (few,) = _seen(tmp_path, prior={"rows": 1000})
    assert few.weight is Weight.FIX


def test_a_divergence_that_shows_is_no_word_worth(tmp_path: Path) -> None:
    assert _seen(tmp_path, mechanism="binned_randomized_response", noise_bins=5) == []
    assert _seen(tmp_path, prior={"rows": 10**9}) == []
    assert _seen(tmp_path, target={"correlation_loss": "40"}) == []
    # what the prior knows of the column is judged by a rehearsal of the loop instead
    known = {"rows": 1000, "columns": [{"name": "age", "mean": "50", "deviation": "20"}]}
    assert _seen(tmp_path, prior=known, target={"tvd": "0.9"}, on_unmet="publish") == []


def test_an_embargo_to_come_is_fine(tmp_path: Path) -> None:
    assert _examined(tmp_path, publish={"embargo": "2026-06-02T09:00:00 Europe/Madrid"}) == []


def test_one_folder_or_one_set_of_credentials_for_both_roots(tmp_path: Path) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["publish"] = {"store": "store", "approvals": 1, "service_accounts": ["robot"]}
    assert "whoever may reach that place reaches both" in _of(tmp_path, document)[0].words
    document["publish"] = {
        "public": "s3://open/x",
        "restricted": "s3://closed/x",
        "approvals": 1,
        "service_accounts": ["robot"],
    }
    document["ledger"] = {"url": "sqlite:////nowhere/ledger.db"}
    assert "one set of credentials" in _of(tmp_path, document)[0].words
    document["publish"]["public_s3"] = {"credentials": "OTHER"}
    assert _of(tmp_path, document) == []


def test_domains_are_held_against_their_epsilon(tmp_path: Path) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["columns"][0]["epsilon"] = "0.1"
    codes = [f"c{place}" for place in range(60)]
    document["columns"][1] |= {"mechanism": "kary_randomized_response", "domain": {"codes": codes}}
    document["columns"].append(
        {
            "name": "few",
            "type": "number",
            "domain": {"lower": "0", "upper": "2", "step": "1"},
            "mechanism": "laplace",
            "epsilon": "2",
        }
    )
    told = [finding.words for finding in _of(tmp_path, document)]
    assert any(words.startswith("age: at epsilon 0.1") and "times its whole range" in words for words in told)
    assert any(words.startswith("sex: at epsilon 1,") and "in 100 rows keep their code" in words for words in told)
    assert "few: a number with 3 values" in told


@pytest.mark.parametrize(
    ("delta", "rows", "weight"),
    [
        ("0.001", 1_000, Weight.FIX),
        ("0.00011", 1_000, Weight.LOOK),
        ("0.0000001", 1_000, None),
        ("0.001", None, Weight.LOOK),
    ],
)
def test_a_delta_is_held_against_the_number_of_rows(
    tmp_path: Path, delta: str, rows: int | None, weight: Weight | None
) -> None:
    document = json.loads(json.dumps(RELEASE))
    document["privacy"]["delta_total"] = delta
    document["columns"][0] |= {"mechanism": "gaussian", "delta": delta}
    if rows is not None:
        document["prior"] = {"public": True, "source": "a table", "rows": rows}
    found = [finding.weight for finding in _of(tmp_path, document) if "delta" in finding.words]
    assert found == ([] if weight is None else [weight])


def test_targets_are_rehearsed_where_a_prior_allows_it(tmp_path: Path) -> None:
    document = json.loads(json.dumps(RELEASE))
    sex = document["columns"][1]
    del sex["epsilon"]
    sex["target"] = {"tvd": "0.1"}
    document["prior"] = {
        "public": True,
        "source": "a table",
        "rows": 2_000,
        "columns": [{"name": "sex", "shares": {"f": "0.5", "m": "0.5"}}],
    }
    path = tmp_path / "release.yaml"

    def told(ceiling: str, total: str) -> list[Finding]:
        sex["target"]["tvd"] = ceiling
        document["privacy"]["epsilon_total"] = total
        path.write_text(json.dumps(document), encoding="utf-8")
        return examine_targets(*read_plan(path))

    known, document["prior"]["columns"] = document["prior"]["columns"], []
    (unknown,) = told("0.1", "16")
    assert unknown.weight is Weight.LOOK and "cannot be foreseen" in unknown.words
    document["prior"]["columns"] = known
    (fine,) = told("0.1", "16")
    assert fine.weight is Weight.FINE and "expected to cost 4.610351 of 16, by the prior" in fine.words
    (short,) = told("0.05", "4.5")
    assert short.weight is Weight.FIX and "does not last" in short.words
    document["loop"] = {"on_unmet": "publish"}
    # a correlation that the prior does not know of counts as none, and none cannot be told from noise
    document["prior"]["columns"].append({"name": "age", "mean": "40", "deviation": "15"})
    sex["target"] = {"correlation_loss": "1"}
    path.write_text(json.dumps(document), encoding="utf-8")
    (never,) = examine_targets(*read_plan(path))
    assert never.weight is Weight.LOOK and "out of reach" in never.words


def test_without_a_prior_nothing_is_foreseen(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(json.dumps(RELEASE), encoding="utf-8")
    assert examine_targets(*read_plan(path)) == []


HEAD = 'format: 1\nsource: {path: people.csv, format: csv, csv: {delimiter: ";", missing: undecided}}\n'


def _source(tmp_path: Path, columns: str, head: str = HEAD) -> list[Finding]:
    return examine_source(read_document(f"{head}columns:\n{columns}"), tmp_path)


def test_a_header_is_compared_by_names_even_while_a_file_is_a_draft(tmp_path: Path) -> None:
    columns = "  - {name: age, type: undecided}\n  - {name: place, columns: {latitude: lat, longitude: lon}}\n"
    (absent,) = _source(tmp_path, columns)
    assert (absent.weight, absent.line) == (Weight.FIX, 2)
    (tmp_path / "people.csv").write_text("age;lat;lon\n31337;47,1;CANARY\n", encoding="utf-8")
    (fine,) = _source(tmp_path, columns)
    assert fine.weight is Weight.FINE and "3 declared columns" in fine.words
    found = _source(tmp_path, columns + "  - {name: sex}\n")
    assert [finding.words for finding in found] == [
        "source people.csv: sex: required the declared column; came no such column in the file"
    ]
    (tmp_path / "people.csv").write_text("CANARY;47,1;9\n", encoding="utf-8")
    assert "CANARY" not in str(_source(tmp_path, columns))


def test_a_parquet_schema_is_compared_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1], "more": [2]}), tmp_path / "people.parquet")
    head = "format: 1\nsource: {path: people.parquet, format: parquet}\n"
    (found,) = _source(tmp_path, "  - {name: age, role: drop}\n", head)
    assert found.weight is Weight.FIX and "'more'" in found.words


def test_a_source_that_is_not_declared_yet_is_not_looked_for(tmp_path: Path) -> None:
    assert _source(tmp_path, "  - {name: age}\n", "format: 1\nsource: {path: 3}\n") == []
    assert examine_source(read_document("[]"), tmp_path) == []


def test_undecided_keys_of_a_column_are_one_finding_and_counts_are_left_out() -> None:
    def fault(reason: Reason, where: str, line: int) -> Fault:
        return Fault(reason, where, "a decision: x", "undecided", "Decide it.", rows=7, line=line, column=3)

    found = must(
        [
            fault(Reason.UNDECIDED, "columns[a.b].domain.lower", 4),
            fault(Reason.UNDECIDED, "columns[a.b].target", 5),
            fault(Reason.UNDECIDED, "privacy.account", 2),
            fault(Reason.BAD_SHAPE, "privacy.unit", 2),
        ]
    )
    assert [(finding.line, finding.words) for finding in found] == [
        (2, "privacy.unit: required a decision: x; came undecided"),
        (4, "undecided in columns[a.b]: domain.lower, target"),
        (2, "undecided in privacy: account"),
    ]
    assert "7" not in str(found)
