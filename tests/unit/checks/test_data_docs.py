"""Data Docs: the library's own sections in a page that needs no network, and no value of a row in it."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from lxml import html

from trasgo_lib.checks import CheckReport, ExpectedTable, check_batches, data_docs, expected_unit
from trasgo_lib.checks.data_docs import MOST_CODES
from trasgo_lib.data import CategoryDomain, NumberDomain

MARKED = 31337


@pytest.fixture(scope="module")
def expected() -> ExpectedTable:
    wage = expected_unit("wage<b>$x", ("wage<b>$x",), NumberDomain("0", "5", "1"), nullable=False)
    codes = [f"<i>{number}" for number in range(MOST_CODES + 20)]
    return ExpectedTable((*wage, *expected_unit("job", ("job",), CategoryDomain(codes), nullable=True)), 3)


@pytest.fixture(scope="module")
def page(expected: ExpectedTable) -> str:
    batch = pa.record_batch({"wage<b>$x": [1, 2, MARKED], "job": ["<i>1", "<i>2", f"secret{MARKED}"]})
    return data_docs(expected, check_batches(expected, [batch]), "demo <x>, version 1")


def test_nothing_is_fetched_and_no_script_runs(page: str) -> None:
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", page)
    assert "default-src 'none'" in page
    assert "Rendered by Great Expectations" in page


def test_results_are_true_or_false_and_hold_no_value(page: str) -> None:
    assert str(MARKED) not in page and "secret" not in page and "fingerprint" not in page.lower()
    tree = html.fromstring(page)
    rows = {" ".join(row.text_content().split()): row for row in tree.xpath("//tbody/tr")}
    fails = [words for words, row in rows.items() if row.xpath(".//i[contains(@class, 'text-danger')]")]
    assert len(rows) == 5 and len(fails) == 2
    assert any("less than or equal to 5" in words for words in fails) and any("this set" in words for words in fails)
    assert "3 of 5 expectations hold" in page
    assert [cell.text_content().strip() for cell in tree.xpath("//thead//th")] == ["Status", "Expectation"] * 3


def test_names_and_codes_are_text_and_long_lists_are_cut(page: str) -> None:
    tree = html.fromstring(page)
    assert [" ".join(part.text_content().split()) for part in tree.xpath("//h2")][1:] == ["wage<b>$x", "job"]
    assert "<b>" not in page and "<i>1" not in page
    assert "and 20 more declared codes" in page and f"&lt;i&gt;{MOST_CODES - 1}" in page
    assert f"&lt;i&gt;{MOST_CODES + 1}" not in page


def test_the_same_results_give_the_same_bytes(expected: ExpectedTable) -> None:
    empty = CheckReport(())
    assert data_docs(expected, empty, "x") == data_docs(expected, empty, "x")
    assert "0 of 5 expectations hold" in data_docs(expected, empty, "x")
