"""Which mechanism suits a column best, decided from public knowledge of its distribution alone.

Everything here is a pure function of the domain, public shares and declared levels, without sampling, so anyone who has
the prior can repeat the choice. Candidates stand in a fixed order, and one that is not better by more than 1e-9 of its
loss yields to an earlier one: machines whose last digits differ agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import Domain, NumberDomain
from trasgo_lib.data.bins import EqualBins
from trasgo_lib.errors import ConfigError
from trasgo_lib.mechanisms.binned import NAME as BINNED
from trasgo_lib.mechanisms.channel import Channel
from trasgo_lib.mechanisms.dense import MAX_DENSE_CODES
from trasgo_lib.mechanisms.expected_loss import (
    CORRELATION_LOSS,
    MOST_INVERTED_CODES,
    MOST_SMOOTH_CODES,
    MOST_WITHIN,
    divergence_is_known,
    expected_loss,
    within_bins,
)
from trasgo_lib.mechanisms.gaussian import NAME as GAUSSIAN
from trasgo_lib.mechanisms.krr import BINARY_NAME, KARY_NAME
from trasgo_lib.mechanisms.laplace import NAME as LAPLACE
from trasgo_lib.mechanisms.registry import build_channel
from trasgo_lib.mechanisms.staircase import NAME as STAIRCASE

BIN_COUNTS = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 32)
"""Numbers of bins that are tried: each about a quarter more than the one before, beyond which losses change little."""

WIDTH_PARTS = (16, 12, 8, 6, 4, 3)
"""Staircase widths that are tried, as parts of the range."""

NEAR_TIE = 1e-9
"""Losses that differ by no more than this share of themselves count as equal."""

MOST_ROWS = 10**6
"""Rows taken where a prior states none: a divergence that so many rows do not show is not estimated in practice."""

MOST_COMPARED_CODES = 1024
"""Wider domains are compared on ``_PARTS`` equal parts: noise and bins scale with the range, so losses change by less
than a thousandth, and the comparison stays below a second."""

_PARTS = 1000

HIDDEN = "its noise hides the loss from an estimate by released codes"

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism with its own parameters, ``missing`` apart."""

    mechanism: str
    parameters: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return " ".join((self.mechanism, *(f"{name} {value}" for name, value in self.parameters)))


@dataclass(frozen=True, slots=True)
class Prospect:
    """A candidate and what is expected of it.

    Args:
        candidate: the mechanism.
        loss: at ``level``; None where it cannot be built there.
        level: where candidates are compared; for a divergence with a target, the lowest at which this one meets it.
        excluded: why it cannot be chosen, or empty.
        misses: whether the reason is that its loss stays above the target's ceiling.
    """

    candidate: Candidate
    loss: float | None
    level: Epsilon
    excluded: str = ""
    misses: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What a mechanism is wanted for. All public.

    Args:
        domain: the declared domain: numbers, days or codes.
        shares: float64[codes], one entry more where missing is a code.
        loss: ``correlation_loss``, ``tvd``, ``js`` or ``kl``.
        levels: rising; one, or the ladder of a target.
        ceiling: the target's ceiling, or None.
        missing: whether a missing value is one more code.
        bins: bins of the divergences that noise bins must hold, for numbers and days; None: 20, and any noise bins do.
        rows: expected rows where divergences are estimated from released codes, else None.
        correlations: how correlations of this release are estimated from released codes: by ``moments``, for which
            noise bins must be narrow, by ``ranks``, for which codes must be told apart, or not at all.
        steps_per_code: steps of the declared domain in one code; above 1 only where a wide domain is compared on parts.
    """

    domain: Domain
    shares: Floats = field(repr=False)
    loss: str
    levels: tuple[Epsilon, ...]
    ceiling: float | None = None
    missing: bool = False
    bins: int | None = None
    rows: int | None = None
    correlations: Literal["", "moments", "ranks"] = ""
    steps_per_code: float = 1.0


def candidates(
    domain: Domain, *, missing: bool = False, has_ladder: bool = False, bins: int | None = None
) -> tuple[Candidate, ...]:
    """What is tried for a domain, in the order that decides ties.

    Args:
        domain: numbers, days or codes.
        missing: whether a missing value is one more code, which staircase does not take.
        has_ladder: whether there are several levels; a default that depends on the level is then left out.
        bins: bins of the divergences, tried as noise bins too.
    """
    size = domain.size
    if domain.kind == "category":
        return (Candidate(BINARY_NAME if size == 2 else KARY_NAME),)
    found = [Candidate(LAPLACE)]
    if size <= MAX_DENSE_CODES and not missing:
        found += [] if has_ladder else [Candidate(STAIRCASE)]
        widths = dict.fromkeys(max(1, (size - 1) // part) for part in WIDTH_PARTS)
        found += [Candidate(STAIRCASE, (("width", width),)) for width in widths]
    if size <= MAX_DENSE_CODES:
        found.append(Candidate(GAUSSIAN))
    counts = sorted({*BIN_COUNTS, *(() if bins is None else (bins,)), *((size,) if size <= BIN_COUNTS[-1] else ())})
    found += [Candidate(BINNED, (("bins", count),)) for count in counts if 2 <= count <= size]
    return tuple(found)


def choose_mechanism(
    domain: Domain,
    shares: Floats,
    *,
    epsilon: object,
    loss: str = CORRELATION_LOSS,
    bins: int | None = None,
    missing: bool = False,
) -> Candidate:
    """The mechanism that is expected to lose least at one level.

    Args:
        domain: numbers, days or codes; declared.
        shares: float64[codes], a public distribution.
        epsilon: the level: decimal text, an int or an ``Epsilon``.
        loss: ``correlation_loss``, ``tvd``, ``js`` or ``kl``.
        bins: bins of the divergences that noise bins must hold, for numbers and days; None: 20, and any noise bins do.
        missing: whether a missing value is one more code, with the last entry of ``shares``.

    Raises:
        ConfigError: no mechanism can be built at this level.
    """
    level = epsilon if isinstance(epsilon, Epsilon) else Epsilon.parse(str(epsilon))
    question = Question(domain, shares, loss, (level,), missing=missing, bins=bins)
    return compare(question)[0].candidate


def compare(question: Question) -> tuple[Prospect, ...]:
    """Every candidate, the best first; those that cannot be chosen last, with the reason.

    Args:
        question: what is wanted.
    """
    tried = candidates(
        question.domain, missing=question.missing, has_ladder=len(question.levels) > 1, bins=question.bins
    )
    barred = {candidate: _barred(candidate, question) for candidate in tried}
    question = _on_parts(question)
    open_ones = [candidate for candidate in tried if not barred[candidate]]
    if question.ceiling is None or question.loss == CORRELATION_LOSS:
        level = _level_to_compare_at(open_ones, question)
        found = [_at(candidate, level, question) for candidate in open_ones]
    else:
        found = [_lowest(candidate, question.ceiling, question) for candidate in open_ones]
    top = question.levels[-1]
    closed = [Prospect(candidate, None, top, reason) for candidate, reason in barred.items() if reason]
    failed = [prospect for prospect in found if prospect.excluded]
    return (*_ranked([prospect for prospect in found if not prospect.excluded]), *failed, *closed)


def _ranked(prospects: Sequence[Prospect]) -> Iterator[Prospect]:
    """By level, then loss; of equal ones, the earlier first."""
    left = list(prospects)
    while left:
        best = left[0]
        for other in left[1:]:
            if _is_better(other, best):
                best = other
        left.remove(best)
        yield best


def _is_better(one: Prospect, other: Prospect) -> bool:
    if one.level != other.level:
        return one.level < other.level
    ours, theirs = math.inf if one.loss is None else one.loss, math.inf if other.loss is None else other.loss
    return ours < theirs * (1 - NEAR_TIE)


def _barred(candidate: Candidate, question: Question) -> str:
    """Why a candidate is out of the question at every level, or nothing."""
    size, is_scale = question.domain.size, question.domain.kind != "category"
    count = dict(candidate.parameters).get("bins")
    if count is not None and question.bins is not None and count % question.bins:
        return f"its bins do not hold the {question.bins} bins of the loss"
    if question.correlations == "ranks" and is_scale and candidate.mechanism != LAPLACE and count != size:
        return "it does not tell codes apart, as ranks need to be estimated from released codes"
    if count is not None and question.correlations == "moments":
        cut = EqualBins(size, count)
        if within_bins(question.shares, size, cut.of_codes, cut.representatives) > MOST_WITHIN:
            return "its bins are too wide for correlations to be estimated from released codes"
    estimated = question.loss != CORRELATION_LOSS and question.rows is not None
    most = MOST_INVERTED_CODES if candidate.mechanism == LAPLACE else MOST_SMOOTH_CODES
    if estimated and is_scale and count is None and size > most:
        return HIDDEN
    return ""


def _on_parts(question: Question) -> Question:
    """The question on a domain small enough to compare many channels on; itself where the domain is."""
    size = question.domain.size
    if question.domain.kind == "category" or size <= MOST_COMPARED_CODES:
        return question
    parts = EqualBins(size, _PARTS).of_codes
    shares = np.bincount(parts, weights=question.shares[:size], minlength=_PARTS)
    whole = np.concatenate([shares.astype(np.float64), question.shares[size:]])
    return replace(question, domain=NumberDomain(0, _PARTS - 1), shares=whole, steps_per_code=size / _PARTS)


def _channel(candidate: Candidate, level: Epsilon, question: Question) -> Channel | None:
    parameters: dict[str, object] = dict(candidate.parameters)
    width = parameters.get("width")
    if isinstance(width, int):
        parameters["width"] = max(1, round(width / question.steps_per_code))
    if question.missing:
        parameters["missing"] = True
    try:
        return build_channel(candidate.mechanism, question.domain, level, **parameters)
    except ConfigError:
        return None


def _loss_bins(candidate: Candidate, question: Question) -> NDArray[np.int32]:
    """int32[codes], the bins of the divergences; a missing value is alone in its bin."""
    size = question.domain.size
    if question.domain.kind == "category":
        return np.arange(size + question.missing, dtype=np.int32)
    count = question.bins or min(DEFAULT_LOSS_BINS, size)
    of_codes = EqualBins(size, count).of_codes
    return np.append(of_codes, np.int32(count)) if question.missing else of_codes


DEFAULT_LOSS_BINS = 20
"""As the plan has it for a number without declared bins."""


def _at(candidate: Candidate, level: Epsilon, question: Question) -> Prospect:
    channel = _channel(candidate, level, question)
    if channel is None:
        return Prospect(candidate, None, level, "no such channel at this level")
    bins = _loss_bins(candidate, question)
    loss = expected_loss(channel, question.shares, question.loss, size=question.domain.size, bins=bins)
    return Prospect(candidate, loss, level)


def _level_to_compare_at(open_ones: Sequence[Candidate], question: Question) -> Epsilon:
    """The only level, or the lowest at which the best candidate alone meets a correlation target, else the highest."""
    ceiling = question.ceiling
    if ceiling is None:
        return question.levels[0]

    def is_enough(level: Epsilon) -> bool:
        losses = [_at(candidate, level, question).loss for candidate in open_ones]
        return any(loss is not None and loss <= ceiling for loss in losses)

    return _first(question.levels, is_enough) or question.levels[-1]


def _lowest(candidate: Candidate, ceiling: float, question: Question) -> Prospect:
    """The lowest level at which a candidate meets a divergence's ceiling, and is known to."""

    @cache
    def at(level: Epsilon) -> Prospect:
        return _at(candidate, level, question)

    def is_met(level: Epsilon) -> bool:
        loss = at(level).loss
        return loss is not None and loss <= ceiling and _is_known(candidate, level, question)

    first = _first(question.levels, is_met)
    if first is not None:
        return at(first)
    last = at(question.levels[-1])
    if last.loss is None or last.loss > ceiling:
        return Prospect(candidate, last.loss, last.level, "does not meet the target at any level", misses=True)
    return Prospect(candidate, last.loss, last.level, HIDDEN)


def _is_known(candidate: Candidate, level: Epsilon, question: Question) -> bool:
    if question.rows is None or question.domain.kind == "category":
        return True
    channel = _channel(candidate, level, question)
    bins = _loss_bins(candidate, question)
    return channel is not None and divergence_is_known(channel, question.shares, bins, question.rows)


def _first(levels: Sequence[Epsilon], is_enough: Callable[[Epsilon], bool]) -> Epsilon | None:
    """The lowest level that is enough, found by halving: losses fall as levels rise."""
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        if is_enough(levels[middle]):
            high = middle
        else:
            low = middle + 1
    return levels[low] if low < len(levels) else None
