"""Folders and files on a local disk: modes that do not depend on the umask, and durability.

A rename or a link survives a power loss only after the file *and* its folder were flushed.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

PRIVATE_FOLDER_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
PUBLIC_FOLDER_MODE = 0o755
PUBLIC_FILE_MODE = 0o644


def make_folder(path: Path, mode: int = PRIVATE_FOLDER_MODE) -> None:
    """Make a folder and its missing parents, each with exactly ``mode`` and flushed to disk.

    Folders that exist already are left as they are: they belong to whoever made them.

    Args:
        path: the folder.
        mode: permission bits of every folder made here.

    Raises:
        OSError: when a folder cannot be made, or the path is a file.
    """
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=mode, exist_ok=True)
        folder.chmod(mode)
        flush(folder.parent)
    if not path.is_dir():
        raise NotADirectoryError(20, "Not a directory")


def set_mode(path: Path, mode: int) -> None:
    """Give a file or folder exactly these permission bits; does nothing when it has them."""
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def flush(path: Path) -> None:
    """Flush a file or folder to the disk.

    Raises:
        OSError: when it does not exist or the disk refuses.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
