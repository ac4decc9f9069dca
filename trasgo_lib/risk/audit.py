"""The audit as a whole: measures of the original and the released rows, and attacks on the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.amounts import Epsilon
from trasgo_lib.config import RiskSpec
from trasgo_lib.data import ProductDomain
from trasgo_lib.mechanisms import margin
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import ReleasePlan
from trasgo_lib.risk.classes import count_classes
from trasgo_lib.risk.columns import PublicReaders, Reader, Readers, RiskColumn, encode_public, part_codes, risk_columns
from trasgo_lib.risk.inference import Inference, infer
from trasgo_lib.risk.linkage import Linkage, link_records
from trasgo_lib.risk.measures import ClassSizes, SensitiveMeasures, class_sizes, sensitive_measures
from trasgo_lib.risk.visible import visible_values

PURPOSE = (
    "Descriptive. It decides nothing: no epsilon, no level and no publication. The protection of this release is the "
    "epsilon of its statement, which holds whatever stands here."
)
"""Stands in every document."""


@dataclass(frozen=True, slots=True)
class VersionRisk:
    """Measures of one version of the rows; private where the rows are.

    Args:
        classes: sizes of the classes of quasi-identifiers.
        sensitive: measures by sensitive column.
    """

    classes: ClassSizes
    sensitive: Mapping[str, SensitiveMeasures]


@dataclass(frozen=True, slots=True)
class RiskAudit:
    """A whole audit; private.

    Args:
        columns: the declared columns, quasi-identifiers first.
        spec: what the release file declares.
        original: the true rows.
        released: the released ones.
        linkage: the record-linkage attack.
        inferences: guesses of each noised sensitive column.
    """

    columns: tuple[RiskColumn, ...]
    spec: RiskSpec
    original: VersionRisk = field(repr=False)
    released: VersionRisk = field(repr=False)
    linkage: Linkage = field(repr=False)
    inferences: tuple[Inference, ...] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: names, class sizes and measures; no value of any column."""
        return {
            "purpose": PURPOSE,
            "quasi_identifiers": list(self.spec.quasi_identifiers),
            "sensitive": list(self.spec.sensitive),
            "bins": dict(self.spec.bins),
            "possible_values": {column.name: column.size for column in self.columns},
            "original": asdict(self.original),
            "released": asdict(self.released),
            "linkage": asdict(self.linkage),
            "inference": [asdict(entry) for entry in self.inferences],
        }


def audit_risk(
    plan: ReleasePlan,
    spec: RiskSpec,
    levels: Mapping[str, Epsilon],
    versions: tuple[Readers, Readers],
    public: PublicReaders,
    rows: int,
    stream: Keystream,
) -> RiskAudit:
    """Audit a release against its original.

    Args:
        plan: the compiled plan.
        spec: what to look at.
        levels: by noise unit, the level that is released.
        versions: how the original's and the release's units are read; row i of both is the same person; private.
        public: how public columns are read.
        rows: number of rows, at least 1.
        stream: words for the choice of targets, used for nothing else.

    Raises:
        InputContractError: too many combinations of values, or too many distinct classes.
    """
    named = {*spec.quasi_identifiers, *spec.sensitive}
    shared, sizes = encode_public({name: read for name, read in public.items() if name in named})
    original, released = ({**readers, **shared} for readers in versions)
    columns = risk_columns(plan, spec, sizes)
    visible = visible_values(plan, levels, spec.quasi_identifiers, sizes)
    epsilon = _epsilon(plan, levels, [entry.column.source for entry in visible])
    return RiskAudit(
        columns=tuple(columns.values()),
        spec=spec,
        original=_version(original, spec, columns),
        released=_version(released, spec, columns),
        linkage=link_records(original, released, visible, rows, spec.linkage_sample, stream, epsilon),
        inferences=tuple(
            _inference(plan, levels, name, columns[name].source, original)
            for name in spec.sensitive
            if name not in sizes
        ),
    )


def _version(readers: Readers, spec: RiskSpec, columns: Mapping[str, RiskColumn]) -> VersionRisk:
    known = [columns[name] for name in spec.quasi_identifiers]
    sizes = class_sizes(count_classes(readers, known))
    found = {}
    # one pass for each column, so that only one table of counts is held
    for name in spec.sensitive:
        column = columns[name]
        joint = count_classes(readers, [*known, column])
        found[name] = sensitive_measures(joint, column.size, is_ordered=column.ordered)
    return VersionRisk(sizes, found)


def _epsilon(plan: ReleasePlan, levels: Mapping[str, Epsilon], sources: Sequence[str]) -> float | str:
    """Epsilon of what an attacker sees, units being independent; or why there is none."""
    units = {unit.name: unit for unit in plan.units}
    if any(source not in units for source in sources):
        return "a quasi-identifier is public, and released as it is"
    if any(units[source].type == "point" for source in sources):
        return "the protection of a point fades with distance"
    channels = [units[source].channel(levels[source]) for source in sources]
    if any(channel.certified_delta for channel in channels):
        return "a quasi-identifier is released with a delta"
    return float(sum(channel.certified_epsilon for channel in channels))


def _inference(
    plan: ReleasePlan, levels: Mapping[str, Epsilon], name: str, source: str, original: Readers
) -> Inference:
    unit = plan.unit(source)
    channel = unit.channel(levels[source])
    epsilon = _epsilon(plan, levels, [source])
    domain, own = part_codes(unit, name)
    counts = _own_counts(original[source], own, domain.size + 1)
    if isinstance(unit.domain, ProductDomain):
        channel = margin(channel, unit.domain, name)
        epsilon = float(channel.certified_epsilon)
    return infer(name, channel, counts[: channel.inputs], None if isinstance(epsilon, str) else epsilon)


def _own_counts(read: Reader, own: NDArray[np.int32], size: int) -> NDArray[np.int64]:
    counts = np.zeros(size, dtype=np.int64)
    for codes in read():
        counts += np.bincount(own[codes], minlength=size)
    return counts
