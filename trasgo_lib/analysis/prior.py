"""A public prior from an earlier published release: what its noise lets through, and what it hides said in words."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from trasgo_lib.analysis.columns import MISSING, NoisedColumn
from trasgo_lib.analysis.opening import open_release
from trasgo_lib.analysis.prior_document import PriorDraft, figure
from trasgo_lib.analysis.release import Release
from trasgo_lib.analysis.usefulness import NoiseWarning
from trasgo_lib.data import CategoryDomain, DateDomain, Domain
from trasgo_lib.plan.model import PartPlan
from trasgo_lib.release import MANIFEST
from trasgo_lib.storage import open_store

MOST_PARTS = 100
"""Most equal parts of a number's domain in a prior: more say nothing more to a choice or a forecast."""


def prior_of_release(location: str | Path, columns: Mapping[str, PartPlan]) -> PriorDraft:
    """A prior from a published release, which is verified first.

    Args:
        location: folder or URI of the release.
        columns: the columns it is wanted for, by name, as the next release declares them.

    Raises:
        VerificationError: the release does not verify.
        StoreError: the location does not exist or does not answer.
    """
    digest = hashlib.sha256(open_store(location, create=False).get(MANIFEST)).hexdigest()
    release = open_release(location)
    draft = PriorDraft(
        source=f"Release {release.dataset} version {release.version}, manifest.json SHA-256 {digest}",
        rows=release.rows,
        notes=("Public knowledge for `prior:` in a release file, estimated from published, noised values.",),
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", NoiseWarning)
        known = [name for name, part in columns.items() if _is_comparable(release, part, draft)]
        for name in known:
            _add_column(release, columns[name], draft)
        _add_correlations(release, known, draft)
    noisy = dict.fromkeys(str(one.message) for one in said if issubclass(one.category, NoiseWarning))
    draft.hidden += [f"mostly noise: {words}" for words in noisy]
    return draft


def _is_comparable(release: Release, part: PartPlan, draft: PriorDraft) -> bool:
    """Whether a release says something of a column as it is declared now."""
    column = release.noised.get(part.name)
    if column is None:
        draft.hidden.append(f"{part.name}: not a noised column of that release")
        return False
    if _declared(column.domain) != _declared(part.domain):
        draft.hidden.append(f"{part.name}: declared with another domain there")
        return False
    return True


def _declared(domain: Domain) -> dict[str, object]:
    return {key: value for key, value in domain.describe().items() if key not in ("unit", "output", "ordered")}


def _add_column(release: Release, part: PartPlan, draft: PriorDraft) -> None:
    column = release.noised[part.name]
    cells = len(column.channel.support) - column.has_missing
    if isinstance(column.domain, CategoryDomain) or (_keeps_cells(column) and cells <= MOST_PARTS):
        _add_shares(release, column, part, draft)
        return
    middle, spread = release.mean(column.name), release.variance(column.name)
    if middle.value is None or spread.value is None:
        draft.hidden.append(f"{column.name}: {middle.reason or spread.reason}")
        return
    numbers = column.numbers
    low, high = (0.0, 0.0) if numbers is None else (float(np.nanmin(numbers)), float(np.nanmax(numbers)))
    inside = min(high, max(low, middle.value))
    text = str(np.datetime64(0, "D") + round(inside)) if isinstance(column.domain, DateDomain) else figure(inside)
    missing = release.share(column.name, MISSING).value if column.has_missing and part.missing != "error" else None
    draft.add_moments(column.name, text, math.sqrt(spread.value), min(1.0, max(0.0, missing or 0.0)))
    draft.hidden.append(
        f"{column.name}: its noise does not tell the shape; mean {figure(middle.value)} and deviation stand for a"
        " normal law"
    )


def _keeps_cells(column: NoisedColumn) -> bool:
    """Whether values are kept or replaced whole: shares can then be told, as they cannot under noise on a scale."""
    return "randomized_response" in column.channel.name


def _add_shares(release: Release, column: NoisedColumn, part: PartPlan, draft: PriorDraft) -> None:
    table = release.share(column.name)
    if table.nearest is None:
        reasons = {found.reason for found in table.values() if found.reason}
        draft.hidden.append(f"{column.name}: {'; '.join(sorted(reasons))}")
        return
    # a column that takes no missing value now has no use for their share
    missing = 0.0 if part.missing == "error" else float(table.nearest.get(MISSING, 0.0))
    present = {value: share for value, share in table.nearest.items() if value is not MISSING}
    if sum(present.values()) <= 0:
        draft.hidden.append(f"{column.name}: no value is seen through the noise")
        return
    if isinstance(column.domain, CategoryDomain):
        draft.add_codes(column.name, {str(value): share for value, share in present.items()}, missing)
    else:
        draft.add_parts(column.name, np.array(list(present.values())), missing)
    withheld = [str(value) for value, found in table.items() if found.value is None]
    if withheld:
        draft.hidden.append(
            f"{column.name}: too uncertain to be told alone, and in the shares as they are: {', '.join(withheld)}"
        )


def _add_correlations(release: Release, names: Sequence[str], draft: PriorDraft) -> None:
    hidden: dict[str, list[str]] = {}
    for left, right in combinations(names, 2):
        ours, theirs = release.noised[left], release.noised[right]
        if ours.ranks is None or theirs.ranks is None:
            # labels without an order have no correlation to tell
            continue
        reason = "drawn in one group there"
        if ours.unit != theirs.unit:
            found = release.correlation(left, right)
            if found.value is not None:
                draft.add_correlation(left, right, found.value)
                continue
            reason = found.reason or "no estimate"
        hidden.setdefault(reason, []).append(f"{left} with {right}")
    draft.hidden += [f"correlations of {', '.join(pairs)}: {reason}" for reason, pairs in hidden.items()]
