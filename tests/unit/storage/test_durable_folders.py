"""Create-once in a folder: under a name there are all its bytes on the disk, or nothing, whenever power is lost."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trasgo_lib.errors import Reason, StoreError
from trasgo_lib.storage import folders, open_store

ROOT = Path(__file__).resolve().parents[3]


def test_bytes_are_on_the_disk_before_their_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the calls: flush the whole file under another name, link, flush the folder."""
    calls: list[str] = []
    sync, link = os.fsync, os.link

    def fsync(handle: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else f"file of {os.fstat(handle).st_size}"
        calls.append(f"flush {kind}, named: {(tmp_path / 'k').exists()}")
        sync(handle)

    def linked(source: Path, target: Path) -> None:
        calls.append("link")
        link(source, target)

    store = open_store(tmp_path)
    monkeypatch.setattr(folders.os, "fsync", fsync)
    monkeypatch.setattr(folders.os, "link", linked)
    store.put_once("k", b"12345")
    assert calls[:3] == ["flush file of 5, named: False", "link", "flush folder, named: True"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k"], "no staging file stays"


@pytest.mark.parametrize("call", ["fsync", "link", "fchmod"])
@pytest.mark.parametrize(
    ("number", "reason"), [(errno.ENOSPC, Reason.STORE_FULL), (errno.EIO, Reason.STORE_UNREACHABLE)]
)
def test_a_disk_that_gives_up_half_way_leaves_nothing_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, reason: Reason
) -> None:
    store = open_store(tmp_path)

    def fail(*arguments: object) -> None:
        raise OSError(number, os.strerror(number), "canary-path")

    with monkeypatch.context() as patch:
        patch.setattr(folders.os, call, fail)
        with pytest.raises(StoreError) as caught:
            store.put_once("k", b"12345")
    assert (caught.value.reason, caught.value.exit_code) == (reason, 10)
    if reason is Reason.STORE_FULL:
        free = "bytes are free" in str(caught.value)
        assert free and "5 bytes were needed" in str(caught.value), caught.value
    assert "canary" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    store.put_once("k", b"12345")


def test_a_writer_killed_before_the_link_leaves_no_object(tmp_path: Path) -> None:
    """SIGKILL between the flush and the link, in a process of its own; the next writer is not disturbed."""
    code = (
        "import os, signal, sys\nfrom trasgo_lib.storage import folders, open_store\n"
        "folders.os.link = lambda *names: os.kill(os.getpid(), signal.SIGKILL)\n"
        "open_store(sys.argv[1]).put_once('a/k', b'12345')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False)
    assert done.returncode == -9
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["k#1"]
    store = open_store(tmp_path)
    assert store.list() == () and not store.exists("a/k")
    store.put_once("a/k", b"other")
    assert store.get("a/k") == b"other" and store.list() == ("a/k",)


def test_a_full_disk_is_told_with_what_was_needed(tmp_path: Path) -> None:
    """A real limit of the system: files of this process may have 1000 bytes."""
    code = (
        "import resource, signal, sys\nfrom trasgo_lib.errors import StoreError\n"
        "from trasgo_lib.storage import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    store.put_once('k', bytes(5000))\n"
        "except StoreError as error:\n    sys.exit(str(error) + str(store.list()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "5000 bytes were needed" in done.stderr and "[store_full]" in done.stderr and "()" in done.stderr
    assert list(tmp_path.iterdir()) == []
