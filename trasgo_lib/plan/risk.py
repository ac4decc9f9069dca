"""Rules about ``risk``: the audit names columns that are released, each in one part, and bins that fit them."""

from __future__ import annotations

from trasgo_lib.config import DateColumn, KeyPath, NumberColumn, ReleaseConfig, RiskSpec, closest
from trasgo_lib.errors import Reason
from trasgo_lib.plan.domains import compile_domain
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.parts import released_names


def check_risk(config: ReleaseConfig, faults: FaultCollector) -> None:
    """Check what the risk audit names; it is in no digest, since it changes no draw."""
    risk = config.risk
    if risk is None:
        return
    released = [column.name for column in config.columns if released_names(column)]
    seen: dict[str, str] = {}
    for key, names in (("quasi_identifiers", risk.quasi_identifiers), ("sensitive", risk.sensitive)):
        for place, name in enumerate(names):
            here: KeyPath = ("risk", key, place)
            if name in seen:
                faults.add(
                    Reason.DUPLICATE_COLUMN,
                    here,
                    required="each column once, as quasi-identifier or as sensitive",
                    came=f"`{name}` again, after {seen[name]}",
                    fix="Remove one.",
                )
            elif name not in released:
                faults.add(
                    Reason.UNKNOWN_NAME,
                    here,
                    required=f"a column that is released ({', '.join(released) or 'none so far'})",
                    came=f"`{name}`",
                    fix=f"{closest(name, released)}Name columns of this file that are noised or public.",
                )
            seen.setdefault(name, key)
    _check_bins(config, risk, frozenset(seen), faults)


def _check_bins(config: ReleaseConfig, risk: RiskSpec, named: frozenset[str], faults: FaultCollector) -> None:
    columns = {column.name: (place, column) for place, column in enumerate(config.columns)}
    for name, count in risk.bins.items():
        here: KeyPath = ("risk", "bins", name)
        place, column = columns.get(name, (0, None))
        if name not in named or not isinstance(column, NumberColumn | DateColumn):
            faults.add(
                Reason.BAD_PARAMETER,
                here,
                required="bins only for numbers and dates among quasi_identifiers and sensitive",
                came=f"`{name}`",
                fix="Remove it, or name the column there.",
            )
            continue
        # faults of the domain itself are noted where it is compiled
        domain = compile_domain(column, ("columns", place), FaultCollector(faults.loaded))
        if domain is not None and not 2 <= count <= domain.size:
            faults.add(
                Reason.BAD_PARAMETER,
                here,
                required=f"a whole number of bins from 2 to {domain.size}",
                came=str(count),
                fix="Use another number of bins.",
            )
