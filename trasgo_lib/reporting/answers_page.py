"""``report.html`` of a statistics package: every answer with its interval, its noise and what it cost, with charts.

Made of the public documents alone, so it holds no figure that they do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trasgo_lib.amounts import Epsilon
from trasgo_lib.reporting import answers_words as words
from trasgo_lib.reporting.answers_words import Document
from trasgo_lib.reporting.central_sections import promise_section, strength_section
from trasgo_lib.reporting.charts import AnswerMark, Bar, answer_columns, answer_rows, stacked_bars
from trasgo_lib.reporting.markup import (
    Html,
    Page,
    Section,
    bullets,
    code,
    figure,
    key_facts,
    note,
    paragraph,
    table,
)

_ROWS_IN_A_CHART = 30
_COLUMNS_IN_A_CHART = 200
"""Cells that are drawn one below the other, and side by side; tables hold all of them."""

_BARS = 40


def render_answers_page(statement: Document, answers: Document, *, is_signed: bool, description: str = "") -> str:
    """The report as one HTML document.

    Args:
        statement: the content of ``statement.json``.
        answers: the content of ``answers.json``.
        is_signed: whether the package is signed.
        description: what the data are, for people.
    """
    pairs = list(zip(statement["queries"], answers["queries"], strict=True))
    lead: list[Html] = [paragraph(description)] if description else []
    lead.append(key_facts(_key_facts(statement, answers)))
    sections = [_overview(statement, pairs)]
    sections += [_answer(place, *pair, words.charge_of(pair[0], statement)) for place, pair in enumerate(pairs, 1)]
    sections += [
        promise_section(statement, "its answers", words.ONCE),
        strength_section(statement, "all answers together"),
    ]
    sections += [_budget(statement), _noise(pairs)]
    sections += [_use(), _verify(statement, is_signed)]
    return Page(
        title=statement["title"],
        above=f"Statistics report: {statement['dataset']}, version {statement['version']}",
        lead=tuple(lead),
        sections=tuple(sections),
        below=f"Made {statement['created']} by trasgo {statement['library_version']}, commit {statement['commit']}."
        " Every figure here follows from statement.json and data/answers.json beside it.",
    ).markup


def _key_facts(statement: Document, answers: Document) -> Iterator[tuple[str, object]]:
    spent = statement["spent"]
    yield "Rows", f"{answers['rows']:,}"
    yield "Questions", len(statement["queries"])
    yield "Numbers and choices", f"{sum(len(answer['cells']) for answer in answers['queries']):,}"
    yield "Epsilon spent", f"{spent['epsilon']} of {statement['epsilon_guarantee']}"
    if spent["delta"] != "0":
        yield "Delta spent", f"{spent['delta']} of {statement['delta_guarantee']}"
    yield "Protected", words.unit_words(statement)


def _overview(statement: Document, pairs: Sequence[tuple[Document, Document]]) -> Section:
    rows = [
        (query["name"], query["in_words"], words.answer_words(answer), words.charge_of(query, statement))
        for query, answer in pairs
    ]
    head = ("question", "in words", "answer", "cost")
    return Section(
        "answers",
        "Questions and answers",
        (table("overview", "All questions", head, rows, folded_from=60), note(words.INTERVALS)),
    )


def _answer(place: int, query: Document, answer: Document, paid: str) -> Section:
    body: list[Html] = [paragraph(f"{query['in_words']}.")]
    body += _chart(f"chart{place}", query, answer)
    body.append(_cells(f"cells{place}", answer))
    margin = words.margin_words(answer)
    body += [paragraph(margin)] if margin else []
    if answer["post_processed"]:
        body.append(paragraph("Post-processed:", f"{'; '.join(answer['post_processed'])}.", *_cautions(answer)))
    cost = f"Cost: {paid}."
    if margin:
        body.append(note(f"As drawn; not post-processed. {cost}"))
    else:
        drawn = "" if answer["post_processed"] else "As drawn; not post-processed. "
        body.append(note(f"{drawn}Noise: {query['half_width']}. {cost}"))
    return Section(f"query{place}", f"{query['name']} ({query['type']})", tuple(body))


def _cautions(answer: Document) -> Iterator[str]:
    if any(cell["noisy"] is not None and cell["noisy"] != cell["value"] for cell in answer["cells"]):
        yield words.FITTED
    if any(cell["value"] is None for cell in answer["cells"]) and answer["type"] in ("histogram", "crosstab"):
        yield words.WITHHELD


def _cells(name: str, answer: Document) -> Html:
    is_moved = any(cell["noisy"] is not None and cell["noisy"] != cell["value"] for cell in answer["cells"])
    has_spans = any(cell["low"] is not None for cell in answer["cells"])
    columns = list(dict.fromkeys(key for cell in answer["cells"] for key in cell["key"])) or [""]
    head = [
        *columns,
        "value",
        *(["95 % interval"] if has_spans else []),
        *(["before post-processing"] if is_moved else []),
    ]
    rows = []
    for cell in answer["cells"]:
        value = f"withheld: {cell['reason']}" if cell["value"] is None else words.value_words(cell["value"])
        row = [*(cell["key"].get(column, "all") for column in columns), value]
        row += [words.span_words(cell)] if has_spans else []
        row += [words.value_words(cell["noisy"])] if is_moved else []
        rows.append(row)
    return table(name, f"{answer['name']}: {len(rows)} {'answers' if len(rows) > 1 else 'answer'}", head, rows)


def _chart(key: str, query: Document, answer: Document) -> Iterator[Html]:
    """Points with whiskers, or columns where there are many cells; nothing for single numbers and choices."""
    marks = [
        AnswerMark(
            words.key_words(cell),
            float(cell["value"]),
            float(cell["low"]),
            float(cell["high"]),
            float(cell["noisy"]) if cell["noisy"] is not None and cell["noisy"] != cell["value"] else None,
        )
        for cell in answer["cells"]
        if cell["value"] is not None and cell["low"] is not None
    ]
    if len(marks) < 2:
        return
    asked = query["asked"]
    axis = "rows" if query["type"] in ("histogram", "crosstab") else f"{query['type']} of {asked['column']}"
    hidden = len(answer["cells"]) - len(marks)
    caption = f"Withheld cells are not drawn: {hidden}. " if hidden else ""
    if len(marks) <= _ROWS_IN_A_CHART:
        svg = answer_rows(key, marks, axis)
    else:
        shown = marks[:_COLUMNS_IN_A_CHART]
        caption += f"The first {len(shown)} of {len(marks)} cells. " if len(shown) < len(marks) else ""
        svg = answer_columns(key, shown, axis, ", ".join(answer["cells"][0]["key"]))
    said = f"{answer['name']}: {axis} by cell, with 95 % intervals. All values are in the table below."
    yield figure(svg, said, f"{caption}All values are in the table below.")


def _budget(statement: Document) -> Section:
    queries = sorted(statement["queries"], key=lambda query: -words.epsilon_of(query["cost"]).units)[:_BARS]
    kept = {query["name"] for query in queries}
    bars = [
        Bar(query["name"], (_float(words.epsilon_of(query["cost"])),), query["cost"]["epsilon"])
        for query in statement["queries"]
        if query["name"] in kept
    ]
    said = "Epsilon by question: " + "; ".join(f"{bar.name} {bar.text}" for bar in bars) + "."
    some = f"The {_BARS} dearest. " if len(statement["queries"]) > _BARS else ""
    rows = [
        (query["name"], query["cost"]["epsilon"], query["cost"]["delta"], _claims(query), query["numbers"])
        for query in statement["queries"]
    ]
    head = ("question", "epsilon", "delta", "claims of its parts", "numbers")
    together = words.charge_rows(statement)
    names, alone = ("charge", "questions", "cost", "why"), ", each by itself" if together else ""
    return Section(
        "budget",
        "What each answer cost",
        (
            paragraph(words.charged_words(statement)),
            *([table("together", "Charged together", names, together)] if together else []),
            figure(stacked_bars("budget", bars, "epsilon"), said, f"{some}All figures are in the table below."),
            table("charges", f"Budget by question{alone}", head, rows, folded_from=60),
        ),
    )


def _float(epsilon: Epsilon) -> float:
    return float(epsilon.fraction)


def _claims(query: Document) -> str:
    claims = []
    for part in query["parts"]:
        ((name, amount),) = part["claim"].items()
        claims.append(f"{part['name']} {name} {amount}")
    return "; ".join(claims)


def _noise(pairs: Sequence[tuple[Document, Document]]) -> Section:
    rows = [
        (
            query["name"],
            part["name"],
            words.LAWS[part["noise"]],
            f"{part['scale']:.6g}",
            words.moves_words(part),
            part["sensitivity"]["words"],
        )
        for query, _ in pairs
        for part in query["parts"]
    ]
    head = ("question", "part", "noise", "scale, steps", "sensitivity", "why")
    lead = (
        "The sensitivity of an answer is how far one privacy unit can move it, from the declared bounds and"
        " contributions alone. The scale of the noise follows from it and from the budget. A step is one row for"
        " counts, and for sums the smallest distance of the declared values."
    )
    return Section(
        "noise", "Where the noise comes from", (paragraph(lead), table("noises", "Noise", head, rows, folded_from=60))
    )


def _use() -> Section:
    body = (
        bullets(
            (
                "Give the interval with the value: a difference between two answers that is smaller than their"
                " intervals together may be noise.",
                "Add noisy counts, not rounded or cut ones: numbers before post-processing are unbiased and stand in"
                " the column noisy of data/answers.csv.",
                "Do not read a withheld cell as zero.",
            )
        ),
        paragraph("HOWTO_USE.md shows how, in Python and in R, with the answers of this package."),
    )
    return Section("use", "How to use these answers", body)


def _verify(statement: Document, is_signed: bool) -> Section:
    place = f"{statement['dataset']}/{statement['version']}"
    body: list[Html] = [
        paragraph("In a copy of this folder, offline and without a key:"),
        code(f"trasgo verify {place}"),
        bullets(
            (
                "every file is the one that the manifest lists, with its digest;",
                "the sensitivity of each answer is derived again from its question, the declared bounds and the"
                " contributions of a unit, and none that is stated is taken on trust;",
                "each scale of noise is at least what this sensitivity and the claim ask for; claims add up to what"
                " was charged, and that to what is stated;",
                "intervals have the width that the noise gives them, and every declared cell is there.",
            )
        ),
    ]
    if is_signed:
        body.append(paragraph("With the office's public key, got by another road, also who published it:"))
        body.append(code(f"trasgo verify {place} --key office.pem"))
    body.append(note("What cannot be checked from here: that the noise was drawn as is said. It is not keyed."))
    return Section("verify", "How to check this", tuple(body))
