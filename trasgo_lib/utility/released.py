"""Losses of this release against this raw file, estimated from released codes and public channels alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.estimation import Estimate
from trasgo_lib.mechanisms import Channel
from trasgo_lib.noise import Keystream
from trasgo_lib.utility.coefficients import correlation_method
from trasgo_lib.utility.histogram import Histogram
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.released_correlation import (
    CorrelationBasis,
    CorrelationLossEstimates,
    estimate_correlation_losses,
)
from trasgo_lib.utility.released_divergence import DivergenceEstimates, estimate_divergences
from trasgo_lib.utility.released_groups import on_its_own
from trasgo_lib.utility.resampling import Resampling
from trasgo_lib.utility.summary import CodeBatches

_NOT_ASKED = "not asked for"
_POINTS = "losses of points are not estimated from released codes"


@dataclass(frozen=True, slots=True)
class ColumnLossEstimates:
    """Estimated losses of one column; as public as the release.

    Args:
        name: column.
        unit: its noise unit.
        tvd: total variation distance, 0..1.
        js: Jensen-Shannon divergence, nats.
        kl: Kullback-Leibler divergence of the original from the released, nats.
        correlation_loss: percent, over the pairs with this column.
    """

    name: str
    unit: str
    tvd: Estimate
    js: Estimate
    kl: Estimate
    correlation_loss: Estimate

    def value(self, loss: str) -> Estimate:
        """One of the losses that can have a target.

        Args:
            loss: one of ``LOSS_NAMES``.

        Raises:
            KeyError: another name.
        """
        return {"tvd": self.tvd, "js": self.js, "kl": self.kl, "correlation_loss": self.correlation_loss}[loss]


@dataclass(frozen=True, slots=True)
class LossEstimates:
    """Estimated losses of one release against its raw file; as public as the release.

    Args:
        method: name of the correlation.
        columns: in release order.
        correlation_loss: percent, over all pairs.
        basis: what correlation losses at other rungs of a group follow from; None without a group or an estimate.
    """

    method: str
    columns: tuple[ColumnLossEstimates, ...]
    correlation_loss: Estimate
    basis: CorrelationBasis | None = field(default=None, repr=False, compare=False)

    def column(self, name: str) -> ColumnLossEstimates:
        """The losses of one column.

        Raises:
            KeyError: no such column.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def of_unit(self, unit: str, loss: str) -> Estimate:
        """The worst estimate among a unit's columns, by its upper end; one without value is worse than any.

        Args:
            unit: noise unit.
            loss: one of ``LOSS_NAMES``.

        Raises:
            KeyError: no such unit or loss.
        """
        found = [column.value(loss) for column in self.columns if column.unit == unit]
        if not found:
            raise KeyError(unit)
        return worst(found)

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: every number is finite or null."""
        return {
            "method": self.method,
            "columns": [asdict(column) for column in self.columns],
            "correlation_loss": asdict(self.correlation_loss),
        }


def worst(estimates: Sequence[Estimate]) -> Estimate:
    """The worst of some losses, by its upper end; one without value is worse than any.

    Args:
        estimates: at least one.
    """
    unknown = [estimate for estimate in estimates if estimate.high is None]
    return unknown[0] if unknown else max(estimates, key=lambda estimate: estimate.high or 0.0)


def estimate_losses(
    released: CodeBatches,
    columns: Sequence[LossColumn],
    channels: Mapping[str, Channel],
    *,
    method: str,
    rows: int,
    stream: Keystream,
    divergences: Collection[str] | None = None,
) -> LossEstimates:
    """Estimate the losses between the raw file and this release of it.

    Args:
        released: by noise unit, how to read its released codes; units share their batches.
        columns: what to measure, as from ``loss_columns``.
        channels: by noise unit, the channel its codes were drawn from.
        method: name of the correlation.
        rows: number of rows of the table.
        stream: a stream of a public fixed key, for the bootstrap; the same stream gives the same estimates.
        divergences: columns whose divergences are wanted; None: all. Estimates do not depend on what else is wanted.

    Returns:
        Estimates with 95 % intervals over the noise; None with a reason where there is no useful one.

    Raises:
        ConfigError: an unknown method.
        InputContractError: units of different lengths or another number of rows.
    """
    how = correlation_method(method)
    correlated = [column for column in columns if column.is_correlated]
    units = dict.fromkeys(column.unit for column in correlated)
    histograms = {unit: np.zeros(channels[unit].outputs, dtype=np.int64) for unit in units}
    batches = _counted(released, histograms, rows)
    losses = estimate_correlation_losses(batches, correlated, channels, how, Resampling(stream, 0), rows)
    for _ in batches:  # where correlations gave up early, the histograms are still wanted
        pass
    return LossEstimates(
        how.name,
        tuple(
            _column(column, channels[column.unit], histograms, losses, Resampling(stream, 1 + at))
            if divergences is None or column.name in divergences
            else _not_asked(column, losses)
            for at, column in enumerate(columns)
        ),
        losses.overall,
        losses.basis,
    )


def _counted(
    released: CodeBatches, histograms: Mapping[str, NDArray[np.int64]], rows: int
) -> Iterator[dict[str, NDArray[np.int32]]]:
    names = list(histograms)
    seen = 0
    for parts in zip_longest(*(released[name]() for name in names)):
        batch = dict(zip(names, parts))
        if len({None if part is None else part.size for part in parts}) > 1:
            raise _mismatch("the same batches in every noise unit", "batches of different lengths")
        for name, codes in batch.items():
            Histogram.check(codes, len(histograms[name]) - 1)
            histograms[name][:] += np.bincount(codes, minlength=len(histograms[name]))
        seen += parts[0].size
        yield batch
    if names and seen != rows:
        raise _mismatch(f"{rows} rows", f"{seen}")


def _column(
    column: LossColumn,
    channel: Channel,
    histograms: Mapping[str, NDArray[np.int64]],
    losses: CorrelationLossEstimates,
    resampling: Resampling,
) -> ColumnLossEstimates:
    if not column.is_correlated:
        nothing = Estimate.none(_POINTS)
        return ColumnLossEstimates(column.name, column.unit, nothing, nothing, nothing, nothing)
    own, law, counts = on_its_own(column, channel, histograms[column.unit])
    found: DivergenceEstimates = estimate_divergences(law, counts, own.bins_of(law.outputs), resampling)
    return ColumnLossEstimates(column.name, column.unit, found.tvd, found.js, found.kl, losses.columns[column.name])


def _not_asked(column: LossColumn, losses: CorrelationLossEstimates) -> ColumnLossEstimates:
    nothing = Estimate.none(_NOT_ASKED)
    found = losses.columns.get(column.name, nothing)
    return ColumnLossEstimates(column.name, column.unit, nothing, nothing, nothing, found)


def _mismatch(required: str, came: str) -> InputContractError:
    return InputContractError.of(
        Reason.ROW_MISMATCH, "codes", required=required, came=came, fix="Estimate a release from its own codes."
    )
