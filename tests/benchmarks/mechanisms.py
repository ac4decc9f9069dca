"""Rows per second of each mechanism, one core; rewrites its part of RESULTS.md.

Run with ``make bench``. Times are medians of seven runs of the sampler on one million codes, with the smallest and the
largest; building the channel is timed apart. Figures of a shared machine differ by a third from day to day.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from trasgo_lib.data import BoxDomain, CategoryDomain, Domain, NumberDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.noise import Keystream

RESULTS = Path(__file__).with_name("RESULTS.md")
START, END = "<!-- mechanisms: start -->", "<!-- mechanisms: end -->"
ROWS = 1_000_000
RUNS = 7
KEY = bytes(range(32))


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    words: str
    name: str
    domain: Domain
    epsilon: str = "2"
    parameters: tuple[tuple[str, object], ...] = ()

    def build(self) -> Channel:
        """The channel."""
        return build_channel(self.name, self.domain, epsilon=self.epsilon, **dict(self.parameters))


def _cases() -> list[Case]:
    wage = NumberDomain("0", "2000", "10")
    fine = NumberDomain("0", "100000", "1")
    labels = CategoryDomain([f"c{place}" for place in range(16)])
    box = BoxDomain(["41.6", "-87.95", "42.05", "-87.5"], "EPSG:3435", "250")
    return [
        Case("201 values", "laplace", wage),
        Case("100,001 values", "laplace", fine),
        Case("201 values, missing as a code", "laplace", wage, parameters=(("missing", True),)),
        Case("201 values", "gaussian", wage),
        Case("201 values, delta 1e-6", "gaussian", wage, parameters=(("delta", "0.000001"),)),
        Case("16 codes, 0/1 utility", "exponential", labels, parameters=(("utility", "zero_one"),)),
        Case("201 values, ordinal utility", "exponential", wage, parameters=(("utility", "ordinal"),)),
        Case("2 codes", "randomized_response", CategoryDomain(["no", "yes"])),
        Case("16 codes", "kary_randomized_response", labels),
        Case(f"{box.size:,} cells of 250 m", "planar_laplace", box, "1.386", (("radius_m", "200"),)),
    ]


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _line(case: Case) -> str:
    build = _timed(case.build)
    channel = case.build()
    codes = (np.arange(ROWS) % channel.inputs).astype(np.int32)
    channel.sample(codes[:1000], Keystream(KEY, "warm"))
    rates = [ROWS / _timed(lambda: channel.sample(codes, Keystream(KEY, case.name))) / 1e6 for _ in range(RUNS)]
    median, least, most = statistics.median(rates), min(rates), max(rates)
    return f"| `{case.name}` | {case.words} | {median:.1f} | {least:.1f} to {most:.1f} | {build:.2f} |"


def main() -> None:
    """Measure and write."""
    packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "cryptography", "pyarrow"))
    lines = [
        START,
        f"Python {platform.python_version()} on {platform.machine()}, {packages}; one core, 1,000,000 rows, epsilon 2",
        f"(points: 1.386 at 200 m), {RUNS} runs.",
        "",
        "| mechanism | domain | million rows/s, median | least to most | build, s |",
        "|---|---|---|---|---|",
        *(_line(case) for case in _cases()),
        END,
    ]
    text = RESULTS.read_text(encoding="utf-8")
    before, after = text.split(START)[0], text.split(END)[1]
    RESULTS.write_text(before + "\n".join(lines) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
