"""Loaded by a Dask scheduler of tests at its start: this product is not installed where it runs."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any

_PRODUCT = ("trasgo_lib", "tasks", "flows")


class _NotInstalled(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.split(".")[0] in _PRODUCT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def dask_setup(scheduler: Any) -> None:
    """Called by Dask in the scheduler."""
    sys.meta_path.insert(0, _NotInstalled())
