"""Where the tables go: one marked section of RESULTS.md for each benchmark."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


def machine(*packages: str) -> str:
    """Python, processor and versions of packages, as one line."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", *packages))
    return f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, {versions}."


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table in Markdown; numbers are formatted by the caller."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def write_section(name: str, lines: Iterable[str], results: Path = RESULTS) -> None:
    """Replace what stands between ``<!-- name: start -->`` and ``<!-- name: end -->``.

    Raises:
        SystemExit: the file has no such section.
    """
    start, end = f"<!-- {name}: start -->", f"<!-- {name}: end -->"
    text = results.read_text(encoding="utf-8")
    if text.count(start) != 1 or text.count(end) != 1:
        raise SystemExit(f"{results.name} needs {start} and {end}, once each.")
    before, rest = text.split(start)
    results.write_text("\n".join([before + start, *lines, end]) + rest.split(end)[1], encoding="utf-8")
