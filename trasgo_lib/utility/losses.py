"""The losses of one round, by column and overall: what the loop decides on and the restricted report prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LOSS_NAMES = ("correlation_loss", "tvd", "js", "kl")
"""The losses that can have a target."""


@dataclass(frozen=True, slots=True)
class LossValue:
    """One loss of one noise unit, as a target is held against it.

    Args:
        value: the loss, or None when there is no evidence; that never meets a target.
        reason: why there is none, or what was left out of it.
        is_mendable: whether a higher level can give another value; False where the original itself has nothing to lose.
    """

    value: float | None
    reason: str | None = None
    is_mendable: bool = True


@dataclass(frozen=True, slots=True)
class ColumnLosses:
    """Losses of one column; restricted, since they come from raw data. No other trace of the data is in here.

    Args:
        name: column.
        unit: its noise unit.
        tvd: total variation distance, 0..1.
        js: Jensen-Shannon divergence, nats.
        kl: Kullback-Leibler divergence of the original from the released, nats; None where it is infinite.
        lost: categories that the release lost.
        divergence_reason: why one of the three is None.
        correlation_loss: percent, over the pairs with this column; None where it means nothing.
        reliable: whether the original's correlations stand out from chance.
        reason: why the correlation loss is None, or what was left out or counted in full.
        nominal: the correlation loss where only the reliability rule withholds it.
        association_loss: percent, of Cramer's V and correlation ratios; unordered labels only.
        displacement_m: mean distance between original and released point in metres; points only.
    """

    name: str
    unit: str
    tvd: float | None
    js: float | None
    kl: float | None
    lost: int
    divergence_reason: str | None
    correlation_loss: float | None
    reliable: bool
    reason: str | None
    nominal: float | None = None
    association_loss: float | None = None
    displacement_m: float | None = None

    def value(self, loss: str) -> LossValue:
        """One of the losses that can have a target.

        Args:
            loss: one of ``LOSS_NAMES``.

        Raises:
            KeyError: another name.
        """
        if loss == "correlation_loss":
            # the original alone decides whether this one exists: what a release loses counts in full
            return LossValue(self.correlation_loss, self.reason, self.correlation_loss is not None)
        found = {"tvd": self.tvd, "js": self.js, "kl": self.kl}[loss]
        return LossValue(found, self.divergence_reason if found is None else None, found is not None or self.lost > 0)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses of one version of a table against its original; restricted.

    Args:
        method: name of the correlation.
        columns: in release order.
        correlation_loss: percent, over all pairs; None where it means nothing.
        reliable: whether the original's correlations stand out from chance.
        reason: why it is None, or what was left out or counted in full.
        left_out: columns that are constant in the original.
        nominal: the overall loss where only the reliability rule withholds it.
        on_parts: columns of which ranks and associations were counted on equal parts of the domain, since a table of
            all codes would be larger than the stated size.
    """

    method: str
    columns: tuple[ColumnLosses, ...]
    correlation_loss: float | None
    reliable: bool
    reason: str | None
    left_out: tuple[str, ...] = ()
    nominal: float | None = None
    on_parts: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnLosses:
        """The losses of one column.

        Raises:
            KeyError: no such column.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def of_unit(self, unit: str, loss: str) -> LossValue:
        """The worst loss among a unit's columns; one without evidence is worse than any.

        Args:
            unit: noise unit.
            loss: one of ``LOSS_NAMES``.

        Raises:
            KeyError: no such unit or loss.
        """
        values = [column.value(loss) for column in self.columns if column.unit == unit]
        if not values:
            raise KeyError(unit)
        unknown = [value for value in values if value.value is None]
        if unknown:
            return next((value for value in unknown if not value.is_mendable), unknown[0])
        return max(values, key=lambda value: value.value or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Strict JSON for the restricted root: every number is finite or null."""
        lists = {"left_out": list(self.left_out), "on_parts": list(self.on_parts)}
        return {**asdict(self), "columns": [asdict(column) for column in self.columns], **lists}
