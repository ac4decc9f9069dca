"""Device reports: noise and counting, ours against pure-ldp, multi-freq-ldpy and ldp-toolbox.

    PYTHONPATH=.:tests/benchmarks python tests/benchmarks/collection.py /path/to/peers/python

The peers cannot share our environment (they need xxhash below 4); the interpreter named has them. Every figure is
reports a second of processor time of one process, epsilon 2, median of runs; ours and theirs are run in turn. Our
counts are read from Parquet, theirs are in memory already.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq
from results import machine, table, write_section

from trasgo_lib.amounts import Epsilon
from trasgo_lib.collection import ReportCounts, Tag, build_report_channel, count_table, estimate, report_table
from trasgo_lib.collection.simulation import answers

PEERS = ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox")
GOALS = {
    ("grr client", 200): 20,
    ("oue client", 200): 10,
    ("grr server", 200): 10,
    ("oue server", 10_000): 3,
}
NAMES = {"grr": "kary_randomized_response", "oue": "optimised_unary_encoding"}
REPORTS = {("grr", 200): 10_000_000, ("oue", 200): 1_000_000, ("grr", 10_000): 10_000_000, ("oue", 10_000): 1_000_000}
RUNS = 3
_AT_ONCE = 50_000
_SECONDS = 3.0
KEY = bytes(range(32))


def _rate(work: Callable[[], object], items: int) -> float:
    start = time.process_time()
    work()
    return items / (time.process_time() - start)


def ours(d: int, folder: Path) -> dict[str, float]:
    """Our figures; reports of the first run are kept as Parquet."""
    found = {}
    for name, mechanism in NAMES.items():
        channel = build_report_channel(mechanism, d, Epsilon.parse("2"))
        reports = REPORTS[name, d]
        path = folder / f"{name}-{d}.parquet"
        slots = np.random.default_rng(1).integers(0, d, _AT_ONCE if name == "oue" else 1_000_000).astype(np.int32)
        devices = np.arange(len(slots))
        drawn = answers(channel, slots, devices, 0, KEY)
        found[f"{name} client"] = _rate(
            lambda c=channel, s=slots, x=devices: answers(c, s, x, 0, KEY),  # type: ignore[misc]
            len(slots),
        )
        if not path.exists():
            batch = report_table(channel, Tag("a", channel.version), "2026-01-05", drawn)
            with pq.ParquetWriter(path, batch.schema, compression="none") as writer:
                for _ in range(reports // len(slots)):
                    writer.write_table(batch)

        def count(channel=channel, path=path, name=name) -> None:  # type: ignore[no-untyped-def]
            total = ReportCounts.empty(channel)
            column = "bits" if name == "oue" else "slot"
            for part in pq.ParquetFile(path).iter_batches(columns=[column]):
                total += count_table(channel, part)
            assert total.reports == REPORTS[name, channel.slots]
            estimate(channel, total)

        found[f"{name} server"] = _rate(count, reports)
    return found


def theirs(python: str, peer: str, d: int) -> dict[str, float]:
    """A peer's figures, in its own environment."""
    worker = Path(__file__).with_name("collection_worker.py")
    command = [python, str(worker), peer, str(d), str(_SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rates: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return rates


def main(python: str) -> None:
    """Measure in turn and write the section."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for d in (200, 10_000):
            mine: list[dict[str, float]] = []
            peers: dict[str, list[dict[str, float]]] = {peer: [] for peer in PEERS}
            for _ in range(RUNS):
                mine.append(ours(d, Path(folder)))
                for peer in PEERS:
                    peers[peer].append(theirs(python, peer, d))
            for what in mine[0]:
                best = {peer: median(run[what] for run in runs) for peer, runs in peers.items()}
                fastest = max(best.values())
                own = median(run[what] for run in mine)
                rows.append(
                    [
                        what.replace("grr", "randomised response,").replace("oue", "optimised unary,"),
                        f"{d:,}",
                        f"{own:,.0f}",
                        *(f"{best[peer]:,.0f}" for peer in PEERS),
                        f"{own / fastest:,.1f}",
                        GOALS.get((what, d), ""),
                    ]
                )
    head = ["what", "slots", "ours", *PEERS, "times the best", "goal"]
    words = (
        f"{machine('pyarrow')} Reports a second of processor time, epsilon 2, medians of {RUNS} runs in turn. Ours: "
        "10 million reports of randomised response, 1 million of the unary code, counted and estimated from Parquet; "
        f"the peers' servers have theirs in memory, as many as their clients make in {_SECONDS:g} s."
    )
    write_section("collection", [words, "", *table(head, rows)])


if __name__ == "__main__":
    main(sys.argv[1])
