"""The two files that benchmarks run on, with declared domains: columns of private codes."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import CategoryDomain, Domain, NumberDomain

CHECKOUT = Path(__file__).resolve().parents[2]
CPS1988 = CHECKOUT / "configs" / "demo" / "cps1988.csv"
ADULT = CHECKOUT.parent / "shared" / "data" / "uci_adult_train.csv"

NUMBERS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "cps1988": {"wage": ("0", "2000", "10"), "education": ("0", "18", "1"), "experience": ("0", "60", "1")},
    "adult": {"age": ("17", "90", "1"), "education-num": ("1", "16", "1"), "hours-per-week": ("1", "99", "1")},
}
LABELS: Mapping[str, Sequence[str]] = {
    "cps1988": ["ethnicity", "smsa", "region", "parttime"],
    "adult": ["marital-status", "relationship", "race", "sex", "salary-class"],
}


@dataclass(frozen=True)
class Column:
    """One column of a file.

    Args:
        name: of the column.
        domain: declared by hand for numbers; labels are read off the file, which a real release must not do.
        codes: int32[rows], private.
    """

    name: str
    domain: Domain
    codes: NDArray[np.int32] = field(repr=False)

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return isinstance(self.domain, NumberDomain)

    @property
    def values(self) -> NDArray[np.float64]:
        """The values behind the codes: of a number as decoded, of a label its place in alphabetical order."""
        found = self.domain.decode(self.codes) if self.is_number else self.codes
        return np.asarray(found, dtype=np.float64)


def add_paths(parser: argparse.ArgumentParser) -> None:
    """The option that says where Adult is; cps1988 is in the checkout."""
    parser.add_argument("--adult", type=Path, default=ADULT, help="uci_adult_train.csv; left out where it is absent")


def files(adult: Path) -> dict[str, Path]:
    """The files there are, by name."""
    if not adult.exists():
        print(f"no {adult.name}: only cps1988 is measured")
    return {name: path for name, path in {"cps1988": CPS1988, "adult": adult}.items() if path.exists()}


def read(name: str, path: Path) -> dict[str, Column]:
    """Numbers, then labels, by name."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines, skipinitialspace=True) if None not in row.values()]
    found: dict[str, Column] = {}
    for column, bounds in NUMBERS[name].items():
        number = NumberDomain(*bounds)
        found[column] = Column(column, number, number.encode([float(row[column]) for row in rows], outside="clip"))
    for column in LABELS[name]:
        labels = [row[column].strip() for row in rows]
        category = CategoryDomain(sorted(set(labels)))
        found[column] = Column(column, category, category.encode(labels))
    return found
