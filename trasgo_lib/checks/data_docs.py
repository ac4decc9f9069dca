"""Data Docs of the output checks: Great Expectations' own rendering, in a page that needs no network.

The library's page fetches styles, scripts and fonts from five hosts. Here its section renderer and its section
templates are used as they are, inside a page with styles of its own; nothing is fetched and no script runs. Results are
true or false, merged over all batches: no value, no count, and none of the digests of batches that its results carry.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trasgo_lib.checks.batches import rules_of
from trasgo_lib.checks.expectations import Rule, expectation
from trasgo_lib.checks.expected import ExpectedTable
from trasgo_lib.checks.report import CheckReport, CheckResult
from trasgo_lib.checks.running import result_name

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

DATA_DOCS = "checks.html"

_PAGE = "trasgo_data_docs.j2"
_TEMPLATES = Path(__file__).with_name("templates")

MOST_CODES = 40
"""Codes of a domain that are spelled out; of more, the first ones and how many follow."""


def data_docs(expected: ExpectedTable, report: CheckReport, heading: str) -> str:
    """The page.

    Args:
        expected: what the plan declares.
        report: the output checks of its batches.
        heading: which release this is.
    """
    from great_expectations import render
    from great_expectations.render import renderer as renderers
    from great_expectations.render import view as views

    known: Any = {**vars(render), **vars(renderers), **vars(views)}  # the library's own types say nothing of them
    by_column: dict[str | None, list[ExpectationValidationResult]] = {}
    outcomes = _outcomes(expected, report)
    for number, (rule, passed) in enumerate(outcomes):
        by_column.setdefault(rule.column, []).append(_validation_result(rule, number, passed))
    renderer = known["ValidationResultsColumnSectionRenderer"]()
    sections = [_outcome_alone(renderer.render(validation_results=results)) for results in by_column.values()]
    held = sum(passed for _, passed in outcomes)
    page: str = known["DefaultJinjaPageView"](custom_views_directory=str(_TEMPLATES)).render(
        known["RenderedDocumentContent"](sections=sections, page_title=heading),
        template=_PAGE,
        heading=heading,
        passed=held,
        total=len(outcomes),
        success=held == len(outcomes),
    )
    return _headed(page)


def _outcomes(expected: ExpectedTable, report: CheckReport) -> list[tuple[Rule, bool]]:
    """Every rule with its merged outcome; a rule without a result does not hold."""
    found: dict[tuple[str, str | None], CheckResult] = {(one.name, one.column): one for one in report.results}
    outcomes = []
    for rule in rules_of(expected):
        result = found.get((result_name(rule), rule.column))
        outcomes.append((rule, result is not None and result.passed))
    return outcomes


def _validation_result(rule: Rule, number: int, passed: bool) -> ExpectationValidationResult:
    """A result as the library makes it under ``BOOLEAN_ONLY``: success, and nothing of what was seen."""
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

    return ExpectationValidationResult(
        success=passed,
        expectation_config=expectation(_shortened(rule), number).configuration,
        result={},
        exception_info={"raised_exception": False, "exception_traceback": None, "exception_message": None},
    )


def _shortened(rule: Rule) -> Rule:
    if rule.kind != "in_set" or len(rule.allowed) <= MOST_CODES:
        return rule
    rest = f"and {len(rule.allowed) - MOST_CODES:,} more declared codes"
    return Rule(rule.kind, rule.column, allowed=(*map(str, rule.allowed[:MOST_CODES]), rest))


def _outcome_alone(section: Any) -> Any:
    """The section without the library's column of observed values, which says nothing where results are Booleans.

    A section's heading is a column's name as it stands, which the library writes as markup and as a template.
    """
    for block in section.content_blocks:
        if hasattr(block, "header") and hasattr(block.header, "string_template"):
            heading = block.header.string_template
            heading["template"] = escape(heading["template"].replace("$$", "$")).replace("$", "&#36;")
        if hasattr(block, "table"):
            block.table = [row[:2] for row in block.table]
            block.header_row = block.header_row[:2]
    return section


def _headed(page: str) -> str:
    """Headings in order: the library starts at the fifth level. Its ids repeat and nothing refers to them."""
    page = re.sub(r"<(/?)h5\b", r"<\1h2", page)
    page = re.sub(r"<th\b", '<th scope="col"', page)
    page = re.sub(r' (?:id|data-[a-z-]+)="[^"]*"', "", page)
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]+\n", "\n", page))
