"""Time against other libraries, same arrays, in turn, one core each; rewrites its part of RESULTS.md.

    python tests/benchmarks/peers.py --peer PYTHON [--others PYTHON] [--only numbers ...] [--short] [--dry]

``--peer`` names an interpreter with trasgodp 2.1.0, ``--others`` one with diffprivlib and OpenDP; a side that is not
named is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from results import RESULTS, table, write_section

from trasgo_lib.data import CategoryDomain, NumberDomain
from trasgo_lib.mechanisms import build_channel
from trasgo_lib.noise import Keystream

WORKER = Path(__file__).with_name("peers_worker.py")
ROOT = Path(__file__).resolve().parents[2]
ROWS, POINTS, LOOP_ROWS = 1_000_000, 100_000, 5_000
SETTINGS: dict[str, Any] = {
    "epsilon": "1",
    "lower": "0",
    "upper": "100",
    "step": "1",
    "labels": [f"occupation {place:02d}" for place in range(16)],
    "box": ["41.6", "-87.95", "42.05", "-87.5"],
    "crs": "EPSG:3435",
    "step_m": "250",
    "geo_epsilon": "1.386",
    "radius_m": "200",
    "loop_rows": LOOP_ROWS,
}


@dataclass(frozen=True)
class Line:
    """One comparison.

    Args:
        job: its name in ``peers_worker.py``.
        ours: what is compared, in words.
        peer: the side it is compared with.
        theirs: the peer's call.
        goal: how many times as fast ours is to be, or None.
        rows: rows of ours, and of theirs where a loop over all of them would take minutes.
    """

    job: str
    ours: str
    peer: str
    theirs: str
    goal: float | None
    rows: tuple[int, int] = (ROWS, ROWS)


_LOOPED = (ROWS, LOOP_ROWS)
TABLES: dict[str, tuple[str, tuple[Line, ...]]] = {
    "numbers": (
        "One number column of an 8-column frame, 101 values, epsilon 1; frame in, frame out",
        (
            Line("laplace", "`laplace`", "trasgodp", "`dp_clip_laplace`", 4),
            Line("gaussian", "`gaussian`, delta 0", "trasgodp", "`dp_clip_gaussian`, delta 0.001", 4),
            Line("laplace, array", "`laplace`, array", "trasgodp", "`dp_clip_laplace_array`", None),
            Line("gaussian, array", "`gaussian`, array", "trasgodp", "`dp_clip_gaussian_array`", None),
            Line("laplace", "`laplace`", "diffprivlib", "`LaplaceTruncated.randomise`", None, _LOOPED),
            Line("laplace", "`laplace`", "opendp", "`make_laplace` on a vector, clamped", None, _LOOPED),
        ),
    ),
    "categories": (
        "One column of 16 labels of that frame, epsilon 1; frame in, frame out",
        (
            Line("kary", "k-ary", "trasgodp", "`dp_randomized_response_kary`", 40),
            Line("exponential", "`exponential`", "trasgodp", "`dp_exponential`", 100),
            Line("kary, file", "k-ary, from CSV", "trasgodp", "`dp_randomized_response_kary`", 40),
            Line("exponential, file", "`exponential`, from CSV", "trasgodp", "`dp_exponential`", 100),
            Line("kary, array", "k-ary, numpy texts", "trasgodp", "`dp_randomized_response_kary_array`", None),
            Line("exponential", "`exponential`", "diffprivlib", "`ExponentialCategorical`", None, _LOOPED),
            Line("kary", "k-ary", "opendp", "`make_randomized_response`", None, _LOOPED),
        ),
    ),
    "points": (
        "Points, degrees in and degrees out, 250 m lattice, epsilon 1.386 at 200 m",
        (Line("points", "`planar_laplace`", "trasgodp", "`metric_privacy`", 25, (POINTS, POINTS)),),
    ),
    "losses": (
        "Losses of that frame, six number columns and two text columns, all noised",
        (
            Line("correlation loss", "`correlation_loss`, 8 columns", "trasgodp", "`correlation_loss`", 5),
            Line("correlation loss, numbers", "the same, 6 numbers", "trasgodp", "`correlation_loss`", 5),
            Line("divergences, whole", "`divergence`, 101 values", "trasgodp", "`divergence_distributions`", 20),
            Line("divergences, fractions", "`divergence`, fractions", "trasgodp", "`divergence_distributions`", 20),
            Line("divergences, text", "`divergence`, a text", "trasgodp", "`divergence_distributions`", 20),
        ),
    ),
}
HEAD = ("ours", "theirs", "ours, ms", "theirs, ms", "times as fast", "goal", "memory taken, MiB: ours / theirs")


@dataclass
class Side:
    """A worker that waits for jobs."""

    process: subprocess.Popen[str]
    jobs: tuple[str, ...]
    versions: dict[str, str]

    def ask(self, verb: str, job: str) -> dict[str, float]:
        """One answer to ``prepare`` or ``run``.

        Raises:
            SystemExit: the worker ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{verb} {job}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"a worker ended at the job {job!r}; its error stands above")
        return dict(json.loads(answer))


@contextmanager
def started(python: Path | str, folder: Path, name: str, core: int) -> Iterator[Side]:
    """A worker of one side, ended with the block."""
    paths = {"PYTHONPATH": str(ROOT)} if name == "trasgo" else {"PYTHONPATH": ""}
    command = [str(python), str(WORKER), str(folder), name, str(core)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **paths}
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise SystemExit(f"the worker of {name} did not start")
        told = json.loads(first)
        yield Side(process, tuple(told["jobs"]), told["versions"])
    finally:
        process.stdin.close() if process.stdin else None
        process.wait(timeout=60)


def store_inputs(folder: Path, *, csv: bool) -> None:
    """Public made-up rows: related numbers and labels, their release, and points.

    Args:
        folder: where the files go.
        csv: whether the rows are written as a CSV file, too.
    """
    stream = Keystream(bytes(32), "benchmark rows")
    uniform = [(stream.words(at * ROWS, ROWS) >> np.uint64(11)) / 2.0**53 for at in range(9)]
    related = [0.6 * uniform[8] + 0.4 * one for one in uniform[:8]]
    number, category = NumberDomain("0", "100", "1"), CategoryDomain(SETTINGS["labels"])
    original: dict[str, Any] = {f"n{at}": np.rint(100 * related[at]) for at in range(6)}
    original |= {f"c{at - 6}": np.array(SETTINGS["labels"])[(16 * related[at]).astype(int)] for at in (6, 7)}
    released: dict[str, Any] = {}
    for name, values in original.items():
        domain, mechanism = (number, "laplace") if name[0] == "n" else (category, "kary_randomized_response")
        drawn = build_channel(mechanism, domain, "4").sample(domain.encode(values), Keystream(bytes(32), name))
        released[name] = np.array(SETTINGS["labels"])[drawn] if domain is category else number.decode(drawn) * 1.0
    for name, columns in (("original", original), ("released", released)):
        (folder / name).mkdir()
        for column, values in columns.items():
            np.save(folder / name / f"{column}.npy", values)
    if csv:
        pd.DataFrame(original).to_csv(folder / "original.csv", index=False)
    np.save(folder / "fractions.npy", np.array([100 * related[0], np.clip(100 * related[0] + uniform[1], 0, 100)]))
    south, west, north, east = (float(edge) for edge in SETTINGS["box"])
    latitude, longitude = (0.1 + 0.8 * uniform[at][:POINTS] for at in (0, 1))
    np.save(folder / "points.npy", [south + (north - south) * latitude, west + (east - west) * longitude])
    (folder / "settings.json").write_text(json.dumps({**SETTINGS, "csv": csv}), encoding="utf-8")


def compare(line: Line, ours: Side, theirs: Side, runs: int) -> list[str]:
    """Both sides in turn; one row of the table."""
    first = ours.ask("prepare", line.job), theirs.ask("prepare", line.job)
    pairs = [(ours.ask("run", line.job), theirs.ask("run", line.job)) for _ in range(runs)]
    scale = line.rows[0] / line.rows[1]
    mine = [1000 * pair[0]["cpu"] for pair in pairs]
    other = [1000 * pair[1]["cpu"] * scale for pair in pairs]
    ratio = [right / left for left, right in zip(mine, other, strict=True)]
    goal = "" if line.goal is None else f"{line.goal:g}"
    looped = "" if scale == 1 else f", {line.rows[1]:,} rows scaled up"
    memory = "" if looped else " / ".join(f"{side['extra_mib']:.0f}" for side in first)
    theirs_in_words = f"{line.theirs} of {line.peer}{looped}"
    row = [line.ours, theirs_in_words, _spread(mine), _spread(other), _spread(ratio), goal, memory]
    print(*row, f"(built in {first[0]['built'] * 1000:.0f} ms)", sep=" | ", flush=True)
    return row


def _spread(values: Sequence[float]) -> str:
    middle, digits = statistics.median(values), 0 if statistics.median(values) >= 100 else 1
    return f"{middle:,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def measured(sides: dict[str, Side], only: Sequence[str], runs: int) -> Iterator[str]:
    """The chosen tables, as lines of Markdown."""
    for name in only:
        words, lines = TABLES[name]
        print(f"== {words}", flush=True)
        rows = [compare(line, sides["trasgo"], sides[line.peer], runs) for line in lines if line.peer in sides]
        yield from ("", f"**{words}.**", "", *table(HEAD, rows))


def _words(sides: dict[str, Side], runs: int) -> list[str]:
    versions = "; ".join(
        f"{name}: " + ", ".join(f"{package} {version}" for package, version in side.versions.items())
        for name, side in sides.items()
    )
    left_out = [name for name in ("trasgodp", "diffprivlib", "opendp") if name not in sides]
    return [
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores. {versions}.",
        *([f"Left out, since no interpreter was named: {', '.join(left_out)}."] if left_out else []),
        f"{ROWS:,} rows ({POINTS:,} points), the same arrays on both sides, in turn, {runs} runs each after one",
        "that is not counted. Every side has one thread on the same core; times are its processor time, which other",
        "work on the machine disturbs less than elapsed time. Medians, with least and most; the ratio is taken pair by",
        "pair. Frames are made of numpy arrays (float64, fixed-width texts), or read from the CSV file of the same",
        "rows, by the side's own pandas. A column of texts goes in and comes out as texts: the pandas 3 type `str` of",
        "ours, Python objects of the peer, which refuses the pandas type `category`. Memory: what the first run took",
        "above what was held before. Building a channel (once a column), 1 to 10 ms, 0.2 s for points, is not timed.",
    ]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, default=None, help="python with trasgodp")
    parser.add_argument("--others", type=Path, default=None, help="python with diffprivlib and opendp")
    parser.add_argument("--only", nargs="+", choices=list(TABLES), default=list(TABLES), help="tables to measure")
    parser.add_argument("--short", action="store_true", help="5 runs instead of 9")
    parser.add_argument("--core", type=int, default=0, help="the processor of all sides")
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    runs = 5 if asked.short else 9
    pythons = {"trasgo": sys.executable, "trasgodp": asked.peer, "diffprivlib": asked.others, "opendp": asked.others}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store_inputs(folder, csv="categories" in asked.only)
        sides = {
            name: stack.enter_context(started(python, folder, name, asked.core))
            for name, python in pythons.items()
            if python is not None
        }
        if len(sides) == 1:
            print("no --peer and no --others: nothing to compare with")
            return
        lines = [*measured(sides, asked.only, runs)]
        words = _words(sides, runs)
    if asked.dry or set(asked.only) != set(TABLES):
        print(*words, *lines, "nothing was written: that takes all tables and no --dry", sep="\n")
        return
    write_section("peers", [*words, *lines], RESULTS)


if __name__ == "__main__":
    main()
