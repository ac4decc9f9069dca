"""Time and memory of a risk audit over many rows: ``python tests/benchmarks/risk_scale.py [ROWS]``.

Four quasi-identifiers and a sensitive column of a made-up table, noised by their channels, in batches of 2**18 rows;
once with few distinct classes, once with numbers of 1,000 values, so that nearly every row is its own class.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.config import RiskSpec, load_config
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan, compile_plan
from trasgo_lib.risk import audit_risk

HEAD = """
format: 1
release: {dataset: scale, version: "1", title: "Scale"}
source: {path: scale.parquet, format: parquet}
privacy: {epsilon_total: "40", account: scale}
publish: {store: releases}
columns:
"""
COLUMN = """
  - {{name: {name}, type: number, domain: {{lower: "0", upper: "{upper}", step: "1"}},
     mechanism: laplace, epsilon: "4"}}
"""
BATCH = 1 << 18


def _plan(folder: Path, values: int) -> ReleasePlan:
    path = folder / "release.yaml"
    text = HEAD + "".join(COLUMN.format(name=name, upper=values - 1) for name in "abcds")
    path.write_text(text, encoding="utf-8")
    return compile_plan(load_config(path))


def _reader(plan: ReleasePlan, name: str, rows: int, *, is_released: bool) -> Callable[[], Iterator[NDArray[np.int32]]]:
    unit, stream = plan.unit(name), Keystream(bytes(32), name)
    channel = unit.channel(unit.rungs[0])

    def read() -> Iterator[NDArray[np.int32]]:
        for first in range(0, rows, BATCH):
            count = min(BATCH, rows - first)
            codes = (Keystream(bytes(32), "true", name).words(first, count) % np.uint64(unit.domain.size)).astype(
                np.int32
            )
            yield channel.sample(codes, stream, first) if is_released else codes

    return read


def measure(rows: int, values: int, sample: int) -> dict[str, Any]:
    """Audit one table; nothing but the audit holds more than a batch."""
    with tempfile.TemporaryDirectory() as folder:
        plan = _plan(Path(folder), values)
        versions = tuple(
            {name: _reader(plan, name, rows, is_released=side) for name in "abcds"} for side in (False, True)
        )
        spec = RiskSpec(quasi_identifiers=tuple("abcd"), sensitive=("s",), linkage_sample=sample)
        levels = {unit.name: unit.rungs[0] for unit in plan.units}
        begun = time.perf_counter()
        audit = audit_risk(plan, spec, levels, versions, {}, rows, Keystream(bytes(32), "risk"))  # type: ignore[arg-type]
        return {
            "values": values,
            "classes": audit.released.classes.classes,
            "targets": audit.linkage.targets,
            "seconds": round(time.perf_counter() - begun, 1),
            "peak MiB so far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }


if __name__ == "__main__":
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(measure(many, 8, 1000))
    print(measure(many, 1000, 1000))
