"""The document of a public prior, as the release file takes it, with what is not in it said in comments."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

_SHARE_DIGITS = 6
"""Shares and correlations carry so many decimals: far finer than any prior is right."""

_FIGURE_DIGITS = 6
_WIDTH = 110


@dataclass(slots=True)
class PriorDraft:
    """A prior while it is written.

    Args:
        source: where everyone can find what it is made of, in words.
        rows: number of rows of the source.
        notes: what a reader should know before anything else.
        columns: one entry a column: its keys as YAML text.
        correlations: likewise.
        hidden: what is not in it, and why.
    """

    source: str
    rows: int
    notes: tuple[str, ...] = ()
    columns: list[str] = field(default_factory=list)
    correlations: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)

    def add_parts(self, name: str, shares: NDArray[np.float64], missing: float) -> None:
        """Shares of equal parts of a number's or date's domain; they need not sum to 1 exactly."""
        self._add(name, f"shares: [{', '.join(_quoted(share) for share in normalised(shares))}]", missing)

    def add_codes(self, name: str, shares: Mapping[str, float], missing: float) -> None:
        """Shares of the codes of a category; they need not sum to 1 exactly."""
        values = normalised(np.array(list(shares.values())))
        by_code = ", ".join(
            f"{json.dumps(code, ensure_ascii=False)}: {_quoted(share)}" for code, share in zip(shares, values)
        )
        self._add(name, f"shares: {{{by_code}}}", missing)

    def add_moments(self, name: str, mean: str, deviation: float, missing: float) -> None:
        """Mean, as text in the column's own form, and standard deviation, in its unit."""
        self._add(name, f'mean: "{mean}", deviation: "{figure(deviation)}"', missing)

    def add_correlation(self, left: str, right: str, value: float) -> None:
        """Pearson's correlation of a pair."""
        pair = ", ".join(json.dumps(name, ensure_ascii=False) for name in (left, right))
        self.correlations.append(f"{{columns: [{pair}], value: {_quoted(min(1.0, max(-1.0, value)))}}}")

    def _add(self, name: str, form: str, missing: float) -> None:
        rest = f", missing: {_quoted(missing)}" if missing > 0 else ""
        self.columns.append(f"{{name: {json.dumps(name, ensure_ascii=False)}, {form}{rest}}}")

    def text(self) -> str:
        """The document: YAML 1.2, UTF-8."""
        lines = [*_comments(self.notes)]
        lines += ["format: 1", "public: true", f"source: {json.dumps(self.source, ensure_ascii=False)}"]
        lines += [f"rows: {self.rows}"]
        lines += _listed("columns", self.columns) + _listed("correlations", self.correlations)
        lines += _comments(self.hidden)
        return "\n".join(lines) + "\n"


def normalised(shares: NDArray[np.float64]) -> list[float]:
    """Shares that sum to 1."""
    found: list[float] = (shares / shares.sum()).tolist()
    return found


def figure(value: float) -> str:
    """A figure with six significant digits, without exponent."""
    text = f"{Decimal(f'{value:.{_FIGURE_DIGITS}g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _quoted(value: float) -> str:
    text = f"{value:.{_SHARE_DIGITS}f}".rstrip("0").rstrip(".")
    return f'"{text if text not in ("", "-0") else "0"}"'


def _listed(key: str, entries: Sequence[str]) -> list[str]:
    return [f"{key}:", *(f"  - {entry}" for entry in entries)] if entries else [f"{key}: []"]


def _comments(sentences: Sequence[str]) -> list[str]:
    return [f"# {line}" for sentence in sentences for line in textwrap.wrap(sentence, _WIDTH)]
