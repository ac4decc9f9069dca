"""``codebook.md``: what the columns mean and what was done to them, for people."""

from __future__ import annotations

from collections.abc import Iterator

from trasgo_lib.reporting import wording
from trasgo_lib.reporting.markdown import bullets, cell, section, table
from trasgo_lib.reporting.metadata.description import CSV_NULLS, ERRATA, Described, Description, noise_in_words
from trasgo_lib.reporting.metadata.variables import Variable

CODEBOOK = "codebook.md"

_CODES_SHOWN = 50
"""Codes listed in the text; a longer list is read in its own file."""


def codebook(description: Description) -> bytes:
    """The codebook as markdown.

    Args:
        description: the release.
    """
    info = description.info
    lines = [f"# Codebook: {cell(info.title)}", ""]
    if info.description:
        lines += [cell(info.description), ""]
    lines += table(("", ""), identity_rows(description))
    lines += section("How the rows were noised", cell(description.privacy_in_words))
    lines += section("Columns")
    lines += table(("column", "label", "type", "values", "noise"), _overview(description))
    for variable in description.variables:
        lines += _variable(variable)
    lines += section("Reading the files", CSV_NULLS, cell(wording.row_order(description.facts.plan)))
    return ("\n".join(lines).rstrip() + "\n").encode()


def identity_rows(description: Described) -> Iterator[tuple[str, object]]:
    """What a package is, who answers for it and how it is cited: name and content.

    Args:
        description: the package.
    """
    info = description.info
    yield "data set", description.dataset
    yield "version", description.version
    yield "made", description.created
    yield "rows", description.rows
    if info.publisher is not None:
        yield "publisher", " ".join(part for part in (info.publisher.name, info.publisher.url) if part)
    if info.contact is not None:
        yield "contact", ", ".join(part for part in (info.contact.name, info.contact.email, info.contact.url) if part)
    if info.licence:
        yield "licence", info.licence
    if info.universe:
        yield "about", info.universe
    if info.spatial:
        yield "area", info.spatial
    if info.temporal is not None:
        start, end = info.temporal.start, info.temporal.end
        yield "time", start if start == end else f"{start} to {end}"
    if info.series:
        yield "series", info.series
    if info.source_note:
        yield "source", info.source_note
    if description.supersedes_in_words is not None:
        yield "takes the place of", f"{description.supersedes_in_words} See {description.erratum}."
    yield "corrections", f"announced under {ERRATA}"
    yield "cite as", description.citation


def _overview(description: Description) -> Iterator[tuple[object, ...]]:
    for variable in description.variables:
        noise = "none: published as it is" if variable.noise is None else variable.noise.mechanism
        yield variable.name, variable.label, variable.type, _values(variable), noise


def _values(variable: Variable) -> str:
    if variable.codes:
        return f"{len(variable.codes)} codes" + (", in order" if variable.is_ordered else "")
    if variable.lower is None:
        return "not declared"
    unit = f" {variable.unit}" if variable.unit else ""
    days = (" day" if variable.step == "1" else " days") if variable.type == "date" else ""
    step = "" if variable.step is None else f", in steps of {variable.step}{days}"
    return f"{variable.lower} to {variable.upper}{unit}{step}"


def _variable(variable: Variable) -> list[str]:
    lines = [f"### {cell(variable.name)}: {cell(variable.label)}", ""]
    if variable.description:
        lines += [cell(variable.description), ""]
    lines += bullets(_told(variable))
    if variable.codes:
        lines += _codes(variable)
    return lines


def _told(variable: Variable) -> Iterator[str]:
    if variable.question:
        yield f"Question: {variable.question}"
    if variable.concept:
        yield f"Concept: {variable.concept}"
    yield f"Values: {_values(variable)}"
    yield f"Nulls: {'possible' if variable.nullable else 'none'}"
    yield noise_in_words(variable)


def _codes(variable: Variable) -> list[str]:
    has_members = any(code.members for code in variable.codes)
    shown = variable.codes[:_CODES_SHOWN]
    head = ("code", "label", *(("holds",) if has_members else ()))
    rows = ((code.value, code.label, *((", ".join(code.members),) if has_members else ())) for code in shown)
    left = len(variable.codes) - len(shown)
    rest = f"{left} more codes stand in `{variable.code_list}`." if left else f"As a file: `{variable.code_list}`."
    return [*table(head, rows), rest, ""]
