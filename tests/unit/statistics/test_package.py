"""The package of answers: whole, verifiable, and refused when numbers, noise or costs do not fit each other."""

from __future__ import annotations

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
    f"{{name: over, type: above, threshold: 2, cutoff: 1, epsilon: '1', questions: [{{name: a, {SOUTH}}}]}}",
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
        ("data/answers.json", lambda a: a["queries"][0]["cells"][0].update(value=99, noisy=99)),
        ("data/answers.json", lambda a: a.update(rows=7)),
        ("data/answers.json", lambda a: a["queries"].pop()),
    ],
)
def test_a_package_whose_parts_contradict_each_other_is_refused(
    published: Path, tmp_path: Path, path: str, change: Callable[[dict[str, Any]], object]
) -> None:
    """Every digest is made anew, as someone would who edits an unsigned package."""
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    document = json.loads((copy / path).read_text(encoding="utf-8"))
    change(document)
    (copy / path).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    sums = read_sums((copy / "SHA256SUMS").read_text(encoding="utf-8"))
    sums[path] = hashlib.sha256((copy / path).read_bytes()).hexdigest()
    (copy / "SHA256SUMS").write_text("".join(f"{sums[key]}  {key}\n" for key in sorted(sums)), encoding="utf-8")
    for entry in manifest["files"]:
        content = (copy / entry["path"]).read_bytes()
        entry.update(sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))
    (copy / "manifest.json").write_bytes(documents.dump(manifest, "manifest"))
    failures = verify_release(copy).failures
    assert failures
    assert not {"digest", "sums", "complete"} & {failure.name for failure in failures}, "edited consistently"


def test_costs_in_the_statement_are_those_of_the_plan(published: Path) -> None:
    statement = json.loads((published / "statement.json").read_text(encoding="utf-8"))
    spent = Cost.from_json(statement["spent"])
    assert spent == sum(
        (Cost.from_json(q["cost"]) for q in statement["queries"][1:]), Cost.from_json(statement["queries"][0]["cost"])
    )
