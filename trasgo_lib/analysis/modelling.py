"""Regressions, and variances and correlations by group: questions that take the rows of several columns at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.columns import NoisedColumn, Value
from trasgo_lib.analysis.counting import PublishedRows
from trasgo_lib.analysis.lookup import Columns, refused
from trasgo_lib.analysis.usefulness import FEWEST_ROWS, too_few, warn
from trasgo_lib.estimation import Estimate, Factor, Products, least_squares

INTERCEPT = "(intercept)"

MOST_TERMS = 60
"""Coefficients of one regression: its decoded products are formed for every row."""

ROWS_A_TERM = 10
"""Rows for each coefficient; with fewer the sandwich is too narrow."""

LARGE_CONDITION = 30.0
"""Above it the covariates are hardly told apart: the usual rule for the condition of correlations."""

LEAST_CERTAIN_SCORE = 8.0
"""Below it the covariates' decoded variances are known to an eighth only, and so are the coefficients."""


def covariate_names(covariates: object) -> tuple[str, ...]:
    """The covariates of a question as names.

    Args:
        covariates: one name, or several.

    Raises:
        InputContractError: neither.
    """
    if isinstance(covariates, str):
        return (covariates,)
    if not isinstance(covariates, Iterable):
        came = type(covariates).__name__
        raise refused("covariates", "a column or a list of columns", came, 'Name them, as in ["age", "sex"].')
    return tuple(covariates)


@dataclass(frozen=True, slots=True)
class Model:
    """A linear model of noised columns.

    Args:
        what: in words.
        terms: names of the covariates' functions.
        columns: the covariates and, last, the outcome.
        factors: one a column, or the reason why the noise of one cannot be undone.
    """

    what: str
    terms: tuple[str, ...]
    columns: tuple[NoisedColumn, ...]
    factors: tuple[Factor, ...] | str = field(repr=False)

    @classmethod
    def of(cls, columns: Columns, outcome: str, covariates: tuple[str, ...]) -> Model:
        """The model of an outcome on covariates.

        Args:
            columns: of the release.
            outcome: a column of numbers or of two labels.
            covariates: other columns.

        Raises:
            InputContractError: no such column, the same one twice, no covariate, too many terms, or an outcome of more
                labels than two.
        """
        asked = [columns.column(name) for name in (*covariates, outcome)]
        if not covariates or len({column.name for column in asked}) < len(asked):
            came = "none" if not covariates else "the same column twice"
            raise refused("covariates", "one or more columns beside the outcome", came, "Name each column once.")
        last = asked[-1]
        numbers = last.numbers if last.numbers is not None or last.domain.size != 2 else last.ranks
        if numbers is None:
            raise refused(outcome, "an outcome of numbers, dates or two labels", "labels", "Ask for shares by group.")
        terms = tuple(term for column in asked[:-1] for term in _terms(column))
        if len(terms) > MOST_TERMS:
            raise refused("covariates", f"at most {MOST_TERMS} coefficients", f"{len(terms)}", "Name fewer columns.")
        scales = [*(column.numbers for column in asked[:-1]), numbers]
        what = f"regression of {outcome} on {', '.join(covariates)}"
        return cls(what, terms, tuple(asked), factors_of(asked, scales))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(column.name for column in self.columns)

    def fit(self, data: PublishedRows, by: NoisedColumn | str | None, confidence: float) -> dict[object, Estimate]:
        """Coefficients by term, or by group and term.

        Args:
            data: the released rows.
            by: a public column by name, a noised one, or None.
            confidence: of the intervals.
        """
        found: dict[object, Estimate] = {}
        fewest = max(FEWEST_ROWS, ROWS_A_TERM * (1 + len(self.terms)))
        for group, products in groups(data, self.columns, self.factors, by):
            what = self.what if by is None else f"{self.what} where {_name(by)} is {group}"
            if isinstance(products, str):
                given = dict.fromkeys((INTERCEPT, *self.terms), Estimate.none(products))
            elif products.rows.rows < fewest:
                given = dict.fromkeys((INTERCEPT, *self.terms), Estimate.none(f"fewer than {fewest} rows"))
            else:
                given = coefficients(products, self.terms, what, confidence)
            for term, estimate in given.items():
                found[term if by is None else (group, term)] = estimate
        return found


def _name(by: NoisedColumn | str) -> str:
    return by if isinstance(by, str) else by.name


def _terms(column: NoisedColumn) -> tuple[str, ...]:
    if column.numbers is not None:
        return (column.name,)
    return tuple(f"{column.name}={label}" for label in column.values[1 : column.domain.size])


def factors_of(
    columns: Sequence[NoisedColumn], scales: Sequence[NDArray[np.float64] | None]
) -> tuple[Factor, ...] | str:
    """What columns bring into products: a number as it is, labels as dummies against the first of them.

    Args:
        columns: the columns.
        scales: float64[inputs] each, what codes count as, NaN for missing; None for labels.

    Returns:
        One factor a column, or the reason why the noise of one cannot be undone.
    """
    found = []
    for column, numbers in zip(columns, scales, strict=True):
        if numbers is not None:
            factor = Factor.of_number(column.channel, numbers)
        else:
            codes = np.arange(column.channel.inputs)
            members = codes[:, None] == np.arange(1, column.domain.size)
            factor = Factor.of_sets(column.channel, codes < column.domain.size, members)
        if isinstance(factor, str):
            return factor
        found.append(factor.in_group(column.unit, column.noise_with(column)))
    return tuple(found)


def groups(
    data: PublishedRows,
    columns: Sequence[NoisedColumn],
    factors: Sequence[Factor] | str,
    by: NoisedColumn | str | None,
) -> Iterator[tuple[Value | None, Products | str]]:
    """Decoded products of some columns, whole or by group.

    Args:
        data: the released rows.
        columns: the columns.
        factors: one each, or the reason why the noise of one cannot be undone.
        by: a public column by name, a noised one, or None.

    Returns:
        Each group with its products, or the reason why they cannot be had.
    """
    if by is None:
        yield None, factors if isinstance(factors, str) else Products(factors, data.rows_of(columns))
    elif isinstance(by, str):
        for group, rows in data.rows_by(columns, by).items():
            yield group, factors if isinstance(factors, str) else Products(factors, rows)
    else:
        rows = data.rows_of([by, *columns])
        values, members = by.cells()
        for place, group in enumerate(values):
            found = Factor.of_sets(by.channel, members[:, place], members[:, :0])
            if isinstance(found, str) or isinstance(factors, str):
                yield group, factors if isinstance(factors, str) else str(found)
            else:
                yield group, Products((found.in_group(by.unit, by.noise_with(by)), *factors), rows)


def moments_by(
    data: PublishedRows,
    columns: Sequence[tuple[NoisedColumn, NDArray[np.float64] | None]],
    by: NoisedColumn | str,
    estimator: Callable[[Products, float], Estimate],
    confidence: float,
) -> dict[Value | None, Estimate]:
    """A moment of some columns within each group, not judged.

    Args:
        data: the released rows.
        columns: each column with what its codes count as.
        by: a public column by name, or a noised one.
        estimator: of the moment, from decoded products.
        confidence: of the intervals.
    """
    return _moments(data, columns, by, estimator, confidence)


def moments_of(
    data: PublishedRows,
    columns: Sequence[tuple[NoisedColumn, NDArray[np.float64] | None]],
    estimator: Callable[[Products, float], Estimate],
    confidence: float,
) -> Estimate:
    """The same over all rows."""
    return _moments(data, columns, None, estimator, confidence)[None]


def _moments(
    data: PublishedRows,
    columns: Sequence[tuple[NoisedColumn, NDArray[np.float64] | None]],
    by: NoisedColumn | str | None,
    estimator: Callable[[Products, float], Estimate],
    confidence: float,
) -> dict[Value | None, Estimate]:
    asked, scales = [column for column, _ in columns], [numbers for _, numbers in columns]
    found: dict[Value | None, Estimate] = {}
    for group, products in groups(data, asked, factors_of(asked, scales), by):
        if isinstance(products, str):
            found[group] = Estimate.none(products)
        else:
            found[group] = too_few(int(products.rows.rows)) or estimator(products, confidence)
    return found


def coefficients(products: Products, terms: Sequence[str], what: str, confidence: float) -> dict[str, Estimate]:
    """The coefficients of a model by term, with a warning where the covariates are hardly told apart.

    Args:
        products: of the covariates and, last, the outcome.
        terms: names of the covariates' functions.
        what: the model in words, for the warning.
        confidence: of the intervals.
    """
    found = least_squares(products, terms, confidence)
    if found.condition is not None and found.condition > LARGE_CONDITION:
        warn(f"{what}: the covariates are hardly told apart, condition number {found.condition:.0f}")
    elif found.score is not None and found.score < LEAST_CERTAIN_SCORE:
        warn(f"{what}: the noise leaves a standard error of {1 / found.score:.0%} on how far the covariates spread")
    return dict(zip((INTERCEPT, *terms), found.coefficients, strict=True))
