"""The runner in the plan: in no digest, and refused where its workers could not reach what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.places import scheduler_address
from trasgo_lib.errors import ConfigError
from trasgo_lib.plan import read_plan

HEAD = """\
format: 1
release: {dataset: t, version: "1", title: T}
source: {path: t.csv, format: csv}
privacy: {epsilon_total: "8", account: a}
publish: {store: out}
columns:
"""
SEX = '{name: sex, type: category, domain: {codes: [m, f]}, mechanism: randomized_response, epsilon: "1"}'
BUCKETS = HEAD.replace("publish: {store: out}", "publish: {store: 's3://office/trasgo'}")
POSTGRESQL = 'ledger: {url: "postgresql://trasgo_app@db:5432/ledger"}\n'
SQLITE = 'ledger: {url: "sqlite:////srv/ledger.db"}\n'
DISK, ADDRESS = "runner.dask.shared_disk", "runner.dask.address"
SQLITE_CAME = "a SQLite file, which belongs to one machine"
AWAY = 'runner: {dask: {address: "tls://dask:8786", shared_disk: %s}}\n'


def file_of(tmp_path: Path, columns: list[str], head: str = HEAD) -> Path:
    path = tmp_path / "release.yaml"
    path.write_text(head + "".join(f"  - {column}\n" for column in columns), encoding="utf-8")
    return path


def _faults(tmp_path: Path, head: str) -> list[tuple[str, str]]:
    try:
        read_plan(file_of(tmp_path, [SEX], head))
    except ConfigError as error:
        return [(fault.where, fault.came) for fault in error.faults]
    return []


def _with(head: str, *more: str) -> str:
    return head.replace("columns:\n", "".join(more) + "columns:\n")


def test_the_runner_is_in_no_digest(tmp_path: Path) -> None:
    threads, dask, away = (
        read_plan(file_of(tmp_path, [SEX], _with(BUCKETS, POSTGRESQL, runner)))[1]
        for runner in ("", "runner: dask\n", AWAY % "false")
    )
    assert threads.digest == dask.digest == away.digest
    assert [plan.shares_disk for plan in (threads, dask, away)] == [True, True, False]


@pytest.mark.parametrize(
    ("head", "faults"),
    [
        (_with(BUCKETS, POSTGRESQL, AWAY % "false"), []),
        (_with(HEAD, POSTGRESQL, AWAY % "true"), []),
        (_with(HEAD, POSTGRESQL, AWAY % "false"), [(DISK, "a folder")]),
        (_with(HEAD.replace("out", "'file:///srv/out'"), POSTGRESQL, AWAY % "false"), [(DISK, "a folder")]),
        (_with(BUCKETS, SQLITE, AWAY % "false"), [(ADDRESS, SQLITE_CAME)]),
        (_with(HEAD, AWAY % "true"), [(ADDRESS, SQLITE_CAME)]),
        (_with(HEAD, "runner: {dask: {address: 'tcp://127.0.0.1:8786', shared_disk: true}}\n"), []),
        (_with(HEAD, (AWAY % "true").replace("tls", "tcp")), [(ADDRESS, "tcp to another machine")]),
    ],
)  # fmt: skip
def test_workers_elsewhere_need_a_bucket_and_a_server(tmp_path: Path, head: str, faults: list[tuple[str, str]]) -> None:
    assert _faults(tmp_path, head) == faults


def test_a_runner_of_a_bad_shape_comes_with_the_other_faults(tmp_path: Path) -> None:
    head = _with(BUCKETS, "runner: {dask: {address: 'tls://dask:8786'}}\n")
    wheres = [where for where, _ in _faults(tmp_path, head)]
    assert wheres == ["publish.store", "runner.dask"], "no ledger beside a bucket, and no shared_disk"


def test_an_address_from_the_environment_is_held_to_the_same_rules(tmp_path: Path) -> None:
    runner = "runner: {dask: {address_env: OFFICE_DASK, shared_disk: true}}\n"
    plan = read_plan(file_of(tmp_path, [SEX], _with(HEAD, runner)))[1]
    assert str(scheduler_address(plan, {"OFFICE_DASK": "tcp://127.0.0.1:8786"}.get)) == "tcp://127.0.0.1:8786"
    for environ in ({}, {"OFFICE_DASK": ""}, {"OFFICE_DASK": "tcp://dask:8786"}, {"OFFICE_DASK": "tls://dask:8786"}):
        with pytest.raises(ConfigError):
            scheduler_address(plan, environ.get)
    served = read_plan(file_of(tmp_path, [SEX], _with(HEAD, POSTGRESQL, runner)))[1]
    assert str(scheduler_address(served, {"OFFICE_DASK": "tls://dask:8786"}.get)) == "tls://dask:8786"
    assert scheduler_address(read_plan(file_of(tmp_path, [SEX]))[1], {}.get) is None
