"""The scheduled flow: what it ends as in the orchestrator, and the artifacts it leaves there."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from office import Office, source_text

import tasks.artifacts
from flows.scheduled import scheduled_release
from tasks.session import open_session
from trasgo_lib.errors import InputContractError, TargetsNotMetError, WaitingError

Scheduled = Callable[[Office], Any]


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch) -> Scheduled:
    """Runs the flow of an office as its worker does, and gives back the state it ends in."""

    def run(office: Office) -> Any:
        monkeypatch.setenv("TRASGO_HOME", str(office.home))
        monkeypatch.setenv("TRASGO_ACTOR", "scheduler")
        return scheduled_release(str(office.config), return_state=True)

    return run


def _artifacts(dataset: str) -> dict[str, Any]:
    """The last artifact of each kind for a data set, as Prefect's database has them."""
    database = Path(os.environ["PREFECT_HOME"]) / "prefect.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "SELECT key, data FROM artifact WHERE key LIKE ? ORDER BY created", (f"%-{dataset}-1",)
        )
        return {key.split("-")[0]: data for key, data in rows.fetchall()}


def test_a_published_version_is_complete_and_again_changes_nothing(office: Office, scheduled: Scheduled) -> None:
    office.release["release"]["dataset"] = "shown"
    office.release["loop"] |= {"loss_from": "released", "composition": "chain"}
    office.open()
    assert scheduled(office).is_completed()
    spent = office.spent()
    again = scheduled(office)
    assert again.is_completed() and office.spent() == spent
    found = _artifacts("shown")
    assert set(found) == {"progress", "rounds", "release"} and float(found["progress"]) == 100
    assert "store/public/shown/1" in found["release"]
    rows = json.loads(json.loads(found["rounds"]))
    shown = [row for row in rows if row["loss"] is not None]
    assert shown and all(row["low"] <= row["loss"] <= row["high"] for row in shown)
    assert {row["unit"] for row in rows} == {"age", "sex", "region"}


def test_losses_from_raw_data_are_in_no_artifact(office: Office, scheduled: Scheduled) -> None:
    office.release["release"]["dataset"] = "hidden"
    office.open()
    assert scheduled(office).is_completed()
    rows = json.loads(json.loads(_artifacts("hidden")["rounds"]))
    assert {(row["loss"], row["low"], row["high"]) for row in rows} == {(None, None, None)}
    assert {row["met"] for row in rows if row["unit"] == "sex"} <= {True, False}


def test_a_run_does_not_fail_for_an_artifact(
    office: Office, scheduled: Scheduled, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*arguments: object, **names: object) -> None:
        raise RuntimeError("no such thing here")

    for name in ("create_progress_artifact", "create_table_artifact", "create_link_artifact"):
        monkeypatch.setattr(tasks.artifacts, name, refuse)
    office.open()
    assert scheduled(office).is_completed()
    assert "an artifact could not be put: RuntimeError" in caplog.text and "no such thing" not in caplog.text


def test_a_version_that_waits_completes_as_waiting(office: Office, scheduled: Scheduled) -> None:
    office.release["publish"] |= {"approvals": 1, "service_accounts": ["scheduler"]}
    office.open()
    for _ in range(2):
        state = scheduled(office)
        assert (state.type.value, state.name, state.message) == ("COMPLETED", "Waiting", "approval_missing")
    assert not office.public.exists()
    office.actor = "eva"
    assert office.trasgo("approve", str(office.config), "--yes").exit_code == 0
    state = scheduled(office)
    assert (state.type.value, state.name) == ("COMPLETED", "Completed") and office.public.exists()


def test_an_embargo_that_was_missed_fails(office: Office, scheduled: Scheduled) -> None:
    office.release["publish"] |= {"approvals": 1, "embargo": "2020-01-01T09:30:00 Europe/Madrid"}
    office.open()
    scheduled(office)
    state = scheduled(office)
    assert state.is_failed()
    with pytest.raises(WaitingError):
        state.result()


def test_a_held_and_a_refused_version_fail_without_losses_and_counts(office: Office, scheduled: Scheduled) -> None:
    office.column("sex")["target"] = {"tvd": "0.000001"}
    office.open()
    for _ in range(2):
        with pytest.raises(TargetsNotMetError) as held:
            scheduled(office).result()
        assert [fault.came for fault in held.value.faults] == ["a version that is held"]
    office.release["release"]["version"] = "2"
    office.write()
    (office.folder / "people.csv").write_text(source_text().replace(",f,", ",unheard,", 173))
    with pytest.raises(InputContractError) as refused:
        scheduled(office).result()
    assert all(fault.rows is None for fault in refused.value.faults) and "173" not in str(refused.value)
    open_session.cache_clear()
