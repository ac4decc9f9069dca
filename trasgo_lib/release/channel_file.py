"""``channel.json``: the law of every noised column, so that anyone can rebuild, check and undo it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.checks import domain_types, published_parts
from trasgo_lib.data import ProductDomain
from trasgo_lib.mechanisms import margin
from trasgo_lib.release.statement import draw_document
from trasgo_lib.reporting import ReleaseFacts
from trasgo_lib.reporting.wording import claim_suffix

if TYPE_CHECKING:
    from trasgo_lib.mechanisms import Channel
    from trasgo_lib.plan import UnitPlan

_END_DIGITS = 12
"""Significant digits of end scores: closed forms, so machines agree far beyond."""

_VARIANCE_DIGITS = 4
"""Significant digits of variances: some follow from a decoder solved in floats, whose last digits depend on the
machine, and a rerun must write the same bytes."""

_IDENTITY_TOLERANCE = 1e-9


def channel_document(facts: ReleaseFacts) -> dict[str, Any]:
    """The channel file's content, format 1.

    Args:
        facts: what the run states about itself.
    """
    return {
        "format": 1,
        "dataset": facts.plan.dataset,
        "version": facts.plan.version,
        "amounts": "Each amount is that of the one draw of its unit that is published; the claim is in statement.json.",
        "units": [_unit(facts, unit) for unit in facts.plan.units],
    }


def _unit(facts: ReleaseFacts, unit: UnitPlan) -> dict[str, Any]:
    channel = facts.published_channel(unit.name)
    suffix = claim_suffix(facts.plan)
    parts = published_parts(unit.name, unit.columns, unit.domain, unit.missing == "code")
    types = [kind for part in parts for kind in domain_types(part.domain)]
    document = {
        "name": unit.name,
        "columns": [{"name": name, "type": str(kind)} for name, kind in zip(unit.columns, types, strict=True)],
        "mechanism": channel.name,
        "mechanism_version": channel.version,
        "domain": unit.domain.describe(),
        "outside": unit.outside,
        "missing": {
            "policy": unit.missing,
            "code": unit.domain.size if unit.missing == "code" else None,
            "fill_code": unit.fill,
        },
        "draw": draw_document(channel.event, suffix),
        f"certified_epsilon{suffix}": plain(channel.certified_epsilon),
        f"certified_delta{suffix}": plain(channel.certified_delta),
        "parameters": dict(channel.parameters),
        "inputs": channel.inputs,
        "outputs": channel.outputs,
        **difference(channel),
        "channel_digest": channel.digest,
        "chain_digest": unit.chain_digest,
        "decoder": decoder(channel),
        "noise_variance": noise_variance(channel),
    }
    if isinstance(unit.domain, ProductDomain):
        document["margins"] = [
            {**part_of_group(unit, part.name), **margin_document(channel, unit.domain, part.name)}
            for part in unit.domain.parts
        ]
    return document


def part_of_group(unit: UnitPlan, name: str) -> dict[str, Any]:
    """How one column of a group was read, as a unit says it of itself."""
    part = unit.part(name)
    return {
        "column": name,
        "outside": part.outside,
        "missing": {
            "policy": part.missing,
            "code": part.domain.size if part.missing == "code" else None,
            "fill_code": part.fill,
        },
    }


def margin_document(channel: Channel, domain: ProductDomain, name: str) -> dict[str, Any]:
    """What a group's channel does to one of its columns, and how its codes are decoded.

    The margin is that of the unit's ``parameters``: over the column's ``places`` (its codes, or its bins), every place
    but the true one has weight ``other`` out of 2**64. It is no draw of its own and costs nothing beside the unit's.

    Args:
        channel: the group's channel.
        domain: the group's domain.
        name: the column.
    """
    own = margin(channel, domain, name)
    places, codes = domain.places(name), own.support
    return {
        "places": places,
        "other": str(own.weights(codes[0])[codes[1]]),
        "inputs": own.inputs,
        "outputs": own.outputs,
        "decoder": decoder(own),
        "noise_variance": noise_variance(own),
    }


def difference(channel: Channel) -> dict[str, str]:
    """For a coarsened level, how far its weights are from the product of the matrices that ran; nothing for a draw."""
    return {"difference": plain(channel.difference)} if channel.difference else {}


def decoder(channel: Channel) -> dict[str, str]:
    """How an output code is turned into a score with little or no bias, in code steps; the missing code has none.

    ``identity``: the code itself. ``ends``: the code, but for the two end codes. ``parameters``: rebuild the
    channel and take its ``scores``. ``none``: labels and points, whose frequencies are inverted instead.
    """
    scores = channel.scores
    if scores is None:
        return {"kind": "none"}
    values = scores[~np.isnan(scores)]
    distance = np.abs(values - np.arange(len(values), dtype=np.float64))
    moved = set(np.flatnonzero(distance > _IDENTITY_TOLERANCE * len(values)).tolist())
    if not moved:
        return {"kind": "identity"}
    if moved <= {0, len(values) - 1}:
        return {"kind": "ends", "first": rounded(values[0], _END_DIGITS), "last": rounded(values[-1], _END_DIGITS)}
    return {"kind": "parameters"}


def noise_variance(channel: Channel) -> dict[str, str] | None:
    """Variance of the decoded score for the first, middle and last declared value, in squared code steps."""
    moments = channel.moments
    if moments is None:
        return None
    variance: NDArray[np.float64] = moments.variance[~np.isnan(moments.variance)]
    places = {"first": 0, "middle": (len(variance) - 1) // 2, "last": len(variance) - 1}
    return {name: rounded(variance[place], _VARIANCE_DIGITS) for name, place in places.items()}


def rounded(value: float, digits: int) -> str:
    """A float as plain decimal text of that many significant digits."""
    return plain(Decimal(f"{float(value):.{digits}g}"))


def plain(value: Decimal) -> str:
    """A decimal as plain text without trailing zeros or exponent."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
