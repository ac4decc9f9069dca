"""A run that is killed leaves no process behind, costs nothing twice and changes no bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from office import Office

_COMMAND = "from flows.cli import main; main()"
_PATIENCE_SECONDS = 600


def _processes_of(home: Path) -> list[int]:
    """Processes that were started with this state folder in their environment: the children of a run, not itself."""
    wanted = f"PREFECT_HOME={home / 'prefect'}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in environment and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def _wait(condition: object) -> bool:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_killed_run_leaves_no_server_and_resumes_without_a_second_charge(office: Office) -> None:
    office.open()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
    environment |= {"TRASGO_HOME": str(office.home), "TRASGO_ACTOR": "tester"}
    run = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "run", str(office.config)],
        env=environment,
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    assert _wait(lambda: bool(_processes_of(office.home))), "the embedded server never started"
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert _wait(lambda: not _processes_of(office.home)), "the embedded server outlived its run"

    assert office.run("--quiet").exit_code == 0
    answer = office.run("--json").json
    assert answer["already_published"] is True and answer["spent"]["total"] == office.spent()
