"""Batches through the command: what their size changes, a source that changes meanwhile, disks that fill."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq
import pytest
from office import Office

import flows.release
import flows.runners
import tasks.ingest
import tasks.staging
import tasks.version_life
import trasgo_lib.data.store_codes


@pytest.fixture
def opened(office: Office) -> Office:
    """An office with an account, whose loop reads released values."""
    office.release["loop"] = {"start": "1", "ratio": "1.5"}
    office.release["checks"] = {"max_share_at_bounds": "1"}
    office.open()
    return office


def test_the_size_of_batches_changes_row_groups_and_nothing_else(
    opened: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.version_life, "new_secret", lambda _: bytes(range(32)))
    offices = {rows: Office(shutil.copytree(opened.folder, tmp_path / str(rows))) for rows in (1000, 1100, 1 << 18)}
    for rows, other in offices.items():
        other.release = json.loads(json.dumps(opened.release))
        other.release["publish"]["rows_per_batch"] = rows
        other.write()
        if rows == 1100:  # and rows that wait on the disk
            monkeypatch.setattr("trasgo_lib.data.row_order.BUCKET_BYTES", 512)
            monkeypatch.setattr(tasks.ingest, "read_source", _on_disk(tasks.ingest.read_source))
        answer = other.run("--json")
        assert answer.exit_code == 0, answer.text
    small, middle, usual = offices.values()
    for other, groups in ((small, [1000, 200]), (middle, [1100, 100]), (usual, [1200])):
        with pq.ParquetFile(other.public / "data" / "people.parquet") as file:
            assert [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)] == groups
            assert file.read().equals(pq.read_table(usual.public / "data" / "people.parquet"))
        for name in ("data/people.csv", "channel.json"):
            assert (other.public / name).read_bytes() == (usual.public / name).read_bytes()
        losses = [json.loads((one.restricted / "losses.json").read_text()) for one in (other, usual)]
        assert losses[0]["rounds"] == losses[1]["rounds"] and losses[0]["losses"] == losses[1]["losses"]
    assert small.trasgo("audit", str(small.config)).exit_code == 0
    small.release["publish"]["rows_per_batch"] = 1001
    small.write()
    answer = small.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (4, "plan_changed"), answer.text


def _on_disk(read_source: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: read_source(*arguments, **options, memory_bytes=0)


@pytest.mark.parametrize("change", ["overwritten", "removed"])
def test_a_source_that_changes_before_publication_is_not_published(
    opened: Office, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    source = opened.folder / "people.csv"
    content = source.read_bytes()

    exact = flows.release.measure_exactly.fn
    monkeypatch.setattr(flows.release.measure_exactly, "fn", lambda *parts: (spoil_once(), exact(*parts))[1])

    def spoil_once() -> None:
        source.write_bytes(content.replace(b"2026-1", b"2026-2", 1)) if change == "overwritten" else source.unlink()

    answer = opened.run("--json")
    assert (answer.exit_code, answer.json["faults"][0]["reason"]) == (4, "input_changed"), answer.text
    assert not opened.public.exists()
    spent = opened.spent()
    monkeypatch.undo()
    source.write_bytes(content)
    assert opened.run("--json").exit_code == 0
    assert opened.spent() == spent


def test_units_cut_into_several_tasks_are_drawn_and_recorded_the_same(
    opened: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks.version_life, "new_secret", lambda _: bytes(range(32)))
    opened.release["publish"]["rows_per_batch"] = 1000
    opened.write()
    whole, cut = (Office(shutil.copytree(opened.folder, tmp_path / name)) for name in ("whole", "cut"))
    assert whole.run("--quiet").exit_code == 0
    monkeypatch.setattr(tasks.staging, "ROWS_OF_A_TASK", 500)
    monkeypatch.setattr(flows.runners.os, "cpu_count", lambda: 6)
    gathered: list[int] = []
    gather = flows.release.gather.fn
    monkeypatch.setattr(flows.release.gather, "fn", lambda *args: (gathered.append(len(args[-1])), gather(*args))[1])
    assert cut.run("--quiet").exit_code == 0
    assert 2 in gathered
    for name in ("data/people.parquet", "data/people.csv"):
        assert (cut.public / name).read_bytes() == (whole.public / name).read_bytes()
    assert cut.trasgo("audit", str(cut.config)).exit_code == 0, "the digest of a column is that of its rows"


Usage = namedtuple("Usage", "total used free")


class _Full:
    """A disk that takes so many files of one kind and no more."""

    def __init__(self, create: Callable[[Path], BinaryIO], folder: str, files: int) -> None:
        self._create, self._folder, self._files = create, folder, files

    def __call__(self, path: Path) -> BinaryIO:
        if self._folder in path.parts:
            self._files -= 1
            if self._files < 0:
                raise OSError(errno.ENOSPC, "No space left on device", "CANARY")
        return self._create(path)


@pytest.mark.parametrize(
    ("module", "folder", "files", "is_charged"),
    [
        (trasgo_lib.data.store_codes, "private", 2, False),
        (trasgo_lib.data.store_codes, "draw", 0, True),
        (trasgo_lib.data.store_codes, "attempt-2", 0, True),
    ],
)
def test_a_disk_that_fills_says_both_amounts_and_the_run_goes_on_later(
    opened: Office, monkeypatch: pytest.MonkeyPatch, module: Any, folder: str, files: int, is_charged: bool
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "create_private", _Full(module.create_private, folder, files))
        answer = opened.run("--json")
    (fault,) = answer.json["faults"][:1]
    assert (answer.exit_code, fault["reason"]) == (10, "store_full"), answer.text
    assert "bytes were needed" in fault["came"] and "are free" in fault["came"] and "CANARY" not in answer.text
    assert (opened.spent() != "0") == is_charged
    spent = opened.spent()
    answer = opened.run("--json")
    assert answer.exit_code == 0, answer.text
    assert answer.json["spent"]["total"] == opened.spent() >= spent


def test_a_disk_without_room_for_the_draws_is_told_before_anything_is_charged(
    opened: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        free = iter([1 << 20, 25_000])  # enough for what is read, and then too little for two draws of three units
        patch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 20, 0, next(free)))
        answer = opened.run("--json")
    (fault,) = answer.json["faults"]
    assert (answer.exit_code, fault["reason"]) == (10, "store_full"), answer.text
    assert "28800 bytes" in fault["required"] and "25000 bytes" in fault["came"]
    assert opened.spent() == "0"
    assert opened.run("--quiet").exit_code == 0


def test_a_batch_that_fails_is_drawn_again_alone(opened: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails once in the middle of a unit: the batches before it are not drawn again, nor is the task."""
    opened.release["publish"]["rows_per_batch"] = 1000
    opened.write()
    create, made = trasgo_lib.data.store_codes.create_private, []

    def fail_once(path: Path) -> BinaryIO:
        if "attempt-1" in path.parts and path.name.startswith("age-"):
            made.append(path.name)
            if len(made) == 2:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        return create(path)

    monkeypatch.setattr(trasgo_lib.data.store_codes, "create_private", fail_once)
    assert opened.run("--quiet").exit_code == 0
    firsts = [int(name.split(".")[0][-15:]) for name in made]
    # the last one is the probe's
    assert firsts[:3] == [0, 1000, 1000] and set(firsts[3:]) <= {0}
