"""The deployments are of this tree: release files that compile, flows that exist, a queue for each account, zones."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from ruamel.yaml import YAML

from flows.collecting import scheduled_collection
from trasgo_lib.collection import read_collection
from trasgo_lib.training import read_product

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deployments"


def _yaml(name: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load((FOLDER / name).read_text(encoding="utf-8"))
    return found


DEPLOYMENTS = {entry["name"]: entry for entry in _yaml("prefect.yaml")["deployments"]}
COLLECTIONS = [name for name, entry in DEPLOYMENTS.items() if "collection" in entry["tags"]]
DRAWING = [name for name in DEPLOYMENTS if name not in COLLECTIONS]


@pytest.mark.parametrize("name", COLLECTIONS)
def test_a_collection_runs_by_itself_since_it_draws_from_no_account(name: str) -> None:
    entry = DEPLOYMENTS[name]
    _, plan = read_collection(ROOT / entry["parameters"]["config"])
    assert name == plan.config.release.dataset and entry["tags"] == ["collection"]
    assert entry["entrypoint"] == "flows/collecting.py:scheduled_collection"
    assert set(entry["parameters"]) == set(scheduled_collection.parameters.properties)


@pytest.mark.parametrize("name", DRAWING)
def test_a_deployment_runs_its_release_file_in_the_queue_of_its_account(name: str) -> None:
    entry = DEPLOYMENTS[name]
    plan = read_product(ROOT / entry["parameters"]["config"]).base
    assert entry["work_pool"]["work_queue_name"] == plan.account and f"account-{plan.account}" in entry["tags"]
    assert name in (plan.dataset, f"{plan.dataset}-{plan.version}")
    file, _, flow = entry["entrypoint"].partition(":")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    assert set(entry["parameters"]) == set(getattr(module, flow).parameters.properties)


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_dates_have_a_zone_and_no_run_meets_another_of_its_version(name: str) -> None:
    entry = DEPLOYMENTS[name]
    assert entry["schedules"] and all(ZoneInfo(schedule["timezone"]) for schedule in entry["schedules"])
    assert entry["concurrency_limit"]["limit"] == 1


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_nothing_calls_out_and_no_result_is_kept(name: str) -> None:
    environment = DEPLOYMENTS[name]["work_pool"]["job_variables"]["env"]
    assert environment["DO_NOT_TRACK"] == "1"
    for setting in ("SERVER_ANALYTICS_ENABLED", "RESULTS_PERSIST_BY_DEFAULT", "TASKS_DEFAULT_PERSIST_RESULT"):
        assert environment[f"PREFECT_{setting}"] == "false"


def test_the_trial_listens_on_loopback_only_and_holds_no_secret() -> None:
    """Not run by any test: there are no containers here."""
    services = _yaml("compose.yaml")["services"]
    assert set(services) == {"server", "worker", "ledger", "store"}
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for key, value in service.get("environment", {}).items():
            assert not key.endswith(("PASSWORD", "_ACCESS_KEY")) or str(value).startswith("${"), key
    assert "-master.telemetry=false" in services["store"]["command"]
