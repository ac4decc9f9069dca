"""The first bytes of a data file, as text, and the encoding they are in: all of the file that a draft looks at."""

from __future__ import annotations

import codecs
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from trasgo_lib.errors import InputContractError, Reason

PREFIX_BYTES = 1 << 20
"""Enough for some thousand rows of a usual survey, and for a header of tens of thousands of columns."""

PARQUET_MAGIC = b"PAR1"
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE_NAMES = ("utf-32", "utf-32", "utf-16", "utf-16")
_OTHER_KINDS = (
    (b"PK\x03\x04", "a zip file or a spreadsheet"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet"),
    (b"SQLite format 3", "a database"),
)
_FIX = "Write the rows as CSV or Parquet, and name that file."


@dataclass(frozen=True, slots=True)
class TextPrefix:
    """The start of a text file; private but for its encoding.

    Args:
        text: its first characters, without a byte-order mark.
        encoding: name of the encoding, as the release file writes it; public.
        is_whole: whether the file ends there.
    """

    text: str = field(repr=False)
    encoding: str
    is_whole: bool


def read_prefix(path: Path) -> tuple[bytes, bool]:
    """The first bytes of a regular file, and whether these are all; private.

    Raises:
        InputContractError: no such file, no regular file (a folder, a pipe), or one that cannot be read.
    """
    try:
        # O_NONBLOCK: a named pipe under this path must not hang the command
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _unusable(path, "a readable file", error.strerror or "an error", "Correct the path.") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        came = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise _unusable(path, "a regular file", came, "Name the data file itself.")
    with os.fdopen(handle, "rb") as stream:
        data = stream.read(PREFIX_BYTES + 1)
    return data[:PREFIX_BYTES], len(data) <= PREFIX_BYTES


def decode_prefix(data: bytes, path: Path, *, is_whole: bool) -> TextPrefix:
    """The text of a prefix, in the first of UTF-8, windows-1252 and latin-1 that holds it, or as its mark says.

    Args:
        data: from ``read_prefix``; private.
        path: the file, for errors.
        is_whole: whether the file ends there.

    Raises:
        InputContractError: nothing in it, or bytes that are no text.
    """
    wide = next((name for mark, name in zip(_WIDE_MARKS, _WIDE_NAMES) if data.startswith(mark)), None)
    if wide is None and (kind := _other_kind(data)) is not None:
        raise _unusable(path, "CSV text or a Parquet file", kind, _FIX)
    # a mark of UTF-8 before bytes of another encoding, which readers drop as well, is no part of the first name
    data = data.removeprefix(codecs.BOM_UTF8)
    for encoding in ("utf-8", "latin-1" if _holds_no_marks(data) else "windows-1252", "latin-1"):
        text = _decoded(data, wide or encoding, is_whole=is_whole)
        if text is not None:
            if not text.strip():
                raise _unusable(path, "a header or a row", "a file with nothing in it", "Name a file with rows.")
            return TextPrefix(text, wide or encoding, is_whole)
    raise _unusable(path, f"text in {wide}, as its first bytes say", "other bytes", _FIX)


def _decoded(data: bytes, encoding: str, *, is_whole: bool) -> str | None:
    try:
        # a character that the end of the prefix cuts in two is left out
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=is_whole)
    except UnicodeError:
        return None
    return text.removeprefix("\ufeff")


def _holds_no_marks(data: bytes) -> bool:
    """Whether the bytes by which windows-1252 differs from latin-1 are absent."""
    return not any(0x80 <= byte <= 0x9F for byte in data)


def _other_kind(data: bytes) -> str | None:
    named = next((kind for magic, kind in _OTHER_KINDS if data.startswith(magic)), None)
    if named is None and b"\0" in data:
        return "bytes that are no text"
    return named


def _unusable(path: Path, required: str, came: str, fix: str) -> InputContractError:
    return InputContractError.of(Reason.FILE_UNREADABLE, str(path), required=required, came=came, fix=fix)
