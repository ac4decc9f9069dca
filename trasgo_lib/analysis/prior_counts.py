"""A public prior from a public file with the release's columns, counted without noise: everyone has that file."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.analysis.prior import MOST_PARTS
from trasgo_lib.analysis.prior_document import PriorDraft
from trasgo_lib.data import CategoryDomain, EqualBins, PrivateTable, read_codes
from trasgo_lib.plan.model import PartPlan


def prior_of_file(table: PrivateTable, columns: Mapping[str, PartPlan], source: str) -> PriorDraft:
    """A prior from the codes of a public file.

    Args:
        table: the file as read; public, whatever the type's name says.
        columns: its columns by name, as the release declares them.
        source: where everyone can find the file, in words.
    """
    draft = PriorDraft(
        source=source,
        rows=table.rows,
        notes=("Public knowledge for `prior:` in a release file, counted from a public file.",),
    )
    codes = {name: read_codes(table.unit(name)) for name in columns}
    for name, part in columns.items():
        _add_column(part, codes[name], draft)
    coded = {name: _numbers(part, codes[name]) for name, part in columns.items()}
    for (left, ours), (right, theirs) in combinations(coded.items(), 2):
        if ours is None or theirs is None:
            continue
        here = ~(np.isnan(ours) | np.isnan(theirs))
        if here.any() and np.ptp(ours[here]) > 0 and np.ptp(theirs[here]) > 0:
            draft.add_correlation(left, right, float(np.corrcoef(ours[here], theirs[here])[0, 1]))
        else:
            draft.hidden.append(f"{left} with {right}: one of them does not vary")
    return draft


def _add_column(part: PartPlan, codes: NDArray[np.int32], draft: PriorDraft) -> None:
    size = part.domain.size
    counts = np.bincount(codes, minlength=size + 1).astype(np.float64)
    present = counts[:size]
    missing = float(counts[size] / max(1.0, counts.sum()))
    if present.sum() == 0:
        draft.hidden.append(f"{part.name}: no values")
    elif isinstance(part.domain, CategoryDomain):
        draft.add_codes(part.name, dict(zip(part.domain.codes, present.tolist(), strict=True)), missing)
    else:
        parts = EqualBins(size, min(MOST_PARTS, size)).of_codes
        draft.add_parts(part.name, np.bincount(parts, weights=present).astype(np.float64), missing)


def _numbers(part: PartPlan, codes: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Codes as numbers, NaN for missing; None for labels without an order."""
    domain = part.domain
    if isinstance(domain, CategoryDomain) and not domain.ordered and domain.size != 2:
        return None
    return np.where(codes < domain.size, codes, np.nan).astype(np.float64)
