"""``HOWTO_USE.md``: how to use published answers with their error, with the answers of exactly this package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trasgo_lib.reporting.answers_words import FITTED, INTERVALS, WITHHELD, Document
from trasgo_lib.reporting.markdown import cell, section

_ADDITIVE = frozenset({"count", "histogram", "crosstab", "sum"})

REACH = 2.1
"""Standard deviations within which 95 % of a sum of two or more noisy counts lie, Laplace or Gaussian: the sum of two
Laplace draws, which has the heaviest tail of them, passes it with probability 0.047."""

_COLUMNS = (
    "`query`, `type`, `key` (labels of the cell as `column=label`, joined by `; `): which answer it is",
    "`value`: what is published; empty where it is withheld, and `reason` says why: never read it as zero",
    "`noisy`: the same before post-processing. It is unbiased for counts and sums, so it is what may be added up",
    "`low`, `high`: the 95 % interval; empty for choices",
    "`post_processed`: what was done to the noisy number, in words; empty for nothing",
)
_RULES = (
    "A sum of k noisy counts has the square root of k times the standard deviation of one, not k times;"
    f" {REACH} of them either way hold 95 %. The standard deviation of one is the `scale` in `statement.json` for"
    " Gaussian noise, and for Laplace noise the root of 2a over (1 - a), with a = exp(-1 / scale).",
    "A difference of two answers is noise, as far as anyone can tell, while the interval of the difference holds 0.",
    "A share of a noisy count in a public total has the count's interval divided by the total. Of two noisy counts,"
    " take the corners of both intervals, and call it 90 %: each of the two may miss.",
    "Means over groups are not weighted by noisy counts without counting the error of both.",
    "Values that were cut at 0, rounded or fitted are biased one by one: show them, do not compute with them.",
    "Choices (quantiles, most frequent labels, best candidates) have no interval. What is known of them is how many"
    " rows they can be off: `margin_rows` in `data/answers.json`.",
    "Intervals count the noise only. For a statement about a population, add the variance of the sample:"
    " standard deviations add as squares.",
)


def answers_howto(statement: Document, answers: Document) -> str:
    """The how-to as Markdown, from the public documents alone.

    Args:
        statement: the content of ``statement.json``.
        answers: the content of ``answers.json``.
    """
    dataset, version = statement["dataset"], statement["version"]
    tables = _tables(statement, answers)
    lines = [f"# How to use the answers of {cell(dataset)}, version {cell(version)}", "", INTERVALS, ""]
    lines += [FITTED, "", WITHHELD, ""]
    lines += section("The columns of data/answers.csv")
    lines += [*(f"- {words}" for words in _COLUMNS), ""]
    lines += section("In Python", "Standard library only; run in this folder.")
    lines += ["```python", *_python(tables), "```", ""]
    lines += section("In R", "Base R only; run in this folder.")
    lines += ["```r", *_r(tables), "```", ""]
    lines += section("Rules")
    lines += [*(f"- {rule}" for rule in _RULES), ""]
    return "\n".join(lines).rstrip() + "\n"


def _tables(statement: Document, answers: Document) -> Sequence[tuple[str, float]]:
    """Queries of several counts with the standard deviation of one noisy number, largest first."""
    found = []
    for query, answer in zip(statement["queries"], answers["queries"], strict=True):
        whole = [one for one in answer["cells"] if one["noisy"] is not None]
        if query["type"] in _ADDITIVE and len(whole) > 1 and query["type"] != "sum":
            found.append((len(whole), query["name"], _deviation(query["parts"][0])))
    return [(name, deviation) for _, name, deviation in sorted(found, key=lambda one: -one[0])]


def _deviation(part: Document) -> float:
    """Standard deviation of one noisy number, in steps: sqrt(2 a) / (1 - a), a = exp(-1 / scale), or sigma."""
    from math import exp, sqrt

    if part["noise"] == "gaussian":
        return float(part["scale"])
    ratio = exp(-1 / part["scale"])
    return sqrt(2 * ratio) / (1 - ratio)


def _python(tables: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield from (
        "import csv",
        "",
        'with open("data/answers.csv", newline="", encoding="utf-8") as file:',
        "    answers = list(csv.DictReader(file))",
        "for one in answers:",
        '    told = f"{one[\'low\']} to {one[\'high\']}" if one["low"] else "no interval"',
        '    print(one["query"], one["key"], one["value"] or one["reason"], told)',
    )
    if tables:
        name, deviation = tables[0]
        yield from (
            "",
            f"# how many rows several cells of {name} hold together, with a 95 % interval",
            f'cells = [one for one in answers if one["query"] == "{name}" and one["noisy"]][:2]',
            'total = sum(float(one["noisy"]) for one in cells)',
            f"half = {REACH} * {deviation:.6g} * len(cells) ** 0.5  # {deviation:.6g}: of one cell's noise, see below",
            'print(f"{total:.0f}, 95 %: {total - half:.0f} to {total + half:.0f}")',
        )


def _r(tables: Sequence[tuple[str, float]]) -> Iterator[str]:
    yield from (
        'answers <- read.csv("data/answers.csv", stringsAsFactors = FALSE, na.strings = "")',
        'print(answers[, c("query", "key", "value", "low", "high")])',
    )
    if tables:
        name, deviation = tables[0]
        yield from (
            "",
            f"# how many rows several cells of {name} hold together, with a 95 % interval",
            f'cells <- head(answers[answers$query == "{name}" & !is.na(answers$noisy), ], 2)',
            "total <- sum(as.numeric(cells$noisy))",
            f"half <- {REACH} * {deviation:.6g} * sqrt(nrow(cells)) # {deviation:.6g}: of one cell's noise, see below",
            "print(c(total, total - half, total + half))",
        )
