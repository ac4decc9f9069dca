"""From the ``prior`` section of a release file to what a plan knows of the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.config import (
    KeyPath,
    LoadedPrior,
    PlainColumn,
    PointColumn,
    PriorColumn,
    PriorFile,
    ReleaseConfig,
    closest,
    load_prior,
    prior_here,
)
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.plan.digest import canonical_digest
from trasgo_lib.plan.faults import FaultCollector
from trasgo_lib.plan.model import PartPlan
from trasgo_lib.plan.parts import compile_part
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.plan.prior_laws import normal_law, parts_law, place_of, quantile_law
from trasgo_lib.plan.public_file import why_not_public
from trasgo_lib.storage import local_root

_SUM_TOLERANCE = Decimal("0.001")
"""Published tables are rounded; shares within this of 1 are normalised, others are a mistake."""

Parts = Mapping[str, PartPlan | None]
"""By noised column, how it is read; None where its own declaration is at fault."""


@dataclass(slots=True)
class _Reading:
    """One prior while it is compiled: its text and where faults go."""

    prior: LoadedPrior
    faults: FaultCollector

    def refuse(self, path: KeyPath, required: str, came: str, fix: str, reason: Reason = Reason.BAD_PARAMETER) -> None:
        self.faults.found.append(self.prior.fault(reason, path, required=required, came=came, fix=fix))


def compile_prior(config: ReleaseConfig, faults: FaultCollector) -> PublicPrior | None:
    """The prior of a release file, or None when there is none or faults were noted.

    Args:
        config: the release file; only its columns, source and places are looked at beside the prior.
        faults: where faults go.
    """
    before = len(faults.found)
    prior = _loaded(config, faults)
    if prior is None:
        return None
    reading, parts = _Reading(prior, faults), _parts(config, faults)
    shares = _shares(reading, parts)
    correlations = _correlations(reading, parts)
    if len(faults.found) > before:
        return None
    spec = prior.spec
    declared = spec.model_dump(mode="json", exclude={"format"})
    return PublicPrior(
        source=spec.source, digest=canonical_digest(declared), rows=spec.rows, shares=shares, correlations=correlations
    )


def _loaded(config: ReleaseConfig, faults: FaultCollector) -> LoadedPrior | None:
    if not isinstance(config.prior, PriorFile):
        return prior_here(config, faults.loaded.document)
    path = faults.loaded.resolve(config.prior.file)
    came = why_not_public(path, faults.loaded.resolve(config.source.path), restricted_folder(config, faults))
    if came is not None:
        faults.add(
            Reason.BAD_PARAMETER,
            ("prior", "file"),
            required="a file that everyone may read",
            came=came,
            fix="Take a published table or an earlier release (`trasgo prior`); the rows themselves decide nothing.",
        )
        return None
    try:
        return load_prior(path)
    except ConfigError as error:
        # these faults have places of their own, in the other file
        faults.found += error.faults
        return None


def restricted_folder(config: ReleaseConfig, faults: FaultCollector) -> Path | None:
    """The restricted root as a folder, or None when it is none (which is refused elsewhere)."""
    publish = config.publish
    text = publish.restricted or f"{publish.store}/restricted"
    if "://" not in text:
        return faults.loaded.resolve(text)
    try:
        return local_root(text)
    except ConfigError:
        return None


def _parts(config: ReleaseConfig, faults: FaultCollector) -> Parts:
    """Every noised number, date and category; what is wrong with one is noted where it becomes a unit."""
    elsewhere = FaultCollector(faults.loaded)
    return {
        column.name: compile_part(column, ("columns", position), config, elsewhere)
        for position, column in enumerate(config.columns)
        if not isinstance(column, (PlainColumn, PointColumn))
    }


def _is_known(reading: _Reading, name: str, path: KeyPath, parts: Parts) -> bool:
    if name in parts:
        return True
    known = ", ".join(parts) or "none so far"
    reading.refuse(
        path,
        f"a noised number, date or category of this release ({known})",
        f"`{name}`",
        f"{closest(name, parts)}Rename or remove it.",
        Reason.UNKNOWN_NAME,
    )
    return False


def _shares(reading: _Reading, parts: Parts) -> dict[str, NDArray[np.float64]]:
    found: dict[str, NDArray[np.float64]] = {}
    seen: set[str] = set()
    for position, column in enumerate(reading.prior.spec.columns):
        path: KeyPath = ("columns", position)
        if not _is_known(reading, column.name, (*path, "name"), parts):
            continue
        if column.name in seen:
            required, fix = "each column once", "Remove one."
            reading.refuse((*path, "name"), required, f"`{column.name}` again", fix, Reason.DUPLICATE_COLUMN)
            continue
        seen.add(column.name)
        part = parts[column.name]
        law = None if part is None else _law(reading, column, part, path)
        if part is not None and law is not None:
            found[column.name] = _with_missing(reading, law, column, part, path)
    return found


def _law(reading: _Reading, column: PriorColumn, part: PartPlan, path: KeyPath) -> NDArray[np.float64] | None:
    """Shares of the present values over the codes, or None with faults noted."""
    if column.shares is not None:
        return _declared_shares(reading, column, part, (*path, "shares"))
    key = "mean" if column.mean is not None else "quantiles"
    if part.type == "category":
        fix = "Write them as in {north: 0.4, south: 0.6}, each in quotes."
        reading.refuse((*path, key), "shares by code: a category has no scale", key, fix)
        return None
    if column.mean is not None and column.deviation is not None:
        mean = _place(reading, column.mean, part, (*path, "mean"))
        step = Decimal(str(part.domain.describe()["step"]))
        return None if mean is None else normal_law(part.domain.size, mean, float(Decimal(column.deviation) / step))
    return _quantiles(reading, column, part, (*path, "quantiles"))


def _place(reading: _Reading, text: str, part: PartPlan, path: KeyPath) -> float | None:
    place = place_of(part.domain, text)
    if place is not None and 0 <= place <= part.domain.size - 1:
        return place
    facts = part.domain.describe()
    required = f"a value from {facts['lower']} to {facts['upper']}, the declared domain"
    reading.refuse(path, required, repr(text), "Correct it, or widen the domain.")
    return None


def _quantiles(reading: _Reading, column: PriorColumn, part: PartPlan, path: KeyPath) -> NDArray[np.float64] | None:
    declared = sorted((column.quantiles or {}).items(), key=lambda entry: Decimal(entry[0]))
    places = [_place(reading, text, part, (*path, share)) for share, text in declared]
    known = [place for place in places if place is not None]
    if len(known) < len(places):
        return None
    for (share, text), low, high in zip(declared[1:], known[:-1], known[1:], strict=True):
        if high < low:
            required = "values that do not fall from one share to the next larger one"
            reading.refuse((*path, share), required, repr(text), "Correct the order.")
            return None
    return quantile_law(
        part.domain.size, [(float(Decimal(share)), place) for (share, _), place in zip(declared, known, strict=True)]
    )


def _declared_shares(
    reading: _Reading, column: PriorColumn, part: PartPlan, path: KeyPath
) -> NDArray[np.float64] | None:
    texts = _by_code(reading, column.shares, part, path)
    if texts is None:
        return None
    exact = [Decimal(text) for text in texts]
    total = sum(exact, Decimal(0))
    if abs(total - 1) > _SUM_TOLERANCE:
        required = f"shares that sum to 1 within {_SUM_TOLERANCE}"
        reading.refuse(path, required, f"a sum of {total:f}", "Correct them; the share without a value is apart.")
        return None
    shares = np.array([float(share) for share in exact])
    shares /= shares.sum()
    return shares if part.type == "category" else parts_law(part.domain.size, shares)


def _by_code(reading: _Reading, shares: object, part: PartPlan, path: KeyPath) -> list[str] | None:
    """The declared shares in the order of the codes or parts, or None with faults noted."""
    size = part.domain.size
    if isinstance(shares, dict):
        if part.type != "category":
            reading.refuse(path, "a list of shares of equal parts of the domain", "shares by code", "Write a list.")
            return None
        codes = [str(code) for code in part.domain.describe()["codes"]]
        unknown = [code for code in shares if code not in codes]
        for code in unknown:
            fix = f"{closest(code, codes)}Write declared codes; a code left out has share 0."
            reading.refuse((*path, code), f"one of {', '.join(codes)}", f"`{code}`", fix, Reason.UNKNOWN_NAME)
        return None if unknown else [str(shares.get(code, "0")) for code in codes]
    listed = [str(text) for text in shares] if isinstance(shares, tuple) else []
    fits = len(listed) == size if part.type == "category" else 2 <= len(listed) <= size
    if not fits:
        required = f"{size} shares, one for each code" if part.type == "category" else f"2 to {size} equal parts"
        reading.refuse(path, required, f"{len(listed)}", "Correct the list.")
        return None
    return listed


def _with_missing(
    reading: _Reading, law: NDArray[np.float64], column: PriorColumn, part: PartPlan, path: KeyPath
) -> NDArray[np.float64]:
    """Shares of all rows: a missing value is one more code, or the constant that replaces it."""
    missing = float(Decimal(column.missing))
    if part.missing == "code":
        return np.append(law * (1 - missing), missing)
    if missing and part.missing == "error":
        fix = "Remove it here, or give the column another missing policy."
        reading.refuse((*path, "missing"), "no missing values: one stops the run in this column", column.missing, fix)
    if missing and part.fill is not None:
        law = law * (1 - missing)
        law[part.fill] += missing
    return law


def _correlations(reading: _Reading, parts: Parts) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    order = {name: place for place, name in enumerate(parts)}
    for position, correlation in enumerate(reading.prior.spec.correlations):
        path: KeyPath = ("correlations", position)
        known = [
            _is_known(reading, name, (*path, "columns", place), parts) for place, name in enumerate(correlation.columns)
        ]
        if not all(known):
            continue
        first, second = sorted(correlation.columns, key=lambda name: order[name])
        if (first, second) in found:
            came = f"{first} and {second} again"
            reading.refuse((*path, "columns"), "each pair of columns once", came, "Remove one.")
            continue
        found[first, second] = float(Decimal(correlation.value))
    return found
