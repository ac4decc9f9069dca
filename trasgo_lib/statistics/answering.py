"""From exact statistics to noisy answers: the only place where a query's noise is drawn.

An answer is drawn once. It holds noisy whole numbers and places only, so everything made from it afterwards is
post-processing and free (``trasgo_lib.statistics.answers``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from trasgo_lib.amounts import Epsilon, Rho
from trasgo_lib.noise.central import add_gaussian, add_laplace, concentrated_choice, exponential_choice, noisy_max
from trasgo_lib.statistics.counting import Counts, PrivateRows, count_cells, count_options, sums
from trasgo_lib.statistics.model import Options, Part, QueryPlan


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn for one query: noisy whole numbers by part, nothing exact.

    Args:
        query: its name.
        digest: of the query it answers.
        rows: number of rows of the source; public.
        parts: noisy numbers of each part; places for choices; 1 (above) and 0 (below) for thresholds.
    """

    query: str
    digest: str
    rows: int
    parts: tuple[tuple[str, tuple[int, ...]], ...]

    def numbers(self, part: str) -> tuple[int, ...]:
        """The noisy numbers of a part.

        Raises:
            KeyError: no such part.
        """
        return dict(self.parts)[part]

    def to_json(self) -> dict[str, object]:
        """Strict JSON; whole numbers as text, since they may pass 2**53."""
        parts = {name: [str(number) for number in numbers] for name, numbers in self.parts}
        return {"format": 1, "query": self.query, "digest": self.digest, "rows": self.rows, "parts": parts}

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Drawn:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: it is of another form.
        """
        parts = document.get("parts")
        if document.get("format") != 1 or not isinstance(parts, dict):
            raise ValueError("not a stored answer")
        numbers = tuple((str(name), tuple(int(text) for text in texts)) for name, texts in parts.items())
        return cls(str(document["query"]), str(document["digest"]), int(str(document["rows"])), numbers)


def draw_answer(query: QueryPlan, source: PrivateRows, key: bytes) -> Drawn:
    """Count, then add noise; draws anew every time, so the caller stores what it gets before it uses it.

    Args:
        query: the compiled query, already paid for.
        source: private.
        key: secret, 32 bytes; chooses which rows of a unit count, where not all may.

    Raises:
        BudgetError: a certificate is above its claim; nothing was drawn.
    """
    parts = tuple((part.name, numbers) for part, numbers in _draw(query, source, key))
    return Drawn(query.name, query.digest, source.rows, parts)


def _draw(query: QueryPlan, source: PrivateRows, key: bytes) -> list[tuple[Part, tuple[int, ...]]]:
    if query.options is None:
        counts = count_cells(query, source, key)
        return [(part, _add_noise(part, sums(counts, part.measure, query.frame))) for part in query.parts]
    part = query.parts[0]
    if query.options.rules:
        scores = [int(count) for count in count_options(query, source, key)]
    elif query.options.codes:
        scores = value_scores(count_cells(query, source, key)[0], query.options)
    else:
        scores = [int(count) for count in count_cells(query, source, key).sum(axis=1)]
    if part.noise == "sparse_vector":
        return [(part, above_threshold(scores, query, part))]
    return [(part, _CHOICES[part.noise](scores, part))]


def value_scores(counts: Counts, options: Options) -> list[int]:
    """Scores of candidate values of a number, from its counts by code: int64[codes].

    For a quantile p / q it is -|(q - p) * rows below - p * rows above|, which one replaced row moves by at most q
    (Smith 2011; the integer form of OpenDP's quantile scorer). For the minimum it is -|rows at or below - 1|.
    """
    cumulative = np.concatenate([[0], np.cumsum(counts)])
    total, codes = int(cumulative[-1]), np.array(options.codes)
    below, at_or_below = cumulative[codes], cumulative[codes + 1]
    share = options.probability or Fraction(0)
    if share == 0:
        return [-abs(int(n) - 1) for n in at_or_below]
    if share == 1:
        return [-abs(total - int(n) - 1) for n in below]
    p, q = share.numerator, share.denominator
    return [-abs((q - p) * int(b) - p * (total - int(a))) for b, a in zip(below, at_or_below, strict=True)]


def above_threshold(counts: Sequence[int], query: QueryPlan, part: Part) -> tuple[int, ...]:
    """Answers 1 (above) or 0 (below) in order, until ``cutoff`` were above; later questions are not asked.

    The threshold is made noisy once, at half the epsilon; each count is made noisy at ``2 * cutoff`` times the
    sensitivity over the other half; the noisy counts are thrown away.

    Source:
        Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy" (2017), Algorithm 1.
    """
    if query.spec.type != "above" or not isinstance(part.claim, Epsilon):
        raise ValueError(f"{query.name} asks no thresholds")
    cutoff, move = query.spec.cutoff, part.sensitivity.linf
    first, second = halves(part.claim)
    threshold = add_laplace([query.spec.threshold], threshold_scale(part, cutoff), move, first)[0]
    answers: list[int] = []
    for count in counts:
        if sum(answers) == cutoff:
            break
        noisy = add_laplace([count], part.scale, 2 * cutoff * move, second)[0]
        answers.append(1 if noisy >= threshold else 0)
    return tuple(answers)


def halves(claim: Epsilon) -> tuple[Epsilon, Epsilon]:
    """An epsilon in two parts that add up to it exactly."""
    return Epsilon(claim.units // 2), Epsilon(claim.units - claim.units // 2)


def threshold_scale(part: Part, cutoff: int) -> float:
    """Scale of the threshold's noise, which is drawn once."""
    from trasgo_lib.noise import laplace_scale

    if not isinstance(part.claim, Epsilon):
        raise ValueError("thresholds have an epsilon")
    return laplace_scale(part.sensitivity.linf, halves(part.claim)[0])


def _add_noise(part: Part, values: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(part.claim, Rho):
        return add_gaussian(values, part.scale, part.sensitivity.l2_squared, part.claim)
    return add_laplace(values, part.scale, part.sensitivity.l1, part.claim)


def _exponential(scores: Sequence[int], part: Part) -> tuple[int, ...]:
    return (exponential_choice(scores, part.scale, part.sensitivity.linf, _epsilon(part)),)


def _noisy_max(scores: Sequence[int], part: Part) -> tuple[int, ...]:
    return noisy_max(scores, part.scale, part.sensitivity.linf, _epsilon(part), part.counts)


def _gumbel(scores: Sequence[int], part: Part) -> tuple[int, ...]:
    if not isinstance(part.claim, Rho):
        raise ValueError("Gumbel noise has a rho")
    return concentrated_choice(scores, part.scale, part.sensitivity.linf, part.claim, part.counts)


def _epsilon(part: Part) -> Epsilon:
    if not isinstance(part.claim, Epsilon):
        raise ValueError("a pure choice has an epsilon")
    return part.claim


_CHOICES: Mapping[str, Callable[[Sequence[int], Part], tuple[int, ...]]] = {
    "exponential": _exponential,
    "noisy_max": _noisy_max,
    "gumbel": _gumbel,
}
