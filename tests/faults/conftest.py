"""Offices for tests that kill runs or let them fail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixed_secrets import fix_secrets
from killed import fix_keys_and_clock
from office import Office
from sites import Places

from tasks.session import open_session


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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wrapping and signing key of every office here."""
    office = Office(tmp_path_factory.mktemp("keys"))
    assert office.trasgo("key", "init").exit_code == 0
    return office.home


@pytest.fixture(scope="module")
def places(home: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Places]:
    """The offices of this module, under fixed keys and a frozen clock."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        fix_keys_and_clock(patch.setattr)
        yield Places(home, tmp_path_factory.mktemp("killed"), request)
    open_session.cache_clear()
    for name in set(os.environ) - set(before):
        del os.environ[name]
