"""Where the processor time of this process goes, and that of its children: looked at from a thread, without a tracer.

Twenty times a second every thread's processor time since the look before is put down to the innermost line of its stack
that the table below knows. Threads that run no Python (Arrow's, the object store's) have a line of their own. What the
looking itself takes is put down to nobody.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import FrameType

LOOK_SECONDS = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")
_THREADS = Path("/proc/self/task")

PREFECT = "Prefect in this process"
PLACES: tuple[tuple[str, str, str], ...] = (
    ("noise/keystream.py", "words", "AES words"),
    ("noise/alias.py", "draw", "alias tables"),
    ("trasgo_lib/keys/digest.py", "", "keyed digests of codes"),
    ("trasgo_lib/data/store_codes.py", "", "codes to and from the disk"),
    ("trasgo_lib/mechanisms/", "", "channels: coarsening, rotation, weights"),
    ("release/data_files.py", "write_parquet", "Parquet encoding"),
    ("release/data_files.py", "write_csv", "CSV encoding"),
    ("release/data_files.py", "write", "SHA-256 of the files"),
    ("release/data_files.py", "read_parquet_batches", "reading Parquet back"),
    ("release/decoding.py", "", "decoding to values"),
    ("data/category_domain.py", "", "decoding to values"),
    ("data/number_domain.py", "", "decoding to values"),
    ("checks/equality.py", "", "reading both files back and comparing them"),
    ("great_expectations", "", "Great Expectations"),
    ("trasgo_lib/checks/", "", "other checks of the output"),
    ("trasgo_lib/records/", "", "ledger"),
    ("utility/released_moments.py", "", "products of decoded columns"),
    ("trasgo_lib/utility/", "", "losses, exact and estimated"),
    ("trasgo_lib/estimation/", "", "losses, exact and estimated"),
    ("trasgo_lib/loop/", "", "losses, exact and estimated"),
    ("trasgo_lib/data/row_order.py", "", "shuffle"),
    ("trasgo_lib/data/spool.py", "", "shuffle"),
    ("trasgo_lib/noise/permutation.py", "", "shuffle"),
    ("trasgo_lib/data/", "", "reading the source"),
    ("trasgo_lib/storage/", "", "publication"),
    ("trasgo_lib/release/", "", "publication"),
    ("trasgo_lib/", "", "other work of the library"),
    ("tasks/", "", "other work of the library"),
    ("importlib", "", "imports"),
    ("prefect", "", PREFECT),
)
"""Part of a file's path, function (any where empty), and what it is; the first that fits the innermost frames wins."""

BOUNDS: dict[str, str] = {
    "AES words": "AES",
    "alias tables": "look-ups in the cache",
    "channels: coarsening, rotation, weights": "memory",
    "keyed digests of codes": "SHA-256, on one core a column",
    "SHA-256 of the files": "SHA-256",
    "codes to and from the disk": "memory and the disk's cache",
    "Parquet encoding": "Parquet encoding",
    "reading Parquet back": "Parquet decoding",
    "CSV encoding": "writing text",
    "reading both files back and comparing them": "parsing text",
    "decoding to values": "memory",
    "Great Expectations": "its frames and metrics, and its import",
    "products of decoded columns": "one matrix product a chunk",
    "losses, exact and estimated": "counting",
    "shuffle": "memory",
    "reading the source": "decoding, hashing of labels",
    "imports": "start-up",
    PREFECT: "Prefect",
}
"""What each place is bound by, as far as it is known."""

NATIVE = "Arrow's and the object store's own threads"
OTHER = "not attributed"
_OURS = tuple(part for part, _, _ in PLACES)


class Looker:
    """Counts seconds of processor time by place from ``start`` to ``stop``."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._before: dict[int, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="looker", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._before = _ticks()
        self._thread.start()

    def stop(self) -> dict[str, float]:
        """Seconds by place, the largest first."""
        self._over.set()
        self._thread.join()
        return dict(sorted(self.seconds.items(), key=lambda entry: -entry[1]))

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        now, frames = _ticks(), sys._current_frames()
        of_python = {thread.native_id: thread.ident for thread in threading.enumerate()}
        for task, ticks in now.items():
            used = ticks - self._before.get(task, 0)
            if used and task != self._thread.native_id:
                ident = of_python.get(task)
                frame = None if ident is None else frames.get(ident)
                place = NATIVE if frame is None else place_of(frame)
                self.seconds[place] = self.seconds.get(place, 0.0) + used / _TICKS
        self._before = now


def place_of(frame: FrameType | None) -> str:
    """What the innermost known frame of a stack is at; imports win over what asked for them."""
    found = OTHER
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if "importlib" in path and name == "_find_and_load":
            return "imports"
        if found == OTHER and any(part in path for part in _OURS):
            found = next((words for part, function, words in PLACES if part in path and function in ("", name)), OTHER)
        frame = frame.f_back
    return found


def _ticks() -> dict[int, int]:
    """Processor time of every thread of this process, in ticks of the kernel's clock."""
    found = {}
    for task in _THREADS.iterdir():
        try:
            fields = (task / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        found[int(task.name)] = int(fields[11]) + int(fields[12])
    return found


def children_seconds() -> float:
    """Processor time of all processes below this one: the orchestrator's server, where it started one."""
    return sum(_seconds_of(pid) for pid in _below(os.getpid()))


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            own = [int(child) for child in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
        found += [each for child in own for each in (child, *_below(child))]
    return found


def _seconds_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS
