"""Products of domains: one code for the columns of a group, so that they are noised as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trasgo_lib.data.bins import EqualBins
from trasgo_lib.data.category_domain import CategoryDomain
from trasgo_lib.data.date_domain import DateDomain
from trasgo_lib.data.domain import Codes, Domain, checked_codes
from trasgo_lib.data.number_domain import NumberDomain
from trasgo_lib.errors import ConfigError, InputContractError, Reason

MAX_PRODUCT_CODES = 2**16
"""Above this the kept share at usual levels is so small that a group only adds noise."""


class ProductPart(NamedTuple):
    """One column of a group.

    Args:
        name: the column's name.
        domain: its own declared domain.
        bins: equal bins its codes are cut into, or None to keep every code.
        missing: whether a missing value is one more code, the last, alone in its bin.
    """

    name: str
    domain: Domain
    bins: int | None = None
    missing: bool = False


@dataclass(frozen=True, slots=True)
class ProductDomain:
    """All combinations of the (binned) codes of several columns; the last part varies fastest.

    Args:
        parts: at least two; tuples ``(name, domain, bins)`` or ``(name, domain, bins, missing)`` are taken as well.

    Raises:
        ConfigError: fewer than two parts, a name twice, points, a bad number of bins, or more than 2**16 codes.
    """

    KIND: ClassVar[str] = "product"

    parts: Sequence[ProductPart]
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        parts = tuple(ProductPart(*part) for part in self.parts)
        object.__setattr__(self, "parts", parts)
        names = [part.name for part in parts]
        if len(parts) < 2 or len(set(names)) != len(names):
            raise _bad_group("two or more columns, each named once", ", ".join(names) or "none")
        if any(part.domain.kind not in _KINDS for part in parts):
            raise _bad_group(f"columns of kind {', '.join(_KINDS)}", ", ".join(part.domain.kind for part in parts))
        size = prod(self.places(name) for name in names)
        if size > MAX_PRODUCT_CODES:
            raise _bad_group(f"at most {MAX_PRODUCT_CODES} combinations", f"{size}")
        object.__setattr__(self, "size", size)

    @property
    def kind(self) -> str:
        """``product``."""
        return self.KIND

    def part(self, name: str) -> ProductPart:
        """The part of a column.

        Raises:
            ConfigError: no column of this name.
        """
        found = next((part for part in self.parts if part.name == name), None)
        if found is None:
            raise _bad_group(f"one of {', '.join(part.name for part in self.parts)}", name)
        return found

    def places(self, name: str) -> int:
        """How many (binned) codes a part has, its missing code included."""
        part = self.part(name)
        bins = part.domain.size if part.bins is None else EqualBins(part.domain.size, part.bins).count
        return bins + part.missing

    def tables(self, name: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The place of every code of a part, int32[codes], and the released code of every place, int32[places]."""
        part = self.part(name)
        cut = EqualBins(part.domain.size, part.domain.size if part.bins is None else part.bins)
        of_codes, representatives = cut.of_codes, cut.representatives
        if part.missing:
            of_codes = np.append(of_codes, np.int32(cut.count))
            representatives = np.append(representatives, np.int32(cut.size))
        return of_codes, representatives

    def describe(self) -> dict[str, Any]:
        """Strict JSON: kind, the parts with their own descriptions, size."""
        parts = [
            {"name": part.name, "domain": part.domain.describe(), "bins": part.bins, "missing": part.missing}
            for part in self.parts
        ]
        return {"kind": self.kind, "parts": parts, "size": self.size}

    def encode(self, *values: Codes, **options: Any) -> Codes:
        """One code for the codes of all parts.

        Args:
            *values: int32[rows] of each part's own domain (its missing code, where declared, is one more); private.
            **options: none.

        Raises:
            InputContractError: another number of columns or rows, or codes outside a part; with counts only.
        """
        if len(values) != len(self.parts) or len({len(column) for column in values}) != 1 or options:
            raise InputContractError.of(
                Reason.ROW_MISMATCH,
                "group",
                required=f"{len(self.parts)} columns of equal length",
                came=f"{len(values)} columns",
                fix="Pass the codes of every column of the group, in declared order.",
            )
        code = np.zeros(len(values[0]), dtype=np.int32)
        for part, column in zip(self.parts, values, strict=True):
            of_codes, representatives = self.tables(part.name)
            code = code * np.int32(len(representatives)) + of_codes[checked_codes(column, len(of_codes))]
        return code

    def decode(self, codes: Codes) -> tuple[Codes, ...]:
        """Codes of every part: int32[rows] each; a bin stands as its representative.

        Raises:
            InputContractError: a code outside ``0..size-1``.
        """
        rest = checked_codes(codes, self.size).astype(np.int32)
        columns: list[Codes] = []
        for part in reversed(self.parts):
            representatives = self.tables(part.name)[1]
            rest, place = np.divmod(rest, np.int32(len(representatives)))
            columns.append(representatives[place])
        return tuple(reversed(columns))


_KINDS = {"number": NumberDomain, "category": CategoryDomain, "date": DateDomain}


def _bad_group(required: str, came: str) -> ConfigError:
    return ConfigError.of(
        Reason.BAD_DOMAIN,
        "group",
        required=required,
        came=came,
        fix="Leave columns out of the group, or cut numbers into fewer bins.",
    )
