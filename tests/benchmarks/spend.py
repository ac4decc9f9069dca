"""Privacy spent to meet the same targets: the loop against three other ways; rewrites its part of RESULTS.md.

    python tests/benchmarks/spend.py [--adult PATH] [--keys 5] [--case NAME ...] [--dry]

Every arm must meet every target by the *exact* loss on the same rows. The loop decides by estimates from released
codes alone and pays the highest level it looked at; the others look at the exact losses for free, which favours them:

- the same ladder drawn fresh, every attempt paid: the column whose exact loss is worst for its target goes one rung up;
- a doubling ladder drawn fresh, every attempt paid, likewise;
- the oracle: one draw of every column, at levels of the same ladder none of which could be one rung lower.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rehearsal import Outcome, Plan, Unit, covered_loop, oracle, paid_loop
from results import machine, table, write_section
from sources import Column, add_paths, files, read

from trasgo_lib.amounts import Epsilon
from trasgo_lib.plan import Target
from trasgo_lib.utility import LossColumn

LADDER = tuple(Epsilon.floor(Epsilon.parse("0.25").fraction * 5**k / 4**k) for k in range(19))
"""0.25 to about 14 in steps of 1.25, the default ladder."""

DOUBLING = tuple(Epsilon.parse("0.25").times(2**k) for k in range(7))

WIDTH_SUITS = 6.0
"""Level for which the width of the staircase is declared, as one that may meet 40 %; a chain keeps one width."""

IN_BINS, IN_STEPS = "binned_randomized_response", "staircase"
LABEL_TARGET = Target("tvd", "0.05")


@dataclass(frozen=True)
class Case:
    """One file with one way to noise its numbers.

    Args:
        file: name of the file.
        numbers: mechanism of the numbers.
        target: of the numbers.
        bins: by number, bins of its noise; empty where the mechanism has none.
    """

    file: str
    numbers: str
    target: Target
    bins: Mapping[str, int]

    def units(self, columns: Mapping[str, Column]) -> list[Unit]:
        """One unit for each column, on the default ladder."""
        return [self._number(column) if column.is_number else _label(column) for column in columns.values()]

    def _number(self, column: Column) -> Unit:
        bins, size = self.bins.get(column.name), column.domain.size
        measured = LossColumn(column.name, column.name, "number", size, bins or min(20, size))
        parameters: dict[str, int] = {} if bins is None else {"bins": bins}
        if self.numbers == IN_STEPS:
            parameters["width"] = max(1, round((size - 1) / (1 + math.exp(WIDTH_SUITS / 2))))
        return Unit(measured, column.domain, column.codes, self.numbers, LADDER, self.target, parameters)


def _label(column: Column) -> Unit:
    mechanism = "randomized_response" if column.domain.size == 2 else "kary_randomized_response"
    measured = LossColumn(column.name, column.name, "label", column.domain.size)
    return Unit(measured, column.domain, column.codes, mechanism, LADDER, LABEL_TARGET)


CASES = {
    "cps1988, numbers in bins": Case(
        "cps1988", IN_BINS, Target("tvd", "0.05"), {"wage": 4, "education": 3, "experience": 4}
    ),
    "adult, numbers in bins": Case(
        "adult", IN_BINS, Target("tvd", "0.05"), {"age": 4, "education-num": 4, "hours-per-week": 4}
    ),
    "cps1988, correlation targets": Case("cps1988", IN_STEPS, Target("correlation_loss", "40"), {}),
    "adult, correlation targets": Case("adult", IN_STEPS, Target("correlation_loss", "40"), {}),
}


@dataclass(frozen=True)
class Line:
    """What the four arms spent with one key, and how many targets each met by exact loss."""

    spent: tuple[float, float, float, float]
    met: tuple[int, int, int]
    targets: int
    rounds: int


def _measured(units: list[Unit], key: int) -> Line:
    loop = covered_loop(Plan(units, "chain"), key)
    plan = Plan(units, "sequential")
    ladder = paid_loop(plan, key)
    doubling = paid_loop(Plan([replace(unit, rungs=DOUBLING) for unit in units], "sequential"), key)
    levels = oracle(plan, ladder, key)
    best = sum(float(level.decimal) for level in levels.values())
    arms: tuple[Outcome, ...] = (loop, ladder, doubling)
    spent = tuple(float(arm.spent.decimal) for arm in arms)
    for unit in units:
        print(unit.name, *(arm.levels[unit.name].text for arm in arms), levels[unit.name].text, loop.met[unit.name])
    return Line((*spent, best), tuple(sum(arm.met.values()) for arm in arms), len(units), loop.rounds)


def _row(name: str, key: int, line: Line) -> list[object]:
    met = " / ".join(str(count) for count in line.met)
    return [name, key, *(f"{value:.2f}" for value in line.spent), f"{met} of {line.targets}", line.rounds]


def _ratios(name: str, lines: list[Line]) -> list[object]:
    loop, ladder, doubling, best = np.sum([line.spent for line in lines], axis=0)
    met = sum(line.met[0] for line in lines), sum(line.targets for line in lines)
    return [
        f"**{name}**",
        "all",
        f"{loop:.1f}",
        f"{ladder / loop:.2f}x",
        f"{doubling / loop:.2f}x",
        f"{loop / best:.2f}x of it",
        f"{met[0]} of {met[1]} by the loop",
        "",
    ]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_paths(parser)
    parser.add_argument("--keys", type=int, default=5)
    parser.add_argument("--case", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    paths: dict[str, Path] = files(asked.adult)
    rows, totals, everything = [], [], []
    for name in asked.case:
        case = CASES[name]
        if case.file not in paths:
            continue
        units = case.units(read(case.file, paths[case.file]))
        lines = []
        for key in range(1, asked.keys + 1):
            lines.append(_measured(units, key))
            rows.append(_row(name, key, lines[-1]))
            print(*rows[-1], flush=True)
        totals.append(_ratios(name, lines))
        everything += lines
        print(*totals[-1], flush=True)
    totals.append(_ratios("all", everything))
    print(*totals[-1], flush=True)
    if not asked.dry:
        write_section("spend", _text(asked.keys, rows, totals))


def _text(keys: int, rows: list[list[object]], totals: list[list[object]]) -> list[str]:
    head = [
        "case",
        "key",
        "loop",
        "same ladder, fresh",
        "doubling ladder, fresh",
        "oracle",
        "met by exact loss",
        "rounds",
    ]
    return [
        machine(),
        f"{keys} keys, ladder 0.25 x 1.25^k. Sum over all noised columns of epsilon; all arms but the loop look at",
        "exact losses free of charge. Labels: TVD of 0.05. Numbers: TVD of 0.05 over the bins of their noise, or 40 %",
        "of correlation loss under staircase noise. Met: by loop / same ladder / doubling ladder.",
        "",
        *table(head, [*rows, *totals]),
    ]


if __name__ == "__main__":
    main()
