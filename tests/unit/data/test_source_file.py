"""The source file as a stream of UTF-8: the same text whatever the sizes of the reads."""

from __future__ import annotations

import hmac

import pytest

from trasgo_lib.data import source_file as source_file_module
from trasgo_lib.data.source_file import SourceFile, Utf8Stream, source_digest
from trasgo_lib.errors import InputContractError, Reason

KEY = bytes(range(32))
TEXT = "naïve;€;𝄞\nsecond line"


@pytest.fixture
def opened(tmp_path):
    """Writes bytes and opens them as a source file."""
    files = []

    def write(content: bytes) -> SourceFile:
        path = tmp_path / f"source{len(files)}"
        path.write_bytes(content)
        files.append(SourceFile(path, KEY))
        return files[-1]

    yield write
    for file in files:
        file.close()
        assert file.stream.closed


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "utf-32-be", "gb18030"])
@pytest.mark.parametrize("size", [1, 3, 4096, -1])
@pytest.mark.parametrize("chunk", [4, 5, 1 << 20])
def test_the_text_does_not_depend_on_the_sizes_of_reads(opened, monkeypatch, encoding, size, chunk):
    monkeypatch.setattr(source_file_module, "_CHUNK_BYTES", chunk)
    content = TEXT.encode(encoding)
    file = opened(content)
    stream = Utf8Stream(file, encoding, "end\n")
    pieces = []
    while piece := stream.read(size):
        pieces.append(piece)
    assert b"".join(pieces).decode() == TEXT + "\nend\n"
    assert size < 0 or {len(piece) for piece in pieces[:-1]} <= {size}
    assert file.finish() == hmac.new(KEY, content, "sha256").hexdigest()
    assert not stream.closed
    stream.close()
    assert stream.closed


def test_the_last_record_stands_on_its_own_line(opened):
    for text, expected in (("a\n", b"a\nend"), ("a\r", b"a\rend"), ("a", b"a\nend"), ("", b"end")):
        assert Utf8Stream(opened(text.encode()), "utf-8", "end").read() == expected


def test_peeking_takes_nothing_away(opened):
    stream = Utf8Stream(opened(TEXT.encode()), "utf-8")
    assert stream.peek().startswith(TEXT)
    assert stream.read().decode().startswith(TEXT)


@pytest.mark.parametrize(
    ("encoding", "content", "offset"),
    [
        ("utf-8", b"ab\xff", 2),
        ("utf-8", b"\xef\xbb\xbfab\xff", 5),
        ("ascii", "abé".encode(), 2),
        ("utf-16-le", b"a\x00\x00\xd8a\x00", 2),
        ("utf-16-le", b"a\x00b", 2),
        ("shift_jis", b"abc\x81\x20", 3),
        ("raw_unicode_escape", b"a\\ud800", 0),
    ],
)
def test_a_byte_outside_the_encoding_is_told_by_its_offset(opened, encoding, content, offset):
    stream = Utf8Stream(opened(content), encoding)
    with pytest.raises(ValueError, match="does not fit") as raised:
        stream.read()
    assert raised.value.__context__ is None
    with pytest.raises(InputContractError) as caught:
        stream.raise_for_encoding()
    assert caught.value.reason is Reason.BAD_ENCODING
    assert f"offset {offset} " in str(caught.value)


def test_the_digest_of_the_whole_file_leaves_no_trace_of_earlier_reads(opened):
    file = opened(b"abc")
    file.read_chunk()
    assert file.digest_whole() == hmac.new(KEY, b"abc", "sha256").hexdigest()
    file.rewind()
    with pytest.raises(InputContractError):
        file.finish()


def test_the_digest_of_a_file_is_that_of_its_bytes(opened):
    file = opened(b"abc")
    assert source_digest(file.path, KEY) == hmac.new(KEY, b"abc", "sha256").hexdigest()
    with pytest.raises(InputContractError):
        source_digest(file.path.with_name("absent"), KEY)


@pytest.mark.parametrize("text", ["a\r\nb", "\r\n" * 7, "a\r\r\nb\r", "\r", "\n\r", "é\r\né"])
@pytest.mark.parametrize("size", range(2, 9))
def test_no_read_ends_within_a_line_end(opened, text, size):
    """Arrow would drop the line feed, within quotes too (apache/arrow issue 51368)."""
    stream = Utf8Stream(opened(text.encode()), "utf-8", "end\n")
    pieces = []
    while piece := stream.read(size):
        pieces.append(piece)
    whole = b"".join(pieces)
    assert whole.decode().startswith(text) and whole.endswith(b"end\n")
    borders = {sum(map(len, pieces[:at])) for at in range(1, len(pieces))}
    assert not [at for at in borders if whole[at - 1 : at + 1] == b"\r\n"]
