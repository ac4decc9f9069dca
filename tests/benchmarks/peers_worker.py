"""One side of the benchmark against other libraries: does a named job on stored arrays and says how long it took.

    PYTHON peers_worker.py FOLDER SIDE CORE

``SIDE`` is ``trasgo`` or the name of a peer; each runs in an environment of its own, on the processor ``CORE`` and with
one thread. Jobs are read from standard input, one name a line; each answer is one line of JSON. ``FOLDER`` holds what
``peers.py`` put there: ``frame.parquet``, ``released.parquet``, ``points.npy`` and ``settings.json``.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402 after the number of its threads

Job = Callable[[], object]
Jobs = dict[str, Callable[[], Job]]
"""Name to what prepares the job; preparing is not timed."""

KEY = bytes(range(32))
NUMBER, CATEGORY = "n0", "c0"


def trasgo_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """Encode, sample and decode, values in and values out."""
    import pandas as pd

    from trasgo_lib.data import BoxDomain, CategoryDomain, NumberDomain
    from trasgo_lib.mechanisms import build_channel
    from trasgo_lib.noise import Keystream
    from trasgo_lib.utility import correlation_loss, divergence

    frame, released = pd.read_parquet(folder / "frame.parquet"), pd.read_parquet(folder / "released.parquet")
    points = np.load(folder / "points.npy")
    number = NumberDomain(settings["lower"], settings["upper"], settings["step"])
    labels = CategoryDomain(settings["labels"])
    stream = Keystream(KEY, "benchmark")

    def column(domain: Any, mechanism: str, name: str, **parameters: object) -> Callable[[], Job]:
        def prepare() -> Job:
            channel = build_channel(mechanism, domain, settings["epsilon"], **parameters)
            channel.sample(np.zeros(8, dtype=np.int32), stream)

            def job() -> object:
                codes = channel.sample(domain.encode(frame[name]), stream)
                values = domain.decode(codes)
                return frame.assign(**{name: pd.Series(values, copy=False) if domain is number else as_text(values)})

            return job

        return prepare

    def as_text(values: Any) -> Any:
        return pd.array(values, dtype=frame[CATEGORY].dtype)

    def array(domain: Any, mechanism: str, values: Any) -> Callable[[], Job]:
        def prepare() -> Job:
            channel = build_channel(mechanism, domain, settings["epsilon"])
            channel.sample(np.zeros(8, dtype=np.int32), stream)
            return lambda: domain.decode(channel.sample(domain.encode(values), stream))

        return prepare

    def place() -> Job:
        box = BoxDomain(settings["box"], settings["crs"], settings["step_m"])
        channel = build_channel("planar_laplace", box, settings["geo_epsilon"], radius_m=settings["radius_m"])
        channel.sample(box.encode(points[0, :8], points[1, :8]), stream)
        return lambda: box.decode(channel.sample(box.encode(points[0], points[1]), stream))

    objects = np.asarray(frame[CATEGORY], dtype=object)
    numbers = frame[NUMBER].to_numpy()
    return {
        "laplace, frame": column(number, "laplace", NUMBER),
        "gaussian, frame": column(number, "gaussian", NUMBER),
        "laplace, array": array(number, "laplace", numbers),
        "gaussian, array": array(number, "gaussian", numbers),
        "kary, frame": column(labels, "kary_randomized_response", CATEGORY),
        "exponential, frame": column(labels, "exponential", CATEGORY, utility="zero_one"),
        "kary, array": array(labels, "kary_randomized_response", objects),
        "points": place,
        "correlation loss": lambda: lambda: correlation_loss(frame, released),
        "correlation loss, numbers": lambda: (
            lambda: correlation_loss(frame, released, [name for name in frame.columns if name.startswith("n")])
        ),
        "divergences, number": lambda: lambda: divergence(frame[NUMBER], released[NUMBER]),
        "divergences, category": lambda: lambda: divergence(frame[CATEGORY], released[CATEGORY]),
    }


def trasgodp_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """The same work as its documentation shows it."""
    import pandas as pd
    from trasgodp import categorical, geoindis, metrics, numerical

    frame, released = pd.read_parquet(folder / "frame.parquet"), pd.read_parquet(folder / "released.parquet")
    points = np.load(folder / "points.npy")
    places = pd.DataFrame({"latitude": points[0], "longitude": points[1]})
    epsilon, lower, upper = float(settings["epsilon"]), float(settings["lower"]), float(settings["upper"])
    per_metre = float(settings["geo_epsilon"]) / float(settings["radius_m"])
    objects, numbers = frame[CATEGORY].to_numpy(), frame[NUMBER].to_numpy()
    names = list(frame.columns)
    whole = [name for name in names if name.startswith("n")]
    return {
        "laplace, frame": lambda: lambda: numerical.dp_clip_laplace(frame, NUMBER, epsilon, lower, upper),
        "gaussian, frame": lambda: lambda: numerical.dp_clip_gaussian(frame, NUMBER, epsilon, lower, upper),
        "laplace, array": lambda: lambda: numerical.dp_clip_laplace_array(numbers, epsilon, lower, upper),
        "gaussian, array": lambda: lambda: numerical.dp_clip_gaussian_array(numbers, epsilon, lower, upper),
        "kary, frame": lambda: lambda: categorical.dp_randomized_response_kary(frame, CATEGORY, epsilon),
        "exponential, frame": lambda: lambda: categorical.dp_exponential(frame, CATEGORY, epsilon),
        "kary, array": lambda: lambda: categorical.dp_randomized_response_kary_array(objects, epsilon),
        "points": lambda: lambda: geoindis.metric_privacy(places, "latitude", "longitude", per_metre),
        "correlation loss": lambda: lambda: metrics.correlation_loss(frame, released, names),
        "correlation loss, numbers": lambda: lambda: metrics.correlation_loss(frame, released, whole),
        "divergences, number": lambda: lambda: metrics.divergence_distributions(frame, released, NUMBER),
        "divergences, category": lambda: lambda: metrics.divergence_distributions(frame, released, CATEGORY),
    }


def diffprivlib_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """One call a value, the only form its mechanisms have."""
    import pandas as pd
    from diffprivlib import mechanisms

    frame = pd.read_parquet(folder / "frame.parquet").head(settings["loop_rows"])
    epsilon, lower, upper = float(settings["epsilon"]), float(settings["lower"]), float(settings["upper"])
    numbers, labels = frame[NUMBER].tolist(), frame[CATEGORY].tolist()

    def laplace() -> Job:
        made = mechanisms.LaplaceTruncated(epsilon=epsilon, sensitivity=upper - lower, lower=lower, upper=upper)
        return lambda: [made.randomise(value) for value in numbers]

    def exponential() -> Job:
        codes = list(settings["labels"])
        utility = [[one, other, 1.0] for at, one in enumerate(codes) for other in codes[:at]]
        made = mechanisms.ExponentialCategorical(epsilon=epsilon, utility_list=utility)
        return lambda: [made.randomise(value) for value in labels]

    return {"laplace, frame": laplace, "exponential, frame": exponential}


def opendp_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """Discrete Laplace over a vector, every entry of which may move over the whole range; one call a label."""
    import opendp.prelude as dp
    import pandas as pd

    dp.enable_features("contrib")
    frame = pd.read_parquet(folder / "frame.parquet").head(settings["loop_rows"])
    epsilon, lower, upper = float(settings["epsilon"]), int(settings["lower"]), int(settings["upper"])
    numbers, labels = frame[NUMBER].to_numpy(), frame[CATEGORY].tolist()

    def laplace() -> Job:
        space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
        made = dp.m.make_laplace(*space, scale=(upper - lower) / epsilon)
        return lambda: np.clip(made(np.rint(np.clip(numbers, lower, upper)).astype(np.int32)), lower, upper)

    def kary() -> Job:
        codes, odds = list(settings["labels"]), np.exp(epsilon)
        made = dp.m.make_randomized_response(codes, prob=float(odds / (odds + len(codes) - 1)))
        return lambda: [made(value) for value in labels]

    return {"laplace, frame": laplace, "kary, frame": kary}


SIDES = {
    "trasgo": (trasgo_jobs, ("numpy", "pandas", "pyarrow")),
    "trasgodp": (trasgodp_jobs, ("trasgodp", "numpy", "pandas")),
    "diffprivlib": (diffprivlib_jobs, ("diffprivlib", "numpy")),
    "opendp": (opendp_jobs, ("opendp", "numpy")),
}


def main() -> None:
    """Answer jobs until the input ends."""
    folder, side, core = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    made, packages = SIDES[side]
    jobs = made(folder, json.loads((folder / "settings.json").read_text(encoding="utf-8")))
    print(json.dumps({"jobs": list(jobs), "versions": {name: metadata.version(name) for name in packages}}), flush=True)
    ready: dict[str, Job] = {}
    for line in sys.stdin:
        verb, name = line.rstrip("\n").split(" ", 1)
        print(json.dumps(_prepare(ready, name, jobs) if verb == "prepare" else _run(ready[name])), flush=True)


def _prepare(ready: dict[str, Job], name: str, jobs: Jobs) -> dict[str, float]:
    begin = time.perf_counter()
    if name not in ready:
        ready[name] = jobs[name]()
    built = time.perf_counter() - begin
    ready[name]()  # not counted: pages, caches, late imports
    return {"built": built}


def _run(job: Job) -> dict[str, float]:
    gc.collect()
    before = _forget_peak()
    cpu, begin = time.process_time(), time.perf_counter()
    result = job()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    answer = {"seconds": seconds, "cpu": cpu, "extra_mib": _memory("VmHWM") - before}
    del result
    return answer


def _forget_peak() -> float:
    """Start the peak of this process anew; its memory now, in MiB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")


def _memory(field: str) -> float:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return int(status.split(f"{field}:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
