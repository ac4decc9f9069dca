"""The package of answers: whole, verifiable, and refused when numbers, noise or costs do not fit each other."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asked import KEY, plan_of, rows_of

from trasgo_lib.budget import Cost
from trasgo_lib.release import documents, publish_package, verify_release
from trasgo_lib.release.answers_file import csv_rows
from trasgo_lib.release.manifest import read_sums
from trasgo_lib.statistics.answering import draw_answer
from trasgo_lib.statistics.answers import answers_of
from trasgo_lib.statistics.package import StatisticsFacts, stage_statistics
from trasgo_lib.storage import open_store

SOUTH = "where: [{column: region, codes: [south]}]"
QUERIES = (
    "{name: table, type: crosstab, by: [region, sex], epsilon: '0.5', suppress_below: '1'}",
    f"{{name: mean, type: mean, column: age, rho: '0.1', delta: '1e-9', {SOUTH}}}",
    "{name: quarter, type: quantile, column: age, probability: '0.25', epsilon: '0.5'}",
    "{name: middle, type: median, column: age, rho: '0.01', delta: '1e-9'}",
    "{name: top, type: top, column: region, best: 2, epsilon: '0.5'}",
    f"{{name: over, type: above, threshold: 2, cutoff: 1, epsilon: '1', questions: [{{name: a, {SOUTH}}},"
    f" {{name: b, {SOUTH}}}]}}",
    "{name: ages, type: histogram, column: age, epsilon: '0.5'}",
    "{name: total, type: sum, column: balance, by: [region], epsilon: '0.5'}",
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    plan = plan_of(folder, *QUERIES)
    rows = rows_of(list(range(6)), age=[1, 2, 3, 4, 5, 9], region=[0, 1, 1, 2, 1, 1], sex=[0, 1, 2, 0, 1, 1])
    answers = answers_of(plan, {query.name: draw_answer(query, rows, KEY) for query in plan.queries})
    facts = StatisticsFacts(plan, 6, plan.cost, "2030-01-01T00:00:00+00:00", "0.1.0", "unknown")
    staged = stage_statistics(facts, answers, folder / "work", None)
    publish_package(staged, open_store(folder / "public"), "people/1")
    return folder / "public" / "people" / "1"


def test_the_package_verifies(published: Path) -> None:
    report = verify_release(published)
    assert report.passed, report.failures
    assert len(report.results) > 40
    text = (published / "report.md").read_text(encoding="utf-8")
    assert "## quarter (quantile)" in text and "trusted curator" in text


def _statement(change: Callable[[dict[str, Any]], object]) -> tuple[str, Callable[[dict[str, Any]], object]]:
    return "statement.json", change


def _part(query: int, part: int, **values: object) -> Callable[[dict[str, Any]], object]:
    return lambda statement: statement["queries"][query]["parts"][part].update(values)


def _halved(query: int, key: str, factor: int = 2) -> Callable[[dict[str, Any]], object]:
    """Half of a sensitivity, and half of the noise."""

    def change(statement: dict[str, Any]) -> None:
        for part in statement["queries"][query]["parts"]:
            moves = part["sensitivity"]
            moves[key] = str(max(int(moves[key]) // factor, 1 if int(moves[key]) > 1 else 0))
            part["scale"] /= 2

    return change


def _csv_too(change: Callable[[dict[str, Any]], object]) -> tuple[str, Callable[[dict[str, Any]], object]]:
    """An edit of the answers, with the CSV file made anew of it."""
    return "both", change


def _narrower(query: int) -> Callable[[dict[str, Any]], object]:
    """Intervals that promise more than the noise allows."""

    def change(answers: dict[str, Any]) -> None:
        for cell in answers["queries"][query]["cells"]:
            if cell["low"] is not None and cell["value"] is not None:
                cell["low"], cell["high"] = cell["value"], cell["value"]

    return change


@pytest.mark.parametrize(
    ("path", "change"),
    [
        _statement(_part(0, 0, scale=2.0)),
        _statement(_part(1, 0, scale=1.0)),
        _statement(_part(2, 0, scale=1.0)),
        _statement(_part(3, 0, scale=1.0)),
        _statement(_part(4, 0, scale=1.0)),
        _statement(_part(5, 0, scale=1.0)),
        _statement(_part(0, 0, claim={"epsilon": "0.6"}, scale=9.0)),
        _statement(_part(2, 0, noise="noisy_max")),
        _statement(lambda s: s["queries"][0]["cost"].update(epsilon="0.4")),
        _statement(lambda s: s["queries"][0]["event"].update(epsilon="0.4")),
        _statement(lambda s: s["queries"][0]["event"].update(type="nothing")),
        _statement(lambda s: s["spent"].update(epsilon="0.1")),
        _statement(lambda s: s.update(epsilon_guarantee="0.1")),
        _statement(lambda s: s["account_to_date"].update(epsilon="0.1")),
        _statement(lambda s: s.update(kind="release")),
        _statement(lambda s: s.update(version="2")),
        _statement(lambda s: s["queries"][0]["parts"][0]["sensitivity"].update(l1="0")),
        # stated sensitivities with the scale that would fit them: whoever trusts them is content
        _statement(_halved(0, "l1")),
        _statement(_halved(1, "l2_squared", factor=4)),
        _statement(_halved(2, "largest")),
        _statement(_halved(4, "largest")),
        _statement(_halved(5, "largest")),
        # questions that would need less noise
        _statement(lambda s: s["columns"][0]["domain"].update(upper="19", size=20)),
        _statement(lambda s: s["queries"][1]["asked"].update(column="balance")),
        _statement(lambda s: s["queries"][2]["asked"].update(probability="0.125")),
        _statement(lambda s: s["queries"][4]["asked"].update(best=3)),
        _statement(lambda s: s["queries"][5]["asked"].update(cutoff=2)),
        _statement(lambda s: s["queries"][5]["event"].update(cutoff="2")),
        _statement(lambda s: s["queries"][0]["asked"].update(max_rows=0)),
        _statement(lambda s: s.update(max_rows=2)),
        _statement(lambda s: s["queries"][0]["bounds"].update(rows=2)),
        _statement(lambda s: s["queries"][0]["event"].update(sensitivity="1000")),
        _statement(lambda s: s["queries"][7]["event"].update(sensitivity="6")),
        _statement(lambda s: s.update(neighbours="one row is added or taken out")),
        _statement(_part(0, 0, half_width_steps="1")),
        _statement(_part(0, 0, noise="noisy_max")),
        _statement(lambda s: s["queries"][0]["asked"].pop("suppress_below")),
        ("data/answers.json", lambda a: a["queries"][0]["cells"][0].update(value=99, noisy=99)),
        ("data/answers.json", lambda a: a.update(rows=7)),
        ("data/answers.json", lambda a: a["queries"].pop()),
        _csv_too(lambda a: a["queries"][0]["cells"].pop()),
        _csv_too(lambda a: a["queries"][0]["cells"].reverse()),
        _csv_too(_narrower(6)),
        _csv_too(_narrower(7)),
        _csv_too(lambda a: a["queries"][6].update(post_processed=["rounded to whole numbers"])),
        _csv_too(lambda a: a["queries"][2]["cells"][0].update(value="99")),
        _csv_too(lambda a: a["queries"][2].update(margin_rows=1)),
        _csv_too(lambda a: a["queries"][4]["cells"][1].update(value=a["queries"][4]["cells"][0]["value"])),
        # a sparse vector that answered on after its cutoff, or stopped before it
        _csv_too(lambda a: [cell.update(value=True) for cell in a["queries"][5]["cells"]]),
        _csv_too(lambda a: [cell.update(value=None) for cell in a["queries"][5]["cells"]]),
    ],
)
def test_a_package_whose_parts_contradict_each_other_is_refused(
    published: Path, tmp_path: Path, path: str, change: Callable[[dict[str, Any]], object]
) -> None:
    """Every digest is made anew, as someone would who edits an unsigned package."""
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    edited = [path] if path != "both" else ["data/answers.json", "data/answers.csv"]
    document = json.loads((copy / edited[0]).read_text(encoding="utf-8"))
    change(document)
    (copy / edited[0]).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if path == "both":
        with (copy / edited[1]).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\r\n").writerows(csv_rows(document))
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    sums = read_sums((copy / "SHA256SUMS").read_text(encoding="utf-8"))
    for name in edited:
        sums[name] = hashlib.sha256((copy / name).read_bytes()).hexdigest()
    (copy / "SHA256SUMS").write_text("".join(f"{sums[key]}  {key}\n" for key in sorted(sums)), encoding="utf-8")
    for entry in manifest["files"]:
        content = (copy / entry["path"]).read_bytes()
        entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    (copy / "manifest.json").write_bytes(documents.dump(manifest, "manifest"))
    failures = verify_release(copy).failures
    assert failures
    told = {failure.name for failure in failures} - {"described files"}
    assert told and not {"digest", "sums", "complete", "CSV equals JSON" if path == "both" else ""} & told, failures


def test_costs_in_the_statement_are_those_of_the_plan(published: Path) -> None:
    statement = json.loads((published / "statement.json").read_text(encoding="utf-8"))
    spent = Cost.from_json(statement["spent"])
    assert spent == sum(
        (Cost.from_json(q["cost"]) for q in statement["queries"][1:]), Cost.from_json(statement["queries"][0]["cost"])
    )
