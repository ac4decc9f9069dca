"""``report.md`` of a statistics package: every answer with its noise, interval and cost, as plain text."""

from __future__ import annotations

from trasgo_lib.reporting import answers_words as words
from trasgo_lib.reporting.answers_words import Document
from trasgo_lib.reporting.markdown import bullets, cell, section, table


def answers_report(statement: Document, answers: Document) -> str:
    """The report as Markdown, from the public documents alone.

    Args:
        statement: the content of ``statement.json``.
        answers: the content of ``answers.json``.
    """
    spent = f"{words.cost_words(statement['spent'])} of at most epsilon {statement['epsilon_guarantee']}"
    lines = [f"# {cell(statement['title'])}", ""]
    lines += [
        f"{answers['rows']:,} rows. Protected: {cell(words.unit_words(statement))}. All answers together cost {spent}.",
        "",
        statement["guarantee"],
        "",
        words.INTERVALS,
        "",
    ]
    for query, answer in zip(statement["queries"], answers["queries"], strict=True):
        lines += _query(query, answer)
    lines += section("What it cost")
    lines += table(("query", "cost"), ((q["name"], words.charge_of(q, statement)) for q in statement["queries"]))
    if together := words.charge_rows(statement):
        lines += [words.charged_words(statement), ""]
        lines += table(("charged together", "queries", "cost", "why"), together)
    lines += section("Not covered")
    lines += bullets(statement["not_covered"])
    return "\n".join(lines).rstrip() + "\n"


def _query(query: Document, answer: Document) -> list[str]:
    lines = section(
        f"{query['name']} ({query['type']})",
        f"{cell(query['in_words'])}. Cost: {cell(words.cost_words(query['cost']))}.",
    )
    rows = []
    for one in answer["cells"]:
        value = f"withheld: {one['reason']}" if one["value"] is None else words.value_words(one["value"])
        rows.append((words.key_words(one), value, words.span_words(one)))
    lines += table(("cell", "value", "95 %"), rows)
    told = [f"Noise: {query['half_width']}.", *words.noise_sentences(query)]
    told += [margin] if (margin := words.margin_words(answer)) else []
    if answer["post_processed"]:
        told += [f"Post-processed: {'; '.join(answer['post_processed'])}."]
    return [*lines, *bullets(told)]
