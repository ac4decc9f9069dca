"""Columns noised as one group against four single columns at the same total; rewrites its part of RESULTS.md.

    python tests/benchmarks/groups.py [--adult PATH] [--keys 20] [--dry]

Both arms work on the same four columns, numbers cut into four bins, and spend the same total: the group on one draw,
the single columns a quarter each. Raw: correlation loss of the released codes over all pairs, in percent. Undone: error
of the correlations of the table that the inverted channel gives, root of the mean square over pairs and keys.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from rehearsal import root
from results import machine, table, write_section
from sources import Column, add_paths, files, read

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, EqualBins, NumberDomain, ProductDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LossColumn, measure

GROUPS = {
    "adult": ["sex", "salary-class", "education-num", "hours-per-week"],
    "cps1988": ["ethnicity", "smsa", "region", "parttime"],
}
BINS = 4
USUAL = {
    "education-num": NumberDomain("7", "14", "1"),
    "hours-per-week": NumberDomain("20", "59", "1"),
}
"""Where most values are known to lie; what is outside is clipped. The bins are then below high school, high school,
associate, bachelor and above; and up to 29, 30 to 39, 40 to 49, 50 hours and more."""

CASES: list[tuple[str, str, Mapping[str, NumberDomain]]] = [
    ("adult", "adult, usual ranges", USUAL),
    ("adult", "adult, whole ranges", {}),
    ("cps1988", "cps1988", {}),
]
TOTALS = ("2", "4", "6", "8")
RAW_TOTAL, RAW_GOAL = "6", 1 / 3
"""On Adult: loss of the group in terms of that of single columns."""

UNDONE_TOTAL, UNDONE_GOAL = "4", 2.5
"""On both: error of single columns in terms of that of the group."""

Codes = NDArray[np.int32]


def _places(column: Column, ranges: Mapping[str, NumberDomain]) -> tuple[Codes, int]:
    """Codes of the bins of a number, or of a label as they are, and how many there are."""
    if not column.is_number:
        return column.codes, column.domain.size
    domain = ranges.get(column.name, column.domain)
    return EqualBins(domain.size, BINS).of_codes[domain.encode(column.values, outside="clip")], BINS


class Group:
    """Four columns of a file, cut into few codes."""

    def __init__(self, names: Sequence[str], columns: Mapping[str, Column], ranges: Mapping[str, NumberDomain]) -> None:
        self.names = names
        cut = [_places(columns[each], ranges) for each in names]
        self.codes = [codes for codes, _ in cut]
        self.sizes = [size for _, size in cut]
        self.domains = [CategoryDomain([str(code) for code in range(size)]) for size in self.sizes]
        self.product = ProductDomain(list(zip(self.names, self.domains, strict=True)))
        self.joint = self.product.encode(*self.codes)
        self.pairs = list(combinations(range(len(self.names)), 2))
        self.truth = np.array([np.corrcoef(self.codes[i], self.codes[j])[0, 1] for i, j in self.pairs])

    def loss(self, released: list[Codes]) -> float:
        """Correlation loss over all pairs, percent."""
        columns = [LossColumn(name, name, "ordered", size) for name, size in zip(self.names, self.sizes, strict=True)]
        readers = [
            {name: partial(list, [part]) for name, part in zip(self.names, parts, strict=True)}
            for parts in (self.codes, released)
        ]
        found = measure(*readers, columns, rows=len(self.joint)).losses.correlation_loss
        return np.nan if found is None else found

    def as_group(self, total: str, key: int) -> tuple[float, NDArray[np.float64]]:
        """Raw loss and undone correlations of one draw of the group."""
        channel = build_channel("kary_randomized_response", self.product, total)
        drawn = channel.sample(self.joint, Keystream(root(key), "group", total))
        shares = channel.invert(np.bincount(drawn, minlength=channel.outputs) / len(drawn)).reshape(self.sizes)
        undone = []
        for pair in self.pairs:
            others = tuple(axis for axis in range(len(self.sizes)) if axis not in pair)
            undone.append(_correlation(shares.sum(axis=others)))
        return self.loss(list(self.product.decode(drawn))), np.array(undone)

    def as_columns(self, total: str, key: int) -> tuple[float, NDArray[np.float64]]:
        """Raw loss and undone correlations of four draws at a quarter of the total each."""
        level = Epsilon.floor(Epsilon.parse(total).fraction / len(self.names)).text
        channels = [_single(domain, level) for domain in self.domains]
        drawn = [
            channel.sample(codes, Keystream(root(key), "single", name, total))
            for channel, codes, name in zip(channels, self.codes, self.names, strict=True)
        ]
        undone = []
        for i, j in self.pairs:
            counts = np.zeros((self.sizes[i], self.sizes[j]))
            np.add.at(counts, (drawn[i], drawn[j]), 1.0 / len(self.joint))
            half = np.array([channels[i].invert(column) for column in counts.T]).T
            undone.append(_correlation(np.array([channels[j].invert(row) for row in half])))
        return self.loss(drawn), np.array(undone)


def _single(domain: CategoryDomain, level: str) -> Channel:
    name = "randomized_response" if domain.size == 2 else "kary_randomized_response"
    return build_channel(name, domain, level)


def _correlation(shares: NDArray[np.float64]) -> float:
    """Of a table of shares, some of which may lie below 0; NaN where a spread does."""
    left, right = np.arange(shares.shape[0]), np.arange(shares.shape[1])
    ours, theirs = shares.sum(axis=1), shares.sum(axis=0)
    together = left @ shares @ right - (ours @ left) * (theirs @ right)
    spreads = (ours @ left**2 - (ours @ left) ** 2) * (theirs @ right**2 - (theirs @ right) ** 2)
    return float(together / np.sqrt(spreads)) if spreads > 0 else np.nan


def _error(undone: list[NDArray[np.float64]], truth: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((np.array(undone) - truth) ** 2)))


def _rows(name: str, group: Group, keys: int) -> list[list[object]]:
    rows = []
    for total in TOTALS:
        ours, theirs = ([arm(total, key) for key in range(1, keys + 1)] for arm in (group.as_group, group.as_columns))
        raw = [float(np.mean([loss for loss, _ in arm])) for arm in (ours, theirs)]
        errors = [_error([undone for _, undone in arm], group.truth) for arm in (ours, theirs)]
        goals = []
        if name.startswith("adult") and total == RAW_TOTAL:
            goals.append(_verdict("raw at most a third", raw[0] <= RAW_GOAL * raw[1]))
        if total == UNDONE_TOTAL:
            goals.append(_verdict(f"undone {UNDONE_GOAL}x", errors[1] >= UNDONE_GOAL * errors[0]))
        rows.append(
            [
                f"{name}, {group.product.size} codes",
                total,
                *(f"{loss:.1f}" for loss in raw),
                f"{raw[0] / raw[1]:.2f}",
                *(f"{error:.4f}" for error in errors),
                f"{errors[1] / errors[0]:.1f}x",
                "; ".join(goals),
            ]
        )
        print(*rows[-1], flush=True)
    return rows


def _verdict(words: str, is_reached: bool) -> str:
    return f"{words}: {'reached' if is_reached else '**not reached**'}"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_paths(parser)
    parser.add_argument("--keys", type=int, default=20)
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    paths = files(asked.adult)
    rows = []
    for file, name, ranges in CASES:
        if file in paths:
            rows += _rows(name, Group(GROUPS[file], read(file, paths[file]), ranges), asked.keys)
    if not asked.dry:
        head = ["file", "total", "raw loss, group", "raw loss, columns", "ratio"]
        head += ["error undone, group", "error undone, columns", "times smaller", "goal"]
        members = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in GROUPS.items())
        ranges = "; ".join(f"{name} {domain.lower} to {domain.upper}" for name, domain in USUAL.items())
        words = [
            f"{asked.keys} keys. {members}. Numbers are cut into {BINS} equal bins of their declared range, in both",
            f"arms; usual ranges ({ranges}) clip what is outside. Raw losses in percent, means over keys.",
            "",
        ]
        write_section("groups", [machine(), *words, *table(head, rows)])


if __name__ == "__main__":
    main()
