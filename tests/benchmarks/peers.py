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
ROWS, POINTS, LOOP_ROWS = 1_000_000, 100_000, 20_000
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
            Line("laplace, frame", "`laplace`", "trasgodp", "`dp_clip_laplace`", 4),
            Line("gaussian, frame", "`gaussian`, delta 0", "trasgodp", "`dp_clip_gaussian`, delta 0.001", 4),
            Line("laplace, array", "`laplace`, array", "trasgodp", "`dp_clip_laplace_array`", None),
            Line("gaussian, array", "`gaussian`, array", "trasgodp", "`dp_clip_gaussian_array`", None),
            Line("laplace, frame", "`laplace`", "diffprivlib", "`LaplaceTruncated.randomise`", None, _LOOPED),
            Line("laplace, frame", "`laplace`", "opendp", "`make_laplace` on a vector, clamped", None, _LOOPED),
        ),
    ),
    "categories": (
        "One text column of that frame, 16 labels, epsilon 1; frame in, frame out",
        (
            Line("kary, frame", "`kary_randomized_response`", "trasgodp", "`dp_randomized_response_kary`", 40),
            Line("exponential, frame", "`exponential`", "trasgodp", "`dp_exponential`", 100),
            Line("kary, array", "k-ary, array of objects", "trasgodp", "`dp_randomized_response_kary_array`", None),
            Line(
                "exponential, frame",
                "`exponential`",
                "diffprivlib",
                "`ExponentialCategorical.randomise`",
                None,
                _LOOPED,
            ),
            Line("kary, frame", "`kary_randomized_response`", "opendp", "`make_randomized_response`", None, _LOOPED),
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
            Line("divergences, number", "`divergence`, a number", "trasgodp", "`divergence_distributions`", 20),
            Line("divergences, category", "`divergence`, a text", "trasgodp", "`divergence_distributions`", 20),
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


def store_inputs(folder: Path) -> None:
    """Public made-up rows: related numbers and labels, their release, and points."""
    stream = Keystream(bytes(32), "benchmark rows")
    uniform = [(stream.words(at * ROWS, ROWS) >> np.uint64(11)) / 2.0**53 for at in range(9)]
    shared = uniform[8]
    labels = np.array(SETTINGS["labels"], dtype=object)
    columns: dict[str, Any] = {f"n{at}": np.rint(100 * (0.6 * shared + 0.4 * uniform[at])) for at in range(6)}
    columns |= {f"c{at - 6}": labels[(16 * (0.5 * shared + 0.5 * uniform[at])).astype(int)] for at in (6, 7)}
    frame = pd.DataFrame(columns)
    number, category = NumberDomain("0", "100", "1"), CategoryDomain(SETTINGS["labels"])
    noise = {
        number: build_channel("laplace", number, "4"),
        category: build_channel("kary_randomized_response", category, "4"),
    }
    released = {}
    for name in frame.columns:
        domain = number if name.startswith("n") else category
        codes = noise[domain].sample(domain.encode(frame[name]), Keystream(bytes(32), "release", name))
        released[name] = domain.decode(codes)
    frame.to_parquet(folder / "frame.parquet")
    pd.DataFrame({name: np.asarray(values) for name, values in released.items()}).to_parquet(
        folder / "released.parquet"
    )
    south, west, north, east = (float(edge) for edge in SETTINGS["box"])
    at = np.array([south + (north - south) * (0.1 + 0.8 * uniform[0]), west + (east - west) * (0.1 + 0.8 * uniform[1])])
    np.save(folder / "points.npy", at[:, :POINTS])
    (folder / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")


def compare(line: Line, ours: Side, theirs: Side, runs: int) -> list[str]:
    """Both sides in turn; one row of the table."""
    built = ours.ask("prepare", line.job)["built"]
    theirs.ask("prepare", line.job)
    pairs = [(ours.ask("run", line.job), theirs.ask("run", line.job)) for _ in range(runs)]
    scale = line.rows[0] / line.rows[1]
    mine = [1000 * pair[0]["cpu"] for pair in pairs]
    other = [1000 * pair[1]["cpu"] * scale for pair in pairs]
    ratio = [right / left for left, right in zip(mine, other, strict=True)]
    peaks = [statistics.median(pair[side]["extra_mib"] for pair in pairs) for side in (0, 1)]
    goal = "" if line.goal is None else f"{line.goal:g}"
    name = f"{line.theirs} of {line.peer}"
    if scale != 1:
        name += f", {line.rows[1]:,} rows scaled up"
    row = [
        line.ours,
        name,
        _spread(mine),
        _spread(other),
        _spread(ratio),
        goal,
        f"{peaks[0]:.0f} / {peaks[1]:.0f}" if scale == 1 else "",
    ]
    print(*row, f"(built in {built * 1000:.0f} ms)", sep=" | ", flush=True)
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
        f"{ROWS:,} rows ({POINTS:,} points), the same arrays on both sides, in turn, {runs} runs each after one that is",
        "not counted; every side has one thread and the same one core. Medians, with least and most; the ratio is taken",
        "pair by pair. A frame is what the side's own pandas makes of one Parquet file (texts: pandas 3 Arrow-backed,",
        "pandas 2 objects). Building a channel (once a column, a few to 100 ms) is not in our times.",
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
        store_inputs(folder)
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
