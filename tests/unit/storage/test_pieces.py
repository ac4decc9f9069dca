"""Files that are put pass through memory piece by piece."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from trasgo_lib.storage import folders, open_store

MIB = 1 << 20


@pytest.mark.parametrize("size", [0, 1, 4096, 10_000, 3 * 8192])
def test_pieces_are_the_whole_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(folders, "_PIECE_BYTES", 2 * mmap.PAGESIZE)
    body = bytes(place % 251 for place in range(size))
    assert b"".join(folders.pieces(body)) == body
    if size:
        (tmp_path / "x").write_bytes(body)
        with (tmp_path / "x").open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert b"".join(folders.pieces(mapped)) == body
            assert b"".join(folders.pieces(mapped)) == body, "pages that were let go of come back"


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="the system cannot let go of mapped pages")
def test_memory_does_not_grow_with_a_file_that_is_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large").write_bytes(bytes(96 * MIB))
    seen = []
    pieces = folders.pieces

    def look(body: bytes | mmap.mmap):
        for piece in pieces(body):
            yield piece
            seen.append(_mapped_bytes())

    monkeypatch.setattr(folders, "pieces", look)
    before = _mapped_bytes()
    open_store(tmp_path / "root").put_once("large", tmp_path / "large")
    assert len(seen) >= 2 * 96 // 8
    assert max(seen) - before < 32 * MIB


def _mapped_bytes() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("RssFile")).split()[1])
