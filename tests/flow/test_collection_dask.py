"""Counting on Dask workers of a scheduler that runs already: the same counts; nothing begun where none is found."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import distributed
import pytest
from collector import Collection, batch, day_of, this_window
from office import Answer

import flows.dask_clusters
import tasks.collection_session as sessions
from trasgo_lib.collection.intake import Submission

DEVICES = 3000


def _collection(folder: Path) -> tuple[Collection, str]:
    window, declared = this_window()
    collection = Collection(folder, window=declared, show={"least_reports": 100})
    collection.prepare()
    receiver = collection.session.receiver(sessions.collector_key(collection.home), sessions.today)
    for number, first in enumerate(range(0, DEVICES, 1000)):
        body = batch(collection.version, window, f"batch-{number:016d}", range(first, first + 1000))
        assert receiver.receive([Submission("android", body)])[0].receipt.accepted == 1000
    return collection, window


def _run(collection: Collection, window: str, runner: object) -> Answer:
    collection.file["runner"] = runner
    collection.write()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "today", lambda: day_of(window) + timedelta(days=40))
        return collection.trasgo("collect", "run", str(collection.config), "--window", window, "--quiet")


def test_a_scheduler_out_of_reach_ends_the_run_before_the_window_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, window = _collection(tmp_path)
    monkeypatch.setattr(flows.dask_clusters, "CONNECT_SECONDS", 1)
    address = {"address": "tcp://127.0.0.1:9", "shared_disk": True, "wait_s": 1}
    answer = _run(collection, window, {"dask": address})
    assert answer.exit_code == 10 and "workers_lost" in answer.text, answer.text
    assert not collection.session.journal().read(window).closed
    unset = _run(collection, window, {"dask": {"address_env": "NO_SUCH_VARIABLE", "shared_disk": True}})
    assert unset.exit_code == 2 and "runner.dask.address_env" in unset.text, unset.text


@pytest.mark.long
def test_workers_of_a_scheduler_count_as_threads_do(tmp_path: Path) -> None:
    collection, window = _collection(tmp_path)
    assert _run(collection, window, "threads").exit_code == 0
    counts = (collection.public(window) / "data" / "counts.json").read_bytes()
    shutil.rmtree(collection.public(window))
    shutil.rmtree(collection.restricted(window) / "counts")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", protocol="tcp://", dashboard_address=None
    ) as cluster:
        answer = _run(collection, window, {"dask": {"address": cluster.scheduler_address, "shared_disk": True}})
    assert answer.exit_code == 0, answer.text
    assert (collection.public(window) / "data" / "counts.json").read_bytes() == counts
    assert len(list((collection.restricted(window) / "counts").iterdir())) > 0
