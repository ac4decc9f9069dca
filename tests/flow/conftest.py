"""Offices for flow tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixed_secrets import fix_secrets
from office import Office


@pytest.fixture(scope="module", autouse=True)
def fixed_secrets() -> Iterator[None]:
    """No test here passes or fails by the luck of a fresh key; runs in other processes keep theirs."""
    with pytest.MonkeyPatch.context() as patch:
        fix_secrets(patch.setattr)
        yield


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """A fresh office."""
    return Office(tmp_path)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office that has published version 1; read only."""
    office = Office(tmp_path_factory.mktemp("published"))
    office.open()
    answer = office.run("--quiet")
    assert answer.exit_code == 0, answer.text
    yield office
    shutil.rmtree(office.folder, ignore_errors=True)
