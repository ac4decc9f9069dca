"""What decides the bits of a draw is told by the code itself: every edit shows, the place on the machine does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tasks.made_with import code_digest, deciders_of_bits


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "here" / "library"
    (folder / "room").mkdir(parents=True)
    (folder / "a.py").write_text("x = 1\n")
    (folder / "room" / "b.py").write_text("y = 2\n")
    return folder


def test_the_same_code_elsewhere_is_the_same(package: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(package, tmp_path / "there" / "library"))
    (copy / "__pycache__").mkdir()
    (copy / "__pycache__" / "a.pyc").write_bytes(b"compiled")
    assert code_digest(package) == code_digest(copy)


@pytest.mark.parametrize("edit", ["content", "name", "place", "more", "less", "moved border"])
def test_every_edit_shows(package: Path, edit: str) -> None:
    before = code_digest(package)
    if edit == "content":
        (package / "a.py").write_text("x = 2\n")
    elif edit == "name":
        (package / "a.py").rename(package / "c.py")
    elif edit == "place":
        (package / "a.py").rename(package / "room" / "a.py")
    elif edit == "more":
        (package / "room" / "c.py").touch()
    elif edit == "less":
        (package / "a.py").unlink()
    else:
        (package / "a.py").write_text("x = 1\ny")
        (package / "room" / "b.py").write_text(" = 2\n")
    assert code_digest(package) != before


def test_what_is_compared_holds_no_path() -> None:
    told = deciders_of_bits()
    assert set(told) == {"trasgo", "code", "python", "numpy", "scipy", "pyarrow", "cryptography"}
    assert not [value for value in told.values() if "/" in value]
