"""A made-up population whose every figure is known, releases of rows drawn from it, and questions about them.

Rows are drawn anew and noised anew for every key, straight through the channels, without a file. The release that is
asked is the analyst's own; only its rows come from memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from types import MappingProxyType

import numpy as np

from trasgo_lib.analysis import MISSING, Estimate, NoisedColumn, Release
from trasgo_lib.data import CategoryDomain, NumberDomain, ProductDomain
from trasgo_lib.estimation import CodeRows
from trasgo_lib.mechanisms import build_channel, kept_share, margin
from trasgo_lib.noise import Keystream

REGIONS = CategoryDomain(codes=["north", "east", "south", "west"])
AGES = NumberDomain(lower="0", upper="36", step="2")
PAY = NumberDomain(lower="0", upper="100", step="5")
SEXES = CategoryDomain(codes=["f", "m"])
LEVELS = CategoryDomain(codes=["low", "middle", "high"], ordered=True)
BOTH = ProductDomain([("sex", SEXES, None), ("level", LEVELS, None)])
WAVES = ("2025", "2026")

NAMES = ("region", "age", "pay", "wave", "gap", "sex", "level")
AXES = np.ix_(*(np.arange(size, dtype=np.float64) for size in (4, 19, 21, 2, 2, 2, 3)))


def _normal(place: np.ndarray, middle: np.ndarray, spread: float) -> np.ndarray:
    return np.exp(-0.5 * ((place - middle) / spread) ** 2)


def population() -> np.ndarray:
    """Probability of every combination: float64[4, 19, 21, 2, 2, 2, 3], axes in the order of ``NAMES``."""
    region, age, pay, wave, gap, sex, level = AXES
    of_age = (1 + age) * np.exp(-age / (3.0 + region))  # skewed
    of_pay = _normal(pay, 6 + 0.35 * age + 1.2 * region - 0.5 * sex + wave, 3.0)
    of_pay = of_pay / of_pay.sum(axis=2, keepdims=True)
    of_gap = np.where(gap == 1, 0.1 + 0.02 * region, 0.9 - 0.02 * region)
    of_sex = np.where(sex == 1, 0.35 + 0.02 * age, 0.65 - 0.02 * age)
    of_level = np.exp(level * (age - 8) / 12) * np.where(level == 2, 0.7, 1.0)
    of_level = of_level / of_level.sum(axis=6, keepdims=True)
    of_wave = np.where(wave == 1, 0.4 + 0.05 * region, 0.6 - 0.05 * region)
    law = (4 - region) * of_age * of_pay * of_gap * of_sex * of_level * of_wave
    return law / law.sum()


LAW = population()
_STEPS = np.cumsum(LAW.ravel())


def law_of(*names: str) -> np.ndarray:
    """Probabilities of some variables jointly, in the order of ``NAMES``."""
    return LAW.sum(axis=tuple(axis for axis, name in enumerate(NAMES) if name not in names))


@lru_cache(maxsize=16)
def columns(epsilon: str) -> dict[str, NoisedColumn]:
    """A category, two Laplace numbers, one in bins, one with a missing code, and a group, each at one epsilon."""
    both = build_channel("kary_randomized_response", BOTH, epsilon)
    found = {
        "region": build_channel("kary_randomized_response", REGIONS, epsilon),
        "age": build_channel("laplace", AGES, epsilon),
        "pay": build_channel("laplace", PAY, epsilon),
        "binned": build_channel("binned_randomized_response", AGES, epsilon, bins=6),
        "gaps": build_channel("laplace", AGES, epsilon, missing=True),
    }
    domains = {"region": REGIONS, "age": AGES, "pay": PAY, "binned": AGES, "gaps": AGES}
    noised = {name: NoisedColumn(name, name, domains[name], channel) for name, channel in found.items()}
    for name in ("sex", "level"):
        domain, law = BOTH.part(name).domain, margin(both, BOTH, name)
        noised[name] = NoisedColumn(name, "both", domain, law, kept_share(both))
    return noised


TOGETHER = (
    ("region", "age", "pay"),
    ("region", "pay", "sex", "level"),
    ("pay", "gaps"),
    ("pay", "binned"),
)
"""Columns that some question asks about together; the counts of all questions are sums over these four tables."""


@dataclass(frozen=True)
class SimulatedRows:
    """Released rows in memory, counted as those of a file are.

    Args:
        codes: released codes by column.
        groups: codes of the public column ``wave``.
        sizes: number of published codes by column.
    """

    codes: dict[str, np.ndarray] = field(repr=False)
    groups: np.ndarray = field(repr=False)
    sizes: dict[str, int] = field(repr=False)
    _counted: dict[tuple[str, ...], np.ndarray] = field(default_factory=dict, repr=False)

    def count(self, column: NoisedColumn) -> np.ndarray:
        """Rows by published code."""
        return self._table(column)

    def count_pairs(self, left: NoisedColumn, right: NoisedColumn) -> np.ndarray:
        """Rows by pair of published codes."""
        return self._table(left, right)

    def count_by(self, column: NoisedColumn, public: str) -> dict[object, np.ndarray]:
        """Rows by published code in each wave."""
        return {wave: self._table(column, wave=place) for place, wave in enumerate(WAVES)}

    def rows_of(self, asked: list[NoisedColumn]) -> CodeRows:
        """Rows of several columns, equal ones counted once."""
        return _code_rows(self._table(*asked))

    def rows_by(self, asked: list[NoisedColumn], public: str) -> dict[object, CodeRows]:
        """The same in each wave."""
        return {wave: _code_rows(self._table(*asked, wave=place)) for place, wave in enumerate(WAVES)}

    def _table(self, *asked: NoisedColumn, wave: int | None = None) -> np.ndarray:
        """Rows by combination of published codes: int64[outputs, ...]."""
        names = tuple(column.name for column in asked)
        together = next(together for together in TOGETHER if set(names) <= set(together))
        whole = self._whole(together)  # int64[outputs, ..., waves]
        kept = whole.sum(axis=-1) if wave is None else whole[..., wave]
        others = tuple(axis for axis, name in enumerate(together) if name not in names)
        left = [name for name in together if name in names]
        return kept.sum(axis=others).transpose([left.index(name) for name in names])

    def _whole(self, together: tuple[str, ...]) -> np.ndarray:
        """The table of columns that questions ask about together, and of the wave; counted once for all questions."""
        if together not in self._counted:
            sizes = (*(self.sizes[name] for name in together), len(WAVES))
            places = np.ravel_multi_index((*(self.codes[name] for name in together), self.groups), sizes)
            self._counted[together] = np.bincount(places, minlength=prod(sizes)).reshape(sizes)
        return self._counted[together]


def _code_rows(table: np.ndarray) -> CodeRows:
    """The combinations that occur, in their order, and how often."""
    held = np.nonzero(table)
    return CodeRows(np.stack(held, axis=1), table[held].astype(np.float64))


@lru_cache(maxsize=1)
def private_rows(label: str, key: int, rows: int) -> dict[str, np.ndarray]:
    """Codes of rows drawn from the population, the same ones at every epsilon."""
    words = Keystream(bytes(32), "people", label, key).words(0, rows).astype(np.float64) / 2.0**64
    cells = np.minimum(np.searchsorted(_STEPS, words, side="right"), LAW.size - 1)
    codes = dict(zip(NAMES, (axis.astype(np.int32) for axis in np.unravel_index(cells, LAW.shape)), strict=True))
    codes["gaps"] = np.where(codes["gap"] == 1, AGES.size, codes["age"]).astype(np.int32)
    return codes | {"binned": codes["age"]}


def simulate(label: str, key: int, rows: int, epsilon: str) -> Release:
    """The release of one key."""
    private, noised = private_rows(label, key, rows), columns(epsilon)
    codes = {
        name: column.channel.sample(private[name], Keystream(bytes(32), "noise", label, epsilon, name, key))
        for name, column in noised.items()
        if column.kept is None
    }
    both = build_both(epsilon).sample(
        BOTH.encode(private["sex"], private["level"]), Keystream(bytes(32), "noise", label, epsilon, "both", key)
    )
    codes |= dict(zip(("sex", "level"), BOTH.decode(both), strict=True))
    sizes = {name: column.channel.outputs for name, column in noised.items()}
    data = SimulatedRows(codes, private["wave"], sizes)
    return Release("memory:", "people", "1", rows, MappingProxyType(noised), ("wave",), data)  # type: ignore[arg-type]


@lru_cache(maxsize=16)
def build_both(epsilon: str) -> object:
    """The channel of the group."""
    return build_channel("kary_randomized_response", BOTH, epsilon)


def _mean(values: np.ndarray, weights: np.ndarray | float = 1.0) -> float:
    law = LAW * weights
    return float((law * values).sum() / law.sum())


def _spread(left: np.ndarray, right: np.ndarray, weights: np.ndarray | float = 1.0) -> float:
    return _mean(left * right, weights) - _mean(left, weights) * _mean(right, weights)


def _correlation(left: np.ndarray, right: np.ndarray, weights: np.ndarray | float = 1.0) -> float:
    scale = _spread(left, left, weights) * _spread(right, right, weights)
    return _spread(left, right, weights) / np.sqrt(scale)


def _quantile(values: np.ndarray, q: float, weights: np.ndarray | float = 1.0) -> float:
    law = (LAW * weights).ravel()
    flat = np.broadcast_to(values, LAW.shape).ravel()
    order = np.argsort(flat, kind="stable")
    share = np.cumsum(law[order]) / law.sum()
    return float(flat[order][np.searchsorted(share, q * (1 - 1e-12))])


def _slopes(outcome: np.ndarray, covariates: list[np.ndarray], weights: np.ndarray | float = 1.0) -> np.ndarray:
    law = np.sqrt((LAW * weights).ravel())
    flat = [np.broadcast_to(column, LAW.shape).ravel() for column in (np.ones(1), *covariates, outcome)]
    design = np.stack(flat, axis=1) * law[:, None]
    return np.linalg.lstsq(design[:, :-1], design[:, -1], rcond=None)[0]


REGION, AGE, PAYS, WAVE, GAP, SEX, LEVEL = AXES
AGE, PAYS = 2 * AGE, 5 * PAYS
SOUTH, HERE, SECOND = REGION == 2, GAP == 0, WAVE == 1
OF_REGION = [(code == REGION).astype(float) for code in (1, 2, 3)]
OF_LEVEL = [(code == LEVEL).astype(float) for code in (1, 2)]


@dataclass(frozen=True)
class Question:
    """A question with a known answer.

    Args:
        truth: the answer in the population.
        ask: of a release.
        is_at_least: whether the interval covers at least what it says, as those of quantiles and of bins do.
    """

    truth: float
    ask: Callable[[Release], Estimate]
    is_at_least: bool = False


QUESTIONS = {
    "share, label": Question(_mean(SOUTH), lambda r: r.share("region", "south")),
    "share, label by public": Question(_mean(SOUTH, SECOND), lambda r: r.share("region", "south", by="wave")[WAVES[1]]),
    "share, label by group column": Question(
        _mean(SOUTH, SEX == 1), lambda r: r.share("region", "south", by="sex")["m"]
    ),
    "share, range of a number": Question(_mean(AGE <= 14), lambda r: r.share("age", range(0, 16, 2))),
    "share, bin": Question(_mean((AGE >= 8) & (AGE <= 12)), lambda r: r.share("binned")[10], True),
    "share, missing": Question(_mean(GAP), lambda r: r.share("gaps", MISSING)),
    "crosstab, label and label": Question(
        _mean(SOUTH * (SEX == 1)), lambda r: r.crosstab("region", "sex")["south", "m"]
    ),
    "crosstab, in a group": Question(
        _mean((SEX == 1) * (LEVEL == 2)), lambda r: r.crosstab("sex", "level")["m", "high"]
    ),
    "crosstab, by public": Question(
        _mean(SOUTH * (SEX == 1), SECOND), lambda r: r.crosstab("region", "sex", by="wave")[WAVES[1], "south", "m"]
    ),
    "crosstab, by label": Question(
        _mean((SEX == 1) * (LEVEL == 2), SOUTH), lambda r: r.crosstab("sex", "level", by="region")["south", "m", "high"]
    ),
    "crosstab, by group column": Question(
        _mean(SOUTH * (LEVEL == 2), SEX == 1), lambda r: r.crosstab("region", "level", by="sex")["m", "south", "high"]
    ),
    "mean": Question(_mean(PAYS), lambda r: r.mean("pay")),
    "mean, bins": Question(_mean(AGE), lambda r: r.mean("binned"), True),
    "mean, past missing": Question(_mean(AGE, HERE), lambda r: r.mean("gaps")),
    "mean, by public": Question(_mean(PAYS, SECOND), lambda r: r.mean("pay", by="wave")[WAVES[1]]),
    "mean, by label": Question(_mean(PAYS, SOUTH), lambda r: r.mean("pay", by="region")["south"]),
    "median": Question(_quantile(PAYS, 0.5), lambda r: r.quantile("pay"), True),
    "quantile 0.9": Question(_quantile(AGE, 0.9), lambda r: r.quantile("age", 0.9), True),
    "median, bins": Question(_quantile(AGE, 0.5), lambda r: r.quantile("binned"), True),
    "median, past missing": Question(_quantile(AGE, 0.5, HERE), lambda r: r.quantile("gaps"), True),
    "median, by label": Question(_quantile(PAYS, 0.5, SOUTH), lambda r: r.quantile("pay", by="region")["south"], True),
    "variance": Question(_spread(PAYS, PAYS), lambda r: r.variance("pay")),
    "variance, by label": Question(_spread(PAYS, PAYS, SOUTH), lambda r: r.variance("pay", by="region")["south"]),
    "correlation": Question(_correlation(AGE, PAYS), lambda r: r.correlation("age", "pay")),
    "correlation, past missing": Question(_correlation(AGE, PAYS, HERE), lambda r: r.correlation("gaps", "pay")),
    "correlation, in a group": Question(_correlation(SEX, LEVEL), lambda r: r.correlation("sex", "level")),
    "correlation, by label": Question(
        _correlation(AGE, PAYS, SOUTH), lambda r: r.correlation("age", "pay", by="region")["south"]
    ),
    "slope, number": Question(_slopes(PAYS, [AGE])[1], lambda r: r.regression("pay", "age")["age"]),
    "intercept, number": Question(_slopes(PAYS, [AGE])[0], lambda r: r.regression("pay", "age")["(intercept)"]),
    "slope, dummy": Question(_slopes(PAYS, OF_REGION)[2], lambda r: r.regression("pay", "region")["region=south"]),
    "slope, number beside dummies": Question(
        _slopes(PAYS, [AGE, *OF_REGION])[1], lambda r: r.regression("pay", ["age", "region"])["age"]
    ),
    "slope, dummy beside number": Question(
        _slopes(PAYS, [AGE, *OF_REGION])[3], lambda r: r.regression("pay", ["age", "region"])["region=south"]
    ),
    "slope, in a group": Question(
        _slopes(PAYS, [SEX, *OF_LEVEL])[3], lambda r: r.regression("pay", ["sex", "level"])["level=high"]
    ),
    "slope, past missing": Question(_slopes(PAYS, [AGE], HERE)[1], lambda r: r.regression("pay", "gaps")["gaps"]),
    "slope, by public": Question(
        _slopes(PAYS, [AGE], SECOND)[1], lambda r: r.regression("pay", "age", by="wave")[WAVES[1], "age"]
    ),
    "slope, by label": Question(
        _slopes(PAYS, [AGE], SOUTH)[1], lambda r: r.regression("pay", "age", by="region")["south", "age"]
    ),
    "slope, bins": Question(_slopes(PAYS, [AGE])[1], lambda r: r.regression("pay", "binned")["binned"], True),
}
