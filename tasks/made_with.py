"""What makes a version: library, revision, interpreter, machine, and the packages that can change its bytes."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

import trasgo_lib

STATED_PACKAGES = ("numpy", "pyarrow", "cryptography", "prefect", "great-expectations", "pandas", "scipy")


def made_with(library_version: str, commit: str) -> dict[str, str]:
    """What draws now, as evidence.

    Args:
        library_version: version of this library.
        commit: source revision.
    """
    return {
        "library_version": library_version,
        "commit": commit,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: metadata.version(name) for name in STATED_PACKAGES},
    }


def source_revision() -> str:
    """The commit this code was run from, ``-dirty`` when files differ from it, or ``unknown`` outside a checkout."""
    folder = Path(trasgo_lib.__file__).resolve().parent.parent
    command = ["git", "-C", str(folder), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    if not (folder / ".git").exists():
        return "unknown"
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
