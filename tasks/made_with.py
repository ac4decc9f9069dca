"""What makes a version: library, revision, interpreter, machine, and the packages that can change its bytes."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

import trasgo_lib

STATED_PACKAGES = ("numpy", "pyarrow", "cryptography", "prefect", "great-expectations", "pandas", "scipy")


_OF_DRAWS = ("numpy", "scipy", "pyarrow", "cryptography")
"""Packages that a draw computes with."""


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


@cache
def deciders_of_bits() -> dict[str, str]:
    """What decides the bits of a draw besides plan, key and input: processes in which it is equal draw the same.

    The code is told by its own digest, since a version is many revisions, and a checkout may differ from its revision.

    Returns:
        Version and code digest of this library, the interpreter's minor version, and versions of packages; public.
    """
    tasks = Path(__file__).resolve().parent
    library = Path(trasgo_lib.__file__).resolve().parent
    return {
        "trasgo": trasgo_lib.__version__,
        "code": code_digest(library, tasks)[:16],
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: metadata.version(name) for name in _OF_DRAWS},
    }


def code_digest(*folders: Path) -> str:
    """SHA-256 of all Python files below some folders, hex.

    Args:
        folders: packages; their own place on the machine does not count, names and contents below them do.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).parts):
            body = path.read_bytes()
            digest.update(f"{folder.name}/{path.relative_to(folder).as_posix()} {len(body)}\n".encode())
            digest.update(body)
    return digest.hexdigest()
