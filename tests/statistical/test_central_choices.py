"""Choices and thresholds as shipped: each follows its exact law, falls short by no more than is said, keeps its claim.

False alarms: every test of a correct query is at 1e-4, split over the shares it looks at (exact binomial tests), every
black-box bound at 1e-4. Noise comes from the operating system, so reruns are other samples. Laws are computed apart
from the code that draws, and each has a control that must fail.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from asked import KEY, query_of, rows_of
from scipy.integrate import quad
from scipy.stats import binomtest

from trasgo_lib.statistics import QueryPlan
from trasgo_lib.statistics.answering import draw_answer, halves, threshold_scale, value_scores
from trasgo_lib.statistics.counting import count_cells, count_options

FALSE_ALARM = 1e-4
DRAWS = 2000
SOUTH = "where: [{column: region, codes: [south]}]"
ADULT = 'where: [{column: age, at_least: "5"}]'
CHILD = 'where: [{column: age, at_most: "2"}]'
_PLACES = np.arange(60)
ROWS = rows_of(
    list(_PLACES),
    batch=1000,
    age=(_PLACES * 7 % 10).tolist(),
    region=(_PLACES * 3 % 7 % 3).tolist(),
    sex=(_PLACES % 3).tolist(),
)
OPTIONS = f"[{{name: a, {SOUTH}}}, {{name: b, {ADULT}}}, {{name: c, {CHILD}}}]"
Law = Mapping[tuple[int, ...], float]


def _scores(query: QueryPlan) -> list[int]:
    """The exact scores of the candidates."""
    assert query.options is not None
    if query.options.rules:
        return [int(count) for count in count_options(query, ROWS, KEY)]
    counts = count_cells(query, ROWS, KEY)
    return value_scores(counts[0], query.options) if query.options.codes else [int(n) for n in counts.sum(axis=1)]


def _exponential(scores: Sequence[int], scale: float) -> Law:
    """Probability proportional to exp(score / scale)."""
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return {(place,): float(share) for place, share in enumerate(weights / weights.sum())}


def _noisy_max(scores: Sequence[int], scale: float) -> Law:
    """Permute-and-flip (McKenna, Sheldon 2020), which exponential noise gives: by inclusion and exclusion."""
    odds = [math.exp((score - max(scores)) / scale) for score in scores]
    law: dict[tuple[int, ...], float] = {}
    for place, own in enumerate(odds):
        rest = odds[:place] + odds[place + 1 :]
        total = 0.0
        for size in range(len(rest) + 1):
            chosen = sum(math.prod(some) for some in itertools.combinations(rest, size))
            total += (-1) ** size * chosen / (size + 1)
        law[(place,)] = own * total
    return law


def _noisy_top_two(scores: Sequence[int], scale: float) -> Law:
    """The two highest after exponential noise, in order: the second one's noisy score integrated over."""
    law: dict[tuple[int, ...], float] = {}
    for first, second in itertools.permutations(range(len(scores)), 2):
        rest = [score for place, score in enumerate(scores) if place not in (first, second)]

        def density(x: float, first: int = first, second: int = second, rest: Sequence[int] = tuple(rest)) -> float:
            own = math.exp(-(x - scores[second]) / scale) / scale
            above = math.exp(-max(0.0, x - scores[first]) / scale)
            return own * above * math.prod(1 - math.exp(-max(0.0, x - score) / scale) for score in rest)

        points = sorted({float(score) for score in scores if score > scores[second]})
        end = max(scores) + 60 * scale
        law[first, second] = quad(density, scores[second], end, points=points or None, limit=200)[0]
    return law


def _sparse_vector(query: QueryPlan, counts: Sequence[int], factor: float = 1.0) -> Law:
    """Every run of answers: the threshold's noise summed over, the counts' noise independent of each other."""
    part, spec = query.parts[0], query.spec
    assert spec.type == "above"
    noise = part.scale * factor
    tail = math.exp(-1 / noise)
    ratio = math.exp(-1 / threshold_scale(part, spec.cutoff))
    reach = math.ceil(40 * threshold_scale(part, spec.cutoff))

    def reaches(count: int, threshold: int) -> float:
        gap = threshold - count  # the noise is at least this much
        return tail**gap / (1 + tail) if gap >= 0 else 1 - tail ** (1 - gap) / (1 + tail)

    law: Counter[tuple[int, ...]] = Counter()
    for moved in range(-reach, reach + 1):
        weight = (1 - ratio) / (1 + ratio) * ratio ** abs(moved)
        runs: dict[tuple[int, ...], float] = {(): weight}
        for count in counts:
            yes, later = reaches(count, spec.threshold + moved), {}
            for run, share in runs.items():
                if sum(run) == spec.cutoff:
                    later[run] = share
                else:
                    later[(*run, 1)], later[(*run, 0)] = share * yes, share * (1 - yes)
            runs = later
        law.update(runs)
    return law


def _follows(seen: Counter[tuple[int, ...]], law: Law, draws: int) -> bool:
    """Exact binomial tests of each outcome, together at 1e-4; outcomes that the law does not have must not occur."""
    if set(seen) - {outcome for outcome, share in law.items() if share > 0}:
        return False
    tests = (binomtest(seen[outcome], draws, min(1.0, share)).pvalue for outcome, share in law.items() if share > 0)
    return min(tests) >= FALSE_ALARM / len(law)


def _drawn(query: QueryPlan, draws: int = DRAWS) -> Counter[tuple[int, ...]]:
    return Counter(draw_answer(query, ROWS, KEY).parts[0][1] for _ in range(draws))


CHOICES: list[tuple[str, Callable[[Sequence[int], float], Law]]] = [
    ("{name: q, type: quantile, column: age, probability: '0.3', epsilon: '0.4'}", _exponential),
    ("{name: q, type: median, column: age, candidates: ['1', '4', '6'], epsilon: '0.4'}", _exponential),
    ("{name: q, type: median, column: age, rho: '0.02', delta: '1e-6'}", _exponential),
    ("{name: q, type: minimum, column: age, epsilon: '0.3'}", _exponential),
    ("{name: q, type: maximum, column: age, epsilon: '0.3'}", _exponential),
    (f"{{name: q, type: best, utility: rows, epsilon: '0.2', candidates: {OPTIONS}}}", _exponential),
    (f"{{name: q, type: best, utility: split, label: sex, epsilon: '0.2', candidates: {OPTIONS}}}", _exponential),
    ("{name: q, type: top, column: region, best: 1, epsilon: '0.2'}", _noisy_max),
    ("{name: q, type: top, column: region, best: 2, epsilon: '0.3'}", _noisy_top_two),
]


def _quick(cases: Sequence[object], kept: Sequence[int]) -> list[object]:
    """All cases, of which those that are not kept take their seconds in the long tier."""
    marked = []
    for place, case in enumerate(cases):
        values = case if isinstance(case, tuple) else (case,)
        marked.append(pytest.param(*values, marks=() if place in kept else pytest.mark.long))
    return marked


@pytest.mark.parametrize(("text", "law"), _quick(CHOICES, (0, 8)))
def test_choices_follow_their_exact_law_and_fall_short_by_no_more_than_is_said(
    text: str, law: Callable[[Sequence[int], float], Law], tmp_path: Path
) -> None:
    """Controls: the law at half the scale, and half of the stated margin of a choice at small epsilon."""
    query = query_of(tmp_path, text)
    part, scores = query.parts[0], _scores(query)
    seen, shipped, sharper = _drawn(query), law(scores, part.scale), law(scores, part.scale / 3)
    assert sum(shipped.values()) == pytest.approx(1, abs=1e-6)
    assert _follows(seen, shipped, DRAWS)
    assert not _follows(seen, sharper, DRAWS)
    short = sum(count for places, count in seen.items() if _shortfall(scores, places) > part.half_width)
    assert binomtest(short, DRAWS, 0.05, alternative="greater").pvalue > FALSE_ALARM


def _shortfall(scores: Sequence[int], places: Sequence[int]) -> int:
    """The most that any of the choices, in turn, lies behind the best that was left."""
    worst, left = 0, dict(enumerate(scores))
    for place in places:
        worst = max(worst, max(left.values()) - left[place])
        del left[place]
    return worst


THRESHOLDS = [
    f"{{name: q, type: above, threshold: 25, epsilon: '0.4', questions: {OPTIONS}}}",
    f"{{name: q, type: above, threshold: 20, cutoff: 2, epsilon: '1.2', questions: {OPTIONS}}}",
]


@pytest.mark.parametrize("text", _quick(THRESHOLDS, (0,)))
def test_the_sparse_vector_follows_its_exact_law_and_keeps_its_margin(text: str, tmp_path: Path) -> None:
    """Controls: the law without the factor 2c in the noise of the counts, and with half of it."""
    query = query_of(tmp_path, text)
    part, counts = query.parts[0], _scores(query)
    seen = _drawn(query)
    shipped = _sparse_vector(query, counts)
    assert sum(shipped.values()) == pytest.approx(1, abs=1e-6)
    assert _follows(seen, shipped, DRAWS)
    assert query.spec.type == "above" and halves(part.claim)  # type: ignore[arg-type]
    for factor in (0.5, 1 / (2 * query.spec.cutoff)):
        assert not _follows(seen, _sparse_vector(query, counts, factor), DRAWS)
    wrong = sum(times for run, times in seen.items() if _is_off(run, counts, query.spec.threshold, part.half_width))
    assert binomtest(wrong, DRAWS, 0.05, alternative="greater").pvalue > FALSE_ALARM


def _is_off(run: Sequence[int], counts: Sequence[int], threshold: int, margin: int) -> bool:
    return any(
        count < threshold - margin if answer else count > threshold + margin
        for answer, count in zip(run, counts, strict=False)
    )
