"""The part of the how-to in R: base R, the CSV file and the figures of this release, nothing to install."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from trasgo_lib.reporting.howto_columns import HowtoColumn

_MOST_LABELS = 12
"""Longer code lists are not written out in an example."""

_MISSING = "(missing)"

_UNDO = """
# randomised response keeps a share `kept` of the rows; the others draw one of the k values evenly
undo <- function(f, kept) (f - (1 - kept) * sum(f) / length(f)) / kept"""


def r_example(columns: Sequence[HowtoColumn], dataset: str, *, has_csv: bool) -> str:
    """A script that can be run in the folder of the release, or an empty text where no closed form fits.

    Args:
        columns: the noised columns.
        dataset: its name, as in the names of its data files.
        has_csv: whether the CSV file is published.
    """
    labels = [column for column in columns if _has_short_labels(column)]
    numbers = [column for column in columns if column.ends is not None]
    if not labels and not numbers:
        return ""
    alone = next(((one, two) for one in labels for two in labels if one is not two and _are_apart(one, two)), None)
    blocks = [_reading(dataset, has_csv=has_csv), *([_UNDO] if labels else [])]
    blocks += [_shares(labels[0])] if labels else []
    blocks += [_crosstab(*alone)] if alone else []
    blocks += [_mean(numbers[0])] if numbers else []
    blocks += [_mean_by(numbers[0], labels[0])] if numbers and labels else []
    blocks += [_slope(numbers[0], numbers[1])] if len(numbers) > 1 else []
    return "\n".join(blocks).strip() + "\n"


def text(value: str) -> str:
    """A text as R and Python both write it."""
    return json.dumps(value, ensure_ascii=False)


def figure(value: Fraction) -> str:
    """Ten significant digits, more than any estimate has."""
    return f"{float(value):.10g}"


def _has_short_labels(column: HowtoColumn) -> bool:
    return column.kind == "label" and column.kept is not None and len(column.values) <= _MOST_LABELS


def _are_apart(one: HowtoColumn, two: HowtoColumn) -> bool:
    return one.group is None or one.group != two.group


def _reading(dataset: str, *, has_csv: bool) -> str:
    if has_csv:
        path = text(f"data/{dataset}.csv")
        read = f'd <- read.csv({path}, colClasses = "character", na.strings = "", check.names = FALSE)'
    else:
        path = text(f"data/{dataset}.parquet")
        read = f"d <- as.data.frame(arrow::read_parquet({path})); d[] <- lapply(d, as.character)"
    return f"# run in the folder of the release\n{read}\nn <- nrow(d)"


def _factor(column: HowtoColumn) -> str:
    """A column of labels, a missing value as one more where it is one."""
    values = f"d[[{text(column.name)}]]"
    if not column.has_missing:
        return f"factor({values}, c({', '.join(map(text, column.values))}))"
    labels = ", ".join(map(text, (*column.values, _MISSING)))
    return f"factor(ifelse(is.na({values}), {text(_MISSING)}, {values}), c({labels}))"


def _kept(column: HowtoColumn) -> str:
    return figure(column.kept or Fraction(1))


def _shares(column: HowtoColumn) -> str:
    return f"""
# shares of {_comment(column.name)}
kept <- {_kept(column)}
f <- table({_factor(column)}) / n
print(data.frame(share = c(undo(f, kept)), se = c(sqrt(f * (1 - f) / (n - 1)) / kept)))"""


def _crosstab(one: HowtoColumn, two: HowtoColumn) -> str:
    return f"""
# {_comment(one.name)} by {_comment(two.name)}, jointly: undone along rows, then along columns
both <- table({_factor(one)},
              {_factor(two)}) / n
both <- apply(both, 2, undo, kept = {_kept(one)})
print(t(apply(both, 1, undo, kept = {_kept(two)})))"""


def _mean(column: HowtoColumn) -> str:
    low, high = column.ends or (Fraction(0), Fraction(0))
    name, lower, upper = text(column.name), *column.values[:2]
    return f"""
# mean of {_comment(column.name)}: only its two end values count as something else
y <- as.numeric(d[[{name}]])
y <- ifelse(y == {lower}, {figure(low)}, ifelse(y == {upper}, {figure(high)}, y))
print(c(mean = mean(y), se = sd(y) / sqrt(n)))"""


def _mean_by(number: HowtoColumn, label: HowtoColumn) -> str:
    return f"""
# mean of {_comment(number.name)} by {_comment(label.name)}: totals and shares undone, then divided
g <- {_factor(label)}
total <- sapply(levels(g), function(v) mean(y * (g %in% v)))
print(undo(total, {_kept(label)}) / undo(c(table(g) / n), {_kept(label)}))"""


def _slope(outcome: HowtoColumn, covariate: HowtoColumn) -> str:
    """In code steps the decoder of x^2 is x^2 - 2A(A+1) inside, -A and N^2 + A(2N - 1) at the ends, A = a/(1-a)."""
    low = (covariate.ends or (Fraction(0), Fraction(0)))[0]
    lower, upper, step = (Fraction(value) for value in covariate.values[:3])
    moved = (lower - low) / step
    last = (upper - lower) / step
    return f"""
# slope of {_comment(outcome.name)} on {_comment(covariate.name)}: the noise is taken out of the covariate's variance
j <- round((as.numeric(d[[{text(covariate.name)}]]) - {figure(lower)}) / {figure(step)})
x <- ifelse(j == 0, {figure(-moved)}, ifelse(j == {figure(last)}, {figure(last + moved)}, j))
x2 <- ifelse(j == 0, {figure(-moved)}, ifelse(j == {figure(last)}, {figure(last**2 + moved * (2 * last - 1))},
             j^2 - {figure(2 * moved * (moved + 1))}))
print(c(slope = (mean(x * y) - mean(x) * mean(y)) / (mean(x2) - mean(x)^2) / {figure(step)}))"""


def _comment(name: str) -> str:
    return " ".join(name.split())
