"""Measuring a release against its original, round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trasgo_lib.utility.coefficients import CorrelationMethod, correlation_method
from trasgo_lib.utility.divergences import Divergence, divergence_of_counts
from trasgo_lib.utility.histogram import Histogram, equal_bins
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.loss_rule import Coefficient, CorrelationLoss, LossShare, PairLoss, correlation_loss_of
from trasgo_lib.utility.losses import ColumnLosses, Losses
from trasgo_lib.utility.summary import CodeBatches, Summary, summarise, tabled_pairs
from trasgo_lib.utility.table_sizes import on_parts


@dataclass(frozen=True, slots=True)
class Measurement:
    """One round's losses, and the statistics that the next round need not take again; private.

    Args:
        losses: the losses.
        original: statistics of the original, taken once.
        released: statistics of the released version.
    """

    losses: Losses
    original: Summary = field(repr=False)
    released: Summary = field(repr=False)


def measure(
    original: CodeBatches,
    released: CodeBatches,
    columns: Sequence[LossColumn],
    *,
    method: str = "pearson",
    rows: int,
    attempts: Mapping[str, int] | None = None,
    before: Measurement | None = None,
) -> Measurement:
    """Measure a released version against its original.

    Args:
        original: by noise unit, how to read the original's codes; private.
        released: likewise of the version; units share their batches with the original.
        columns: what to measure, as from ``loss_columns``.
        method: ``pearson``, ``spearman`` or ``kendall``.
        rows: number of rows of the table.
        attempts: by noise unit, number of its current draw; with ``before``, only what a new number touches is
            counted again. None: everything is counted.
        before: the previous round's measurement of the same table with the same method and columns.

    Returns:
        Exact losses that depend neither on the order of rows nor on batches or earlier rounds.

    Raises:
        ConfigError: an unknown method.
        InputContractError: units or versions of different lengths, or codes outside their domain.
    """
    how = correlation_method(method)
    ours = before.original if before is not None else summarise(original, columns, how, rows)
    theirs = summarise(
        released,
        columns,
        how,
        rows,
        attempts=attempts,
        before=before.released if before is not None else None,
        reference=original,
    )
    return Measurement(_losses(ours, theirs, columns, how), ours, theirs)


def _losses(ours: Summary, theirs: Summary, columns: Sequence[LossColumn], method: CorrelationMethod) -> Losses:
    correlated = [column.name for column in columns if column.is_correlated]
    correlation = correlation_loss_of(
        correlated,
        _pair_losses(ours.pairs, theirs.pairs),
        _pair_losses(ours.associations, theirs.associations),
        method,
        constant_before=[name for name in correlated if ours.histograms[name].distinct < 2],
        constant_after=[name for name in correlated if theirs.histograms[name].distinct < 2],
        labels=[column.name for column in columns if column.kind == "label"],
    )
    return Losses(
        method=method.name,
        columns=tuple(_column_losses(column, ours, theirs, correlation) for column in columns),
        correlation_loss=correlation.percent,
        reliable=correlation.reliable,
        reason=correlation.reason,
        left_out=correlation.left_out,
        nominal=correlation.nominal,
        on_parts=on_parts(columns, tabled_pairs(columns, method), ours.rows),
    )


def _pair_losses(
    ours: Mapping[tuple[str, str], Coefficient], theirs: Mapping[tuple[str, str], Coefficient]
) -> list[PairLoss]:
    return [PairLoss(*names, coefficient, theirs[names]) for names, coefficient in ours.items()]


def _column_losses(column: LossColumn, ours: Summary, theirs: Summary, correlation: CorrelationLoss) -> ColumnLosses:
    moved = _divergence(column, ours.histograms[column.name], theirs.histograms[column.name])
    share = correlation.per_column.get(column.name, _POINT)
    association = correlation.association.get(column.name)
    displacement = theirs.displacements.get(column.name)
    return ColumnLosses(
        name=column.name,
        unit=column.unit,
        tvd=moved.tvd,
        js=moved.js,
        kl=moved.kl,
        lost=moved.lost,
        divergence_reason=moved.reason,
        correlation_loss=share.percent,
        reliable=share.reliable,
        reason=share.reason,
        nominal=share.nominal,
        association_loss=association.percent if association is not None else None,
        displacement_m=displacement.mean_m if displacement is not None else None,
    )


_POINT = LossShare(None, False, "points are not correlated")


def _divergence(column: LossColumn, ours: Histogram, theirs: Histogram) -> Divergence:
    bins = equal_bins(column.size, column.bins) if column.bins is not None and column.grid is None else None
    return divergence_of_counts(ours.binned(bins), theirs.binned(bins))
