"""Reported faults of the orchestrator and of the environment. Ids name the rows of the list of public reports."""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, category, drop, number, public
from office import Office, source_text
from prefect import Task
from prefect.cache_policies import NO_CACHE

import tasks
from trasgo_lib.errors import Reason, StoreError, TrasgoError
from trasgo_lib.storage import ObjectStore

ROOT = Path(__file__).resolve().parents[2]
FRAME_BYTES_PER_CELL = 8
PEAK_IN_FRAMES = 12
"""What CONTRIBUTING states: the whole process, Prefect and Great Expectations included, for a frame of 120 MB."""


def _tasks() -> list[Task[..., object]]:
    modules = [importlib.import_module(f"tasks.{module.name}") for module in pkgutil.iter_modules(tasks.__path__)]
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, Task)}
    return list(found.values())


def test_b77_b81_no_task_is_cached_persisted_or_printed() -> None:
    found = _tasks()
    assert {"ingest", "reserve", "draw", "publish"} <= {task.name for task in found}
    for task in found:
        assert task.cache_policy is NO_CACHE, task.name
        assert task.persist_result is False and task.log_prints is False, task.name
        assert task.result_storage is None and task.cache_key_fn is None, task.name


def test_b77_only_refusals_without_counts_are_kept_beside_prefects_own_database(office: Office) -> None:
    """A flow that fails keeps its error in the storage folder whatever its settings say, and nothing else is there.

    Every flow test of this process ran in this home; the refusal here makes sure that there is something to look at.
    """
    office.open()
    (office.folder / "people.csv").write_text(source_text().replace(",f,", ",unheard,", 173))
    assert office.run("--quiet").exit_code == 3
    kept = [path for path in (Path(os.environ["PREFECT_HOME"]) / "storage").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        error = pickle.loads(base64.decodebytes(path.read_bytes()))
        assert isinstance(error, TrasgoError) and error.__cause__ is None, path
        assert all(fault.rows is None for fault in error.faults), path


def test_b83_a_slow_first_start_is_waited_for_and_documented(tmp_path: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path; from flows.environment import prepare_prefect\n"
        "prepare_prefect(Path(sys.argv[1]))\n"
        "from prefect.settings import get_current_settings\n"
        "settings = get_current_settings()\n"
        "print(json.dumps([settings.server.ephemeral.startup_timeout_seconds,"
        " settings.server.analytics_enabled, settings.results.persist_by_default]))"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, env=clean, check=True
    )
    timeout, analytics, persist = json.loads(done.stdout.splitlines()[-1])
    assert timeout >= 180 and analytics is False and persist is False
    runbook = (ROOT / "deployments" / "README.md").read_text(encoding="utf-8")
    assert "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS" in runbook


@pytest.mark.parametrize(("module", "code"), [("prefect.server.api.server", 11), ("prefect.flow_engine", 1)])
def test_b83_a_server_that_never_answers_is_told_in_words(
    office: Office, monkeypatch: pytest.MonkeyPatch, module: str, code: int
) -> None:
    source = "def start(*_):\n    raise RuntimeError('age 44')\n"
    there: dict[str, Any] = {"__name__": module}
    exec(compile(source, "server.py", "exec"), there)  # noqa: S102 an error raised as if in that module
    monkeypatch.setattr("flows.version._run_flow", there["start"])
    office.open()
    answer = office.run()
    assert answer.exit_code == code and "age 44" not in answer.text
    assert ("an embedded server that answers within" in answer.text) == (code == 11)


def test_b85_the_lock_holds_together_without_the_reference_library() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    names = {re.split(r"[=\[ ]", line)[0].lower() for line in lock.splitlines() if line[:1].isalnum()}
    assert {"numpy", "prefect", "great-expectations", "pyarrow"} <= names
    assert not names & {"trasgodp", "anjana"}, "peers with pins of their own live in another environment"
    assert "-m pip check" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8"), "test installs first, which checks"
    checked = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_b79_b82_a_store_that_refuses_the_second_object_leaves_no_release(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tried again, then failed cleanly; afterwards the same bytes are published, and nothing is charged twice."""
    office.open()
    put, refusals = ObjectStore.put_once, []

    def refuse_second(self: ObjectStore, key: str, content: Path) -> str:
        if key == "people/1/data/people.csv":
            refusals.append(key)
            raise StoreError.of(Reason.STORE_UNREACHABLE, key, required="an answer", came="none", fix="Run again.")
        return put(self, key, content)

    with monkeypatch.context() as patch:
        patch.setattr(ObjectStore, "put_once", refuse_second)
        answer = office.run("--quiet")
    assert answer.exit_code == 10, answer.text
    assert len(refusals) == 3, "once and two retries"
    left = [path for path in office.public.rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["people.parquet"], "no manifest, so no release"
    assert office.trasgo("verify", str(office.public)).exit_code == 8
    spent, before = office.spent(), (left[0].read_bytes(), left[0].stat().st_mtime_ns)
    answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert (left[0].read_bytes(), left[0].stat().st_mtime_ns) == before
    assert office.spent() == spent == answer.json["spent"]["total"]
    assert office.trasgo("verify", str(office.public)).exit_code == 0


@pytest.mark.long
def test_b80_peak_memory_of_a_million_rows_by_fifteen_columns(tmp_path: Path) -> None:
    """Through all steps in a process of its own, against the size of the same frame as float64."""
    rows, noised = 1_000_000, 10
    desk = Desk(tmp_path)
    desk.release["checks"] = {"max_share_at_bounds": "1"}
    desk.open_account()
    columns = [number(f"x{place}", "0", "99") for place in range(noised)]
    columns += [category("c", ["a", "b", "c"]), public("p"), public("q"), drop("r"), drop("s")]
    desk.declare("large", columns)
    with (tmp_path / "source.csv").open("w", encoding="utf-8") as stream:
        stream.write(",".join(column["name"] for column in columns) + "\n")
        for row in range(rows):
            stream.write(
                ",".join(str((row * 7 + place) % 100) for place in range(noised)) + f",{'abc'[row % 3]},p,q,r,s\n"
            )
    code = (
        "import resource, sys\nfrom flows.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "sys.stderr.write(f'PEAK {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(desk.config), "--quiet"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment | {"TRASGO_HOME": str(desk.home)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    peak = int(done.stderr.split("PEAK ")[1]) * 1024
    shutil.rmtree(tmp_path / "store")
    print(f"peak {peak / 2**20:.0f} MiB")
    assert peak < PEAK_IN_FRAMES * rows * len(columns) * FRAME_BYTES_PER_CELL, f"{peak / 2**20:.0f} MiB"
