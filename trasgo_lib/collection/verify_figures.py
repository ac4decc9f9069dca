"""Figures that words and pages of a window name, against those that follow from its counts.

Words are those of a version of this library, and only the same version can say them again. What they name is asked of
every version: amounts of epsilon and delta, numbers of reports, shares of cells, and what metadata say of the window.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np

import trasgo_lib
from trasgo_lib.collection.concluding import LevelTable, reports_per_cell
from trasgo_lib.collection.sizing import REPORTS_PER_CELL
from trasgo_lib.errors import Reason, TrasgoError
from trasgo_lib.release import REPORT, STATEMENT
from trasgo_lib.release.collection_file import is_map
from trasgo_lib.release.verification import VerificationResult, failed, judge, noted

_CLAIM = Reason.CLAIM_NOT_CERTIFIED

_NUMBER = r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e-?[0-9]{1,2})?"
"""Bounded, as every pattern here: pages can come from anyone, and must not take the reader's time or memory."""

_WRITTEN = re.compile(_NUMBER)
_AMOUNT = re.compile(
    rf"\b(?:epsilon(?: of a report)?|delta) (?:is |of )?(?:at most )?({_NUMBER}(?:, {_NUMBER})*)", re.IGNORECASE
)
_COUNT = r"([0-9][0-9,]{0,30})"
_REPORTS = re.compile(rf"(?<![0-9.,-]){_COUNT} (?:devices )?report(?:s|ed)\b|\bReports:? {_COUNT}\b")
_CELLS = re.compile(rf"(?<![0-9.,-]){_COUNT} of {_COUNT} cells\b")
_CELL = re.compile(r"\b8[0-9a-f]{14}\b")
_PERCENT = re.compile(rf"(-?{_NUMBER}) %")

_INSIDE_A_ROW = re.compile(r"</?(?:t[dh]|d[td])\b[^<>]*>")
_TAG = re.compile(r"<[^<>]*>")
_PUBLISHERS = ("title", "description", "supersedes")
"""What the publisher writes; it may name any figure, and so may a page that repeats it."""

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts that words may name.

    Args:
        statement: of its schema.
    """

    statement: Mapping[str, Any]

    def others(self, text: str) -> list[str]:
        """Amounts of epsilon or delta in a text that the statement does not have, as they are written."""
        publishers = "\n".join(_texts([self.statement[key] for key in _PUBLISHERS]))
        allowed = {Decimal(0), *_amounts(self.statement), *map(Decimal, self._named(publishers))}
        return [amount for amount in self._named(text) if Decimal(amount) not in allowed]

    def tells_lifetime(self, text: str) -> bool:
        """Whether a text that names amounts names the most that a device spends, and no others than the statement's."""
        named = {Decimal(amount) for amount in self._named(text)}
        spends = self.statement["device"] or self.statement.get("point") or {}
        lifetime = set(_numbers(spends.get("lifetime_epsilon")))
        return not named or (bool(lifetime & named) and not self.others(text))

    @staticmethod
    def _named(text: str) -> list[str]:
        return [amount for found in _AMOUNT.findall(text) for amount in found.split(", ")]


def verify_figures(
    statement: Mapping[str, Any],
    tables: Sequence[LevelTable],
    read: Callable[[str], bytes],
    manifest: Mapping[str, Any],
) -> Iterator[VerificationResult]:
    """The figures that the statement's words, the report and the maps name.

    Args:
        statement: of its schema.
        tables: the published figures; of every table of which pages tell.
        read: the content of a file of the package.
        manifest: the parsed manifest.
    """
    amounts = Amounts(statement)
    own = {key: value for key, value in statement.items() if key not in _PUBLISHERS}
    others = [amount for text in _texts(own) for amount in amounts.others(text)]
    yield judge("figures in words", STATEMENT, [], [*others, *_other_memory(statement)], _CLAIM)
    pages = _Pages(statement, tables)
    for path in (entry["path"] for entry in manifest["files"]):
        if path != REPORT and not is_map(path):
            continue
        try:
            lines = _lines(read(path).decode("utf-8"), is_marked_up=path != REPORT)
        except (TrasgoError, UnicodeDecodeError) as error:
            came = f"{type(error).__name__} while reading it"
            yield failed("figures in words", path, "a page of this window", came, _CLAIM)
            continue
        wrong = [*amounts.others("\n".join(lines)), *pages.others(lines)]
        yield judge("figures in words", path, [], wrong[:_MOST_NAMED], _CLAIM)


def held_by_digest(statement: Mapping[str, Any], subject: str) -> VerificationResult:
    """The note on words of another version of this library, which this one cannot say again.

    Args:
        statement: of its schema.
        subject: whose words.
    """
    own = trasgo_lib.__version__
    came = (
        f"made by version {statement['library_version']} of this library, not {own}: held by digests only, and by the "
        "signature where there is one; figures found in them were checked, and nothing else of them"
    )
    return noted("words", subject, f"words of version {own}", came, _CLAIM)


@dataclass(frozen=True)
class _Pages:
    """What report and maps may say."""

    statement: Mapping[str, Any]
    tables: Sequence[LevelTable]

    def others(self, lines: Sequence[str]) -> Iterator[str]:
        """Figures that are not those of the window."""
        for line in lines:
            for one, other in _REPORTS.findall(line):
                if _whole(one or other) not in self.reports:
                    yield f"{one or other} reports"
            for shown, cells in _CELLS.findall(line):
                if (_whole(shown), _whole(cells)) not in self.cells:
                    yield f"{shown} of {cells} cells"
            names = _CELL.findall(line)
            if names:
                own = self.publishers.union(*(self.figures.get(name, ()) for name in names))
                yield from (f"{names[0]}: {text} %" for text in _PERCENT.findall(line) if not _is_one_of(text, own))

    @cached_property
    def publishers(self) -> set[float]:
        """What the publisher says in per cent."""
        return {float(figure) for text in _texts(self._publishers) for figure in _PERCENT.findall(text)}

    @cached_property
    def reports(self) -> set[int]:
        """Numbers of reports, and those of the rules of thumb."""
        averages = (round(reports_per_cell(table).average) for table in self.tables)
        publishers = (one or other for text in _texts(self._publishers) for one, other in _REPORTS.findall(text))
        whole = (int(number) for number in _numbers(self.statement) if number == int(number))
        return {
            *whole,
            *averages,
            *REPORTS_PER_CELL,
            *(table.reports for table in self.tables),
            *map(_whole, publishers),
        }

    @cached_property
    def cells(self) -> set[tuple[int, int]]:
        """Shown cells, and cells there are."""
        publishers = (found for text in _texts(self._publishers) for found in _CELLS.findall(text))
        own = {(int(table.shown.sum()), len(table.alphabet.cells)) for table in self.tables}
        return own | {(_whole(shown), _whole(cells)) for shown, cells in publishers}

    @cached_property
    def figures(self) -> dict[str, tuple[float, ...]]:
        """What is published of each cell, in per cent; a lower end below 0 is also told as 0."""
        found: dict[str, tuple[float, ...]] = {}
        for table in self.tables:
            low = np.maximum(table.low, 0.0)
            columns = (table.share, table.standard_error, table.low, low, table.high, table.share_on_map)
            for slot, name in enumerate(table.alphabet.names()):
                found[name] = found.get(name, ()) + tuple(100 * float(column[slot]) for column in columns)
        return found

    @property
    def _publishers(self) -> list[Any]:
        return [self.statement[key] for key in _PUBLISHERS]


def _other_memory(statement: Mapping[str, Any]) -> Iterator[str]:
    """Numbers of what a device keeps and what that costs, which are not those that the statement has as fields."""
    cells = (statement["device"] or {}).get("memoised_cells")
    for one in statement["versions"]:
        allowed = set(_numbers([cells, one["epsilon_permanent"]]))
        named = re.findall(rf"\bat most ({_NUMBER})", one["memoisation"])
        yield from (f"at most {number}" for number in named if Decimal(number) not in allowed)


def _is_one_of(text: str, figures: set[float]) -> bool:
    """Whether a number rounds one of these figures, to the digits it is written with."""
    written = Decimal(text)
    half = 0.505 * 10.0 ** int(written.as_tuple().exponent)
    return any(abs(float(written) - figure) <= half for figure in figures)


def _lines(text: str, *, is_marked_up: bool) -> list[str]:
    """A page as lines, each with what is told in one place: the cells of a row stay together."""
    if not is_marked_up:
        return text.splitlines()
    rows = _INSIDE_A_ROW.sub(" ", text)
    return [" ".join(line.split()) for line in html.unescape(_TAG.sub("\n", rows)).splitlines() if line.strip()]


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _texts(part: Any) -> Iterator[str]:
    """Every text of a document."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping | list):
        for one in part.values() if isinstance(part, Mapping) else part:
            yield from _texts(one)


def _amounts(part: Any) -> Iterator[Decimal]:
    """Every amount of epsilon or delta that a document has as a field."""
    if isinstance(part, Mapping):
        for key, one in part.items():
            yield from _numbers(one) if "epsilon" in key or "delta" in key else _amounts(one)
    elif isinstance(part, list):
        for one in part:
            yield from _amounts(one)


def _numbers(part: Any) -> Iterator[Decimal]:
    """Every number of a document, also one that is written as text."""
    if isinstance(part, Mapping | list):
        for one in part.values() if isinstance(part, Mapping) else part:
            yield from _numbers(one)
    elif isinstance(part, str | int | float) and _WRITTEN.fullmatch(str(part)):
        yield Decimal(str(part))
