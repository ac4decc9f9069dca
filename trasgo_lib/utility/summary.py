"""All statistics of one version of a table, taken in one pass over its batches.

The original is summarised once. Of a release only what a fresh draw touched is counted again: the histograms of the
columns that were redrawn and the pairs that contain one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.errors import InputContractError, Reason
from trasgo_lib.utility.coefficients import CorrelationMethod
from trasgo_lib.utility.histogram import Histogram
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.loss_rule import Coefficient
from trasgo_lib.utility.points import Displacement
from trasgo_lib.utility.tally import Batch, Pair, Tally, needs_table

CodeBatches = Mapping[str, Callable[[], Iterable[NDArray[np.int32]]]]
"""By noise unit, how to read its codes from the first batch on; units share their batching. Opened only when needed."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of one version of a table; as private as the version.

    Args:
        rows: number of rows.
        attempts: by noise unit, which draw was summarised; 0 for the original.
        histograms: by column, counts of its codes (of grid cells for points).
        pairs: by names of two columns, their correlation.
        associations: by names, Cramer's V or correlation ratio of pairs with an unordered label.
        displacements: by point column, how far its points are from the original.
    """

    rows: int
    attempts: Mapping[str, int]
    histograms: Mapping[str, Histogram] = field(repr=False)
    pairs: Mapping[tuple[str, str], Coefficient] = field(repr=False)
    associations: Mapping[tuple[str, str], Coefficient] = field(repr=False)
    displacements: Mapping[str, Displacement] = field(repr=False)


def summarise(
    codes: CodeBatches,
    columns: Sequence[LossColumn],
    method: CorrelationMethod,
    rows: int,
    *,
    attempts: Mapping[str, int] | None = None,
    before: Summary | None = None,
    reference: CodeBatches | None = None,
) -> Summary:
    """Take the statistics of a version.

    Args:
        codes: the version's codes; private for the original.
        columns: what to measure.
        method: how to correlate.
        rows: number of rows that every unit must have.
        attempts: by noise unit, number of its draw; units whose number is that of ``before`` are not read again
            unless a pair needs them. None: all are new.
        before: the summary of the previous round of this version.
        reference: the original's codes, for how far points moved; None for the original itself.

    Raises:
        InputContractError: another number of rows, units in different batches, or codes outside their domain.
    """
    numbers = attempts if attempts is not None else {column.unit: 0 for column in columns}
    fresh = [
        column
        for column in columns
        if before is None or attempts is None or before.attempts.get(column.unit) != attempts.get(column.unit)
    ]
    names = {column.name for column in fresh}
    every = list(combinations([column for column in columns if column.is_correlated], 2))
    pairs = [pair for pair in every if pair[0].name in names or pair[1].name in names]
    tally = Tally(fresh, pairs, method, rows, len(tabled_pairs(columns, method)))
    counted = 0
    for batch in _aligned(codes, tally.units, reference, tally.point_units if reference is not None else ()):
        counted += tally.add(batch)
    if tally.units and counted != rows:
        raise _row_mismatch(f"{rows} rows", f"{counted}")
    correlations, associations = tally.coefficients()
    return Summary(
        rows,
        dict(numbers),
        {**(before.histograms if before else {}), **tally.histograms},
        {**(before.pairs if before else {}), **correlations},
        {**(before.associations if before else {}), **associations},
        {**(before.displacements if before else {}), **tally.displacements},
    )


def tabled_pairs(columns: Sequence[LossColumn], method: CorrelationMethod) -> list[Pair]:
    """All pairs of a table whose coefficients come from contingency tables."""
    every = combinations([column for column in columns if column.is_correlated], 2)
    return [pair for pair in every if needs_table(pair, method)]


def _aligned(
    codes: CodeBatches, units: Sequence[str], reference: CodeBatches | None, reference_units: Sequence[str]
) -> Iterator[Batch]:
    """Read units side by side.

    Raises:
        InputContractError: when they do not have the same batches.
    """
    readers = [iter(codes[unit]()) for unit in units]
    readers += [iter(reference[unit]()) for unit in reference_units] if reference is not None else []
    while readers:
        parts = [next(reader, None) for reader in readers]
        present = [part for part in parts if part is not None]
        if not present:
            return
        if len(present) < len(parts) or len({part.size for part in present}) > 1:
            raise _row_mismatch("the same batches in every noise unit", "units of different lengths or batches")
        yield Batch(
            present[0].size,
            dict(zip(units, present[: len(units)])),
            dict(zip(reference_units, present[len(units) :])),
        )


def _row_mismatch(required: str, came: str) -> InputContractError:
    return InputContractError.of(
        Reason.ROW_MISMATCH, "codes", required=required, came=came, fix="Measure a release with its own original."
    )
