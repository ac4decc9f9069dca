"""Central queries as shipped: errors follow theory, intervals hold, neighbours stay within the claim, mutants do not.

False alarms: every test of a correct query is at 1e-4 (exact binomial or chi-square), every black-box bound at 1e-4.
Noise comes from the operating system, so reruns are other samples. Every check has a control that must fail.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import KEY, Rows, plan_of, query_of, rows_of
from scipy.stats import beta, binomtest, norm

from trasgo_lib.amounts import Delta, Epsilon, Rho
from trasgo_lib.budget import GaussianEvent
from trasgo_lib.budget import cost as cost_of
from trasgo_lib.noise import gaussian_scale
from trasgo_lib.noise.central import add_gaussian, add_laplace, exponential_choice, noisy_max
from trasgo_lib.statistics import QueryPlan
from trasgo_lib.statistics.answering import above_threshold, draw_answer, halves, threshold_scale, value_scores
from trasgo_lib.statistics.answers import answers_of
from trasgo_lib.statistics.counting import count_cells, sums

FALSE_ALARM = 1e-4
DRAWS = 2000
SOUTH = "where: [{column: region, codes: [south]}]"
ADULT = 'where: [{column: age, at_least: "5"}]'
_PLACES = np.arange(400)
ROWS = rows_of(
    list(_PLACES),
    batch=1000,
    age=(_PLACES * 7 % 10).tolist(),
    balance=(_PLACES * 5 % 4).tolist(),
    region=(_PLACES * 3 % 7 % 3).tolist(),
    sex=(_PLACES % 3).tolist(),
)


def _errors(query: QueryPlan, draws: int = DRAWS) -> dict[str, list[int]]:
    """Noise of each part over many draws of the shipped function, all cells together: their noise is independent."""
    counts = count_cells(query, ROWS, KEY)
    exact = {part.name: sums(counts, part.measure, query.frame) for part in query.parts}
    found: dict[str, list[int]] = {part.name: [] for part in query.parts}
    for _ in range(draws):
        drawn = draw_answer(query, ROWS, KEY)
        for name, truth in exact.items():
            found[name] += [noisy - exact for noisy, exact in zip(drawn.numbers(name), truth, strict=True)]
    return found


def _law(noise: str, scale: float) -> Callable[[float], float]:
    """Distribution function of the noise at a whole number."""
    if noise == "gaussian":
        reach = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 1)
        mass = np.exp(-((reach / scale) ** 2) / 2)
        steps = np.cumsum(mass / mass.sum())
        return lambda z: float(steps[int(z - reach[0])])
    a = math.exp(-1 / scale)
    return lambda z: 1 - a ** (z + 1) / (1 + a) if z >= 0 else a ** (-z) / (1 + a)


def _quantiles_match(errors: list[int], cdf: Callable[[float], float], scale: float) -> bool:
    """Exact binomial tests of the noise's 5, 25, 50, 75 and 95 % points, together at 1e-4."""
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        point = math.floor(scale * (norm.ppf(share) if share != 0.5 else 0))
        below = sum(error <= point for error in errors)
        if binomtest(below, len(errors), cdf(point)).pvalue < FALSE_ALARM / 5:
            return False
    return True


ADDITIVE = [
    f"{{name: q, type: count, epsilon: '0.5', {SOUTH}}}",
    "{name: q, type: sum, column: balance, epsilon: '0.5'}",
    f"{{name: q, type: mean, column: age, epsilon: '0.5', {SOUTH}}}",
    "{name: q, type: variance, column: age, epsilon: '0.5', delta: '1e-6'}",
    "{name: q, type: histogram, column: age, rho: '0.05', delta: '1e-6'}",
    "{name: q, type: crosstab, by: [region, sex], epsilon: '0.5'}",
]


@pytest.mark.parametrize("text", ADDITIVE)
def test_errors_have_the_quantiles_of_theory(text: str, tmp_path: Path) -> None:
    query = query_of(tmp_path, text)
    errors = _errors(query)
    for part in query.parts:
        assert _quantiles_match(errors[part.name], _law(part.noise, part.scale), part.scale)
        assert not _quantiles_match(errors[part.name], _law(part.noise, part.scale / 2), part.scale)


@pytest.mark.parametrize(
    "text",
    [
        *ADDITIVE,
        f"{{name: q, type: mean, column: balance, epsilon: '2', {ADULT}}}",
        f"{{name: q, type: variance, column: age, epsilon: '4', {SOUTH}}}",
    ],
)
def test_intervals_hold_the_truth(text: str, tmp_path: Path) -> None:
    """At least 95 %, one-sided exact binomial at 1e-4; half as wide they fail."""
    plan = plan_of(tmp_path, text)
    query = plan.queries[0]
    counts = count_cells(query, ROWS, KEY)
    truth = _truth(query, counts)
    held = narrow = 0
    for _ in range(DRAWS):
        cell = answers_of(plan, {"q": draw_answer(query, ROWS, KEY)})[0].cells[0]
        if cell.low is None or cell.high is None or cell.noisy is None:
            held += 1  # withheld: nothing is claimed
            continue
        half = (cell.high - cell.low) / 8
        middle = (cell.high + cell.low) / 2
        held += cell.low - 1e-9 <= truth <= cell.high + 1e-9
        narrow += middle - half <= truth <= middle + half
    assert binomtest(held, DRAWS, 0.95, alternative="less").pvalue > FALSE_ALARM
    assert binomtest(narrow, DRAWS, 0.95, alternative="less").pvalue < FALSE_ALARM


def _truth(query: QueryPlan, counts: np.ndarray) -> float:
    if query.frame is None:
        return float(counts[0].sum())
    values = np.array([float(query.frame.lower + query.frame.step * code) for code in range(query.size)])
    weights = counts[0]
    if query.kind == "sum":
        return float(values @ weights)
    mean = float(values @ weights) / weights.sum()
    return mean if query.kind == "mean" else float(((values - mean) ** 2) @ weights) / weights.sum()


def test_choices_fall_short_by_no_more_than_is_said_and_follow_their_law(tmp_path: Path) -> None:
    query = query_of(tmp_path, "{name: q, type: quantile, column: age, probability: '0.3', epsilon: '0.1'}")
    part = query.parts[0]
    assert query.options is not None
    scores = value_scores(count_cells(query, ROWS, KEY)[0], query.options)
    chosen = Counter(draw_answer(query, ROWS, KEY).numbers("choice")[0] for _ in range(DRAWS))
    weights = np.exp((np.array(scores) - max(scores)) / part.scale)
    for place, share in enumerate(weights / weights.sum()):
        assert binomtest(chosen[place], DRAWS, share).pvalue > FALSE_ALARM / len(scores)
    short = sum(n for place, n in chosen.items() if max(scores) - scores[place] > part.half_width)
    assert binomtest(short, DRAWS, 0.05, alternative="greater").pvalue > FALSE_ALARM
    sharper = np.exp((np.array(scores) - max(scores)) / (part.scale / 3))
    best = int(np.argmax(scores))
    assert binomtest(chosen[best], DRAWS, float(sharper[best] / sharper.sum())).pvalue < FALSE_ALARM


def _lower_bound(one: list[object], other: list[object], delta: float = 0.0) -> float:
    """An epsilon that the pair shows at 1e-4: best event of the first half, tested on the second (Clopper-Pearson)."""
    half = len(one) // 2
    seen, against = Counter(one[:half]), Counter(other[:half])
    ranked = sorted(set(seen) | set(against), key=lambda x: -(seen[x] + 1) / (against[x] + 1))
    best = 0.0
    cuts = sorted({max(1, len(ranked) * k // 8) for k in range(1, 9)})
    for order in (ranked, ranked[::-1]):
        first, second = (one, other) if order is ranked else (other, one)
        for cut in cuts:
            event = set(order[:cut])
            hits, misses = (sum(x in event for x in side[half:]) for side in (first, second))
            level = FALSE_ALARM / (4 * len(cuts))
            low = beta.ppf(level, hits, half - hits + 1) if hits else 0.0
            high = beta.ppf(1 - level, misses + 1, half - misses) if misses < half else 1.0
            best = max(best, math.log((low - delta) / high) if low > delta else 0.0)
    return best


def _pairs(draw: Callable[[Rows], object], one: Rows, other: Rows, draws: int) -> tuple[list[object], list[object]]:
    return [draw(one) for _ in range(draws)], [draw(other) for _ in range(draws)]


FEW = rows_of([0, 1, 2], age=[0, 9, 9], region=[1, 1, 0], sex=[0, 1, 1])
MOVED = rows_of([0, 1, 2], age=[9, 9, 9], region=[0, 1, 0], sex=[1, 1, 1])
BLACK_BOX = [
    f"{{name: q, type: count, epsilon: '1', {SOUTH}}}",
    "{name: q, type: sum, column: age, epsilon: '1'}",
    f"{{name: q, type: mean, column: age, epsilon: '1', {SOUTH}}}",
    "{name: q, type: variance, column: age, epsilon: '1'}",
    "{name: q, type: crosstab, by: [region], epsilon: '1'}",
    "{name: q, type: histogram, column: age, bins: 2, epsilon: '1'}",
    "{name: q, type: median, column: age, candidates: ['1', '9'], epsilon: '1'}",
    "{name: q, type: quantile, probability: '0.25', column: age, candidates: ['1', '9'], epsilon: '1'}",
    "{name: q, type: minimum, column: age, epsilon: '1'}",
    "{name: q, type: maximum, column: age, epsilon: '1'}",
    "{name: q, type: top, column: region, best: 1, epsilon: '1'}",
    f"{{name: q, type: best, utility: rows, epsilon: '1', candidates: [{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}]}}",
    f"{{name: q, type: above, threshold: 1, epsilon: '1', questions: [{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}]}}",
]


@pytest.mark.parametrize("text", BLACK_BOX)
def test_neighbours_show_no_more_than_the_claim(text: str, tmp_path: Path) -> None:
    query = query_of(tmp_path, text)
    pairs = _pairs(lambda rows: draw_answer(query, rows, KEY).parts, FEW, MOVED, 1500)
    assert _lower_bound(*pairs) <= 1.0


def test_half_the_scale_is_caught() -> None:
    def draw(rows: Rows) -> object:
        # the shipped noise at half the scale: the certificate refuses that, so its claim is doubled
        return add_laplace([int((rows.codes["region"] == 1).sum())], 0.5, 1, Epsilon.parse("2.001"))

    assert _lower_bound(*_pairs(draw, FEW, MOVED, 3000)) > 1.0


def _sparse(query: QueryPlan, factor: bool) -> Callable[[Rows], object]:
    """The shipped sparse vector on hand-made counts, or its mutant without the factor 2c in the noise of the counts."""
    part = query.parts[0]
    assert query.spec.type == "above" and isinstance(part.claim, Epsilon)
    cutoff = query.spec.cutoff
    first, second = halves(part.claim)

    def mutant(counts: list[int]) -> tuple[int, ...]:
        threshold = add_laplace([query.spec.threshold], threshold_scale(part, cutoff), 1, first)[0]
        scale = 1 / float(second.decimal) * (1 + 1e-9)
        return tuple(int(noisy >= threshold) for noisy in add_laplace(counts, scale, 1, second))

    def draw(rows: Rows) -> object:
        # neighbours move all counts of one half up and all of the other down, as one unit can
        up = bool(rows.codes["region"][0])
        counts = [5 + up] * cutoff + [6 - up] * cutoff
        found = mutant(counts) if not factor else above_threshold(counts, query, part)
        return sum(found[:cutoff]) - sum(found[cutoff:])

    return draw


def test_a_sparse_vector_without_the_factor_c_is_caught(tmp_path: Path) -> None:
    """The mutant shows 1.3 to 1.6 (six samples), so that the control does not fail by luck."""
    asked = ", ".join(f"{{name: a{place}, {SOUTH}}}" for place in range(24))
    text = f"{{name: q, type: above, threshold: 5, cutoff: 12, epsilon: '1', questions: [{asked}]}}"
    query = query_of(tmp_path, text)
    assert _lower_bound(*_pairs(_sparse(query, True), FEW, MOVED, 1500)) <= 1.0
    assert _lower_bound(*_pairs(_sparse(query, False), FEW, MOVED, 1500)) > 1.0


def test_a_noisy_max_that_tells_its_value_is_caught(tmp_path: Path) -> None:
    """Exponential noise has an end: the noisy score of a winner is never below the exact one, so its value tells."""
    query = query_of(tmp_path, BLACK_BOX[9])
    scale = query.parts[0].scale
    words = np.random.Generator(np.random.PCG64(7))  # a mutant in a test, never a draw of ours

    def draw(rows: Rows) -> object:
        counts = np.bincount(rows.codes["region"], minlength=3)
        noisy = counts + words.exponential(scale, 3)
        place = int(np.argmax(noisy))
        return place, min(4, int(noisy[place]))

    one, other = rows_of([0], region=[1]), rows_of([0], region=[0])
    safe = _pairs(lambda rows: draw_answer(query, rows, KEY).parts, one, other, 1500)
    assert _lower_bound(*safe) <= 1.0
    wide = rows_of(list(range(3)), region=[0, 1, 2]), rows_of(list(range(3)), region=[0, 0, 2])
    assert _lower_bound(*_pairs(draw, *wide, 40_000)) > 1.0


def test_an_exponential_choice_at_half_the_scale_is_caught() -> None:
    def draw(rows: Rows) -> object:
        count = int((rows.codes["region"] == 1).sum())
        return exponential_choice([count, 2 - count], 0.5, 1, Epsilon.parse("4.001"))

    assert _lower_bound(*_pairs(draw, FEW, MOVED, 3000)) > 1.0


def test_the_claim_is_nearly_reached_so_little_noise_is_wasted(tmp_path: Path) -> None:
    query = query_of(tmp_path, BLACK_BOX[0])
    shown = _lower_bound(*_pairs(lambda rows: draw_answer(query, rows, KEY).parts, FEW, MOVED, 5000))
    assert 0.75 < shown <= 1.0
    halved = replace(query, parts=(replace(query.parts[0], claim=Epsilon.parse("2")),))
    assert halved.parts[0].scale == query.parts[0].scale


APPROXIMATE = [
    f"{{name: q, type: count, rho: '0.1', delta: '5e-4', {SOUTH}}}",
    "{name: q, type: crosstab, by: [region, sex], epsilon: '1', delta: '5e-4'}",
    "{name: q, type: median, column: age, candidates: ['1', '9'], rho: '0.1', delta: '5e-4'}",
    f"{{name: q, type: mean, column: age, by: [region], epsilon: '1', {ADULT}}}",
    "{name: q, type: quantile, column: age, probability: '0.25', epsilon: '1'}",
    f"{{name: q, type: best, utility: split, label: sex, epsilon: '1', candidates: [{{name: a, {SOUTH}}},"
    f" {{name: b, {ADULT}}}]}}",
]


@pytest.mark.long
@pytest.mark.parametrize("text", APPROXIMATE)
def test_neighbours_show_no_more_than_an_approximate_claim(text: str, tmp_path: Path) -> None:
    query = query_of(tmp_path, text)
    cost = query.cost
    shown = _lower_bound(
        *_pairs(lambda rows: draw_answer(query, rows, KEY).parts, FEW, MOVED, 6000), delta=float(cost.delta.fraction)
    )
    assert shown <= float(cost.epsilon.fraction)


@pytest.mark.long
@pytest.mark.parametrize("text", [
    "{name: q, type: crosstab, by: [region], epsilon: '1', max_rows: 1}",
    f"{{name: q, type: count, epsilon: '1', {SOUTH}}}",
    "{name: q, type: top, column: region, best: 1, epsilon: '1', max_rows: 1, max_groups: 1}",
])  # fmt: skip
def test_units_of_several_rows_show_no_more_than_the_claim(text: str, tmp_path: Path) -> None:
    """One unit holds three rows, of which all change at once."""
    query = query_of(tmp_path, text, max_rows=3)
    one, other = rows_of([7, 7, 7, 8], region=[1, 1, 1, 0]), rows_of([7, 7, 7, 8], region=[0, 2, 0, 0])
    assert _lower_bound(*_pairs(lambda rows: draw_answer(query, rows, KEY).parts, one, other, 6000)) <= 1.0
    if not query.bounds.trims:
        # the scale of a unit of one row is a third of this one, and shows it
        slim = query_of(tmp_path, text)
        caught = _lower_bound(*_pairs(lambda rows: draw_answer(slim, rows, KEY).parts, one, other, 6000))
        assert caught > 1.0


@pytest.mark.long
def test_half_the_scale_of_gaussian_noise_is_caught() -> None:
    """At rho 0.1 and delta 5e-4; a vector of equal counts is as many draws of one count."""
    rho, delta, draws = Rho.parse("0.1"), 5e-4, 60_000
    claim = float(cost_of(GaussianEvent(rho, Delta.parse("0.0005"))).epsilon.fraction)
    scale = gaussian_scale(1, rho)

    def pair(factor: float) -> tuple[list[object], list[object]]:
        # the certificate refuses less noise than the claim asks for, so the claim of the call is four times as high
        called = Rho(4 * rho.units + 4)
        return tuple(list(add_gaussian([count] * draws, scale * factor, 1, called)) for count in (1, 0))  # type: ignore[return-value]

    assert _lower_bound(*pair(1.0), delta=delta) <= claim
    assert _lower_bound(*pair(0.5), delta=delta) > claim


@pytest.mark.long
def test_half_the_scale_of_a_noisy_max_is_caught() -> None:
    def draw(rows: Rows) -> object:
        return noisy_max(
            [int(n) for n in np.bincount(rows.codes["region"], minlength=3)], 1.0, 1, Epsilon.parse("2.001")
        )

    one, other = rows_of([0, 1], region=[0, 1]), rows_of([0, 1], region=[0, 0])
    assert _lower_bound(*_pairs(draw, one, other, 20_000)) > 1.0


@pytest.mark.long
def test_half_the_scale_of_a_sparse_vector_is_caught(tmp_path: Path) -> None:
    """Its claim is doubled, as someone would who forgets half of the loss."""
    asked = ", ".join(f"{{name: a{place}, {SOUTH}}}" for place in range(12))
    text = "{name: q, type: above, threshold: 5, cutoff: 1, epsilon: '%s', questions: [" + asked + "]}"
    doubled = query_of(tmp_path, text % "4")

    def draw(rows: Rows) -> object:
        # all counts move together but the last: the run ends at the first one above
        up = bool(rows.codes["region"][0])
        return above_threshold([5 - up] * 11 + [5 + up], doubled, doubled.parts[0])

    assert _lower_bound(*_pairs(draw, FEW, MOVED, 20_000)) > 2.0


@pytest.mark.long
def test_fitted_tables_are_nearer_to_the_truth_and_their_intervals_hold(tmp_path: Path) -> None:
    """Weighted least squares with totals: one-sided exact binomial tests at 1e-4 of each cell and total by itself.

    A fitted value is nearer than its noisy one in more than half of the draws; with the weights the wrong way round the
    totals, which are drawn with a tenth of the noise, are not.
    """
    plan = plan_of(
        tmp_path,
        "{name: t, type: crosstab, by: [region, sex], epsilon: '0.2', consistent_with: [r], non_negative: true}",
        "{name: r, type: histogram, column: region, epsilon: '2'}",
    )
    exact = {query.name: sums(count_cells(query, ROWS, KEY), "rows", None) for query in plan.queries}
    held = {name: np.zeros(len(truth), dtype=int) for name, truth in exact.items()}
    nearer, backwards = 0, 0
    for _ in range(DRAWS):
        drawn = {query.name: draw_answer(query, ROWS, KEY) for query in plan.queries}
        for answer in answers_of(plan, drawn):
            truth = exact[answer.query.name]
            held[answer.query.name] += [
                float(cell.low or 0) <= n <= float(cell.high or 0) for cell, n in zip(answer.cells, truth, strict=True)
            ]
            if answer.query.name == "t":
                nearer += sum(
                    abs(float(cell.value or 0) - n) < abs(float(cell.noisy or 0) - n)
                    for cell, n in zip(answer.cells, truth, strict=True)
                )
        # the wrong weights: totals are taken from the cells
        cells, totals = drawn["t"].numbers("rows"), drawn["r"].numbers("rows")
        for place, total in enumerate(exact["r"]):
            backwards += abs(sum(cells[3 * place : 3 * place + 3]) - total) < abs(totals[place] - total)
    for name, counts in held.items():
        for count in counts:
            assert binomtest(int(count), DRAWS, 0.95, alternative="less").pvalue > FALSE_ALARM / 12, name
    assert binomtest(nearer, 9 * DRAWS, 0.5, alternative="greater").pvalue < FALSE_ALARM
    assert binomtest(backwards, 3 * DRAWS, 0.5, alternative="less").pvalue < FALSE_ALARM
