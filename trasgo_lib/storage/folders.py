"""Folders and files on a local disk: modes that do not depend on the umask, and durability.

A rename or a link survives a power loss only after the file *and* its folder were flushed.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path

PRIVATE_FOLDER_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
PUBLIC_FOLDER_MODE = 0o755
PUBLIC_FILE_MODE = 0o644

_PIECE_BYTES = 8 << 20
"""A multiple of every page size."""


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


def link_below(root: Path, path: str) -> Path | None:
    """The first symbolic link on the way from a folder to a path below it, or None.

    Args:
        root: the folder; may be a link itself.
        path: relative, with ``/`` between its segments.
    """
    place = root
    for segment in path.split("/"):
        place = place / segment
        if place.is_symlink():
            return place
    return None


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


def pieces(body: bytes | mmap.mmap) -> Iterator[bytes]:
    """A body piece by piece; of a mapped file no page is held on to, so that memory does not grow with it."""
    for start in range(0, len(body), _PIECE_BYTES):
        yield body[start : start + _PIECE_BYTES]
        if isinstance(body, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            body.madvise(mmap.MADV_DONTNEED, start, min(_PIECE_BYTES, len(body) - start))


def create_once(path: Path, body: bytes | mmap.mmap, mode: int) -> bool:
    """Write a file that does not exist yet, so that under its name there are either all its bytes on disk or nothing.

    The bytes are staged beside it as ``name#1``, flushed, and only then linked to the name: a link that a power loss
    leaves behind can never lead to a file that is cut short. A staging file that a killed writer left is passed over.

    Args:
        path: the file; its folder exists.
        body: what it is to hold.
        mode: its permission bits.

    Returns:
        False when there is a file of that name already; it is left as it is.

    Raises:
        OSError: when the disk refuses.
    """
    if path.exists():
        return False
    handle, staged = _new_beside(path, mode)
    try:
        with os.fdopen(handle, "wb") as stream:
            os.fchmod(handle, mode)
            for piece in pieces(body):
                stream.write(piece)
            stream.flush()
            os.fsync(handle)
        os.link(staged, path)
    except FileExistsError:
        return False
    finally:
        staged.unlink(missing_ok=True)
    flush(path.parent)
    return True


def _new_beside(path: Path, mode: int) -> tuple[int, Path]:
    number = 1
    while True:
        staged = path.with_name(f"{path.name}#{number}")
        try:
            return os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), staged
        except FileExistsError:
            number += 1
