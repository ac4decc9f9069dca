"""Whether released rows can show the losses that targets name: told from channels, for evenly spread values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.config import LoadedConfig
from trasgo_lib.data import Domain, EqualBins, ProductDomain
from trasgo_lib.drafting.findings import Finding, Weight
from trasgo_lib.mechanisms import Channel, margin
from trasgo_lib.mechanisms.expected_loss import (
    CORRELATION_LOSS,
    MOST_INVERTED_CODES,
    MOST_SMOOTH_CODES,
    rows_for_divergence,
)
from trasgo_lib.plan import ReleasePlan, UnitPlan

_USUAL_ROWS = 20_000
"""Where the number of rows is not declared, a loss that takes no more of them is not worth a word."""

_MOST_CODES = {"laplace": MOST_INVERTED_CODES, "staircase": MOST_SMOOTH_CODES, "gaussian": MOST_SMOOTH_CODES}


def examine_visibility(loaded: LoadedConfig, plan: ReleasePlan) -> Iterator[Finding]:
    """Divergences that the noise hides even at the highest level: there the loop climbs the whole ladder for nothing.

    Units that a public prior knows are left to the rehearsal of the loop, which judges them by their own values.

    Args:
        loaded: the release file.
        plan: its plan.
    """
    if plan.loss_from != "released":
        return
    rows = None if plan.prior is None else plan.prior.rows
    for unit in plan.units:
        if unit.target is None or unit.target.loss == CORRELATION_LOSS or unit.type == "point":
            continue
        names = [part.name for part in unit.parts] or [unit.name]
        if plan.prior is not None and rows is not None and all(name in plan.prior.shares for name in names):
            continue
        for name, needed in _needed(unit):
            if needed is None or needed > (rows or _USUAL_ROWS):
                yield _finding(loaded, plan, unit, name, needed, rows)


def _needed(unit: UnitPlan) -> Iterator[tuple[str, int | None]]:
    """From how many rows on each column's divergence is estimated at the unit's highest level; None: from none on."""
    channel = unit.channel(unit.rungs[-1])
    if isinstance(unit.domain, ProductDomain):
        for part in unit.parts:
            own = margin(channel, unit.domain, part.name)
            yield part.name, _rows_of(own, part.domain, part.noise_bins, part.bins)
        return
    noise_bins = dict(unit.parameters).get("bins")
    if unit.domain.size > _MOST_CODES.get(unit.mechanism, unit.domain.size):
        yield unit.name, None
    else:
        cut = noise_bins if isinstance(noise_bins, int) else None
        yield unit.name, _rows_of(channel, unit.domain, cut, unit.bins)


def _rows_of(channel: Channel, domain: Domain, noise_bins: int | None, bins: int | None) -> int | None:
    shares = np.full(channel.inputs, 1.0 / channel.inputs)
    if noise_bins is not None and noise_bins < domain.size:
        cut = EqualBins(domain.size, noise_bins)  # losses of a binned column start from its bins
        whole = np.append(cut.representatives[cut.of_codes], np.arange(domain.size, channel.inputs))
        shares = np.bincount(whole, weights=shares, minlength=channel.inputs).astype(np.float64)
    return rows_for_divergence(channel, shares, _bins_of(domain, bins, channel.inputs))


def _bins_of(domain: Domain, bins: int | None, codes: int) -> NDArray[np.int32]:
    if bins is None:
        return np.arange(codes, dtype=np.int32)
    return np.append(EqualBins(domain.size, bins).of_codes, np.full(codes - domain.size, bins)).astype(np.int32)


def _round(rows: int) -> int:
    """Up to two digits."""
    unit = int(10 ** max(0, len(str(rows)) - 2))
    return -(-rows // unit) * unit


def _finding(
    loaded: LoadedConfig, plan: ReleasePlan, unit: UnitPlan, name: str, needed: int | None, rows: int | None
) -> Finding:
    loss = "" if unit.target is None else unit.target.loss
    level = f"even at epsilon {unit.rungs[-1].text}, the most it can come to,"
    if needed is None:
        seen = f"{name}: {level} {unit.mechanism} noise over {unit.domain.size:,} values hides its {loss}"
    else:
        seen = f"{name}: {level} its {loss} shows from about {_round(needed):,} released rows on"
    words = f"{seen}; while it is hidden the target is not met, and the column climbs its whole ladder"
    fix = "Write mechanism: auto, or binned_randomized_response with noise_bins; or a coarser step, or another target."
    if unit.type in ("category", "group"):
        fix = "Declare fewer codes (domain.hierarchy), or raise epsilon_total."
    is_held = plan.on_unmet == "hold" and (needed is None or (rows is not None and needed > 2 * rows))
    places = {column.name: ("columns", place) for place, column in enumerate(loaded.config.columns)}
    places |= {group.name: ("groups", place) for place, group in enumerate(loaded.config.groups)}
    mark = loaded.document.mark((*places[unit.name], "target"))
    return Finding(Weight.FIX if is_held else Weight.LOOK, words, fix, mark.line, mark.column)
