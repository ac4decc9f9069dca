"""Estimated losses against true ones over fixed keys: bias, RMSE and coverage of the 95 % intervals.

    python tests/benchmarks/coverage.py [--keys 400] [--label TEXT] [--file cps1988|adult] [--epsilon 0.5 1 2 4 8]
        [--adult PATH] [--correlation pearson|spearman|kendall]

Numbers go through clamped geometric noise, labels through randomised response. A cell is one loss of one column at one
epsilon. ``given`` counts the keys for which there was an estimate. A cell is rejected where an exact two-sided binomial
test at 1e-4 says that its coverage is not 95 %.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from trasgo_lib.data import CategoryDomain, Domain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import LOSS_NAMES, LossColumn, estimate_losses, measure

CHECKOUT = Path(__file__).resolve().parents[2]
FILES = {
    "cps1988": CHECKOUT / "configs/demo/cps1988.csv",
    "adult": CHECKOUT.parent / "shared" / "data" / "uci_adult_train.csv",
}
NUMBERS = {
    "cps1988": {"wage": ("0", "2000", "10"), "education": ("0", "18", "1"), "experience": ("0", "60", "1")},
    "adult": {"age": ("17", "90", "1"), "education-num": ("1", "16", "1"), "hours-per-week": ("1", "99", "1")},
}
LABELS = {
    "cps1988": ["ethnicity", "smsa", "region", "parttime"],
    "adult": ["marital-status", "relationship", "race", "sex", "salary-class"],
}


def read(path: Path, name: str) -> tuple[list[LossColumn], dict[str, Domain], dict[str, np.ndarray]]:
    """Columns, domains and private codes of one of the files."""
    with path.open(encoding="utf-8", newline="") as lines:
        table = [row for row in csv.DictReader(lines, skipinitialspace=True) if None not in row.values()]
    columns, domains, codes = [], {}, {}
    for column, bounds in NUMBERS[name].items():
        domain = NumberDomain(*bounds)
        domains[column] = domain
        codes[column] = domain.encode(np.array([float(row[column]) for row in table]), outside="clip")
        columns.append(LossColumn(column, column, "number", domain.size, 20))
    for column in LABELS[name]:
        labels = [row[column].strip() for row in table]
        category = CategoryDomain(sorted(set(labels)))
        domains[column], codes[column] = category, category.encode(labels)
        columns.append(LossColumn(column, column, "label", category.size))
    return columns, domains, codes


def cells(
    name: str, path: Path, epsilon: str, keys: int, label: str, method: str = "pearson"
) -> dict[tuple[str, str], list[tuple[float, object]]]:
    """By column and loss, truth and estimate for every key."""
    columns, domains, codes = read(path, name)
    rows = len(next(iter(codes.values())))
    channels = {
        column.unit: build_channel(
            "laplace" if column.kind == "number" else "kary_randomized_response", domains[column.name], epsilon
        )
        for column in columns
    }
    original = {unit: partial(list, [part]) for unit, part in codes.items()}
    found, before = defaultdict(list), None
    public = Keystream(bytes(32), "estimates")
    for key in range(keys):
        drawn = {
            unit: channels[unit].sample(codes[unit], Keystream(bytes(32), label, name, unit, epsilon, key))
            for unit in codes
        }
        released = {unit: partial(list, [part]) for unit, part in drawn.items()}
        attempts = dict.fromkeys(codes, key + 1)
        before = measure(original, released, columns, rows=rows, attempts=attempts, before=before, method=method)
        estimates = estimate_losses(released, columns, channels, method=method, rows=rows, stream=public)
        for column in columns:
            for loss in LOSS_NAMES:
                truth = before.losses.column(column.name).value(loss).value
                found[column.name, loss].append((truth, estimates.column(column.name).value(loss)))
        found["all pairs", "correlation_loss"].append((before.losses.correlation_loss, estimates.correlation_loss))
    return found


def summary(pairs: list) -> tuple[int, int, float, float, float, float]:
    """Keys with an estimate and a truth, how many are covered, mean truth, bias, RMSE and mean half width."""
    given = [(truth, found) for truth, found in pairs if truth is not None and found.value is not None]
    if not given:
        return 0, 0, np.nan, np.nan, np.nan, np.nan
    errors = np.array([found.value - truth for truth, found in given])
    covered = sum(found.covers(truth) for truth, found in given)
    half = np.mean([(found.high - found.low) / 2 for _, found in given])
    mean = np.mean([truth for truth, _ in given])
    return len(given), covered, float(mean), float(errors.mean()), float(np.sqrt(np.mean(errors**2))), float(half)


def main() -> None:
    """Print one line a cell and one line an estimator."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=400)
    parser.add_argument("--file", choices=sorted(FILES), default=None)
    parser.add_argument("--epsilon", nargs="*", default=["0.5", "1", "2", "4", "8"])
    parser.add_argument("--label", default="coverage 2", help="names the noise keys; change it after any tuning")
    parser.add_argument("--adult", type=Path, default=FILES["adult"])
    parser.add_argument("--correlation", choices=["pearson", "spearman", "kendall"], default="pearson")
    asked = parser.parse_args()
    pooled = defaultdict(lambda: [0, 0, 0])
    for name, path in {**FILES, "adult": asked.adult}.items():
        if asked.file not in (None, name) or not path.exists():
            continue
        for epsilon in asked.epsilon:
            for (column, loss), pairs in cells(name, path, epsilon, asked.keys, asked.label, asked.correlation).items():
                given, covered, truth, bias, rmse, half = summary(pairs)
                rejected = given > 0 and binomtest(covered, given, 0.95).pvalue < 1e-4
                share = f"{covered / given:.3f}" if given else "-"
                print(
                    f"{name:8} {epsilon:4} {column:16} {loss:16} given {given:4} cover {share:6} truth {truth:9.4g} "
                    f"bias {bias:9.2g} rmse {rmse:9.2g} half {half:9.2g} {'REJECTED' if rejected else ''}",
                    flush=True,
                )
                total = pooled[loss if column != "all pairs" else "correlation_loss (all pairs)"]
                total[0], total[1], total[2] = total[0] + given, total[1] + covered, total[2] + rejected
    for loss, (given, covered, rejected) in pooled.items():
        share = covered / given if given else np.nan
        print(f"pooled {loss:30} given {given} cover {share:.4f}, cells rejected {rejected}")


if __name__ == "__main__":
    main()
