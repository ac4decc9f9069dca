"""The parts of the public page that say what each column is good for, and what local noise costs."""

from __future__ import annotations

from collections.abc import Iterator

from trasgo_lib.budget import Cost, cost
from trasgo_lib.plan.words import displacement_m
from trasgo_lib.reporting.column_use import (
    FEWEST_ROWS,
    CentralComparison,
    Question,
    central_comparison,
    published_columns,
    questions,
)
from trasgo_lib.reporting.facts import ReleaseFacts
from trasgo_lib.reporting.figures import count_text, figure_text
from trasgo_lib.reporting.markup import Html, Section, code, note, paragraph, table

_VERDICTS = {"yes": "yes", "roughly": "roughly, with a warning", "no": "no: hidden by the noise"}
_BINS = "no: values within a bin are not told apart"
_FEW = f"no: fewer than {FEWEST_ROWS} rows"

_MANY = 61
"""This table is what many readers come for, so it is folded only where it is very long."""


def charged_per_row(facts: ReleaseFacts, unit: str) -> Cost:
    """What a unit's draws cost one row, all of them together."""
    return sum((cost(event, 1) for event in facts.draws(unit)), start=Cost.zero())


def columns(facts: ReleaseFacts) -> Section:
    """What can be asked of each column, how exactly, and what is refused."""
    asked = _questions(facts)
    named = {one.column for one in asked}
    head = ("column", "question", "standard error from the noise", "95 % interval, half its width", "unit", "answered")
    lead = (
        f"At {facts.rows:,} rows, for values spread evenly over the declared domain, so that no figure here tells"
        " anything of the data. The interval counts the noise, the draw of the rows from their population, and what"
        " the decoder may be off. “Roughly” covers more than a quarter of everything possible; “no” covers all of it,"
        " and the toolkit then gives the reason in place of a figure. Errors fall with the square root of the number of"
        " rows."
    )
    body: list[Html] = [
        paragraph(lead),
        table("use-table", "What an analyst can expect", head, _use_rows(asked), folded_from=_MANY),
    ]
    body.append(
        paragraph(
            "The rows must not be read as if they were the private ones: tables and correlations of them lean towards"
            " “everything is alike”. channel.json says how each column was changed, and the toolkit undoes it:"
        )
    )
    body.append(code(_example(facts)))
    silent = [column.name for column in published_columns(facts) if column.name not in named]
    if silent:
        body.append(note("Too many values for figures here; ask the toolkit:", ", ".join(silent) + "."))
    scaled = {one.column for one in asked if one.kind == "mean"} - {
        one.column for one in asked if one.kind == "variance"
    }
    if scaled:
        partly = ", ".join(column.name for column in published_columns(facts) if column.name in scaled)
        body.append(
            note(f"Too many values for figures of variances, shares and correlations here; ask the toolkit: {partly}.")
        )
    places = list(_places(facts))
    if places:
        head_of_places = ("column", "mean, m", "half are moved further than, m", "one in twenty further than, m")
        body.append(table("moves", "How far points are moved, before they snap to a cell", head_of_places, places))
    return Section("use", "What you can do with each column", tuple(body))


def _questions(facts: ReleaseFacts) -> list[Question]:
    return [one for column in published_columns(facts) for one in questions(column, facts.rows)]


def _use_rows(asked: list[Question]) -> Iterator[tuple[object, ...]]:
    for one in asked:
        error, half = figure_text(one.noise_error), figure_text(one.half_width)
        yield one.column, one.what, error, half, one.unit, _answered(one)


def _answered(one: Question) -> str:
    if one.rows < FEWEST_ROWS:
        return _FEW
    return _BINS if one.is_hidden_by_bins else _VERDICTS[one.verdict]


def _example(facts: ReleaseFacts) -> str:
    names = published_columns(facts)
    share = next((column.name for column in names if column.domain.kind == "category"), None)
    mean = next((column.name for column in names if column.domain.kind == "number"), None)
    lines = ["from trasgo_lib.analysis import open_release", ""]
    lines.append(f'release = open_release("{facts.plan.dataset}/{facts.plan.version}")  # verifies first')
    lines += [f'print(release.share("{share}"))  # every value, each with a 95 % interval'] if share else []
    lines += [f'print(release.mean("{mean}"))'] if mean else []
    return "\n".join(lines) + "\n"


def _places(facts: ReleaseFacts) -> Iterator[tuple[object, ...]]:
    for unit in facts.plan.units:
        if unit.type == "point" and unit.geo.units:
            yield unit.name, *(figure_text(metres) for metres in displacement_m(float(unit.geo.fraction) / 1000))


def central(facts: ReleaseFacts) -> Section | None:
    """The same figures under central noise at the same epsilon."""
    rows = facts.rows
    units = {column.name: column.unit for column in published_columns(facts)}
    compared: list[CentralComparison] = []
    for one in _questions(facts):
        epsilon = charged_per_row(facts, units[one.column]).epsilon
        found = central_comparison(one, epsilon, rows)
        if found is not None:
            compared.append(found)
    if not compared:
        return None
    lead = (
        "Noise was added to every row, so that the rows themselves can be published and asked anything. An office that"
        " publishes one table instead can add noise to the finished figure. The table compares the two at the same"
        " epsilon, for one figure each: an office would have to split its epsilon over all figures it wants, while a"
        " column here answers any number of questions at no further cost."
    )
    head = ("column", "figure", "epsilon", "noise here", "noise of a central table", "ratio", "rows are worth")
    notes = (
        "Noise: standard error from it alone. Central: Laplace noise with scale range/(rows x epsilon) for a mean and"
        " 1/(rows x epsilon) for a share. Rows are worth: so many rows without any noise would give the same error, the"
        f" draw of the rows included, out of {rows:,}; a bias, where there is one, is not counted."
    )
    return Section(
        "central",
        "What noise in every row costs",
        (paragraph(lead), table("central-table", "Local noise against central noise", head, _central(compared)),
         note(notes)),
    )  # fmt: skip


def _central(compared: list[CentralComparison]) -> Iterator[tuple[object, ...]]:
    for one in compared:
        asked = one.question
        what = f"{asked.what}, {asked.unit}" if asked.unit else asked.what
        errors = figure_text(asked.noise_error), figure_text(one.central_error)
        yield asked.column, what, one.epsilon, *errors, f"{figure_text(one.ratio)} times", count_text(asked.worth)
