"""One release in a process of its own, under clocks: what ``scale.py`` starts; writes what it saw as JSON.

    python tests/benchmarks/scale_worker.py flow|plain CONFIG SEEN.json

``flow`` is the command itself. ``plain`` calls the same task bodies as functions, draws on as many threads as the flow
has workers: the same work without the orchestrator.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any

from where_time_goes import Looker, children_seconds

STAGES = ("ingest", "reserve", "draw_unit", "measure_round", "prepare_probe", "check_release", "mark_checked")
STAGES += ("gather", "measure_exactly", "require_same_source", "hold", "publish")


def _peak_mib() -> float:
    """Largest memory of this process since the mark was last put back."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def _timed(name: str, body: Callable[..., Any], seen: list[dict[str, Any]]) -> Callable[..., Any]:
    @wraps(body)
    def run(*args: Any, **options: Any) -> Any:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the mark of VmHWM goes back to the present
        begin = time.perf_counter(), time.process_time()
        try:
            return body(*args, **options)
        finally:
            clocks = {"wall": [begin[0], time.perf_counter()], "cpu": [begin[1], time.process_time()]}
            seen.append({"stage": name, **clocks, "peak_mib": _peak_mib()})

    return run


def _looked_at(body: Callable[..., Any], seen: dict[str, Any]) -> Callable[..., Any]:
    """The whole flow: where its time goes, and what its children took before and meanwhile."""

    @wraps(body)
    def run(*args: Any, **options: Any) -> Any:
        looker, before = Looker(), children_seconds()
        looker.start()
        try:
            return body(*args, **options)
        finally:
            seen.update(places=looker.stop(), server=[before, children_seconds() - before])

    return run


class _Plain:
    """A task as a plain function, with the ``submit`` of the flow's runner."""

    def __init__(self, body: Callable[..., Any], pool: ThreadPoolExecutor) -> None:
        self._body, self._pool = body, pool

    def __call__(self, *args: Any) -> Any:
        return self._body(*args)

    def submit(self, *args: Any) -> Future[Any]:
        return self._pool.submit(self._body, *args)


def main() -> None:
    """Run the release once."""
    how, config, seen_path = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    from flows.environment import prepare_prefect

    prepare_prefect(Path(os.environ["TRASGO_HOME"]))
    import flows.release as flow
    from flows.cli import main as command

    seen: list[dict[str, Any]] = []
    for name in STAGES:
        task = getattr(flow, name)
        task.fn = _timed(name, task.fn, seen)
    looked: dict[str, Any] = {}
    begin = time.perf_counter()
    flow.release.fn = _looked_at(_timed("flow", flow.release.fn, seen), looked)
    if how == "flow":
        sys.argv = ["trasgo", "run", str(config), "--quiet"]
        try:
            command()
        except SystemExit as end:
            if end.code:
                raise
    else:
        _run_plain(flow, config)
    found = {"total": time.perf_counter() - begin, "stages": seen, **looked}
    seen_path.write_text(json.dumps(found), encoding="utf-8")


def _run_plain(flow: Any, config: Path) -> None:
    from tasks.session import RunRef
    from trasgo_lib.plan import read_plan

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for name in STAGES:
            setattr(flow, name, _Plain(getattr(flow, name).fn, pool))
        flow.opaque = lambda value: value
        loaded, _ = read_plan(config)
        home = os.environ["TRASGO_HOME"]
        ref = RunRef(config=str(config.absolute()), config_digest=loaded.text_digest, home=home, actor="benchmark")
        flow.release.fn(ref, os.cpu_count() or 1)


if __name__ == "__main__":
    main()
