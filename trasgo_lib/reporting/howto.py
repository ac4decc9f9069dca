"""``HOWTO_ANALYSE.md``: how to get right answers from exactly this release, for people who know its columns only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from trasgo_lib.reporting.howto_columns import HowtoColumn, howto_columns
from trasgo_lib.reporting.howto_r import figure, r_example, text
from trasgo_lib.reporting.markdown import cell, section, table

if TYPE_CHECKING:
    from trasgo_lib.reporting.column_use import Kind, Verdict

_LEAD = (
    "The rows of this release are not the private rows: each noised value was replaced at random under the law in"
    " `channel.json`. Tables, means, correlations and models of the rows as they are come out biased, mostly towards"
    " “everything is alike”, and their intervals hold the truth far too seldom. The law is known, so it can be undone.",
    "Every answer is an estimate with an interval. It is about the population that the rows are a simple random sample"
    " of; weights and clusters are not taken into account. Intervals count the draw of the rows and the noise.",
)

_VERDICTS = (
    "“Roughly”: at this number of rows, for evenly spread values, the interval covers more than a quarter of everything"
    " possible, and comes with a warning. “Not”: the noise hides it, or the column has no such thing. The figures"
    " are in the report."
)
_OPEN = "*"
_OPEN_WORDS = (
    f"{_OPEN} Too many values for a figure beforehand; the toolkit says how exact its answer is, or why it gives none."
)

_RULES = (
    "Values are unbiased, so a share can be below 0 and a correlation above 1; intervals are cut to what is possible.",
    "No answer: `value` is None and `reason` says why. A `NoiseWarning` says that an interval covers much of what is"
    " possible. Ask for several values as one, for fewer groups, or for means instead of variances.",
    "Every question takes `confidence=0.99` and the like, and `by=`: a public column or another noised one.",
    "Quantiles have intervals that hold at least what they say. Of numbers in bins they are interpolated within a bin,"
    " and `note` says so.",
    "Regressions are least squares with the noise of every column taken out; labels enter as dummies against the first."
    " They are refused where the noise hides how far the covariates spread.",
    "Correlations of ranks cannot be undone row by row; ask for a crosstab, or for Pearson's.",
    "Do not filter or join rows by a noised value, and do not put released values into a model as they are: group with"
    " `by=` instead.",
)


def howto_analyse(
    channel_document: dict[str, Any],
    statement_document: dict[str, Any],
    found: Mapping[str, Mapping[str, Verdict]] = MappingProxyType({}),
    *,
    has_csv: bool = True,
) -> str:
    """The how-to of one release as markdown; public, from public documents and the number of rows alone.

    Args:
        channel_document: the content of ``channel.json``.
        statement_document: the content of ``statement.json``.
        found: by column and kind of question, whether it is answered at this number of rows; as in the report.
        has_csv: whether the data are published as CSV, too.
    """
    columns = howto_columns(channel_document)
    public = tuple(statement_document["public_columns"])
    dataset, version = channel_document["dataset"], channel_document["version"]
    lines = [f"# How to analyse {cell(dataset)}, version {cell(version)}", ""]
    for paragraph in _LEAD:
        lines += [paragraph, ""]
    lines += section("Which question of which column")
    advice = [_advice(column, found.get(column.name, {})) for column in columns]
    lines += table(("column", "values", "noise", "ask for", "roughly", "not"), advice)
    lines += [_VERDICTS, ""]
    lines += [cell(_OPEN_WORDS), ""] if any(_OPEN in row[3] for row in advice) else []
    if public:
        lines += [f"Published unchanged, to be read as they are and to group by: {cell(', '.join(public))}.", ""]
    lines += section("In Python", "Needs the library `trasgo`, no key and no server; run in this folder.")
    lines += ["```python", *_python(columns, public), "```", ""]
    lines += section("What to know")
    lines += [*(f"- {rule}" for rule in _RULES), ""]
    lines += _closed_forms(columns)
    script = r_example(columns, dataset, has_csv=has_csv)
    if script:
        lines += section("In R", "Some of these figures by closed form, in base R: nothing to install.")
        lines += ["```r", *script.splitlines(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


@dataclass(frozen=True, slots=True)
class _Offer:
    """Something to ask a column for.

    Args:
        words: what.
        kind: the question of ``column_use`` whose verdict holds for it; empty where none does.
        otherwise: the verdict where there is no figure for it.
    """

    words: str
    kind: Kind | Literal[""] = ""
    otherwise: Verdict = "yes"


_OF_NUMBERS = (
    _Offer("mean", "mean"),
    _Offer("quantile", "mean"),
    _Offer("variance", "variance"),
    _Offer("correlation", "correlation"),
    _Offer("regression", "correlation"),
    _Offer("share of wide ranges", "share"),
    _Offer("shares of single values", otherwise="no"),
)
_OF_BINS = (
    _Offer("share of bins", "share"),
    _Offer("quantile (interpolated)", "mean"),
    _Offer("mean (give or take half a bin)", "mean"),
    _Offer("by="),
    _Offer("variance", "variance", "no"),
    _Offer("correlation", "correlation", "no"),
    _Offer("regression", "correlation", "no"),
)


def _offers(column: HowtoColumn) -> Iterator[_Offer]:
    if column.kind != "label":
        yield from _OF_NUMBERS if column.bins is None else _OF_BINS
        return
    has_ranks = column.is_whole or column.is_ordered or len(column.values) == 2
    yield _Offer("share", "share")
    yield _Offer("crosstab")
    yield from (_Offer("mean", "mean"), _Offer("quantile", "mean")) if column.is_whole else ()
    yield from (_Offer("correlation", "correlation"),) if has_ranks else ()
    yield _Offer("regression" if column.is_whole else "regression (as dummies)")
    yield _Offer("by=")
    yield from () if column.is_whole else (_Offer("mean", otherwise="no"),)
    yield from () if has_ranks else (_Offer("correlation", otherwise="no"),)


def _advice(column: HowtoColumn, verdicts: Mapping[str, Verdict]) -> tuple[str, ...]:
    name, noise = column.name, column.mechanism.replace("_", " ")
    noise += "" if column.bins is None else f", {column.bins} bins"
    if column.kind == "place":
        return name, "half of a point", noise, "counts of cells, by the law in channel.json", "", "anything else"
    if column.group is not None:
        noise += f", together with the other columns of {column.group}"
    found: dict[str, list[str]] = {"yes": [], "roughly": [], "no": []}
    for offer in _offers(column):
        is_open = bool(verdicts and offer.kind) and offer.kind not in verdicts and offer.otherwise == "yes"
        found[verdicts.get(offer.kind, offer.otherwise)].append(offer.words + (_OPEN if is_open else ""))
    return name, _values(column), noise, *(", ".join(words) for words in found.values())


def _values(column: HowtoColumn) -> str:
    missing = ", or missing" if column.has_missing else ""
    if column.kind == "label":
        shown = ", ".join(column.values[:4]) + (f" ... ({len(column.values)})" if len(column.values) > 4 else "")
        return shown + missing
    return f"{column.values[0]} to {column.values[1]} in steps of {column.values[2]}{missing}"


def _python(columns: Sequence[HowtoColumn], public: Sequence[str]) -> Iterator[str]:
    yield "from trasgo_lib.analysis import MISSING, open_release"
    yield ""
    yield 'release = open_release(".")  # verifies first; key="office.pem" also shows who published'
    yield "print(release)"
    labels = [column for column in columns if column.kind == "label"]
    numbers = [column for column in columns if column.is_scaled]
    binned = [column for column in columns if column.kind in ("number", "date") and not column.is_scaled]
    for column in labels[:1]:
        yield f"print(release.share({text(column.name)}))"
        if column.has_missing:
            yield f"print(release.share({text(column.name)}, MISSING))"
    if len(labels) > 1:
        yield f"print(release.crosstab({_names(labels[:2])}))"
    for column in [*numbers[:1], *binned[:1]]:
        name = text(column.name)
        yield f"print(release.mean({name}), release.quantile({name}), release.quantile({name}, 0.9))"
        for other in labels[:1]:
            yield f"print(release.mean({name}, by={text(other.name)}))"
        for known in public[:1]:
            yield f"print(release.quantile({name}, by={text(known)}))"
    if len(numbers) > 1:
        yield f"print(release.correlation({_names(numbers[:2])}, confidence=0.9))"
    covariates = [*numbers[1:2], *labels[:1]]
    if numbers and covariates:
        yield f"print(release.regression({text(numbers[0].name)}, [{_names(covariates)}]))"


def _names(columns: Sequence[HowtoColumn]) -> str:
    return ", ".join(text(column.name) for column in columns)


def _closed_forms(columns: Sequence[HowtoColumn]) -> list[str]:
    """What most columns need, for use in any other tool."""
    kept = [column for column in columns if column.kept is not None]
    ends = [column for column in columns if column.ends is not None]
    lines: list[str] = []
    if kept:
        lines += section(
            "Closed forms: randomised response",
            "A share `kept` of the rows keeps its value, the others draw one of `k` evenly. With `f` the published"
            " share: share = (f - (1 - kept) / k) / kept, standard error = sqrt(f (1 - f) / (n - 1)) / kept. Of columns"
            " in bins the shares are those of the bins.",
        )
        rows = ((column.name, column.places, figure(column.kept)) for column in kept if column.kept is not None)
        lines += table(("column", "k", "kept"), rows)
    if ends:
        lines += section(
            "Closed forms: two-sided geometric (Laplace) noise, clamped",
            "Only the two end values count as something else; then a plain mean is unbiased, and its standard error is"
            " the usual one.",
        )
        moved = (
            (column.name, f"{column.values[0]} as {figure(low)}", f"{column.values[1]} as {figure(high)}")
            for column in ends
            if column.ends is not None
            for low, high in (column.ends,)
        )
        lines += table(("column", "least value", "largest value"), moved)
    return lines
