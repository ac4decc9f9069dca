"""Made-up rows to rehearse a release on: from its public prior where it has one, else evenly spread over the domains.

They are made from a stream that everyone knows and tell nothing of anyone; no source is needed, and none is opened.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data import BoxDomain, CategoryDomain, CellsDomain, DateDomain, Domain, NumberDomain
from trasgo_lib.errors import ConfigError, Reason
from trasgo_lib.loop.forecast import Population, PublicKnowledge
from trasgo_lib.noise import Keystream
from trasgo_lib.plan import PartPlan, ReleasePlan, UnitPlan
from trasgo_lib.plan.prior import PublicPrior
from trasgo_lib.utility import loss_columns

DEFAULT_ROWS = 10_000
FEWEST_ROWS, MOST_ROWS = 100, 10_000_000
"""Rows are made in memory; with fewer no loss can be told."""

DAY_FORMAT = "%Y-%m-%d"
"""How days are written in the made-up file, whatever the real one does."""

_PUBLIC_ROOT = b"trasgo rehearsal: no secret here"
"""Root of the rows: 32 bytes that everyone knows; nothing of a person ever meets them."""

_MADE_UP = "made-up"


@dataclass(frozen=True, slots=True)
class MadeUpRows:
    """Rows of a rehearsal. Public.

    Args:
        count: how many.
        codes: by noised column, int32[rows]; the domain's size where a value is missing.
        from_prior: columns whose values follow the prior.
        spread: columns that nothing is known of, and whose values are evenly spread.
        notes: where the prior could not be followed, in words.
    """

    count: int
    codes: Mapping[str, NDArray[np.int32]] = field(repr=False)
    from_prior: tuple[str, ...]
    spread: tuple[str, ...]
    notes: tuple[str, ...]


def make_up_rows(plan: ReleasePlan, count: int | None) -> MadeUpRows:
    """Make up rows for a plan.

    Args:
        plan: a compiled plan.
        count: how many rows; None: those of the prior, else 10,000.

    Raises:
        ConfigError: too few or too many.
    """
    prior = plan.prior or PublicPrior("", "", None, {}, {})
    rows = count if count is not None else prior.rows or DEFAULT_ROWS
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        required, fix = f"{FEWEST_ROWS} to {MOST_ROWS:,} rows", "Say --rows with a number in that range."
        raise ConfigError.of(Reason.BAD_PARAMETER, "--rows", required=required, came=str(rows), fix=fix)
    columns = loss_columns(plan)
    readings = noised_columns(plan)
    sizes = {name: _codes_of(readings[name]) for name in readings}
    known = PublicKnowledge.of(prior, columns, sizes, assume_uniform=True)
    population = Population.of(known)
    codes = population.codes(rows, _stream("people"))
    codes |= {name: _evenly(sizes[name], rows, _stream("places", name)) for name in known.unknown}
    assumed = [law.name for law in known.laws if law.is_assumed]
    follows = tuple(law.name for law in known.laws if not law.is_assumed)
    return MadeUpRows(rows, codes, follows, (*assumed, *known.unknown), population.notes)


def noised_columns(plan: ReleasePlan) -> dict[str, UnitPlan | PartPlan]:
    """How each noised column is read, by name: its noise unit, or its part of a group."""
    found: dict[str, UnitPlan | PartPlan] = {}
    for column in plan.columns:
        if column.unit is not None:
            unit = plan.unit(column.unit)
            found[column.name] = unit.part(column.name) if unit.parts else unit
    return found


def write_rows(path: Path, plan: ReleasePlan, rows: MadeUpRows) -> None:
    """Write made-up rows as CSV: UTF-8, commas, points, every cell in quotes, days as year-month-day.

    Args:
        path: the file to make.
        plan: a compiled plan; its missing texts are used.
        rows: from ``make_up_rows``.
    """
    readings = noised_columns(plan)
    columns: dict[str, list[str]] = {}
    for column in plan.columns:
        if column.unit is not None:
            texts = _cells(readings[column.name], rows.codes[column.name], plan.config.source.csv.missing)
        elif column.role == "unit":
            texts = (_whose(rows.count, plan.max_rows),)
        else:
            texts = ([_MADE_UP] * rows.count,)
        columns |= dict(zip(column.sources, texts, strict=True))
    with path.open("x", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _stream(*label: str) -> Keystream:
    return Keystream(_PUBLIC_ROOT, *label)


def _codes_of(reading: UnitPlan | PartPlan) -> int:
    return reading.domain.size + (reading.missing == "code")


def _evenly(size: int, rows: int, stream: Keystream) -> NDArray[np.int32]:
    shares = (stream.words(0, rows) >> np.uint64(11)).astype(np.float64) / 2.0**53
    return np.asarray(np.floor(shares * size), dtype=np.int32)


def _whose(rows: int, most: int) -> list[str]:
    """Units that have as many rows as one may have."""
    return [f"{_MADE_UP} {row // most}" for row in range(rows)]


def _cells(reading: UnitPlan | PartPlan, codes: NDArray[np.int32], missing: tuple[str, ...]) -> tuple[list[str], ...]:
    """The cells of a column's one or two columns in the file."""
    size = reading.domain.size
    nothing = (*missing, *reading.missing_codes)
    # where no text means missing, none can be written, and the first value stands for it
    is_missing = codes >= size
    texts = _texts(reading, np.where(is_missing, 0, codes).astype(np.int32))
    if not nothing:
        return texts
    return tuple(
        [nothing[0] if absent else text for text, absent in zip(column, is_missing, strict=True)] for column in texts
    )


def _texts(reading: UnitPlan | PartPlan, codes: NDArray[np.int32]) -> tuple[list[str], ...]:
    domain = reading.domain
    write = _WRITERS[type(domain)]
    if reading.members:
        codes_of = dict(reading.members)
        labels = cast(CategoryDomain, domain).codes
        return ([codes_of[labels[code]][row % len(codes_of[labels[code]])] for row, code in enumerate(codes)],)
    distinct, where = np.unique(codes, return_inverse=True)
    return tuple([texts[place] for place in where] for texts in write(domain, distinct.astype(np.int32)))


def _numbers(domain: Domain, codes: NDArray[np.int32]) -> tuple[list[str], ...]:
    numbers = cast(NumberDomain, domain)
    lower, step = Decimal(numbers.lower), Decimal(numbers.step)
    return ([f"{lower + step * int(code):f}" for code in codes],)


def _labels(domain: Domain, codes: NDArray[np.int32]) -> tuple[list[str], ...]:
    return ([cast(CategoryDomain, domain).codes[code] for code in codes],)


def _days(domain: Domain, codes: NDArray[np.int32]) -> tuple[list[str], ...]:
    return ([str(day) for day in cast(DateDomain, domain).decode(codes)],)


def _places(domain: Domain, codes: NDArray[np.int32]) -> tuple[list[str], ...]:
    return tuple([f"{degrees:.7f}" for degrees in side] for side in domain.decode(codes))


_WRITERS: Mapping[type, Callable[[Domain, NDArray[np.int32]], tuple[list[str], ...]]] = {
    NumberDomain: _numbers,
    CategoryDomain: _labels,
    DateDomain: _days,
    BoxDomain: _places,
    CellsDomain: _places,
}
"""By kind of domain, its distinct codes as the texts of one or two columns."""
