"""How a release grows with its rows: memory, time by stage, the orchestrator's share; rewrites its part of RESULTS.md.

    python tests/benchmarks/scale.py [--rows 100000,1000000,...] [--format parquet|csv] [--narrow] [--plain] [--dry]

Rows are drawn from the demonstration's own file by a public keystream and written batch by batch, so that the source
never stands in memory. Ten columns: the demonstration's seven, hours and age beside them, and a public one of text.
``--narrow`` has one number and one category only. Every release runs in a process of its own (``scale_worker.py``);
memory is the largest sum over that process and its children, looked at twenty times a second. ``--plain`` runs the same
task bodies as plain functions beside every flow: what is more in the flow is the orchestrator's. The largest run is
profiled (``where_time_goes.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from results import machine, table, write_section
from ruamel.yaml import YAML
from where_time_goes import BOUNDS, PREFECT

from trasgo_lib.data.row_order import shuffled
from trasgo_lib.data.spool import Spool
from trasgo_lib.noise import Keystream

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "configs" / "demo"
PUBLIC_KEY = bytes(range(32))
BATCH_ROWS = 1 << 18
LOOKS_A_SECOND = 20
GOAL_MIB = 2048
MOST_LABELS = 8
"""Region has four; the public column has twelve months and stays text."""

ROOM_BYTES_PER_ROW = 600
"""Source, stage files of some twenty draws and both published files, generously."""

MORE_COLUMNS: list[dict[str, Any]] = [
    {
        "name": "hours",
        "type": "number",
        "domain": {"lower": "0", "upper": "99", "step": "1"},
        "mechanism": "laplace",
        "epsilon": "2",
    },
    {
        "name": "age",
        "type": "number",
        "domain": {"lower": "14", "upper": "90", "step": "1"},
        "outside": "clip",
        "mechanism": "gaussian",
        "epsilon": "2",
    },
    {"name": "wave", "role": "public"},
]


def batches(rows: int, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Rows of the demonstration's file, drawn with replacement by a public key."""
    demo = pacsv.read_csv(DEMO / "cps1988.csv")
    stream = Keystream(PUBLIC_KEY, "scale")
    for first in range(0, rows, BATCH_ROWS):
        words = stream.words(first, min(BATCH_ROWS, rows - first))
        found = dict(zip(demo.column_names, demo.take(words % len(demo)).columns))
        found["hours"] = pa.chunked_array([(words >> 32) % 100])
        found["age"] = pa.chunked_array([np.add(found["education"], found["experience"]) + 6])
        found["wave"] = pa.chunked_array([pa.array([f"2026-{month}" for month in range(1, 13)]).take(words % 12)])
        yield pa.record_batch([found[name].combine_chunks() for name in names], names=list(names))


def write_source(path: Path, rows: int, names: Sequence[str]) -> None:
    """The source file, as its name's ending says."""
    schema = next(batches(1, names)).schema
    writer = pq.ParquetWriter(path, schema) if path.suffix == ".parquet" else pacsv.CSVWriter(path, schema)
    with writer:
        for batch in batches(rows, names):
            writer.write_batch(batch)


def declare(folder: Path, kind: str, narrow: bool, version: str) -> tuple[Path, list[str]]:
    """The release file and the names of its columns."""
    release = YAML(typ="safe").load((DEMO / "cps1988.yaml").read_text(encoding="utf-8"))
    release.pop("prior")
    release.pop("risk")
    columns = [*release["columns"], *MORE_COLUMNS]
    if narrow:
        columns = [column for column in columns if column["name"] in ("wage", "region")]
    release["release"]["version"] = version
    release["source"] = {"path": f"source.{kind}", "format": kind}
    release["columns"] = columns
    release["privacy"]["epsilon_total"] = "12"
    release["publish"] = {"store": "store", "formats": ["parquet"] if narrow else ["parquet", "csv"]}
    config = folder / f"release-{version}.yaml"
    with config.open("w", encoding="utf-8") as stream:
        YAML().dump(release, stream)
    return config, [column["name"] for column in columns]


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text(encoding="ascii").split() if task.name != str(pid) else []
    except OSError:
        return
    for child in children:
        yield from _tree(int(child))


def _memory_mib(pid: int) -> float:
    pages = 0
    for process in _tree(pid):
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def run(folder: Path, config: Path, how: str) -> dict[str, Any]:
    """One release: what its worker saw, and the memory of all its processes."""
    seen = folder / "seen.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment |= {"TRASGO_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    worker = str(Path(__file__).with_name("scale_worker.py"))
    process = subprocess.Popen(
        [sys.executable, worker, how, str(config), str(seen)], env=environment, cwd=folder, stdout=subprocess.DEVNULL
    )
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, _memory_mib(process.pid))
        time.sleep(1 / LOOKS_A_SECOND)
    if process.returncode:
        raise SystemExit(f"the run ended with {process.returncode}")
    return {**json.loads(seen.read_text(encoding="utf-8")), "memory_mib": peak}


def prepare(folder: Path, config: Path) -> None:
    """Key and account."""
    environment = os.environ | {"TRASGO_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "from flows.cli import main; main()"]
    for words in (["key", "init"], ["ledger", "open", str(config), "--epsilon", "200", "--population", "made up"]):
        subprocess.run([*command, *words], env=environment, check=True, stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class Stage:
    """Seconds by the wall clock and of processor time (tasks side by side count once), and the largest memory."""

    wall: float
    cpu: float
    peak_mib: float


def by_stage(seen: dict[str, Any]) -> dict[str, Stage]:
    """What each stage took."""
    found = {}
    for name in dict.fromkeys(stage["stage"] for stage in seen["stages"]):
        mine = [stage for stage in seen["stages"] if stage["stage"] == name]
        clocks = (_covered([stage[clock] for stage in mine]) for clock in ("wall", "cpu"))
        found[name] = Stage(*clocks, max(stage["peak_mib"] for stage in mine))
    return found


def _covered(spans: list[list[float]]) -> float:
    seconds, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        seconds += max(0.0, end - max(until, begin))
        until = max(until, end)
    return seconds


def measured(rows: int, kind: str, narrow: bool, plain: bool) -> dict[str, Any]:
    """A release of so many rows."""
    with tempfile.TemporaryDirectory(prefix="trasgo-scale-") as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < rows * ROOM_BYTES_PER_ROW:
            raise SystemExit(f"{rows * ROOM_BYTES_PER_ROW >> 20} MiB of disk are needed for {rows} rows")
        config, names = declare(folder, kind, narrow, "1")
        write_source(folder / f"source.{kind}", rows, names)
        prepare(folder, config)
        found = {"rows": rows, "kind": kind, "flow": run(folder, config, "flow")}
        if plain:
            again, _ = declare(folder, kind, narrow, "2")
            found["plain"] = run(folder, again, "plain")
        return found


def shuffle_and_encode(rows: int) -> tuple[float, float]:
    """Processor seconds of this thread: the shuffle of so many rows by buckets, and writing the same rows as Parquet.

    The shuffle is all of it: words, scattering, reading back, sorting. The rows wait on the disk, as they do in a run;
    the nine noised columns are bytes there, as codes of up to 255 values are.
    """
    names = [*pacsv.read_csv(DEMO / "cps1988.csv").column_names, "hours", "age", "wave"]
    with tempfile.TemporaryDirectory(prefix="trasgo-scale-") as name, Spool(Path(name) / "rows", 0) as spool:
        schema = next(batches(1, names)).schema
        encoding = 0.0
        # as in ``trasgo_lib.release.data_files``
        with pq.ParquetWriter(Path(name) / "x.parquet", schema, version="2.6", compression="zstd") as writer:
            for batch in batches(rows, names):
                begin = time.thread_time()
                writer.write_batch(batch, row_group_size=batch.num_rows)
                encoding += time.thread_time() - begin
                columns = [_as_codes(column) for column in batch.columns]
                spool.add(pa.record_batch(columns, names=[str(place) for place in range(len(columns))]))
        begin = time.thread_time()
        for _ in shuffled(spool, Keystream(PUBLIC_KEY, "shuffle")):
            pass
        return time.thread_time() - begin, encoding


def _as_codes(column: pa.Array) -> pa.Array:
    if not pa.types.is_string(column.type):
        return pa.array((column.to_numpy() % 200).astype(np.uint8))
    distinct = column.dictionary_encode()
    if len(distinct.dictionary) > MOST_LABELS:
        return column.cast(pa.large_string())
    return pa.array(distinct.indices.to_numpy().astype(np.uint8))


def main() -> None:
    """Measure, print, and write the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--format", default="parquet", choices=("parquet", "csv"))
    parser.add_argument("--narrow", action="store_true")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    section = "scale-narrow" if options.narrow else "scale"
    lines = [machine("pyarrow", "prefect"), ""]
    runs = []
    for rows in map(int, options.rows.split(",")):
        found = measured(rows, options.format, options.narrow, options.plain)
        runs.append(found)
        print(rows, f"memory {found['flow']['memory_mib']:.0f} MiB, total {found['flow']['total']:.1f} s", flush=True)
        for how in ("flow", "plain"):
            for name, stage in by_stage(found[how]).items() if how in found else ():
                words = f"{stage.wall:8.2f} s wall {stage.cpu:8.2f} s cpu {stage.peak_mib:7.0f} MiB"
                print(f"  {how:6} {name:16} {words}", flush=True)
        for what, seconds in found["flow"]["places"].items():
            print(f"  {seconds:8.2f} s {what}", flush=True)
        shuffle, encoding = shuffle_and_encode(rows)
        found["shuffle"], found["encoding"] = shuffle, encoding
        print(f"  shuffle {shuffle:.2f} s, Parquet encoding {encoding:.2f} s", flush=True)
        if not options.dry:
            write_section(section, [*lines, *report(runs)])


def report(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The tables of RESULTS.md."""
    names = ("ingest", "draw_unit", "measure_round", "check_release", "measure_exactly", "publish")
    head = ["rows", "source", "memory, MiB", "goal", "run, s", "processor, s", "us a further row"]
    head += [*(f"{name}, s" for name in names), "shuffle, s", "Parquet encoding, s"]
    lines = [_line(found, before, names) for found, before in zip(runs, [None, *runs[:-1]], strict=True)]
    return [*table(head, lines), "", *_of_prefect(runs), "", *_where(runs[-1])]


def _line(found: dict[str, Any], before: dict[str, Any] | None, names: Sequence[str]) -> list[str]:
    seen = by_stage(found["flow"])
    flow, memory = seen["flow"], found["flow"]["memory_mib"]
    goal = "reached" if memory <= GOAL_MIB else "**missed**"
    head = [f"{found['rows']:,}", found["kind"], f"{memory:.0f}", goal, f"{found['flow']['total']:.0f}"]
    head += [f"{flow.cpu:.1f}", "" if before is None else f"{_slope(before, found):.2f}"]
    stages = [f"{seen[name].cpu:.1f}" if name in seen else "" for name in names]
    return [*head, *stages, f"{found['shuffle']:.2f}", f"{found['encoding']:.2f}"]


def _slope(before: dict[str, Any], found: dict[str, Any]) -> float:
    """Microseconds of processor time for each row more."""
    cpu = [by_stage(run["flow"])["flow"].cpu for run in (before, found)]
    return 1e6 * (cpu[1] - cpu[0]) / (found["rows"] - before["rows"])


def _of_prefect(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The orchestrator's own time, found in two ways: by where the flow's time goes, and against plain functions."""
    head = ["rows", "in the flow's process, s", "its server, s", "share of the flow", "plain functions, s"]
    head += ["share against them", "server until the flow began, s"]
    return table(head, [_prefect_line(found) for found in runs])


def _prefect_line(found: dict[str, Any]) -> list[str]:
    flow = by_stage(found["flow"])["flow"].cpu
    own, (start, server) = found["flow"]["places"].get(PREFECT, 0.0), found["flow"]["server"]
    line = [f"{found['rows']:,}", f"{own:.1f}", f"{server:.1f}", f"{100 * (own + server) / (flow + server):.1f} %"]
    if "plain" not in found:
        return [*line, "", "", f"{start:.1f}"]
    plain = by_stage(found["plain"])["flow"].cpu
    return [*line, f"{plain:.1f}", f"{100 * (1 - plain / (flow + server)):.1f} %", f"{start:.1f}"]


def _where(found: dict[str, Any]) -> list[str]:
    """Where the largest run's processor time goes."""
    places = found["flow"]["places"]
    whole = sum(places.values())
    lines = [
        [what, f"{seconds:.1f}", f"{100 * seconds / whole:.0f} %", BOUNDS.get(what, "")]
        for what, seconds in places.items()
        if seconds >= whole / 100
    ]
    return [f"{found['rows']:,} rows, by place:", "", *table(["what", "s", "share", "bound by"], lines)]


if __name__ == "__main__":
    main()
