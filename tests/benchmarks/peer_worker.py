"""What the peer's own interpreter runs: mechanisms of trasgodp on stored arrays. Needs numpy, pandas and trasgodp only.

    PEER_PYTHON peer_worker.py FOLDER

``FOLDER/jobs.json`` lists jobs: mechanism, input and output (npy files in the folder), epsilon, bounds or delta where
the mechanism takes them, and a seed for numpy's global generator, which is what trasgodp draws from.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
from trasgodp import categorical, numerical


def run(job: dict[str, object], folder: Path) -> None:
    """One job."""
    values = np.load(folder / str(job["input"]))
    np.random.seed(job["seed"])  # noqa: NPY002 the peer draws from the global generator
    epsilon = job["epsilon"]
    if job["mechanism"] == "laplace":
        drawn = numerical.dp_clip_laplace_array(values, epsilon, job["lower"], job["upper"])
    elif job["mechanism"] == "gaussian":
        drawn = numerical.dp_clip_gaussian_array(values, epsilon, job["lower"], job["upper"], job["delta"])
    else:
        label = {
            "exponential": categorical.dp_exponential_array,
            "kary": categorical.dp_randomized_response_kary_array,
            "binary": categorical.dp_randomized_response_binary_array,
        }[job["mechanism"]]
        drawn = label(values, epsilon)
    np.save(folder / str(job["output"]), drawn)


def main() -> None:
    """All jobs, then the versions."""
    folder = Path(sys.argv[1])
    for job in json.loads((folder / "jobs.json").read_text(encoding="utf-8")):
        run(job, folder)
    versions = {name: metadata.version(name) for name in ("trasgodp", "numpy", "pandas")}
    (folder / "versions.json").write_text(json.dumps(versions), encoding="utf-8")


if __name__ == "__main__":
    main()
