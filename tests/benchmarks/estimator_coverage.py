"""Coverage and bias of every estimator of ``trasgo_lib.analysis``, over keys that draw the rows and the noise anew.

    python tests/benchmarks/estimator_coverage.py --log LOG [--keys 2000] [--rows 5000 30000 200000]
        [--epsilon 1 2 4 8] [--cells "slope, number" ...] [--label TEXT]
    python tests/benchmarks/estimator_coverage.py --table LOG

The first form adds one line to the log for every 50 keys of a number of rows and an epsilon, and leaves out those that
are in it already, so it can be ended at any moment and gone on with. The second puts the log into RESULTS.md, with
the number of keys that were run. A cell is one question at one epsilon and one number of rows. It is rejected where an
exact binomial test at 1e-4 says that its intervals do not hold 95 % (for quantiles and bins, whose intervals promise at
least that: that they hold less).
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from results import machine, table, write_section
from scipy.stats import binomtest
from simulated_people import QUESTIONS, simulate

from trasgo_lib.analysis import NoiseWarning

CHUNK = 50
LEVEL = 1e-4

FEWEST = 20
"""With fewer answers than this a cell says nothing of them."""


Found = dict[str, list[float]]


def chunk(label: str, rows: int, epsilons: list[str], first: int, names: list[str]) -> dict[str, Found]:
    """At each epsilon, for each question: keys with an answer, covered ones, sums of errors and of two squares.

    The squares are of errors and of stated standard errors. The rows of a key are drawn once for all epsilons, each of
    which has noise of its own.
    """
    found: dict[str, Found] = {epsilon: {name: [0, 0, 0.0, 0.0, 0.0] for name in names} for epsilon in epsilons}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseWarning)
        for key in range(first, first + CHUNK):
            for epsilon in epsilons:
                release = simulate(label, key, rows, epsilon)
                for name in names:
                    question, total = QUESTIONS[name], found[epsilon][name]
                    estimate = question.ask(release)
                    if estimate.value is not None:
                        error = estimate.value - question.truth
                        more = (1, estimate.covers(question.truth), error, error**2, estimate.standard_error**2)
                        found[epsilon][name] = [old + float(new) for old, new in zip(total, more, strict=True)]
    return found


def run(asked: argparse.Namespace) -> None:
    """Add what is missing to the log."""
    done = {(line["rows"], line["epsilon"], line["first"]) for line in read(asked.log) if line["label"] == asked.label}
    for first in range(0, asked.keys, CHUNK):
        for rows in asked.rows:
            missing = [epsilon for epsilon in asked.epsilon if (rows, epsilon, first) not in done]
            for epsilon, found in chunk(asked.label, rows, missing, first, asked.cells).items():
                line = {"label": asked.label, "rows": rows, "epsilon": epsilon, "first": first, "found": found}
                with asked.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(line) + "\n")


def read(log: Path) -> list[dict[str, object]]:
    """Lines of a log; none where there is no file yet."""
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def is_rejected(name: str, covered: float, given: float, keys: int) -> bool:
    """Whether the coverage of a cell is not what its interval says.

    Where answers are withheld by what the noise happened to be, those that are given are not a fair sample of it: what
    holds is that of all keys no more than 5 % get an interval without the truth.
    """
    if given < keys:
        return binomtest(int(given - covered), keys, 0.05, "greater").pvalue < LEVEL
    side = "less" if QUESTIONS[name].is_at_least else "two-sided"
    return binomtest(int(covered), int(given), 0.95, side).pvalue < LEVEL


def cell(name: str, sums: np.ndarray, keys: int) -> str:
    """Coverage, bias in stated standard errors, and share withheld; of a question that was added since, nothing."""
    if not keys:
        return "not asked"
    given, covered, errors, _, stated = sums
    if given < FEWEST:
        return "withheld" + (f" (but for {given:.0f})" if given else "")
    bias = errors / np.sqrt(max(given * stated, 1e-30))
    text = f"{covered / given:.1%}; {bias:+.2f}"
    text = text.replace("%", " %") + ("" if given == keys else f"; {1 - given / keys:.0%} withheld".replace("%", " %"))
    return f"**{text}**" if is_rejected(name, covered, given, keys) else text


def off(sums: np.ndarray) -> float:
    """How many standard errors a mean error lies from 0, by the scatter of the errors themselves."""
    given, _, errors, squares, _ = sums
    scatter = max(1e-30, (squares - errors**2 / given) / max(1.0, given - 1))
    return float(abs(errors) / np.sqrt(given * scatter))


def write_tables(log: Path) -> None:
    """Put a log into RESULTS.md."""
    keys: dict[tuple[int, str, str], int] = defaultdict(int)
    sums: dict[tuple[int, str, str], np.ndarray] = defaultdict(lambda: np.zeros(5))
    for line in read(log):
        for name, each in line["found"].items():
            keys[line["rows"], line["epsilon"], name] += CHUNK
            sums[line["rows"], line["epsilon"], name] += np.array(each)
    asked = [(name, one, keys[rows, epsilon, name]) for (rows, epsilon, name), one in sums.items()]
    given = [(name, one, many) for name, one, many in asked if one[0] >= FEWEST]
    rejected = sum(is_rejected(name, one[1], one[0], many) for name, one, many in given)
    exact = [one for name, one, many in given if one[0] == many and not QUESTIONS[name].is_at_least]
    pooled = sum(one[1] for one in exact) / max(1.0, sum(one[0] for one in exact))
    lines = [
        machine("scipy"),
        "Rows and noise drawn anew for every key, from a population whose figures are known exactly. A cell: coverage",
        "of 95 % intervals; mean error in stated standard errors; share of keys with the answer withheld.",
        "Medians, quantiles and everything about bins promise at least 95 %, the others just that.",
        "Where some are withheld the given ones are not a fair sample: there the test is that of all keys no more than",
        "5 % get an interval without the truth. Quantiles state a quarter of their interval, about, as standard error.",
        f"{len(given)} cells, each tested at 1e-4 by an exact binomial test; by chance alone one of them would be",
        f"rejected (bold) with a probability of at most {100 * len(given) * LEVEL:.1f} %. Rejected: {rejected}.",
        f"Coverage of those {len(exact)} in which all are answered and 95 % is exact: {100 * pooled:.2f} %. Their mean",
        f"errors lie within {max(map(off, exact), default=0.0):.1f} standard errors of 0, by their own scatter.",
        "",
    ]
    for rows in sorted({rows for rows, _, _ in keys}):
        epsilons = sorted({epsilon for one, epsilon, _ in keys if one == rows}, key=float)
        head = ["question", "keys", *(f"epsilon {epsilon}" for epsilon in epsilons)]
        body = [
            [
                name,
                f"{min(keys[rows, epsilon, name] for epsilon in epsilons):,}",
                *(cell(name, sums[rows, epsilon, name], keys[rows, epsilon, name]) for epsilon in epsilons),
            ]
            for name in QUESTIONS
        ]
        lines += [f"**{rows:,} rows**", "", *table(head, body), ""]
    write_section("estimators", lines[:-1])


def main() -> None:
    """Run, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, default=Path("estimator_coverage.jsonl"))
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--rows", type=int, nargs="*", default=[5_000, 30_000, 200_000])
    parser.add_argument("--epsilon", nargs="*", default=["1", "2", "4", "8"])
    parser.add_argument("--cells", nargs="*", choices=list(QUESTIONS), default=list(QUESTIONS), metavar="QUESTION")
    parser.add_argument("--label", default="estimators 1", help="names the keys; change it after any tuning")
    parser.add_argument("--table", type=Path, default=None, metavar="LOG")
    asked = parser.parse_args()
    if asked.table:
        write_tables(asked.table)
    else:
        run(asked)


if __name__ == "__main__":
    main()
