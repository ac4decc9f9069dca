"""Columns of groups as columns of their own: each with its own released codes and the channel of its margin.

What follows from one column alone holds: the margin of a group's channel is exactly what happened to the column. What
follows from two columns of one group does not, since their noise is not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.mechanisms import Channel, margin
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.summary import CodeBatches


@dataclass(frozen=True, slots=True)
class SeparateColumns:
    """Released columns in which each column of a group stands for itself.

    Args:
        released: by column of a group, or by noise unit, how to read its own released codes.
        columns: what to measure; a column of a group is its own unit.
        channels: by the same names, the channels.
    """

    released: CodeBatches = field(repr=False)
    columns: tuple[LossColumn, ...]
    channels: Mapping[str, Channel] = field(repr=False)


def separate_columns(
    released: CodeBatches, columns: Sequence[LossColumn], channels: Mapping[str, Channel]
) -> SeparateColumns:
    """Take groups apart.

    Args:
        released: by noise unit, how to read its released codes.
        columns: what to measure, as from ``loss_columns``.
        channels: by noise unit, the channel its codes were drawn from.
    """
    readers, laws = dict(released), dict(channels)
    own: list[LossColumn] = []
    for column in columns:
        if column.group is not None:
            readers[column.name] = partial(_own_codes, released[column.unit], column)
            laws[column.name] = margin(channels[column.unit], column.group, column.name)
        own.append(column if column.group is None else replace(column, unit=column.name, group=None, places=None))
    return SeparateColumns(readers, tuple(own), laws)


def _own_codes(read: Callable[[], Iterable[NDArray[np.int32]]], column: LossColumn) -> Iterator[NDArray[np.int32]]:
    for codes in read():
        yield column.own_codes(codes)
