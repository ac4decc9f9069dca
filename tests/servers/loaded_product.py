"""Imported by the process that ``forked_command`` forks: what runs load, and nothing that starts a thread."""

import threading
from pathlib import Path

import great_expectations
import matplotlib.figure

import flows.cli
import flows.publish
import flows.release
import flows.runners
import flows.statistics
import flows.version

_THREADS = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
# jemalloc, which Arrow allocates with, looks after its thread itself when a process is forked
if threading.active_count() > 1 or len([name for name in _THREADS if name != "jemalloc_bg_thd"]) > 1:
    raise RuntimeError(f"an import started a thread that forks would not have: {_THREADS}")
