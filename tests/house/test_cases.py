"""Every reported fault has a test that names its row; the rows themselves are kept beside the checkout, not in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

EXCLUDED: dict[str, str] = {}
"""Rows whose right outcome cannot be had yet."""

# fmt: off
COVERED = [
    "B01", "B02", "B03", "B04", "B06", "B07", "B10", "B11", "B13", "B14", "B15", "B16", "B17", "B18",
    "B19", "B20", "B21", "B22", "B23", "B24", "B25", "B26", "B27", "B28", "B29", "B30", "B31", "B33",
    "B35", "B36", "B37", "B38", "B39", "B40", "B41", "B42", "B43", "B44", "B45", "B46", "B47", "B49", "B50",
    "B52", "B53", "B57", "B59", "B60", "B62", "B63", "B64", "B65", "B66", "B67", "B68", "B69", "B70",
    "B71", "B73", "B75", "B77", "B79", "B80", "B81", "B82", "B83", "B84", "B85", "B86", "B87", "T01", "T02", "T03",
    "T04", "T05", "T06", "T07", "T08", "T09", "T10", "T11",
]
# fmt: on

_NAMED = re.compile(r"(?<![A-Za-z0-9])([BbTt]\d\d)(?![A-Za-z0-9])")
_RANGE = re.compile(r"(?<![A-Za-z0-9])([BT])(\d\d) to \1(\d\d)(?![A-Za-z0-9])")


def ids_named(text: str) -> set[str]:
    """Ids in a test's name, docstring, comment or parameter: ``b31_``, ``B31``, ``T06 to T09``."""
    found = {match.upper() for match in _NAMED.findall(text)}
    for letter, first, last in _RANGE.findall(text):
        found |= {f"{letter}{number:02d}" for number in range(int(first), int(last) + 1)}
    return found


def without_docstring(source: str) -> str:
    """A module without its first docstring: what a file is said to be about shows nothing of what is in it."""
    first = ast.parse(source).body[:1]
    if not first or not isinstance(first[0], ast.Expr) or not isinstance(first[0].value, ast.Constant):
        return source
    return "\n".join(source.split("\n")[first[0].end_lineno :])


def test_the_list_is_whole() -> None:
    assert len(COVERED) == len(set(COVERED)) == 81
    assert not set(COVERED) & set(EXCLUDED)
    assert len(COVERED) + len(EXCLUDED) == 81


@pytest.fixture(scope="module")
def named() -> dict[str, set[str]]:
    files = [path for path in TESTS.rglob("test_*.py") if path != Path(__file__).resolve()]
    texts = {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return {name: ids_named(without_docstring(text)) for name, text in texts.items()}


@pytest.mark.parametrize("row", COVERED)
def test_a_test_names_the_row(row: str, named: dict[str, set[str]]) -> None:
    assert [name for name, ids in named.items() if row in ids], f"no test file names {row}"


def test_only_rows_of_the_list_are_named(named: dict[str, set[str]]) -> None:
    """A slip of the pen must not pass for a test of another row."""
    strays = {name: sorted(ids - set(COVERED) - set(EXCLUDED)) for name, ids in named.items()}
    assert not {name: ids for name, ids in strays.items() if ids}


def test_names_are_found_in_every_spelling_and_nowhere_else() -> None:
    assert ids_named("def test_b31_bounds(): # B04, T06 to T08") == {"B31", "B04", "T06", "T07", "T08"}
    assert ids_named("b310 AB31 0xb31a base B3 Bb31") == set()
    assert ids_named(without_docstring('"""About B04\nand B06."""\n\ndef test_b31() -> None: ...\n')) == {"B31"}
    assert ids_named(without_docstring("# B04\nx = 1\n")) == {"B04"}


def test_the_list_is_that_of_the_reports() -> None:
    reports = TESTS.parents[1] / "shared" / "cases" / "reports.md"
    if not reports.is_file():
        pytest.skip("the list of reports is not beside this checkout")
    rows = re.findall(r"^\| ([BT]\d\d) \|", reports.read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted([*COVERED, *EXCLUDED])
