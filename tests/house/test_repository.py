"""What must and must not stand in the tree."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return [ROOT / name for name in names if name]


def test_the_top_level_is_fixed() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in _tracked() if len(path.relative_to(ROOT).parts) > 1}
    assert folders == {"configs", "flows", "tasks", "trasgo_lib", "deployments", "tests", ".ci", ".github"}


def test_the_lock_has_hashes_and_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert "--index" not in lock and "--find-links" not in lock
    entries = re.split(r"\n(?=[a-zA-Z0-9])", lock.strip())
    assert len(entries) > 100
    assert all("--hash=sha256:" in entry for entry in entries)
    assert all(re.match(r"[A-Za-z0-9._-]+(\[[^]]*\])?==", entry) for entry in entries)


def test_no_machine_path_and_no_registry_stands_in_the_tree() -> None:
    # the patterns are put together here, so that this file does not hold what it forbids
    machine_path = re.compile(r"(?<![A-Za-z.])/(?:" + "|".join(("root", "tmp", "work")) + ")/[a-z]")
    registry = re.compile("|".join(("pypi" + r"\.org", "python" + "hosted", r"registry\." + "npmjs")))
    guilty = []
    for path in _tracked():
        if path.suffix in {".csv", ".lock", ".parquet", ".png"} or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        if machine_path.search(text) or registry.search(text):
            guilty.append(path.relative_to(ROOT).as_posix())
    assert not guilty


def test_the_readme_starts_with_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("make release") < text.index("make test")
    first = re.search(r"```(?:sh|bash|console)?\n(.*?)```", text, re.S)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first.group(1).strip().splitlines()] == ["make release", "make test"]


def test_ci_calls_make_test_and_the_workflow_calls_ci() -> None:
    assert "make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
