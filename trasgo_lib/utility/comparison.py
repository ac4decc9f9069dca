"""What a person wants to see of a release beside its original: distributions, correlations, moved points; restricted.

Made from the statistics that the exact losses came from, so no row is read again. Bars are few, whatever the domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.utility.histogram import Histogram, equal_bins
from trasgo_lib.utility.loss_columns import LossColumn
from trasgo_lib.utility.measure import Measurement
from trasgo_lib.utility.points import DISTANCE_EDGES_M, Displacement, PointGrid

MOST_BARS = 30
"""Bars of one column. A number is cut into equal parts of its domain; of labels the most frequent ones stay."""


def comparison_document(measurement: Measurement, columns: Sequence[LossColumn]) -> dict[str, Any]:
    """The comparison as strict JSON; private.

    Args:
        measurement: of the version that is looked at.
        columns: what was measured.
    """
    ours, theirs = measurement.original, measurement.released
    bars = [
        _bars(column, ours.histograms[column.name], theirs.histograms[column.name])
        for column in columns
        if column.grid is None
    ]
    places = [
        {
            "name": column.name,
            **_grid(column.grid),
            "before": ours.histograms[column.name].counts.tolist(),
            "after": theirs.histograms[column.name].counts.tolist(),
            **_moved(theirs.displacements.get(column.name, Displacement())),
        }
        for column in columns
        if column.grid is not None
    ]
    pairs = [
        {"left": left, "right": right, "before": found.value, "after": theirs.pairs[left, right].value}
        for (left, right), found in ours.pairs.items()
    ]
    return {"rows": ours.rows, "method": measurement.losses.method, "columns": bars, "pairs": pairs, "places": places}


def _bars(column: LossColumn, before: Histogram, after: Histogram) -> dict[str, Any]:
    """Counts by bar; ``codes`` is the first code of each, None for all labels that have no bar of their own."""
    if column.kind == "number":
        parts = column.bins if column.bins is not None and column.bins <= MOST_BARS else MOST_BARS
        bins = equal_bins(column.size, parts)
        counts = [one.binned(bins)[:-1].tolist() for one in (before, after)]
        codes: list[int | None] = [*map(int, np.flatnonzero(np.diff(bins, prepend=-1)))]
        kind = "number"
    else:
        kind, kept = "label", _frequent(after.counts[:-1] + before.counts[:-1])
        codes = [*kept]
        counts = [one.counts[kept].tolist() for one in (before, after)]
        if len(kept) < column.size:
            codes.append(None)
            for one, found in zip((before, after), counts, strict=True):
                found.append(int(one.counts[:-1].sum()) - sum(found))
    return {
        "name": column.name,
        "unit": column.unit,
        "kind": kind,
        "codes": codes,
        "before": counts[0],
        "after": counts[1],
        "missing": [int(before.counts[-1]), int(after.counts[-1])],
    }


def _frequent(counts: NDArray[np.int64]) -> list[int]:
    """The labels that get a bar, in code order: all of them, or one fewer than there are bars."""
    if counts.size <= MOST_BARS:
        return list(range(counts.size))
    order = np.lexsort((np.arange(counts.size), -counts))
    return sorted(order[: MOST_BARS - 1].tolist())


def _grid(grid: PointGrid) -> dict[str, Any]:
    layout = grid.layout
    return {
        "grid_rows": layout.rows,
        "grid_columns": layout.columns,
        "places": layout.places.tolist(),
        "aspect": round(layout.aspect, 4),
    }


def _moved(displacement: Displacement) -> dict[str, Any]:
    """How many points moved how far: up to each edge, in metres; the first entry did not leave their cell."""
    counts = list(displacement.distances)
    last = max((place for place, count in enumerate(counts) if count), default=-1)
    return {"edges_m": list(DISTANCE_EDGES_M[: last + 1]), "moved": counts[: last + 1], "mean_m": displacement.mean_m}
