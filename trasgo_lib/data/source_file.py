"""The source file as bytes: digested while it is read, refused when it changes, turned into UTF-8 without loss."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import BinaryIO

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.keys import KeyedDigest

_CHUNK_BYTES = 1 << 20
"""One read of the file; large enough that the calls cost nothing, small enough to stay in cache."""

_PEEK_BYTES = 1 << 20
"""How much text is searched for the end of the first record."""

_UTF8_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
"""The little-endian mark of utf-32 begins like that of utf-16."""

_MARK = "\ufeff"


class SourceFile:
    """A source file, opened once; every byte handed out is digested.

    Args:
        path: the file; public.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: when there is no such file or it is not a regular file that can be read.
    """

    def __init__(self, path: Path, digest_key: bytes) -> None:
        self.path = path
        self._key = digest_key
        self._digest = KeyedDigest(digest_key)
        self.stream: BinaryIO = _open(path)
        self._identity = _identity(os.fstat(self.stream.fileno()))
        self._bytes_read = 0

    def close(self) -> None:
        """Close the file."""
        self.stream.close()

    def read_chunk(self) -> bytes:
        """The next bytes of the file, empty at its end; private."""
        chunk = self.stream.read(_CHUNK_BYTES)
        self._digest.update(chunk)
        self._bytes_read += len(chunk)
        return chunk

    def rewind(self) -> None:
        """Go back to the start, and forget what was digested."""
        self._digest = KeyedDigest(self._key)
        self._bytes_read = 0
        self.stream.seek(0)

    def digest_whole(self) -> str:
        """Read the whole file from its start and give its keyed digest, hex; private.

        Raises:
            InputContractError: as ``finish``.
        """
        self.rewind()
        while self.read_chunk():
            pass
        return self.finish()

    def finish(self) -> str:
        """The keyed digest of the bytes that were read, hex; private.

        Raises:
            InputContractError: when the file is no longer the one that was opened, or has not the size it had.
        """
        try:
            now = _identity(self.path.stat())
        except OSError:
            now = None
        if now != self._identity or self._bytes_read != self._identity[2]:
            raise changed_while_read(self.path)
        return self._digest.hexdigest()


def source_digest(path: Path, digest_key: bytes) -> str:
    """Keyed digest of a source file as it is now, hex; private. Equal to the input digest of its ingest.

    Args:
        path: the file; public.
        digest_key: account digest key, 32 secret bytes.

    Raises:
        InputContractError: when it cannot be read, or changes while it is read.
    """
    source = SourceFile(path, digest_key)
    try:
        return source.digest_whole()
    finally:
        source.close()


def _open(path: Path) -> BinaryIO:
    came = "no such file"
    try:
        if stat.S_ISREG(path.stat().st_mode):
            return path.open("rb")
        came = "something that is not a regular file"
    except FileNotFoundError:
        pass
    except OSError:
        came = "a file that cannot be opened"
    raise InputContractError.of(
        Reason.FILE_UNREADABLE,
        f"source.path {path.name}",
        required="a readable file",
        came=came,
        fix="Correct source.path; it is relative to the release file.",
    )


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def changed_while_read(path: Path) -> InputContractError:
    """The error for a source file that was written to or replaced while it was read."""
    return InputContractError.of(
        Reason.INPUT_CHANGED,
        f"source.path {path.name}",
        required="a file that stays as it is while it is read",
        came="a file that changed",
        fix="Wait until whatever writes the file has finished, then run again.",
    )


def whole_line_ends(block: bytes) -> int:
    """How many bytes of a block a CSV parser may be given, so that no block ends between carriage return and line feed.

    Arrow drops a line feed at the start of a block when the block before ended in a carriage return, within quotes too
    (apache/arrow issue 51368), and the cell would be another one.

    Args:
        block: the next bytes; private.
    """
    return len(block) - (len(block) > 1 and block.endswith(b"\r"))


class Utf8Stream:
    """A file-like view of a source file as UTF-8 text, for a parser that calls ``read``.

    A byte-order mark is dropped whatever the declared encoding. A byte that does not fit the encoding, or a NUL, ends
    the stream: ``read`` fails and ``raise_for_encoding`` tells where. Nothing is ever replaced or skipped. No read ends
    between a carriage return and a line feed, as ``whole_line_ends`` says.

    Args:
        source: the opened file.
        encoding: declared encoding; public.
        last_record: text put at the very end, on a line of its own.

    Raises:
        InputContractError: when no text encoding has that name.
    """

    def __init__(self, source: SourceFile, encoding: str, last_record: str = "") -> None:
        self._source = source
        self._encoding = encoding
        self._decoder = _decoder(encoding, source.path)
        self._last_record = last_record
        self._ready = b""
        self._decoded_bytes = 0
        self._bad_byte: int | None = None
        self._has_nul = False
        self._starts = True
        self._ended = False
        self._last_character = "\n"
        self.byte_order_mark = False
        self.closed = False

    def peek(self) -> str:
        """The first characters of the text, without taking them from the stream; private.

        Raises:
            ValueError: as ``read``.
        """
        while not self._ended and len(self._ready) < _PEEK_BYTES:
            self._fill()
        return self._ready.decode("utf-8")

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes of UTF-8, empty only at the end; all that is left when the size is negative.

        Raises:
            ValueError: when a byte does not fit the encoding; the message says nothing about it.
        """
        while not self._ended and (size < 0 or len(self._ready) < size):
            self._fill()
        end = len(self._ready) if size < 0 else whole_line_ends(self._ready[:size])
        taken, self._ready = self._ready[:end], self._ready[end:]
        return taken

    def close(self) -> None:
        """Mark the stream as closed; the file itself belongs to whoever opened it."""
        self.closed = True

    def raise_for_encoding(self) -> None:
        """Raise if the stream ended at a byte that does not fit the encoding, or at a NUL.

        Raises:
            InputContractError: with the 0-based offset of that byte and the setting to change.
        """
        if self._has_nul:
            raise InputContractError.of(
                Reason.BAD_ENCODING,
                f"source.path {self._source.path.name}",
                required="text without the character U+0000, which CSV parsers take for an end",
                came=f"such characters, read as {self._encoding!r}",
                fix="Declare the encoding the file was written in (utf-16 is full of such bytes), or remove them.",
            )
        if self._bad_byte is not None:
            raise InputContractError.of(
                Reason.BAD_ENCODING,
                f"source.path {self._source.path.name}",
                required=f"text in the declared encoding {self._encoding!r}",
                came=f"a byte at offset {self._bad_byte} that does not belong to it",
                fix=_encoding_advice(self._encoding),
            )

    def _fill(self) -> None:
        chunk = self._source.read_chunk()
        if self._starts:
            self._starts = False
            if chunk.startswith(_UTF8_MARK) and not _is_wide(self._encoding):
                self.byte_order_mark = True
                self._decoded_bytes, chunk = len(_UTF8_MARK), chunk[len(_UTF8_MARK) :] or self._source.read_chunk()
            # utf-16 and utf-32 without a declared byte order take their mark themselves, so it is looked for here.
            elif chunk.startswith(_WIDE_MARKS) and _is_wide(self._encoding):
                self.byte_order_mark = True
        text = self._decode(chunk)
        # Arrow looks for the ends of records eight bytes at a time, and sees none behind a NUL
        self._has_nul = "\0" in text
        if self._bad_byte is not None or self._has_nul:
            self._ended, self._ready = True, b""
            raise ValueError("a byte does not fit the declared encoding")
        if text:
            self._last_character = text[-1]
        if not chunk:
            self._ended = True
            text += self._last_record if self._last_character in "\r\n" else "\n" + self._last_record
        self._ready += text.encode("utf-8")

    def _decode(self, chunk: bytes) -> str:
        waiting = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(chunk, final=not chunk)
            text.encode("utf-8")
        except UnicodeDecodeError as error:
            self._bad_byte = self._decoded_bytes - waiting + error.start
            return ""
        except UnicodeError:  # half a surrogate pair, or a codec that reports no position
            self._bad_byte = self._decoded_bytes - waiting
            return ""
        if self._decoded_bytes == 0 and text.startswith(_MARK):
            self.byte_order_mark, text = True, text[1:]
        self._decoded_bytes += len(chunk)
        return text


def _decoder(encoding: str, path: Path) -> codecs.IncrementalDecoder:
    try:
        "a".encode(encoding)  # refuses codecs that are not text encodings, such as base64
        return codecs.getincrementaldecoder(encoding)(errors="strict")
    except LookupError:
        pass
    raise InputContractError.of(
        Reason.BAD_ENCODING,
        f"source.path {path.name}",
        required="the name of a text encoding",
        came=repr(encoding),
        fix="Write for example source.csv.encoding: utf-8, latin-1 or windows-1252.",
    )


def _is_wide(encoding: str) -> bool:
    return codecs.lookup(encoding).name.startswith(("utf-16", "utf-32"))


def _encoding_advice(encoding: str) -> str:
    other = "latin-1 or windows-1252" if codecs.lookup(encoding).name.startswith("utf-8") else "utf-8"
    return f"Declare the encoding the file was written in as source.csv.encoding, for example {other}."
