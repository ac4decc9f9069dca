"""Where the loop's time goes at 1,000,000 rows and eight columns; rewrites its part of RESULTS.md.

    python tests/benchmarks/loop_time.py [--adult PATH] [--rows 1000000] [--case NAME] [--dry]

The rounds of ``tasks`` called as plain functions on one core: reveal from stage files to stage files, estimate from
stage files, predict, decide. Adult's rows are repeated. Every clock excludes what runs inside another one:

- sampling: ``Chain.sample``;
- counting: histograms and sums of products over released rows;
- kept rows: the same sums over the rows from which the noise of decoded moments is taken, counting too;
- files: reading and writing stage files, keyed digests included;
- outside: everything else, that is bootstraps, predictions and decisions.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Any

import numpy as np
from rehearsal import Plan, Unit, judged, predicted, stream
from results import machine, table, write_section
from sources import Column, add_paths, files, read
from spend import CASES

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import PrivateCodes, ReleasedCodes, codes_digest, read_batches, store_codes, write_batch
from trasgo_lib.loop import Continue, History, first_step, next_step
from trasgo_lib.mechanisms import Chain, reveal_codes
from trasgo_lib.noise import Keystream
from trasgo_lib.utility import estimate_losses, released_moments

KEY = bytes(range(32))
BATCH_ROWS = 1 << 18
"""As ``tasks.ingest`` has it."""


@dataclass
class Clocks:
    """Seconds by name, each without those of clocks that started inside it."""

    seconds: dict[str, float] = field(default_factory=dict)
    _open: list[list[Any]] = field(default_factory=list)

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """Let a clock run."""
        begin = time.perf_counter()
        self._open.append([0.0])
        try:
            yield
        finally:
            took = time.perf_counter() - begin
            inner = self._open.pop()[0]
            self.seconds[name] = self.seconds.get(name, 0.0) + took - inner
            if self._open:
                self._open[-1][0] += took

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that runs under a clock."""

        @wraps(function)
        def timed(*args: Any, **options: Any) -> Any:
            with self.running(name):
                return function(*args, **options)

        return timed


def _instrument(clocks: Clocks) -> None:
    Chain.sample = clocks.around("sampling", Chain.sample)  # type: ignore[method-assign]
    released_moments.MomentSums.take = clocks.around("counting", released_moments.MomentSums.take)  # type: ignore[method-assign]
    released_moments.noise_covariance = clocks.around("kept rows", released_moments.noise_covariance)
    for name in ("read_batch", "write_batch"):
        setattr(store_codes, name, clocks.around("files", getattr(store_codes, name)))
    store_codes.CodesDigest.update = clocks.around("files", store_codes.CodesDigest.update)  # type: ignore[method-assign]


def _stored(column: Column, rows: int, folder: Path) -> PrivateCodes:
    codes = np.resize(column.codes, rows)
    batches = tuple(
        write_batch(folder, column.name, start, codes[start : start + BATCH_ROWS], KEY)
        for start in range(0, rows, BATCH_ROWS)
    )
    return PrivateCodes(column.name, batches, codes_digest([codes], KEY))


def _loop(plan: Plan, private: dict[str, PrivateCodes], rows: int, folder: Path, clocks: Clocks) -> tuple[int, int]:
    """Rounds and reveals that one run took."""
    found: dict[str, ReleasedCodes] = {}
    levels: dict[str, Epsilon] = {}
    attempts: dict[str, int] = {}
    units = {unit.name: unit for unit in plan.units}
    history, step = History(), first_step(plan)
    while isinstance(step, Continue):
        for name, level in step.levels:
            levels[name], attempts[name] = level, attempts.get(name, 0) + 1
            place = folder / f"attempt-{attempts[name]}"
            unit = units[name]
            found[name] = reveal_codes(unit.chain, level, private[name], partial(stream, 1, name), place, KEY)
        estimates = estimate_losses(
            {name: partial(read_batches, codes, KEY) for name, codes in found.items()},
            plan.columns,
            {unit.name: unit.chain.channel(levels[unit.name]) for unit in plan.units},
            method="pearson",
            rows=rows,
            stream=Keystream(KEY, "estimate"),
        )
        history = history.append(judged(unit, levels, attempts, estimates) for unit in plan.units)
        latest = history.latest
        predictions = {
            unit.name: predicted(unit, levels[unit.name], _counts(unit, found[unit.name], clocks), rows, estimates)
            for unit in plan.units
            if not latest[unit.name].met
        }
        step = next_step(plan, history, predictions)
    return len(history.rounds), sum(attempts.values())


def _counts(unit: Unit, codes: ReleasedCodes, clocks: Clocks) -> np.ndarray:
    outputs = unit.domain.size
    counts = np.zeros(outputs, dtype=np.int64)
    for batch in read_batches(codes, KEY):
        with clocks.running("counting"):
            counts += np.bincount(batch, minlength=outputs)
    return counts


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_paths(parser)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--case", choices=CASES, nargs="*", default=[name for name in CASES if "adult" in name])
    parser.add_argument("--dry", action="store_true", help="print only")
    asked = parser.parse_args()
    paths = files(asked.adult)
    clocks, rows = Clocks(), []
    _instrument(clocks)
    for name in asked.case:
        case = CASES[name]
        columns = read(case.file, paths[case.file])
        plan = Plan(case.units(columns), "chain")
        for unit in plan.units:
            unit.chain.channel(unit.rungs[-1])  # built with the plan
        with tempfile.TemporaryDirectory() as place:
            private = {each: _stored(column, asked.rows, Path(place) / "in") for each, column in columns.items()}
            clocks.seconds.clear()
            with clocks.running("outside"):
                rounds, reveals = _loop(plan, private, asked.rows, Path(place), clocks)
        spent = clocks.seconds
        inside, outside = spent["sampling"] + spent["counting"], spent["outside"] + spent["files"]
        kept = spent.get("kept rows", 0.0)
        verdict = "reached" if outside < inside + kept else "**not reached**"
        figures = [f"{spent.get(part, 0.0):.1f}" for part in ("sampling", "counting", "kept rows", "files", "outside")]
        ratios = [f"{outside / (inside + kept):.2f}", f"{(outside + kept) / inside:.2f}"]
        rows.append([name, rounds, reveals, *figures, *ratios, verdict])
        print(*rows[-1], flush=True)
    if not asked.dry:
        head = ["case", "rounds", "reveals", "sampling, s", "counting, s", "kept rows, s", "files, s", "outside, s"]
        head += ["files and outside / the rest", "kept rows taken as outside", "goal: below 1"]
        words = f"{asked.rows:,} rows, eight columns, targets as in the section on privacy spent; one core."
        write_section("loop-time", [machine("pyarrow"), words, "", *table(head, rows)])


if __name__ == "__main__":
    main()
