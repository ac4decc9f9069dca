"""Offices for flow tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from first_run import FirstRun
from fixed_secrets import fix_secrets
from office import Office


@pytest.fixture(scope="module", autouse=True)
def fixed_secrets(orchestrator_ports: None) -> Iterator[None]:
    """No test here passes or fails by the luck of a fresh key; runs in other processes keep theirs."""
    with pytest.MonkeyPatch.context() as patch:
        fix_secrets(patch.setattr)
        yield


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A fresh office."""
    return Office(tmp_path)


@pytest.fixture(scope="session")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """Brings offices to where version 1 is published."""
    folder = tmp_path_factory.mktemp("first-run")
    yield FirstRun(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def published(first_run: FirstRun, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office that has published version 1; read only."""
    office = first_run.bring(Office(tmp_path_factory.mktemp("published")))
    yield office
    shutil.rmtree(office.folder, ignore_errors=True)
