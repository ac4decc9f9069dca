"""Write what pyCANON computes on shared examples, for the parity test: run once, in an environment of its own.

``python tests/benchmarks/pycanon_values.py`` with pyCANON 1.3.6 writes ``tests/golden/risk/pycanon.json``: made-up
tables with their rows, and the demonstration data by name. Labels are given to pyCANON as text, numbers as numbers.
"""

from __future__ import annotations

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from pycanon import anonymity

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests" / "golden" / "risk" / "pycanon.json"
DEMO = ROOT / "configs" / "demo" / "cps1988.csv"


def made_up(rows: int, classes: int, values: int, step: int) -> list[list[int]]:
    """Rows of two quasi-identifiers and one sensitive value, by arithmetic."""
    return [
        [(row * row + row // 3) % classes, (row // 2) % 2, (row * step + row // 7 + (row % 5 == 0)) % values]
        for row in range(rows)
    ]


def values_of(frame: pd.DataFrame, known: list[str], sensitive: str) -> dict[str, object]:
    """Every measure of pyCANON for one sensitive column."""
    alpha, k = anonymity.alpha_k_anonymity(frame, known, [sensitive])
    c, least = anonymity.recursive_c_l_diversity(frame, known, [sensitive])
    return {
        "k": int(k),
        "alpha": float(alpha),
        "distinct_l": int(anonymity.l_diversity(frame, known, [sensitive])),
        "entropy_l": int(anonymity.entropy_l_diversity(frame, known, [sensitive])),
        "recursive_c": None if pd.isna(c) else float(c),
        "recursive_l": int(least),
        "basic_beta": float(anonymity.basic_beta_likeness(frame, known, [sensitive])),
        "enhanced_beta": float(anonymity.enhanced_beta_likeness(frame, known, [sensitive])),
        "t": float(anonymity.t_closeness(frame, known, [sensitive])),
        "delta": float(anonymity.delta_disclosure(frame, known, [sensitive])),
    }


def main() -> None:
    """Compute and write."""
    warnings.simplefilter("ignore")
    examples = []
    for name, rows in {
        "classes of several values": made_up(60, 4, 5, 3),
        "every class has every value": [
            [row % 3, row % 2, (row // 6 + row % 3 * (row // 30)) % 3] for row in range(90)
        ],
        "one class of one row": [*made_up(40, 3, 4, 7), [9, 1, 2]],
        "a value that only one class has": [*made_up(48, 4, 3, 5), [0, 0, 7], [0, 0, 7]],
    }.items():
        numbers = pd.DataFrame(rows, columns=["q", "r", "s"])
        labels = numbers.assign(s=numbers["s"].map("v{}".format))
        for kind, frame in (("number", numbers), ("label", labels)):
            examples.append({"name": name, "kind": kind, "rows": rows, "values": values_of(frame, ["q", "r"], "s")})
    demo = pd.read_csv(DEMO)
    known = ["ethnicity", "smsa", "region", "parttime"]
    for sensitive in ("education", "experience"):
        values = values_of(demo, known, sensitive)
        examples.append({"name": "cps1988", "kind": "number", "known": known, "sensitive": sensitive, "values": values})
    document = {"pycanon": version("pycanon"), "examples": examples}
    TARGET.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
