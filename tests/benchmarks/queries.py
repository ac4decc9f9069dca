"""A million rows through ``trasgo query``: time and memory; rewrites its part of RESULTS.md.

    python tests/benchmarks/queries.py [--rows 1000000] [--dry]

The source is that of ``scale.py``: rows of the demonstration's own file drawn by a public keystream, in Parquet. The
questions are those of the demonstration. The command runs in a process of its own; memory is the largest of any of its
processes, as the system counted it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import machine, table, write_section
from ruamel.yaml import YAML
from scale import DEMO, ROOT, write_source

_COMMAND = "from flows.cli import main; main()"


def _office(folder: Path, rows: int) -> Path:
    """Source, statistics file, key and account."""
    document = YAML(typ="safe").load((DEMO / "cps1988-statistics.yaml").read_text(encoding="utf-8"))
    names = [column["name"] for column in document["columns"]]
    write_source(folder / "source.parquet", rows, names)
    document["source"] = {"path": "source.parquet", "format": "parquet"}
    document["publish"] = {"store": "store"}
    document["rows"] = rows
    config = folder / "statistics.yaml"
    with config.open("w", encoding="utf-8") as stream:
        YAML(typ="safe").dump(document, stream)
    _trasgo(folder, "key", "init")
    _trasgo(folder, "ledger", "open", str(config), "--epsilon", "10", "--population", "made-up men")
    return config


def _trasgo(folder: Path, *arguments: str) -> str:
    environment = os.environ | {"TRASGO_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-c", _COMMAND, *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return run.stdout


def _measured(folder: Path, config: Path) -> dict[str, float]:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    told = json.loads(_trasgo(folder, "query", str(config), "--json"))
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if told["state"] != "published":
        raise SystemExit("not published")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "mib": after.ru_maxrss / 1024}


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--dry", action="store_true")
    asked = parser.parse_args()
    found = []
    for text in asked.rows.split(","):
        with tempfile.TemporaryDirectory(prefix="trasgo-queries-") as name:
            folder, rows = Path(name), int(text)
            seen = _measured(folder, _office(folder, rows))
            found.append((f"{rows:,}", f"{seen['wall']:.0f}", f"{seen['cpu']:.0f}", f"{seen['mib']:.0f}"))
    lines = [machine("opendp"), "", *table(("rows", "seconds", "CPU seconds", "MiB"), found)]
    sys.stdout.write("\n".join(lines) + "\n")
    if not asked.dry:
        write_section("queries", lines)


if __name__ == "__main__":
    main()
