"""Plain markdown: tables and lists whose cells cannot break out of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: object) -> str:
    """Text fit for a table cell: one line, with the characters that markdown or HTML would act on escaped."""
    line = " ".join(str(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in ("\\", "|", "*", "_", "`", "["):
        line = line.replace(mark, "\\" + mark)
    return line


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table, a blank line after it; every row has as many cells as the head."""
    lines = ["| " + " | ".join(cell(title) for title in head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row of {len(row)} cells in a table of {len(head)} columns")
        lines.append("| " + " | ".join(cell(value) for value in row) + " |")
    return [*lines, ""]


def section(title: str, *paragraphs: str) -> list[str]:
    """Lines of a heading and the paragraphs under it."""
    lines = [f"## {title}", ""]
    for paragraph in paragraphs:
        lines += [paragraph, ""]
    return lines


def bullets(entries: Iterable[str]) -> list[str]:
    """Lines of a list, a blank line after it."""
    return [*(f"- {cell(entry)}" for entry in entries), ""]
