"""The house rules that a machine can check: sizes, names, forbidden constructs, who imports what."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = sorted(path for room in ("trasgo_lib", "tasks", "flows") for path in (ROOT / room).rglob("*.py"))
LIBRARY = [path for path in PRODUCT if path.is_relative_to(ROOT / "trasgo_lib")]

HEAVY = {
    "great_expectations": {"trasgo_lib/checks"},
    "sqlalchemy": {"trasgo_lib/records"},
    "alembic": {"trasgo_lib/records"},
    "obstore": {"trasgo_lib/storage"},
    "pyproj": {"trasgo_lib/data/projection.py"},
    "h3": {"trasgo_lib/data/cells.py"},
    "cryptography": {"trasgo_lib/noise/keystream.py", "trasgo_lib/keys"},
    "ruamel": {"trasgo_lib/config"},
    "pydantic": {"trasgo_lib/config"},
    "typer": {"flows/cli"},
    "rich": {"flows/cli"},
    "prefect": {"flows", "tasks"},
    "opendp": {"trasgo_lib/noise/central.py"},
    "dp_accounting": {"trasgo_lib/budget/composition.py"},
    "matplotlib": {"trasgo_lib/reporting/charts"},
    "prefect_dask": {"flows/dask_runner.py"},
    "distributed": {"flows/dask_runner.py", "flows/dask_clusters.py"},
    "dask": {"flows/dask_clusters.py"},
    "fastapi": {"flows/collector/app.py"},
    "uvicorn": {"flows/collector/serving.py"},
}


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _imports(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", PRODUCT, ids=_name)
def test_file_keeps_the_house_rules(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    faults: list[str] = []
    if text.count("\n") > 400:
        faults.append("longer than 400 lines")
    if path.stem in {"utils", "helpers", "common", "misc"}:
        faults.append("a name that says nothing")
    for node in ast.walk(tree):
        where = f"line {getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
            faults.append(f"{where}: {node.name} is longer than 60 lines")
        if isinstance(node, ast.Assert):
            faults.append(f"{where}: assert")
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            faults.append(f"{where}: bare except")
        if isinstance(node, ast.Attribute) and node.attr in {"default_rng", "RandomState"}:
            faults.append(f"{where}: numpy generator")
        if isinstance(node, ast.Attribute) and node.attr == "random" and ast.unparse(node.value) in {"np", "numpy"}:
            faults.append(f"{where}: {ast.unparse(node)}")
        if isinstance(node, ast.Global):
            faults.append(f"{where}: global state")
    for package in _imports(tree):
        allowed = HEAVY.get(package)
        if allowed is not None and not any(_name(path).startswith(place) for place in allowed):
            faults.append(f"imports {package}, which belongs to {sorted(allowed)}")
    assert not faults, faults


@pytest.mark.parametrize("path", LIBRARY, ids=_name)
def test_the_library_has_no_clock_and_no_randomness(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    banned = {("time", "time"), ("datetime", "now"), ("datetime", "utcnow"), ("os", "urandom"), ("date", "today")}
    calls = {
        (node.func.value.id, node.func.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    }
    assert not calls & banned
    assert not _imports(tree) & {"random", "secrets", "uuid"}


@pytest.mark.parametrize("path", PRODUCT, ids=_name)
def test_public_names_are_documented(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
        if not ast.get_docstring(node)
    ]
    assert ast.get_docstring(tree), "the module has no docstring"
    assert not missing
