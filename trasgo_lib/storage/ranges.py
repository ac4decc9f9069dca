"""An object as a file: sought in and read by ranges, for readers of Parquet and CSV."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

_PIECE_BYTES = 8 * 2**20


class RangeReader(io.RawIOBase):
    """A raw, read-only file over ranges of an object; wrap it in a buffer.

    Args:
        read: gives so many bytes from a byte on; both lie inside the object.
        size: the object's length in bytes.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        super().__init__()
        self._read = read
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The place, in bytes from the start."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move; as in every file, reading past the end gives nothing."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise ValueError("a place before the start")
        self._place = start + offset
        return self._place

    def readall(self) -> bytes:
        """The rest; in large pieces, where the base class would ask for 8 KiB at a time."""
        pieces = []
        while self._place < self._size:
            length = min(_PIECE_BYTES, self._size - self._place)
            pieces.append(self._read(self._place, length))
            self._place += length
        return b"".join(pieces)

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the object goes."""
        length = min(len(buffer), max(0, self._size - self._place))
        if length:
            buffer[:length] = self._read(self._place, length)
            self._place += length
        return length
