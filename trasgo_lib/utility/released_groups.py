"""Columns of groups in estimates from released codes: alone through the margin of their column, together as a group.

What follows from one column alone comes from its margin, which is exactly what happened to the column. What follows
from two columns of one group is decoded through the channel of the group, whose noise they share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.estimation import Powers
from trasgo_lib.mechanisms import Channel, kept_share, margin
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.released_noise import Floats, GroupRows


@dataclass(frozen=True, slots=True)
class CorrelatedGroup:
    """A group whose columns are correlated, with each other too.

    Args:
        unit: name of the group.
        columns: which of the correlated columns are of this group.
        channel: of the group.
        kept: share of the rows whose combination the channel keeps; it draws the others afresh from all combinations.
    """

    unit: str
    columns: tuple[int, ...]
    channel: Channel = field(repr=False)
    kept: float

    def products(self, left: Powers, right: Powers) -> Floats:
        """Decoders of products of powers 0 to 2 of two columns, the right power running fastest: float64[9, codes]."""
        ours, theirs = left.inputs.T[:3], right.inputs.T[:3]
        return self._decoded((ours[:, None, :] * theirs[None, :, :]).reshape(9, -1))

    def rows(self, decoders: Sequence[Powers], codes: NDArray[np.int32]) -> GroupRows:
        """The group in some rows.

        Args:
            decoders: of every correlated column.
            codes: released codes of the group.
        """
        return GroupRows(self.columns, self.kept, tuple(decoders[at].inputs.T[:3] for at in self.columns), codes)

    def _decoded(self, functions: Floats) -> Floats:
        return GroupRows(self.columns, self.kept, (), np.zeros(0, dtype=np.int32)).decoded(functions)


def correlated_groups(columns: Sequence[LossColumn], channels: Mapping[str, Channel]) -> tuple[CorrelatedGroup, ...]:
    """The groups among some columns.

    Args:
        columns: correlated columns.
        channels: by noise unit.
    """
    units = dict.fromkeys(column.unit for column in columns if column.group is not None)
    return tuple(
        CorrelatedGroup(
            unit,
            tuple(at for at, column in enumerate(columns) if column.unit == unit),
            channels[unit],
            kept_share(channels[unit]),
        )
        for unit in units
    )


def on_its_own(
    column: LossColumn, channel: Channel, counts: NDArray[np.int64]
) -> tuple[LossColumn, Channel, NDArray[np.int64]]:
    """A column, the channel and the counts of its own codes.

    Args:
        column: a column of a group, or a unit of its own, which stays as it is.
        channel: of its unit.
        counts: by released code of its unit.
    """
    if column.group is None or column.places is None:
        return column, channel, counts
    law = margin(channel, column.group, column.name)
    own = np.zeros(law.outputs, dtype=np.int64)
    np.add.at(own, column.places, counts)
    return replace(column, group=None, places=None), law, own
