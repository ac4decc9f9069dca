"""Least squares on private values, from released ones: errors in variables whose law is published.

The normal equations are estimated without bias, product by product, and solved. What is a ratio of two noisy figures
has no normal law when the lower one is noisy, so intervals are Fieller's: the numbers b for which the score of the
model with the coefficient held at b is not ruled out. With one covariate that is the set of b with
``|cov(x, y) - b var(x)| <= z se(b)``. Standard errors are the sandwich's: rows may scatter unevenly.

Source:
    Fuller (1987), Measurement Error Models, sections 2.2 and 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation.estimate import CONFIDENCE, Estimate, normal_point
from trasgo_lib.estimation.fieller import LEAST_SCORE, fieller
from trasgo_lib.estimation.products import Products

Floats = NDArray[np.float64]

HIDDEN_ROWS = "the noise hides how many rows count"


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Coefficients of least squares.

    Args:
        coefficients: one a term, the intercept first.
        condition: of the correlations of the covariates, the noise taken out: largest over least eigenvalue; 1 for
            covariates that have nothing to do with each other; None without a fit.
        score: how many standard errors the least eigenvalue lies above 0; None without a fit.
    """

    coefficients: tuple[Estimate, ...]
    condition: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class _Direction:
    """A weighted sum of the coefficients: its value, and the score that tests it.

    Args:
        value: of the sum.
        along: float64[terms], how the coefficients move when the sum is held one higher.
    """

    value: float
    along: Floats = field(repr=False)


def least_squares(products: Products, terms: Sequence[str], confidence: float = CONFIDENCE) -> LinearModel:
    """Regress the last function on all others, with an intercept.

    Args:
        products: of the covariates' functions and, last, the outcome's.
        terms: names of the covariates' functions in order, for reasons.
        confidence: of the intervals.

    Returns:
        Coefficients in the units of the functions before they were standardised; without a value, and with the reason,
        where the covariates' decoded variances are not clearly above 0.
    """
    moments, width = products.moments(), products.size - 1
    gram, scores = moments[:width, :width], moments[:width, width]
    spread = _Spread.of(gram)
    if isinstance(spread, int):
        return _refused(width, _hidden(terms, spread))
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        return _refused(width, _alike(terms))
    beta = inverse @ scores
    directions = [
        _Direction(float(unit @ beta), inverse @ unit / float(unit @ inverse @ unit)) for unit in _in_units(products)
    ]
    residual = np.append(-beta, 1.0)
    covariance = products.covariance(_weights(spread.directions, directions, residual))
    checks = len(spread.directions)
    standing = spread.standing(gram, np.diag(covariance)[:checks])
    fault = _fault(standing, spread.least, terms)
    if fault is not None:
        return _refused(width, fault)
    found = []
    for place, direction in enumerate(directions):
        of_both, biases = covariance[_pair(checks + 2 * place)], _biases(products, direction, residual)
        slope, point = float(direction.along @ gram @ direction.along), normal_point(confidence)
        found.append(fieller(direction.value, slope, of_both, point=point, hidden=_alike(terms), biases=biases))
    first = _moved(found[0], float(products.factors[-1].centre[0]))
    return LinearModel((first, *found[1:]), spread.condition, float(standing[-1]))


def _fault(standing: Floats, least: float, terms: Sequence[str]) -> str | None:
    """Why a model is not given: rows, a covariate or their least eigenvalue does not stand clearly above 0."""
    low = np.flatnonzero(~(standing >= LEAST_SCORE))
    if least > 0 and len(low) == 0:
        return None
    if len(low) and low[0] == 0:
        return HIDDEN_ROWS
    if len(low) and low[0] <= len(terms):
        return _hidden(terms, int(low[0]) - 1)
    return _alike(terms)


@dataclass(frozen=True, slots=True)
class _Spread:
    """How far covariates spread and how alike they are, with the directions whose scores show it.

    Args:
        directions: the constant, each covariate about its mean, and the least eigenvector.
        least: the least eigenvalue of the correlations; 1 without covariates.
        condition: largest over least; 1 without covariates.
    """

    directions: tuple[Floats, ...] = field(repr=False)
    least: float
    condition: float

    @classmethod
    def of(cls, gram: Floats) -> _Spread | int:
        """From the decoded Gram matrix, the constant first; or the place of a covariate that does not seem to vary."""
        width = len(gram)
        constant = np.eye(width)[0]
        if width == 1 or gram[0, 0] <= 0:
            return cls((constant,), 1.0, 1.0)
        means = gram[0, 1:] / gram[0, 0]
        spread = gram[1:, 1:] / gram[0, 0] - np.outer(means, means)
        variances = np.diag(spread)
        if variances.min() <= 0:
            return int(np.argmin(variances))
        deviations = np.sqrt(variances)
        values, vectors = np.linalg.eigh(spread / np.outer(deviations, deviations))
        each = np.concatenate([-means[:, None], np.eye(width - 1)], axis=1)
        weakest = (vectors[:, 0] / deviations) @ each
        least = float(values[0])
        condition = float(values[-1] / least) if least > 0 else np.inf
        return cls((constant, *each, weakest), least, condition)

    def standing(self, gram: Floats, variances: Floats) -> Floats:
        """How many standard errors each direction's decoded square lies above 0: float64[directions]."""
        levels = np.array([float(one @ gram @ one) for one in self.directions])
        errors = np.sqrt(np.maximum(variances, 0.0))
        standing: Floats = np.divide(levels, errors, out=np.full(len(levels), np.inf), where=errors > 0)
        return standing


def _in_units(products: Products) -> list[Floats]:
    """Weights of the standardised coefficients in each coefficient as it was asked for, the intercept first."""
    covariates, outcome = products.factors[:-1], products.factors[-1]
    centre = np.concatenate([factor.centre for factor in covariates] or [np.zeros(0)])
    scale = np.concatenate([factor.scale for factor in covariates] or [np.zeros(0)])
    slopes = np.concatenate([np.zeros((len(scale), 1)), np.diag(1 / scale)], axis=1)
    return [weights * outcome.scale[0] for weights in (np.append(1.0, -centre / scale), *slopes)]


def _weights(checks: Sequence[Floats], directions: Sequence[_Direction], residual: Floats) -> Floats:
    """Weights of products, float64[sums, size, size]: the checks, and score and slope of every direction."""
    padded = [np.append(check, 0.0) for check in checks]
    weights = [np.outer(check, check) for check in padded]
    for direction in directions:
        along = np.append(direction.along, 0.0)
        weights += [np.outer(along, residual), np.outer(along, along)]
    return np.stack(weights)


def _pair(place: int) -> tuple[slice, slice]:
    return slice(place, place + 2), slice(place, place + 2)


def _biases(products: Products, direction: _Direction, residual: Floats) -> tuple[float, float]:
    """What biased decoders can add to score and slope of a direction."""
    along = np.abs(np.append(direction.along, 0.0))
    bias = products.bias
    return float(along @ bias @ np.abs(residual)), float(along @ bias @ along)


def _moved(estimate: Estimate, by: float) -> Estimate:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    return replace(estimate, value=estimate.value + by, low=estimate.low + by, high=estimate.high + by)


def _refused(width: int, reason: str) -> LinearModel:
    return LinearModel((Estimate.none(reason),) * width)


def _hidden(terms: Sequence[str], place: int) -> str:
    return f"the noise hides how far {terms[place]} spreads"


def _alike(terms: Sequence[str]) -> str:
    if len(terms) == 1:
        return _hidden(terms, 0)
    return f"the noise hides how far {', '.join(terms)} vary apart from each other"
