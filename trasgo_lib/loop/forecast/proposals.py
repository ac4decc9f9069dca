"""Groups that a person proposes, beside those of the release file."""

from __future__ import annotations

from collections.abc import Sequence

from trasgo_lib.data import ProductDomain, ProductPart
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.loop.forecast.population import PublicKnowledge
from trasgo_lib.plan import ReleasePlan


def proposed_group(plan: ReleasePlan, names: Sequence[str], known: PublicKnowledge) -> ProductDomain:
    """The product of some columns, numbers in the bins of their noise.

    Args:
        plan: public.
        names: columns, as a person typed them.
        known: what is known of the plan's columns.

    Raises:
        ConfigError: names that are no columns or of which nothing is known, points, numbers without bins, a product
            that is too large.
    """
    parts = {part.name: part for unit in plan.units for part in unit.parts}
    units = {unit.name: unit for unit in plan.units if not unit.parts}
    joined = ",".join(names)
    found: list[ProductPart] = []
    for name in names:
        if name in parts:
            part = parts[name]
            found.append(ProductPart(name, part.domain, part.noise_bins, part.missing == "code"))
            continue
        unit = units.get(name)
        if unit is None or unit.type == "point":
            known_names = ", ".join([*parts, *(other for other, one in units.items() if one.type != "point")])
            raise _refused(joined, f"noised columns: {known_names}", f"`{name}`", "Name columns of the release file.")
        bins = dict(unit.parameters).get("bins")
        if unit.type in ("number", "date") and not isinstance(bins, int):
            fix = "Give it `mechanism: binned_randomized_response` and `noise_bins`, or leave it out."
            raise _refused(joined, "numbers and dates in bins", f"`{name}` without noise_bins", fix)
        found.append(ProductPart(name, unit.domain, bins if isinstance(bins, int) else None, unit.missing == "code"))
    unheard = [name for name in names if known.law(name) is None]
    if unheard:
        fix = "Add them to the prior, or pass --assume-uniform."
        raise _refused(joined, "columns that the prior speaks of", ", ".join(unheard), fix)
    return ProductDomain(found)


def _refused(group: str, required: str, came: str, fix: str) -> ConfigError:
    return ConfigError.of(Reason.BAD_PARAMETER, f"--group {group}", required=required, came=came, fix=fix)
