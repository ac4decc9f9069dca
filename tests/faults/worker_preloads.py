"""Loaded by Dask workers of tests at their start (``distributed.worker.preload``): what one of them does wrong, once.

The product knows nothing of this: one function is wrapped inside the worker's process. What is to be done, and a folder
for marks, come from the environment.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, NoReturn

DO, FOLDER = "OFFICE_WORKER_DO", "OFFICE_WORKER_FOLDER"
MARK = "MARKEDxq7391640825"


def _first(name: str) -> bool:
    """Whether no worker was here before."""
    try:
        os.close(os.open(Path(os.environ[FOLDER]) / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _die_in_a_draw() -> None:
    """The first batch of some unit is drawn and stored, the second is in memory: the process ends."""
    from trasgo_lib.data import store_codes

    write = store_codes.write_batch

    def dying(directory: Path, stem: str, first_row: int, *rest: Any) -> Any:
        if first_row and "draw" in directory.parts and _first("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        return write(directory, stem, first_row, *rest)

    store_codes.write_batch = dying


def _die_and_come_back_late() -> None:
    """The same, and the worker that takes its place needs longer to start than Dask waits for it."""
    if (Path(os.environ[FOLDER]) / "died").exists():
        time.sleep(20)
    _die_in_a_draw()


def _raise_a_value() -> None:
    """A draw fails with an error that quotes a cell."""
    import trasgo_lib.mechanisms.draw

    def failing(*_: Any) -> NoReturn:
        raise ValueError(f"cannot draw {MARK}")

    trasgo_lib.mechanisms.draw.draw_codes = trasgo_lib.mechanisms.draw.reveal_codes = failing


def _touch_no_file() -> None:
    """No stage file can be read or written: the worker sees no folder of the run. A dying one, besides."""
    from trasgo_lib.data import SealedStage, store_codes

    def absent(*_: Any) -> NoReturn:
        raise FileNotFoundError("this worker shares no disk")

    store_codes._read = store_codes._write = absent
    write = SealedStage.write

    def dying(stage: SealedStage, *rest: Any) -> Any:
        if "/draw/" in stage.prefix and _first("died"):
            os.kill(os.getpid(), signal.SIGKILL)
        return write(stage, *rest)

    SealedStage.write = dying  # type: ignore[method-assign]


def _have_other_code() -> None:
    """The worker was installed from another revision of the same version."""
    import tasks.made_with

    tasks.made_with.code_digest = lambda *_: "0123456789abcdef" * 4


_DEEDS = {
    "die": _die_in_a_draw,
    "die and come back late": _die_and_come_back_late,
    "raise": _raise_a_value,
    "no disk": _touch_no_file,
    "other code": _have_other_code,
}


def dask_setup(worker: Any) -> None:
    """Called by Dask in each worker."""
    (Path(os.environ[FOLDER]) / f"pid-{os.getpid()}").touch()
    deed = os.environ.get(DO)
    if deed:
        _DEEDS[deed]()
