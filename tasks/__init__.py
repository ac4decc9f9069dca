"""Thin Prefect tasks, one file a stage: a call into the library and a log line of public facts."""

import os

# as in ``flows``, which a worker on another machine does not load
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
