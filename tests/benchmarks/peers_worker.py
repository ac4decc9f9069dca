"""One side of the benchmark against other libraries: does a named job on stored arrays and says how long it took.

    PYTHON peers_worker.py FOLDER SIDE CORE

``SIDE`` is ``trasgo`` or the name of a peer; each runs in an environment of its own, on the processor ``CORE`` and with
one thread. Jobs are read from standard input, one name a line; each answer is one line of JSON. ``FOLDER`` holds what
``peers.py`` put there: one ``.npy`` file a column in ``original`` and ``released``, ``fractions.npy``,
``points.npy`` and ``settings.json``. A frame is made of those arrays, or read from the CSV file of the same rows.
"""

from __future__ import annotations

import ctypes
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
BATCH_ROWS = 2**16
"""Ours goes through a column a batch at a time, as a release does: same bits, less memory."""

NUMBER, CATEGORY = "n0", "c0"


def read_columns(folder: Path) -> dict[str, Any]:
    """The stored arrays by name: float64 or fixed-width text."""
    return {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}


def trasgo_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """Encode, sample and decode, values in and values out."""
    import pandas as pd
    import pyarrow as pa

    from trasgo_lib.data import BoxDomain, CategoryDomain, NumberDomain
    from trasgo_lib.mechanisms import build_channel
    from trasgo_lib.noise import Keystream
    from trasgo_lib.utility import correlation_loss, divergence

    original, released = (read_columns(folder / name) for name in ("original", "released"))
    frame, noised = pd.DataFrame(original), pd.DataFrame(released)
    from_file = pd.read_csv(folder / "original.csv") if settings["csv"] else frame
    points, fractions = np.load(folder / "points.npy"), np.load(folder / "fractions.npy")
    number = NumberDomain(settings["lower"], settings["upper"], settings["step"])
    labels = CategoryDomain(settings["labels"])
    stream = Keystream(KEY, "benchmark")
    whole = [name for name in frame.columns if name.startswith("n")]

    def built(mechanism: str, domain: Any, **parameters: object) -> Any:
        channel = build_channel(mechanism, domain, settings["epsilon"], **parameters)
        channel.sample(np.zeros(8, dtype=np.int32), stream)
        return channel

    def noise(channel: Any, domain: Any, values: Any, join: Callable[[list[Any]], Any]) -> Any:
        parts = []
        for first in range(0, len(values), BATCH_ROWS):
            codes = channel.sample(domain.encode(values[first : first + BATCH_ROWS]), stream, first)
            parts.append(domain.decode(codes))
        return join(parts)

    def numbers(mechanism: str, into_frame: bool) -> Callable[[], Job]:
        def prepare() -> Job:
            channel = built(mechanism, number)

            def job() -> object:
                values = noise(channel, number, frame[NUMBER].to_numpy(), np.concatenate)
                return frame.assign(**{NUMBER: pd.Series(values, copy=False)}) if into_frame else values

            return job

        return prepare

    def texts(mechanism: str, held: Any, into_frame: bool, **parameters: object) -> Callable[[], Job]:
        def prepare() -> Job:
            channel = built(mechanism, labels, **parameters)

            def job() -> object:
                values = held[CATEGORY].array if into_frame else held[CATEGORY]
                arrow = noise(channel, labels, pa.array(values) if into_frame else values, pa.chunked_array)
                return held.assign(**{CATEGORY: pd.array(arrow, dtype="str")}) if into_frame else arrow

            return job

        return prepare

    def place() -> Job:
        box = BoxDomain(settings["box"], settings["crs"], settings["step_m"])
        channel = build_channel("planar_laplace", box, settings["geo_epsilon"], radius_m=settings["radius_m"])
        channel.sample(box.encode(points[0, :8], points[1, :8]), stream)
        return lambda: box.decode(channel.sample(box.encode(points[0], points[1]), stream))

    kary, exponential = "kary_randomized_response", "exponential"
    return {
        "laplace": numbers("laplace", into_frame=True),
        "gaussian": numbers("gaussian", into_frame=True),
        "laplace, array": numbers("laplace", into_frame=False),
        "gaussian, array": numbers("gaussian", into_frame=False),
        "kary": texts(kary, frame, into_frame=True),
        "exponential": texts(exponential, frame, into_frame=True, utility="zero_one"),
        "kary, file": texts(kary, from_file, into_frame=True),
        "exponential, file": texts(exponential, from_file, into_frame=True, utility="zero_one"),
        "kary, array": texts(kary, original, into_frame=False),
        "points": place,
        "correlation loss": lambda: lambda: correlation_loss(frame, noised),
        "correlation loss, numbers": lambda: lambda: correlation_loss(frame, noised, whole),
        "divergences, whole": lambda: lambda: divergence(frame[NUMBER], noised[NUMBER]),
        "divergences, fractions": lambda: lambda: divergence(fractions[0], fractions[1]),
        "divergences, text": lambda: lambda: divergence(frame[CATEGORY], noised[CATEGORY]),
    }


def trasgodp_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """The same work as its documentation shows it."""
    import pandas as pd
    from trasgodp import categorical, geoindis, metrics, numerical

    original, released = (read_columns(folder / name) for name in ("original", "released"))
    frame, noised = pd.DataFrame(original), pd.DataFrame(released)
    from_file = pd.read_csv(folder / "original.csv") if settings["csv"] else frame
    points, fractions = np.load(folder / "points.npy"), np.load(folder / "fractions.npy")
    places = pd.DataFrame({"latitude": points[0], "longitude": points[1]})
    epsilon, lower, upper = float(settings["epsilon"]), float(settings["lower"]), float(settings["upper"])
    per_metre = float(settings["geo_epsilon"]) / float(settings["radius_m"])
    names = list(frame.columns)
    whole = [name for name in names if name.startswith("n")]
    return {
        "laplace": lambda: lambda: numerical.dp_clip_laplace(frame, NUMBER, epsilon, lower, upper),
        "gaussian": lambda: lambda: numerical.dp_clip_gaussian(frame, NUMBER, epsilon, lower, upper),
        "laplace, array": lambda: lambda: numerical.dp_clip_laplace_array(original[NUMBER], epsilon, lower, upper),
        "gaussian, array": lambda: lambda: numerical.dp_clip_gaussian_array(original[NUMBER], epsilon, lower, upper),
        "kary": lambda: lambda: categorical.dp_randomized_response_kary(frame, CATEGORY, epsilon),
        "exponential": lambda: lambda: categorical.dp_exponential(frame, CATEGORY, epsilon),
        "kary, file": lambda: lambda: categorical.dp_randomized_response_kary(from_file, CATEGORY, epsilon),
        "exponential, file": lambda: lambda: categorical.dp_exponential(from_file, CATEGORY, epsilon),
        "kary, array": lambda: lambda: categorical.dp_randomized_response_kary_array(original[CATEGORY], epsilon),
        "points": lambda: lambda: geoindis.metric_privacy(places, "latitude", "longitude", per_metre),
        "correlation loss": lambda: lambda: metrics.correlation_loss(frame, noised, names),
        "correlation loss, numbers": lambda: lambda: metrics.correlation_loss(frame, noised, whole),
        "divergences, whole": lambda: lambda: metrics.divergence_distributions(frame, noised, NUMBER),
        "divergences, fractions": lambda: (
            lambda: metrics.divergence_distributions(
                pd.DataFrame({"x": fractions[0]}), pd.DataFrame({"x": fractions[1]}), "x"
            )
        ),
        "divergences, text": lambda: lambda: metrics.divergence_distributions(frame, noised, CATEGORY),
    }


def diffprivlib_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """One call a value, the only form its mechanisms have."""
    from diffprivlib import mechanisms

    original = {name: values[: settings["loop_rows"]] for name, values in read_columns(folder / "original").items()}
    epsilon, lower, upper = float(settings["epsilon"]), float(settings["lower"]), float(settings["upper"])
    numbers, labels = original[NUMBER].tolist(), original[CATEGORY].tolist()

    def laplace() -> Job:
        made = mechanisms.LaplaceTruncated(epsilon=epsilon, sensitivity=upper - lower, lower=lower, upper=upper)
        return lambda: [made.randomise(value) for value in numbers]

    def exponential() -> Job:
        codes = list(settings["labels"])
        utility = [[one, other, 1.0] for at, one in enumerate(codes) for other in codes[:at]]
        made = mechanisms.ExponentialCategorical(epsilon=epsilon, utility_list=utility)
        return lambda: [made.randomise(value) for value in labels]

    return {"laplace": laplace, "exponential": exponential}


def opendp_jobs(folder: Path, settings: dict[str, Any]) -> Jobs:
    """Discrete Laplace over a vector, every entry of which may move over the whole range; one call a label."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    original = {name: values[: settings["loop_rows"]] for name, values in read_columns(folder / "original").items()}
    epsilon, lower, upper = float(settings["epsilon"]), int(settings["lower"]), int(settings["upper"])
    numbers, labels = original[NUMBER], original[CATEGORY].tolist()

    def laplace() -> Job:
        space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
        made = dp.m.make_laplace(*space, scale=(upper - lower) / epsilon)
        return lambda: np.clip(made(np.rint(np.clip(numbers, lower, upper)).astype(np.int32)), lower, upper)

    def kary() -> Job:
        codes, odds = list(settings["labels"]), np.exp(epsilon)
        made = dp.m.make_randomized_response(codes, prob=float(odds / (odds + len(codes) - 1)))
        return lambda: [made(value) for value in labels]

    return {"laplace": laplace, "kary": kary}


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
    before = _forget_peak()
    ready[name]()  # not counted: pages, caches, late imports
    return {"built": built, "extra_mib": _memory("VmHWM") - before}


def _run(job: Job) -> dict[str, float]:
    gc.collect()
    cpu, begin = time.process_time(), time.perf_counter()
    result = job()
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    del result
    return {"seconds": seconds, "cpu": cpu}


def _forget_peak() -> float:
    """Give back what allocators hold, start the peak of this process anew; its memory now, in MiB."""
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
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
