"""What may not pass for public: the raw source, copies of it, and whatever lies in the restricted root."""

from __future__ import annotations

from pathlib import Path

_PIECE_BYTES = 2**20


def why_not_public(path: Path, source: Path, restricted: Path | None) -> str | None:
    """Why a file cannot be public knowledge, in words, or None.

    The file's own text is not read for it, and nothing about the source is said but that it is the same.

    Args:
        path: the file that is said to be public.
        source: the file of the raw rows; may not exist yet.
        restricted: the restricted root as a folder, or None when it is none.
    """
    resolved = path.resolve()
    if restricted is not None and resolved.is_relative_to(restricted.resolve()):
        return "a file in the restricted root"
    if resolved == source.resolve():
        return "the file of the raw rows"
    return "a copy of the file of the raw rows" if _same_bytes(resolved, source.resolve()) else None


def _same_bytes(one: Path, other: Path) -> bool:
    try:
        if not one.is_file() or not other.is_file() or one.stat().st_size != other.stat().st_size:
            return False
        with one.open("rb") as left, other.open("rb") as right:
            while True:
                piece, against = left.read(_PIECE_BYTES), right.read(_PIECE_BYTES)
                if piece != against:
                    return False
                if not piece:
                    return True
    except OSError:
        # a file that cannot be read is refused where it is read
        return False
