"""What a command loads before it works. Counted in modules: a test on a clock would fail on a busy machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "configs" / "demo" / "cps1988.yaml"
STATISTICS = ROOT / "configs" / "demo" / "cps1988-statistics.yaml"
TRAINING = ROOT / "configs" / "demo" / "cps1988-training.yaml"
PUBLISHED = ROOT / "tests" / "golden" / "release"

HEAVY = {
    *("pandas", "scipy", "matplotlib", "prefect", "great_expectations", "sqlalchemy", "alembic", "psycopg"),
    *("h3", "pyproj", "opendp", "dp_accounting", "sklearn", "openpyxl", "dask", "distributed", "prefect_dask"),
    *("fastapi", "uvicorn"),
}
"""Packages that cost a tenth of a second or more, or that a command without points, flows or a ledger does not need."""

MOST_MODULES = {"--help": 420, "init": 470, "plan": 780, "verify": 830}
"""As of this writing 350, 390, 670 and 710 with the standard library; on a free core about 0.1 s for help, 0.3 for plan
and 0.35 for verify."""

_LOADED = """
import json, sys
from flows.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write("LOADED " + json.dumps(sorted(sys.modules)))
"""


def _loaded_by(*arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments], capture_output=True, text=True, cwd=ROOT, check=True
    )
    names: list[str] = json.loads(done.stderr.split("LOADED ", 1)[1])
    return names


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("--help",), set()),
        (("init", str(DEMO.with_suffix(".csv"))), set()),
        (("plan", str(DEMO)), set()),
        (("plan", str(STATISTICS)), set()),
        (("plan", str(TRAINING)), set()),
        (("verify", str(PUBLISHED)), {"pyproj"}),  # it holds a point
        (("verify", str(PUBLISHED.with_name("model"))), set()),
    ],
    ids=["help", "init", "plan", "plan of queries", "plan of a model", "verify", "verify a model"],
)
def test_a_command_that_only_looks_starts_at_once(arguments: tuple[str, ...], needed: set[str]) -> None:
    names = _loaded_by(*arguments)
    assert HEAVY & {name.split(".")[0] for name in names} == needed
    assert len(names) <= MOST_MODULES[arguments[0]]


def test_the_doctor_starts_no_orchestrator(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED.replace("assert not end.code", "assert end.code == 2"), "doctor", str(DEMO)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
        env={**os.environ, "TRASGO_HOME": str(tmp_path)},  # without a key: exit 2
    )
    names = {name.split(".")[0] for name in json.loads(done.stderr.split("LOADED ", 1)[1])}
    assert HEAVY & names == {"scipy", "sqlalchemy"}, "its targets are rehearsed, its ledger is looked for"


def test_numbers_and_tables_are_loaded_by_those_who_need_them_only() -> None:
    assert not {"numpy", "pyarrow", "pydantic"} & {name.split(".")[0] for name in _loaded_by("--help")}


def test_dask_is_loaded_by_those_who_ask_for_it_only() -> None:
    flows = "import sys, flows.release, flows.version, flows.scheduled, flows.runners"
    for more, found in (("", set()), (", flows.dask_clusters", {"dask", "distributed", "prefect_dask"})):
        done = subprocess.run(
            [sys.executable, "-c", f"{flows}{more}; print(*sys.modules)"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=True,
        )
        assert {name for name in done.stdout.split() if "." not in name} & {
            "dask",
            "distributed",
            "prefect_dask",
        } == found


def test_what_is_looked_for_can_be_found() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, scipy.special, pandas; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"pandas", "scipy"} == HEAVY & {name.split(".")[0] for name in done.stdout.split()}
