"""Sigma of Gaussian noise with a delta against the classical formula; rewrites its part of RESULTS.md.

    python tests/benchmarks/gaussian.py [--dry]

The sum that certifies the delta is compared with one of its own in ``tests/unit/mechanisms/test_gaussian_delta.py``.
"""

from __future__ import annotations

import argparse
from math import log, sqrt

from results import machine, table, write_section

from trasgo_lib.data import NumberDomain
from trasgo_lib.mechanisms import build_channel

LEVELS = ("0.5", "1", "2", "4", "8")
DELTAS = ("0.001", "0.000001")
DOMAIN = NumberDomain("0", "200", "1")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    rows = []
    for delta in DELTAS:
        for level in LEVELS:
            channel = build_channel("gaussian", DOMAIN, level, delta=delta)
            ours = float(str(channel.parameters["sigma"])) / (DOMAIN.size - 1)
            classical = sqrt(2 * log(1.25 / float(delta))) / float(level)
            certified = channel.certified_epsilon, channel.certified_delta
            figures = f"{ours:.3f}", f"{classical:.3f}", f"{ours / classical:.2f}"
            rows.append([delta, level, *figures, certified[0], f"{certified[1]:f}"])
            print(*rows[-1])
    if not asked.dry:
        words = (
            f"{DOMAIN.size} values. Sigma in terms of the range; classical: sqrt(2 ln(1.25 / delta)) / epsilon, which\n"
            "is valid below epsilon 1 only. Certified by the exact hockey-stick sum over the integers of the sampler."
        )
        head = ["delta", "epsilon", "sigma", "classical sigma", "ratio", "certified epsilon", "certified delta"]
        write_section("gaussian", [machine(), *words.split("\n"), "", *table(head, rows)])


if __name__ == "__main__":
    main()
