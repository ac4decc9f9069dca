"""The peer, trasgodp, run by an interpreter of its own on the same arrays: its pins clash with ours."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORKER = Path(__file__).with_name("peer_worker.py")


@dataclass(frozen=True)
class Job:
    """One call of a mechanism of the peer.

    Args:
        mechanism: ``laplace``, ``gaussian``, ``exponential``, ``kary`` or ``binary``.
        values: numbers, or texts for the last three.
        epsilon: as the peer takes it, a float.
        seed: of numpy's global generator.
        lower: bound of a number.
        upper: bound of a number.
        delta: of ``gaussian``; the peer's default.
    """

    mechanism: str
    values: NDArray = field(repr=False)
    epsilon: float
    seed: int
    lower: float | None = None
    upper: float | None = None
    delta: float = 1e-3


def add_peer(parser: argparse.ArgumentParser) -> None:
    """The option that names the peer's interpreter."""
    parser.add_argument("--peer", type=Path, default=None, help="python with trasgodp; without it: no peer's columns")


def run_peer(peer: Path | None, jobs: Sequence[Job]) -> tuple[list[NDArray], str] | None:
    """What the peer makes of every job, and its versions in words; None without a peer.

    Raises:
        SystemExit: the interpreter fails.
    """
    if peer is None:
        print("no --peer: the peer's columns are left out")
        return None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        inputs, listed = {id(job.values): job.values for job in jobs}, []
        for name, values in inputs.items():
            np.save(folder / f"in-{name}.npy", values)
        for at, job in enumerate(jobs):
            described = {key: getattr(job, key) for key in ("mechanism", "epsilon", "seed", "lower", "upper", "delta")}
            listed.append({**described, "input": f"in-{id(job.values)}.npy", "output": f"out-{at}.npy"})
        (folder / "jobs.json").write_text(json.dumps(listed), encoding="utf-8")
        done = subprocess.run([peer, WORKER, folder], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"the peer failed:\n{done.stderr}")
        versions = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        words = ", ".join(f"{package} {version}" for package, version in versions.items())
        return [np.load(folder / f"out-{at}.npy") for at in range(len(jobs))], words
