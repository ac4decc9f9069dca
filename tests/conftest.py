"""What the tests of one process share: an embedded Prefect server in a throw-away home, and where real data may be."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from flows.environment import prepare_prefect

if TYPE_CHECKING:
    from s3_server import S3Server

# Nothing of trasgo_lib is imported here: lines begin to be counted after this file was read.

pytest_plugins = ("postgresql_server",)

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Before anything imports Prefect: its database is neither the user's nor that of another process of the tests."""
    home = tempfile.TemporaryDirectory(prefix="trasgo-tests-")
    config.add_cleanup(home.cleanup)
    for inherited in ("PREFECT_API_URL", "PREFECT_HOME"):
        os.environ.pop(inherited, None)
    prepare_prefect(Path(home.name))
    # made-up examples are the same in every run, also where a test does not say so itself
    settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
    settings.load_profile("repeatable")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Two processes share the tests by name, so no name may hold an address of one process's memory."""
    if " at 0x" in item.nodeid:
        raise pytest.UsageError(f"{item.location[0]}: a test is named after an address; give its parameters ids")


@pytest.fixture(scope="session")
def orchestrator_ports() -> Iterator[None]:
    """Embedded Prefect servers of this process take ports that no other process of the tests draws.

    Each draws one of a thousand. Where two draw the same, the later server ends, and its tests talk to the other's.
    """
    from prefect.server.api.server import SubprocessASGIServer

    from flows.orchestrator_database import make_ready

    make_ready()
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SubprocessASGIServer, "_port_range", range(8000 + 100 * number, 8100 + 100 * number))
        yield


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server, started for the first test that asks; it comes with the lock, so its absence is a failure."""
    from s3_server import running_s3

    root = tmp_path_factory.mktemp("s3")
    with running_s3(root) as server:
        yield server
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of real microdata beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real data beside this checkout")
    return folder
