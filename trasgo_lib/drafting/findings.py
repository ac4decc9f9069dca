"""What an examination of a release file and its surroundings finds: one thing each, in plain words, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from trasgo_lib.errors import Fault, Reason

_COLUMN = re.compile(r"((?:columns|groups)\[.*?\])\.")

UNDECIDED_IN = "undecided in "
"""How the words of keys that are left to decide begin."""


class Weight(StrEnum):
    """How much a finding matters; the texts are what people and programs read."""

    FIX = "must be fixed"
    LOOK = "worth a look"
    FINE = "fine"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. Public.

    Args:
        weight: how much it matters.
        words: what was found.
        fix: what to do, or empty.
        line: 1-based line of the release file, where it stands there.
        column: 1-based character column.
    """

    weight: Weight
    words: str
    fix: str = ""
    line: int | None = None
    column: int | None = None

    def to_json(self) -> dict[str, object]:
        """The finding as strict JSON."""
        return {
            "weight": self.weight.value,
            "words": self.words,
            "fix": self.fix,
            "line": self.line,
            "column": self.column,
        }


def must(faults: Iterable[Fault], where: str = "") -> list[Finding]:
    """Faults as things that must be fixed, undecided keys by column; row counts, which are private, are left out.

    Args:
        faults: what some part of the product refused.
        where: what it was about, before the fault's own place; empty where that is clear.
    """
    found: list[Finding] = []
    undecided: dict[str, list[Fault]] = {}
    for fault in faults:
        if fault.reason is Reason.UNDECIDED:
            undecided.setdefault(_section(fault), []).append(fault)
        else:
            place = f"{where}: {fault.where}" if where else fault.where
            words = f"{place}: required {fault.required}; came {fault.came}"
            found.append(Finding(Weight.FIX, words, fault.fix, fault.line, fault.column))
    return [*found, *(_undecided(section, told) for section, told in undecided.items())]


def _section(fault: Fault) -> str:
    """The column a fault is in, or the section: ``columns[wage]``, ``privacy``."""
    column = _COLUMN.match(fault.where)
    return fault.where.partition(".")[0] if column is None else column[1]


def _undecided(section: str, faults: list[Fault]) -> Finding:
    """The undecided keys of one column or section as one thing to decide."""
    keys = ", ".join(fault.where.removeprefix(section).lstrip(".") for fault in faults)
    return Finding(Weight.FIX, f"{UNDECIDED_IN}{section}: {keys}", "", faults[0].line, faults[0].column)
