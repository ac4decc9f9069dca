"""Private files, and what a disk that refuses says."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections import namedtuple

import pytest

from trasgo_lib.data.disk import create_private, private_folder, require_room, writing
from trasgo_lib.errors import Reason, StoreError

Usage = namedtuple("Usage", "total used free")


def test_files_and_folders_are_for_their_owner_only(tmp_path):
    before = os.umask(0)
    try:
        private_folder(tmp_path / "a" / "b")
        with create_private(tmp_path / "a" / "b" / "c") as stream:
            stream.write(b"1")
        with create_private(tmp_path / "a" / "b" / "c") as stream:
            stream.write(b"2")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "b" / "c").stat().st_mode) == 0o600
    assert (tmp_path / "a" / "b" / "c").read_bytes() == b"2"


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, Reason.STORE_FULL),
        (errno.EDQUOT, Reason.STORE_FULL),
        (errno.EROFS, Reason.STORE_UNREACHABLE),
        (errno.EIO, Reason.STORE_UNREACHABLE),
    ],
)
def test_what_a_disk_refuses_becomes_our_own_error(tmp_path, number, reason):
    with pytest.raises(StoreError) as caught, writing(tmp_path / "absent", 4711):
        raise OSError(number, "CANARY", "CANARY")
    (fault,) = caught.value.faults
    assert (fault.reason, caught.value.exit_code) == (reason, 10)
    assert ("4711 bytes were needed" in fault.came) == (reason is Reason.STORE_FULL)
    assert "CANARY" not in str(caught.value) and caught.value.__suppress_context__


def test_other_trouble_is_not_the_disks(tmp_path):
    with pytest.raises(FileNotFoundError), writing(tmp_path, 1):
        raise FileNotFoundError(errno.ENOENT, "gone")


def test_room_is_asked_for_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(100, 50, 50))
    require_room(tmp_path / "not" / "there" / "yet", 50)
    with pytest.raises(StoreError) as caught:
        require_room(tmp_path / "not" / "there" / "yet", 51)
    (fault,) = caught.value.faults
    assert fault.reason is Reason.STORE_FULL
    assert "51 bytes" in fault.required and "50 bytes" in fault.came
