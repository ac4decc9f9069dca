"""Whether columns should be noised as one group: the same rows, noised both ways at the same total.

As a group, all columns go through one k-ary response over the product of their (binned) codes; as single columns each
goes through its own at an equal share of the total. Both are judged by the correlations of the released rows as they
are, and by correlations debiased in closed form, which is what an analyst with the channel file gets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.data import CategoryDomain, ProductDomain
from trasgo_lib.mechanisms import Channel, build_channel
from trasgo_lib.mechanisms.krr import KARY_NAME
from trasgo_lib.noise import Keystream

Floats = NDArray[np.float64]
Codes = Mapping[str, NDArray[np.int32]]

_CLEARLY = 1.05
"""Losses and errors that differ by less than this factor count as equal."""

_SHOWN = Epsilon.parse("6")
"""The advice names the raw losses at the total nearest to this; at lower ones little is left either way."""

_WEAK = 0.1
"""A mean correlation below this is close to none, and little noise covers it."""


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """Means over the keys at one total.

    Args:
        total: epsilon of all columns together.
        raw_group: correlation loss among the columns of the released rows as a group, percent.
        raw_single: likewise as single columns.
        debiased_group: root mean square error of debiased correlations as a group.
        debiased_single: likewise as single columns.
        added: mean size of what uniform replacement adds to a correlation between released columns of the group.
    """

    total: Epsilon
    raw_group: float
    raw_single: float
    debiased_group: float
    debiased_single: float
    added: float


@dataclass(frozen=True, slots=True)
class GroupAdvice:
    """What speaks for and against one group.

    Args:
        columns: its columns.
        combinations: size of the product.
        strength: mean size of the true correlations among them.
        comparisons: by rising total.
        is_advised: whether the group keeps more of the released rows' correlations.
        reason: why, in words.
    """

    columns: tuple[str, ...]
    combinations: int
    strength: float
    comparisons: tuple[GroupComparison, ...] = field(repr=False)
    is_advised: bool
    reason: str


def advise_group(
    domain: ProductDomain, codes: Codes, totals: Sequence[Epsilon], stream: Callable[..., Keystream], keys: int
) -> GroupAdvice:
    """Compare a group with its single columns on public rows.

    Args:
        domain: the group's columns with their bins; public.
        codes: by column, int32[rows] of its own domain; public.
        totals: epsilons of all columns together, rising.
        stream: makes a stream of a public fixed key for a label.
        keys: how many draws each result is a mean of.
    """
    names = tuple(part.name for part in domain.parts)
    rows = _Rows(
        domain,
        domain.encode(*(codes[name] for name in names)),
        {name: domain.tables(name)[0][codes[name]] for name in names},
        {name: _scale(domain, name) for name in names},
    )
    compared = tuple(
        _compared(rows, total, [stream("group", *names, total.text, key) for key in range(keys)]) for total in totals
    )
    return GroupAdvice(names, domain.size, rows.strength, compared, *_advice(compared, rows.strength))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows as a group and as single columns.

    Args:
        domain: the group's columns.
        joint: int32[rows], the code of the group.
        places: by column, int32[rows], its (binned) place.
        scales: by column, the number each place counts as; NaN where a value is missing.
    """

    domain: ProductDomain
    joint: NDArray[np.int32]
    places: Codes
    scales: Mapping[str, Floats]

    @property
    def truth(self) -> Floats:
        """True correlations of the pairs."""
        return _correlations(self.places, self.scales, lambda table, _: table)

    @property
    def strength(self) -> float:
        """Mean size of the true correlations."""
        return float(np.abs(self.truth).mean())


def _scale(domain: ProductDomain, name: str) -> Floats:
    values: Floats = domain.tables(name)[1].astype(np.float64)
    if domain.part(name).missing:
        values[-1] = np.nan
    return values


def _compared(rows: _Rows, total: Epsilon, streams: Sequence[Keystream]) -> GroupComparison:
    grouped = build_channel(KARY_NAME, rows.domain, total)
    share = Epsilon(max(1, total.units // len(rows.scales)))
    single = {name: build_channel(KARY_NAME, _plain(len(scale)), share) for name, scale in rows.scales.items()}
    kept, kept_of = _kept(grouped), {name: _kept(channel) for name, channel in single.items()}
    truth, figures = rows.truth, []
    for stream in streams:
        as_group = _places(rows.domain, grouped.sample(rows.joint, stream))
        as_single = {
            name: channel.sample(rows.places[name], stream, len(rows.joint) * (1 + at))  # words of its own
            for at, (name, channel) in enumerate(single.items())
        }
        found = (
            _correlations(as_group, rows.scales, lambda table, _: table),
            _correlations(as_single, rows.scales, lambda table, _: table),
            _correlations(as_group, rows.scales, lambda table, _: (table - (1 - kept) / table.size) / kept),
            _correlations(
                as_single, rows.scales, lambda table, pair: _undone(table, kept_of[pair[0]], kept_of[pair[1]])
            ),
        )
        figures.append(
            [_loss(truth, found[0]), _loss(truth, found[1]), *(((r - truth) ** 2).mean() for r in found[2:])]
        )
    raw_group, raw_single, square_group, square_single = np.mean(figures, axis=0)
    return GroupComparison(
        total,
        float(raw_group),
        float(raw_single),
        math.sqrt(square_group),
        math.sqrt(square_single),
        _added(rows, kept),
    )


def _plain(size: int) -> CategoryDomain:
    return CategoryDomain([str(place) for place in range(size)])


def _kept(channel: Channel) -> float:
    """The share of rows that k-ary response leaves alone; the rest is replaced evenly."""
    weights = channel.weights(0)
    return (weights[0] - weights[1]) / channel.total


def _places(domain: ProductDomain, joint: NDArray[np.int32]) -> dict[str, NDArray[np.int32]]:
    found, rest = {}, joint
    for part in reversed(domain.parts):
        rest, found[part.name] = np.divmod(rest, np.int32(domain.places(part.name)))
    return found


def _correlations(
    places: Codes, scales: Mapping[str, Floats], undo: Callable[[Floats, tuple[str, str]], Floats]
) -> Floats:
    """Pearson's correlation of every pair, from its joint shares after ``undo``: float64[pairs]."""
    found = []
    for pair in combinations(scales, 2):
        left, right = scales[pair[0]], scales[pair[1]]
        joint = places[pair[0]].astype(np.int64) * len(right) + places[pair[1]]
        table = np.bincount(joint, minlength=len(left) * len(right)).reshape(len(left), len(right)) / len(joint)
        found.append(_pearson(undo(table, pair), left, right))
    return np.array(found)


def _pearson(table: Floats, left: Floats, right: Floats) -> float:
    """Of shares that may be below 0: a variance that the noise hides gives 0, and no size is above 1."""
    inside = table[np.ix_(~np.isnan(left), ~np.isnan(right))]
    left, right, total = left[~np.isnan(left)], right[~np.isnan(right)], float(inside.sum())
    if total <= 0:
        return 0.0
    ours, theirs = inside.sum(axis=1) / total, inside.sum(axis=0) / total
    left, right = left - ours @ left, right - theirs @ right
    spread = (ours @ left**2, theirs @ right**2)
    if min(spread) <= 0:
        return 0.0
    return float(np.clip(left @ (inside / total) @ right / math.sqrt(spread[0] * spread[1]), -1.0, 1.0))


def _undone(table: Floats, left: float, right: float) -> Floats:
    """Joint shares before both columns went through their own k-ary response."""
    rows, columns = table.shape
    half = (table - (1 - left) / rows * table.sum(axis=0, keepdims=True)) / left
    whole: Floats = (half - (1 - right) / columns * half.sum(axis=1, keepdims=True)) / right
    return whole


def _loss(truth: Floats, found: Floats) -> float:
    return 100 * float(np.abs(found - truth).mean()) / max(float(np.abs(truth).mean()), 1e-12)


def _added(rows: _Rows, kept: float) -> float:
    """Mean size of ``b (1-b) (mu1-u1) (mu2-u2)`` in terms of the released spreads: what even replacement adds."""
    shifts, spreads = {}, {}
    for name, scale in rows.scales.items():
        known = ~np.isnan(scale)
        shares = np.bincount(rows.places[name], minlength=len(scale))[known]
        values = scale[known]
        # no row with a value: taken as even, to which replacement adds nothing
        shares = shares / shares.sum() if shares.any() else np.full(len(values), 1 / len(values))
        shifts[name] = float(shares @ values - values.mean())
        within = kept * (shares @ values**2 - (shares @ values) ** 2) + (1 - kept) * values.var()
        spreads[name] = math.sqrt(float(within) + kept * (1 - kept) * shifts[name] ** 2)
    sizes = [
        abs(kept * (1 - kept) * shifts[left] * shifts[right] / max(spreads[left] * spreads[right], 1e-12))
        for left, right in combinations(rows.scales, 2)
    ]
    return float(np.mean(sizes))


def _advice(compared: Sequence[GroupComparison], strength: float) -> tuple[bool, str]:
    worse = sum(one.raw_group > _CLEARLY * one.raw_single for one in compared)
    better = sum(one.raw_single > _CLEARLY * one.raw_group for one in compared)
    shown = min(compared, key=lambda one: abs(one.total.units - _SHOWN.units))
    raw = f"{shown.raw_group:.0f} % as a group against {shown.raw_single:.0f} % as single columns at {shown.total.text}"
    ratios = [one.debiased_single / max(one.debiased_group, 1e-12) for one in compared]
    is_closer = min(ratios) > _CLEARLY
    if is_closer:
        times = f"{min(ratios):.0f} to {max(ratios):.0f}" if max(ratios) >= min(ratios) + 1 else f"{max(ratios):.1f}"
        debiased = f"the error of debiased correlations is {times} times smaller as a group"
    else:
        debiased = f"the error of debiased correlations is not always smaller as a group ({min(ratios):.1f} times)"
    if better > worse:
        return True, f"the released rows keep more of their correlations: they lose {raw}; {debiased}."
    if not worse:
        return False, f"the released rows keep no more of their correlations: they lose {raw}; {debiased}."
    why = (
        f"replacing rows evenly over all combinations adds {shown.added:.2f} on average to a correlation where shares"
        f" are uneven, and the true ones are {'weak' if strength < _WEAK else 'not strong enough'}"
        f" (mean {strength:.2f})"
    )
    advice = f"the released rows get worse: they lose {raw}, since {why}."
    if is_closer:
        return False, f"{advice} But {debiased}: worth it where users debias."
    return False, f"{advice} And {debiased}."
