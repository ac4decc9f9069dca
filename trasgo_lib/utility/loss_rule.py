"""From two sets of coefficients to a correlation loss: which pairs count, and when a loss means anything."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trasgo_lib.utility.coefficients import CorrelationMethod

RELIABLE_SCORE = 1.96
"""z of the reliability rule: the two-sided 95 % point of the normal law, as in the reference library."""

FEWEST_ROWS = 4
"""Fisher's standard error divides by the square root of rows - 3."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of one pair of columns.

    Args:
        value: in -1..1, or None where a column is constant over the common rows.
        rows: rows where both columns are present.
    """

    value: float | None
    rows: int


@dataclass(frozen=True, slots=True)
class PairLoss:
    """One pair of columns before and after the noise."""

    left: str
    right: str
    original: Coefficient
    released: Coefficient

    @property
    def shift(self) -> float:
        """How far the coefficient moved; a released coefficient that does not exist keeps nothing."""
        return abs((self.original.value or 0.0) - (self.released.value or 0.0))

    @property
    def is_gone(self) -> bool:
        """Whether the release has no coefficient where the original has one."""
        return self.original.value is not None and self.released.value is None


@dataclass(frozen=True, slots=True)
class LossShare:
    """A correlation loss over some pairs.

    Args:
        percent: ``100 * mean |r - r'| / mean |r|``; None where it means nothing, with the reason.
        reliable: whether the original's correlations stand out from chance.
        reason: why ``percent`` is None, or what was left out of it or counted in full; else None.
        nominal: the plain ratio where only the reliability rule withholds ``percent``; for restricted reports.
    """

    percent: float | None
    reliable: bool
    reason: str | None = None
    nominal: float | None = None


@dataclass(frozen=True, slots=True)
class CorrelationLoss:
    """What the noise took from the correlations. Private, as any loss on raw data.

    Args:
        percent: over all pairs; None where it means nothing.
        reliable: whether the original's correlations stand out from chance.
        reason: why ``percent`` is None, or what was left out of it or counted in full.
        per_column: by column, over the pairs that contain it.
        left_out: columns that are constant in the original.
        method: name of the correlation.
        nominal: the plain ratio, also where it is unreliable.
        association: by unordered label column, the same loss with Cramer's V and the correlation ratio in place of
            coefficients of codes.
    """

    percent: float | None
    reliable: bool
    reason: str | None
    per_column: Mapping[str, LossShare]
    left_out: tuple[str, ...]
    method: str
    nominal: float | None = None
    association: Mapping[str, LossShare] = field(default_factory=dict)


def correlation_loss_of(
    columns: Sequence[str],
    pairs: Sequence[PairLoss],
    associations: Sequence[PairLoss],
    method: CorrelationMethod,
    *,
    constant_before: Sequence[str],
    constant_after: Sequence[str],
    labels: Sequence[str] = (),
) -> CorrelationLoss:
    """Judge the pairs of a set of columns.

    Args:
        columns: names, in the order of the report.
        pairs: every pair of the columns, each once.
        associations: every pair with at least one of ``labels``.
        method: fixes the standard error of the reliability rule.
        constant_before: columns without two different values in the original; they are left out.
        constant_after: columns without two different values in the release; their pairs lose everything.
        labels: columns whose codes have no order.
    """
    left_out = tuple(name for name in columns if name in set(constant_before))
    flattened = [name for name in columns if name in set(constant_after) and name not in left_out]

    def judge(of: Sequence[PairLoss], name: str | None = None, *, ruled: bool = True) -> LossShare:
        kept = [pair for pair in of if name is None or name in (pair.left, pair.right)]
        gone = [pair for pair in kept if pair.is_gone and not {pair.left, pair.right} & {*flattened, *left_out}]
        notes = _notes([c for c in left_out if name in (None, c)], [c for c in flattened if name in (None, c)], gone)
        return _share(kept, method if ruled else None, notes)

    overall = judge(pairs)
    return CorrelationLoss(
        percent=overall.percent,
        reliable=overall.reliable,
        reason=overall.reason,
        per_column={name: judge(pairs, name) for name in columns},
        left_out=left_out,
        method=method.name,
        nominal=overall.nominal,
        association={name: judge(associations, name, ruled=False) for name in columns if name in set(labels)},
    )


def _notes(left_out: Sequence[str], flattened: Sequence[str], gone: Sequence[PairLoss]) -> list[str]:
    notes = []
    if left_out:
        notes.append(f"constant in the original, left out: {', '.join(left_out)}")
    if flattened:
        notes.append(f"constant in the release, counted as full loss: {', '.join(flattened)}")
    if gone:
        names = ", ".join(f"{pair.left} with {pair.right}" for pair in gone)
        notes.append(f"constant in the release where both are present, counted as full loss: {names}")
    return notes


def _share(pairs: Sequence[PairLoss], method: CorrelationMethod | None, notes: Sequence[str]) -> LossShare:
    """The loss over some pairs; without a method, no reliability rule is applied."""
    known = [pair for pair in pairs if pair.original.value is not None]
    if not known:
        return LossShare(None, False, "; ".join([*notes, "no pair of columns that vary together"]))
    strength = math.fsum(abs(pair.original.value or 0.0) for pair in known) / len(known)
    if strength == 0:
        return LossShare(None, False, "; ".join([*notes, "unreliable: the original's correlations are all zero"]))
    percent = 100 * (math.fsum(pair.shift for pair in known) / len(known)) / strength
    doubt = _doubt(known, strength, method) if method else None
    if doubt is not None:
        return LossShare(None, False, "; ".join([*notes, doubt]), percent)
    return LossShare(percent, True, "; ".join(notes) or None, percent)


def _doubt(pairs: Sequence[PairLoss], strength: float, method: CorrelationMethod) -> str | None:
    if min(pair.original.rows for pair in pairs) < FEWEST_ROWS:
        return f"unreliable: fewer than {FEWEST_ROWS} common rows"
    error = math.fsum(method.standard_error(pair.original.rows) for pair in pairs) / len(pairs)
    # a coefficient cannot pass 1, so neither may the bar: four rows on a line are a correlation
    if strength < min(RELIABLE_SCORE * error, 1.0):
        return (
            f"unreliable: the mean size of the original's correlations is below {RELIABLE_SCORE} standard errors"
            " of unrelated columns"
        )
    return None
