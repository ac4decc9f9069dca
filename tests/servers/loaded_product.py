"""Imported by the process that ``forked_command`` forks: what runs load, and nothing that starts a thread."""

import threading
from importlib import import_module
from pathlib import Path

for name in ("cli", "version", "runners", "release", "statistics", "publish"):
    import_module(f"flows.{name}")
for name in ("great_expectations", "matplotlib.figure"):  # which the product imports late
    import_module(name)

_THREADS = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
# jemalloc, which Arrow allocates with, looks after its thread itself when a process is forked
if threading.active_count() > 1 or len([thread for thread in _THREADS if thread != "jemalloc_bg_thd"]) > 1:
    raise RuntimeError(f"an import started a thread that forks would not have: {_THREADS}")
