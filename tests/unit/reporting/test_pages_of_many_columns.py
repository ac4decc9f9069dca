"""The restricted page of a wide release: both sides of every column, capped where it would get too long to read."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html

from trasgo_lib.budget import Cost
from trasgo_lib.checks import CheckReport, CheckResult
from trasgo_lib.config import load_config
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.reporting import (
    RISK_NOTES,
    DrawOutcome,
    ReleaseFacts,
    RestrictedFacts,
    RoundFacts,
    UnitOutcome,
    render_restricted_report,
)
from trasgo_lib.reporting.public_page import render_report_page
from trasgo_lib.reporting.restricted_page import render_restricted_page
from trasgo_lib.utility import comparison_document, loss_columns, measure

ROWS = 400
MOST_BYTES = 2_000_000

HEAD = """
format: 1
release: {dataset: wide, version: "1", title: "A wide <release>"}
source: {path: private-source.csv, format: csv}
privacy: {epsilon_total: "60", geo_total: "7", account: wide, unit: row, row_order: shuffle}
loop: {loss_from: released, composition: chain, start: "0.5", ratio: "1.5", on_unmet: publish}
publish: {store: releases}
columns:
  - {name: day, type: date, format: "%Y-%m-%d", domain: {lower: "2017-01-01", upper: "2017-12-31"},
     mechanism: laplace, epsilon: "0.25"}
  - {name: place, type: point, columns: {latitude: lat, longitude: lon}, mechanism: planar_laplace,
     domain: {box: ["41.8", "-87.7", "41.9", "-87.6"], crs: "EPSG:3435", step_m: "500"},
     geo: {epsilon: "1.386", radius_m: "200"}}
"""


def _text(columns: int) -> str:
    lines = []
    for number in range(columns):
        name, kind = f"column_{number:02d}", number % 3
        if kind == 0:
            size = 99999 if number == 0 else 40
            lines.append(
                f'  - {{name: {name}, type: number, domain: {{lower: "0", upper: "{size}", step: "1", unit: USD}},'
                ' outside: clip, mechanism: laplace, epsilon: "0.5"}'
            )
        elif kind == 1:
            lines.append(
                f"  - {{name: {name}, type: category, domain: {{codes: [a, b, c]}},"
                ' mechanism: kary_randomized_response, target: {tvd: "0.1"}}'
            )
        else:
            codes = ", ".join(f'"k{code:03d}"' for code in range(200))
            lines.append(
                f"  - {{name: {name}, type: category, domain: {{codes: [{codes}]}},"
                ' mechanism: kary_randomized_response, epsilon: "0.5"}'
            )
    return HEAD + "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=[3, 60])
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ReleasePlan:
    path: Path = tmp_path_factory.mktemp("wide") / "release.yaml"
    path.write_text(_text(request.param), encoding="utf-8")
    return compile_plan(load_config(path))


@pytest.fixture(scope="module")
def restricted(plan: ReleasePlan) -> RestrictedFacts:
    rows = np.arange(ROWS)

    def readers(shift: int) -> dict[str, Any]:
        made = {
            unit.name: ((rows * (3 + place) + shift * rows % 7) % unit.domain.size).astype(np.int32)
            for place, unit in enumerate(plan.units)
        }
        return {name: (lambda codes=codes: iter([codes])) for name, codes in made.items()}

    measurement = measure(readers(0), readers(1), loss_columns(plan), rows=ROWS)
    rounds = tuple(RoundFacts(1, unit.name, unit.rungs[0], 0.04, True, (0.02, 0.06)) for unit in plan.units)
    return RestrictedFacts(
        plan,
        "published",
        "met",
        rounds,
        {"rows": ROWS, "columns": [{"name": "day", "missing": 3}]},
        measurement.losses.to_json(),
        comparison=comparison_document(measurement, loss_columns(plan)),
        risk={"not_computed": "Audit <of> risk"},
    )


CHECKS = CheckReport((CheckResult("rows", None, True, "400 released rows", "400 rows"),))


def test_a_page_stays_small_and_is_written_again_byte_for_byte(restricted: RestrictedFacts) -> None:
    page = render_restricted_page(restricted, CHECKS)
    assert len(page.encode()) < MOST_BYTES
    if len(restricted.plan.units) < 10:
        assert render_restricted_page(restricted, CHECKS) == page


def test_every_column_is_drawn_and_capped_parts_say_so(restricted: RestrictedFacts) -> None:
    page = render_restricted_page(restricted, CHECKS)
    tree = html.fromstring(page)
    drawn = " ".join(tree.xpath("//section[@id='distributions']//svg/@aria-label"))
    assert all(unit.name in drawn for unit in restricted.plan.units if unit.type != "point")
    bars = {cells.text_content() for cells in tree.xpath("//table[@id='bars']//tbody/tr/th")}
    assert bars == {unit.name for unit in restricted.plan.units if unit.type != "point"}
    pairs = len(tree.xpath("//table[@id='pairs']//tbody/tr"))
    many = len(restricted.plan.units) > 50
    assert ("24 of 61 columns whose correlations changed most" in page) == many
    assert ("200 of 1830 pairs that changed most" in page) == many and pairs == (200 if many else 6)
    assert len(tree.xpath("//section[@id='correlations']//svg")) == 3
    assert len(tree.xpath("//section[@id='places']//svg")) == 2
    ids = tree.xpath("//@id")
    assert len(ids) == len(set(ids))


def test_figures_of_the_page_are_those_of_the_comparison(restricted: RestrictedFacts) -> None:
    tree = html.fromstring(render_restricted_page(restricted, CHECKS))
    column = next(one for one in restricted.comparison["columns"] if one["name"] == "column_01")
    rows = [row for row in tree.xpath("//table[@id='bars']//tbody/tr") if row[0].text_content() == "column_01"]
    assert [float(row[2].text_content()) for row in rows] == [
        round(100 * count / ROWS, 2) for count in column["before"]
    ]
    assert [row[1].text_content() for row in rows] == ["a", "b", "c"]
    (place,) = restricted.comparison["places"]
    counted = [int(row[1].text_content()) for row in tree.xpath("//table[@id='moved-0']//tbody/tr")]
    assert sum(counted) == sum(place["moved"]) == ROWS


def test_the_risk_audit_stands_in_both_forms_of_the_report(restricted: RestrictedFacts) -> None:
    page, text = render_restricted_page(restricted, CHECKS), render_restricted_report(restricted)
    assert "<h2>Risk audit</h2>" in page and "<td>Audit &lt;of&gt; risk</td>" in page
    assert "## Risk audit" in text and "| not computed | Audit &lt;of&gt; risk |" in text
    assert all(escape(words) in page and words in text for words in RISK_NOTES)


def test_without_a_comparison_there_are_no_pictures_of_it(restricted: RestrictedFacts) -> None:
    bare = replace(restricted, comparison={}, losses={"columns": [], "not_computed": "ValueError"}, risk={})
    page = render_restricted_page(bare, CheckReport(()))
    assert "could not be computed: ValueError" in page and "None were run" in page
    assert 'id="distributions"' not in page and 'id="places"' not in page


def test_the_public_page_of_a_wide_release_stays_small(plan: ReleasePlan) -> None:
    outcomes = tuple(
        UnitOutcome(unit.name, unit.rungs[:1], None if unit.target is None else True, None, (DrawOutcome(1),))
        for unit in plan.units
    )
    facts = ReleaseFacts(plan, ROWS, outcomes, Cost.zero(), CHECKS, "2030-01-31T12:00:00Z", "0.1.0", "0123abc")
    page = render_report_page(facts)
    assert len(page.encode()) < MOST_BYTES / 4
    many = len(plan.units) > 24
    assert ("The 24 dearest of" in page) == many
    assert "no: hidden by the noise" in page
