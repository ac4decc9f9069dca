"""Dask workers: the same bytes and charges as threads, whoever draws, however many they are, and when one is killed."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import dask
import distributed
import pytest
from forked_command import server_url
from killed import SECRET
from node_certificates import SETTINGS, write_certificates
from office import source_text
from prefect.context import serialize_context
from prefect.settings import PREFECT_SERVER_DATABASE_PASSWORD, temporary_settings
from s3_server import CLOSED_BUCKET, S3Server, access_of
from sites import Places, Site
from worker_preloads import DO, FOLDER, MARK

import flows.dask_clusters
import flows.dask_runner
import flows.release
from flows.dask_runner import run_on_same_code
from tasks.made_with import deciders_of_bits
from trasgo_lib.errors import ConflictError, Reason, StoreError
from trasgo_lib.storage import open_store

PRELOAD = Path(__file__).with_name("worker_preloads.py")
BARE_SCHEDULER = Path(__file__).with_name("bare_scheduler.py")
ROOT = Path(__file__).resolve().parents[2]
COMMAND = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from flows.cli import main; main()"
ROWS, CELL = 1200, "WAVExq4908"
_PATIENCE_SECONDS = 900


def _prepared(office: Site, runner: Any) -> Site:
    """Two batches a unit, so that a worker can be killed between them."""
    (office.folder / "people.csv").write_text(source_text(ROWS).replace(",2026-", f",{CELL}-"), encoding="utf-8")
    office.release["publish"]["rows_per_batch"] = 1000
    office.release["runner"] = runner
    office.write()
    return office


Whole = tuple[dict[str, bytes], list[tuple[str, str, str, str]]]


@pytest.fixture(scope="module")
def threads(places: Places) -> Whole:
    """Public files and charges of a run by threads."""
    office = _prepared(places.office("sqlite", "folder"), "threads")
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    return office.files(), office.charges()


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folder in which workers leave marks; they load the preload."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv(FOLDER, str(folder))
    with dask.config.set({"distributed.worker.preload": [str(PRELOAD)]}):
        yield folder


def _workers_of(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def _is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def _wait(condition: Callable[[], object]) -> bool:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def _require_same(office: Site, threads: Whole) -> None:
    files, charges = threads
    found = office.files()
    assert found.keys() == files.keys()
    assert [key for key in files if found[key] != files[key]] == []
    assert office.charges() == charges, "every charge once, in the same place of the chain"


def test_a_worker_killed_in_the_middle_of_a_draw_costs_nothing_and_changes_no_bit(
    places: Places, threads: Whole, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is sent to workers holds no key, no cell, no secret of Prefect's, and no certificate."""
    sent: list[bytes] = []
    submit = distributed.Client.submit

    def watched(client: Any, *args: Any, **kwargs: Any) -> Any:
        sent.append(cloudpickle.dumps((args, kwargs)))
        return submit(client, *args, **kwargs)

    office = _prepared(places.office("sqlite", "folder"), {"dask": {"workers": 2}})
    monkeypatch.setenv(DO, "die")
    monkeypatch.setattr(distributed.Client, "submit", watched)
    with temporary_settings({PREFECT_SERVER_DATABASE_PASSWORD: "canary-password"}):
        assert b"canary-password" in cloudpickle.dumps(serialize_context()), "Prefect would send it"
        answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert (marks / "died").exists() and len(_workers_of(marks)) >= 2
    _require_same(office, threads)
    assert not [pid for pid in _workers_of(marks) if _is_alive(pid)]
    assert not list(office.home.glob("dask*"))
    assert len(sent) >= 6
    key = (office.home / "wrapping.key").read_bytes().strip()
    for secret in (SECRET, key, b"canary-password", b"PRIVATE KEY", CELL.encode()):
        assert not [body for body in sent if secret in body]
    assert all(b"people" in body for body in sent), "what is looked for can be found"
    assert "Dask" not in answer.err and "distributed" not in answer.err


@pytest.mark.long
@pytest.mark.parametrize("workers", [1, 4])
def test_so_many_workers_publish_the_same_bytes(places: Places, threads: Whole, marks: Path, workers: int) -> None:
    office = _prepared(places.office("sqlite", "folder"), {"dask": {"workers": workers}})
    assert office.run("--quiet").exit_code == 0
    assert len(_workers_of(marks)) == workers
    _require_same(office, threads)


@pytest.mark.long
def test_the_only_worker_may_take_long_to_come_back(places: Places, threads: Whole, marks: Path) -> None:
    """Dask gives up the place of a worker after 15 s, in which a busy machine has not loaded what a draw needs."""
    office = _prepared(places.office("sqlite", "folder"), {"dask": {"workers": 1}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(DO, "die and come back late")
        answer = office.run("--json")
    assert answer.exit_code == 0, answer.text
    assert (marks / "died").exists() and len(_workers_of(marks)) >= 2
    _require_same(office, threads)


@contextmanager
def _cluster(
    folder: Path,
    environment: dict[str, str],
    *options: str,
    workers: int = 2,
    of_workers: tuple[str, ...] = (),
    of_scheduler: tuple[str, ...] = (),
    processes: list[subprocess.Popen[bytes]] | None = None,
) -> Iterator[str]:
    """A scheduler and workers of the office's own, on loopback; gives the address, and the processes where asked."""
    told = folder / "scheduler.json"
    common = {**os.environ, **environment, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1"}
    start = [sys.executable, "-m", "dask"]
    place = ["--scheduler-file", str(told), "--no-dashboard", *options]
    commands = [[*start, "scheduler", "--host", "127.0.0.1", "--port", "0", *place, *of_scheduler]]
    commands += [[
        *start, "worker", *place, "--host", "127.0.0.1", "--nworkers", str(workers), "--nthreads", "1", *of_workers,
        "--memory-limit", "0", "--local-directory", str(folder / "scratch"), "--preload", str(PRELOAD),
    ]]  # fmt: skip
    processes = [] if processes is None else processes
    with closing((folder / "cluster.log").open("wb")) as log:
        try:
            for command in commands:
                processes.append(subprocess.Popen(command, env=common, cwd=folder, stdout=log, stderr=log))
                assert _wait(told.exists), (folder / "cluster.log").read_text()
            yield str(json.loads(told.read_text())["address"])
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(60)


@contextmanager
def _certificates(folder: Path) -> Iterator[list[str]]:
    """Certificates in Dask's settings of this process; gives the options by which nodes are told them."""
    write_certificates(folder)
    tls = {f"distributed.comm.tls.{name}": str(folder / file) for name, file in SETTINGS.items()}
    with dask.config.set(tls):
        yield ["--protocol", "tls", "--tls-ca-file", str(folder / "ca.pem"),
               "--tls-cert", str(folder / "node.pem"), "--tls-key", str(folder / "node.key")]  # fmt: skip


@pytest.mark.long
def test_workers_without_a_shared_disk_draw_the_same_from_sealed_objects(
    places: Places, threads: Whole, marks: Path, tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler of the office's own under TLS; its workers can open no stage file, and one of them is killed."""
    office = _prepared(places.office("postgresql", "s3"), "threads")
    spy = open_store(f"s3://{CLOSED_BUCKET}/{office.name}", access=access_of(s3_server, s3_server.reader))
    seen: dict[str, bytes] = {}
    gather = flows.release.gather.fn

    def looking(*args: Any) -> Any:
        seen.update({key: spy.get(key) for key in spy.list(".trasgo/work")})
        return gather(*args)

    monkeypatch.setattr(flows.release.gather, "fn", looking)
    environment = {**office.environment, DO: "no disk"}
    with _certificates(tmp_path) as options, _cluster(tmp_path, environment, *options) as address:
        assert address.startswith("tls://")
        office.release["runner"] = {"dask": {"address_env": "OFFICE_DASK", "shared_disk": False}}
        office.write()
        monkeypatch.setenv("OFFICE_DASK", address)
        answer = office.run("--json")
        assert answer.exit_code == 0, answer.text
    assert (marks / "died").exists()
    _require_same(office, threads)
    assert {key.split("/")[4] for key in seen} == {"private", "draw", "probe-inputs", "probe"}
    codes = [bytes([code, 0, 0, 0] * 3) for code in range(4)]
    assert not [key for key, body in seen.items() if any(run in body for run in codes)], "sealed"
    assert spy.list(".trasgo/work") == (), "taken away at the end"
    log = (tmp_path / "cluster.log").read_text()
    assert SECRET.hex() not in log


def test_a_value_in_an_error_of_a_worker_goes_nowhere(
    places: Places, marks: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    office = _prepared(places.office("sqlite", "folder"), "threads")
    caplog.set_level(logging.DEBUG)
    with _cluster(tmp_path, {DO: "raise"}, workers=1) as address:
        office.release["runner"] = {"dask": {"address": address, "shared_disk": True}}
        office.write()
        answer = office.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (1, "internal"), answer.text
    assert "ValueError" in answer.text, "it is this error"
    places_searched = [*tmp_path.rglob("*"), *office.folder.rglob("*"), *Path(os.environ["PREFECT_HOME"]).rglob("*")]
    files = [path for path in places_searched if path.is_file()]
    assert tmp_path / "cluster.log" in files
    assert not [path for path in files if MARK.encode() in path.read_bytes()]
    assert MARK not in answer.text and MARK not in caplog.text


@pytest.mark.long
def test_workers_that_are_gone_for_good_end_the_run_and_the_next_one_goes_on(
    places: Places, threads: Whole, marks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only worker dies in a draw and nobody starts another; from then on a minute goes by from look to look."""
    minutes = count(0, 60)
    monkeypatch.setattr(flows.dask_runner, "monotonic", lambda: next(minutes) if (marks / "died").exists() else 0)
    office = _prepared(places.office("sqlite", "folder"), "threads")
    with _cluster(tmp_path, {DO: "die"}, workers=1, of_workers=("--no-nanny",)) as address:
        office.release["runner"] = {"dask": {"address": address, "shared_disk": True, "wait_s": 150}}
        office.write()
        answer = office.run("--json")
    fault = answer.json["faults"][0]
    assert (answer.exit_code, fault["reason"], fault["came"]) == (10, "workers_lost", "none"), answer.text
    assert "150 s" in fault["required"]
    assert (marks / "died").exists()
    charged = office.charges()
    assert charged == threads[1][: len(charged)] != [], "the round that was paid for, once"
    office.release["runner"] = "threads"
    office.write()
    assert office.run("--quiet").exit_code == 0
    _require_same(office, threads)


@pytest.mark.long
def test_a_scheduler_that_is_killed_ends_the_run_and_the_next_one_goes_on(
    places: Places, threads: Whole, marks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    office = _prepared(places.office("sqlite", "folder"), "threads")
    processes: list[subprocess.Popen[bytes]] = []
    submit = distributed.Client.submit

    def killing(client: Any, *args: Any, **kwargs: Any) -> Any:
        processes[0].kill()
        return submit(client, *args, **kwargs)

    with _cluster(tmp_path, {}, processes=processes) as address:
        office.release["runner"] = {"dask": {"address": address, "shared_disk": True}}
        office.write()
        monkeypatch.setattr(distributed.Client, "submit", killing)
        answer = office.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (10, "workers_lost"), answer.text
    office.release["runner"] = "threads"
    office.write()
    assert office.run("--quiet").exit_code == 0
    _require_same(office, threads)


@pytest.mark.parametrize(
    "kind",
    [
        "nobody there",
        "no worker",
        "variable not set",
        "no certificates",
        "certificates that are none",
        "workers of this machine that do not start",
    ],
)
def test_a_scheduler_out_of_reach_ends_the_run_before_anything_is_charged(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    office = _prepared(places.office("sqlite", "folder"), "threads")
    monkeypatch.setattr(flows.dask_clusters, "CONNECT_SECONDS", 1)
    office.release["runner"] = {"dask": {"address_env": "OFFICE_DASK", "shared_disk": True, "wait_s": 1}}
    office.write()
    addresses = {"nobody there": "tcp://127.0.0.1:9", "variable not set": ""}
    with ExitStack() as stack:
        address = addresses.get(kind, "tls://127.0.0.1:9")
        if kind == "no worker":
            address = stack.enter_context(_idle_scheduler())
        if kind == "certificates that are none":
            (tmp_path / "x.pem").write_text("canary")
            files = {f"distributed.comm.tls.{name}": str(tmp_path / "x.pem") for name in SETTINGS}
            stack.enter_context(dask.config.set(files))
        if kind == "workers of this machine that do not start":
            office.release["runner"] = {"dask": {"workers": 1}}
            office.write()
            stack.enter_context(dask.config.set({"distributed.worker.preload": [str(tmp_path / "canary.py")]}))
        monkeypatch.setenv("OFFICE_DASK", address)
        answer = office.run("--json")
    is_config = kind in ("variable not set", "no certificates", "certificates that are none")
    expected = (2, "bad_parameter") if is_config else (10, "workers_lost")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == expected, answer.text
    assert "canary" not in answer.text
    assert office.charges() == [] and office.spent() == "0"
    if kind == "no worker":
        office.release["runner"] = "threads"
        office.write()
        assert office.run("--quiet").exit_code == 0, "another runner is no other release"


@pytest.mark.long
def test_a_worker_that_stands_still_does_not_hold_a_run(places: Places, marks: Path, tmp_path: Path) -> None:
    """It is connected and says nothing: the run ends after its wait, before anything is charged."""
    office = _prepared(places.office("sqlite", "folder"), "threads")
    with _cluster(tmp_path, {}, workers=1) as address:
        assert _wait(lambda: _workers_of(marks))
        (pid,) = _workers_of(marks)
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=_PATIENCE_SECONDS)
        os.kill(pid, signal.SIGSTOP)
        try:
            office.release["runner"] = {"dask": {"address": address, "shared_disk": True, "wait_s": 3}}
            office.write()
            answer = office.run("--json")
        finally:
            os.kill(pid, signal.SIGCONT)
    fault = answer.json["faults"][0]
    assert (answer.exit_code, fault["reason"], fault["came"]) == (10, "workers_lost", "a TimeoutError"), answer.text
    assert office.charges() == [] and office.spent() == "0"


@contextmanager
def _idle_scheduler() -> Iterator[str]:
    with distributed.LocalCluster(
        n_workers=0, processes=False, host="127.0.0.1", protocol="tcp://", dashboard_address=None
    ) as idle:
        yield idle.scheduler_address


@pytest.mark.parametrize("where", ["worker", "scheduler"])
def test_other_code_is_refused_before_anything_is_charged(
    places: Places, marks: Path, tmp_path: Path, where: str
) -> None:
    """Of a worker, whose bits would be others; and none at a scheduler, which loads the tasks that it hands on."""
    office = _prepared(places.office("sqlite", "folder"), "threads")
    bare = ("--preload", str(BARE_SCHEDULER)) if where == "scheduler" else ()
    environment = {DO: "other code"} if where == "worker" else {}
    with _cluster(tmp_path, environment, workers=1, of_scheduler=bare) as address:
        office.release["runner"] = {"dask": {"address": address, "shared_disk": True}}
        office.write()
        answer = office.run("--json")
    fault = answer.json["faults"][0]
    came = "code 0123456789abcdef" if where == "worker" else "trasgo none, code none, python none"
    assert (answer.exit_code, fault["reason"], fault["came"]) == (4, "plan_changed", came), answer.text
    assert f"Dask {where}" in fault["where"]
    assert office.charges() == [] and office.spent() == "0"


@pytest.mark.parametrize(
    ("seen", "ends_at"),
    [
        (["none"] * 9, 3),
        (["one", "none", "none", "one", "none", "none", "none", "none"], 7),
        (["silence"] * 9, 3),
        (["one", "none", "none"] * 4, None),
    ],
)
def test_a_run_waits_so_long_for_a_worker_and_no_longer(
    monkeypatch: pytest.MonkeyPatch, seen: list[str], ends_at: int | None
) -> None:
    """Looks are a minute apart and the wait is 150 s; a worker that comes in between sets it back."""
    monkeypatch.setattr(flows.dask_runner, "monotonic", count(0, 60).__next__)
    answers = iter(seen)

    def ask(*_: object, **__: object) -> dict[str, int]:
        answer = next(answers)
        if answer == "silence":
            raise TimeoutError
        return {"a worker": 1} if answer == "one" else {}

    client = SimpleNamespace(sync=ask, scheduler=SimpleNamespace(ncores=None))
    workers = flows.dask_runner.Workers(client, 150)  # type: ignore[arg-type]
    for _ in range(len(seen) if ends_at is None else ends_at):
        workers.require()
    if ends_at is not None:
        with pytest.raises(StoreError) as caught:
            workers.require()
        fault = caught.value.faults[0]
        assert (fault.reason, fault.came, caught.value.exit_code) == (Reason.WORKERS_LOST, "none", 10)
        assert "150 s" in fault.required


def test_a_connection_that_was_closed_has_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows.dask_runner, "monotonic", count(0, 60).__next__)
    workers = flows.dask_runner.Workers(SimpleNamespace(scheduler=None), 90)  # type: ignore[arg-type]
    workers.require()
    workers.require()
    with pytest.raises(StoreError) as caught:
        workers.require()
    assert caught.value.reason is Reason.WORKERS_LOST


def test_a_worker_that_comes_later_with_other_packages_does_no_task() -> None:
    ours = deciders_of_bits()
    assert run_on_same_code(ours, divmod, 7, 2) == (3, 1)
    with pytest.raises(ConflictError) as caught:
        run_on_same_code(ours | {"numpy": "1.0"}, divmod, 7, 2)
    fault = caught.value.faults[0]
    assert (fault.required, fault.came) == ("what this run draws with: numpy 1.0", f"numpy {ours['numpy']}")


@pytest.mark.long
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_worker(places: Places, marks: Path, sent: signal.Signals) -> None:
    office = _prepared(places.office("sqlite", "folder"), {"dask": {"workers": 2}})
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    environment |= {"TRASGO_HOME": str(office.home), "TRASGO_ACTOR": "tester"}
    environment |= {"PREFECT_API_URL": server_url(), "PYTHONPATH": str(ROOT)}
    environment |= {"DASK_DISTRIBUTED__WORKER__PRELOAD": f'["{PRELOAD}"]'}
    with (office.folder / "run.log").open("wb") as log:
        run = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "run", str(office.config)],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )
        try:
            private = office.folder / "closed" / ".trasgo" / "work" / "people" / "1" / "private"
            assert _wait(lambda: list(private.glob("*.arrow"))), "nothing was ever ingested"
            pids = _workers_of(marks)
            run.send_signal(sent)
            code = run.wait(_PATIENCE_SECONDS)
        finally:
            run.kill()
    assert code == (-sent if sent is signal.SIGKILL else 11), (office.folder / "run.log").read_text()
    assert _wait(lambda: not [pid for pid in pids if _is_alive(pid)]), "a worker outlived its run"
    assert len(pids) == 2
    assert office.run("--quiet").exit_code == 0
