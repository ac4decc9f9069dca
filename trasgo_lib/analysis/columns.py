"""The noised columns of a release: their domains, their channels, and the way from published values back to codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trasgo_lib.budget import ApproximateEvent, GeoEvent, LossEvent, PureEvent, RevealEvent
from trasgo_lib.data import CategoryDomain, DateDomain, Domain, NumberDomain, ProductDomain, domain_from_description
from trasgo_lib.errors import InputContractError, Reason, TrasgoError
from trasgo_lib.estimation import SharedNoise, expectation
from trasgo_lib.estimation.decoding import MOST_CODES
from trasgo_lib.mechanisms import Channel, kept_share, margin, rebuild_channel


class _Missing(Enum):
    """The one value that stands for a missing value; no label and no number equals it."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"

    def __str__(self) -> str:
        return "(missing)"


MISSING: Final = _Missing.MISSING
"""A missing value, where a release can hold one: null in the data, and a value like any other in shares."""

Value = object
"""A value of a column as it is published: number, text, ``datetime.date``, or ``MISSING``."""


@dataclass(frozen=True, slots=True)
class NoisedColumn:
    """One published column and the channel its values went through.

    Args:
        name: its name in the release.
        unit: the noise unit it was drawn with; columns of one unit share their noise.
        domain: its declared domain.
        channel: from its private codes to its published codes, the missing code included.
        kept: for a column of a group, the share of rows whose combination its channel keeps; None for others.
    """

    name: str
    unit: str
    domain: Domain
    channel: Channel
    kept: float | None = None

    def noise_with(self, other: NoisedColumn) -> SharedNoise | None:
        """How two columns of one group share their noise; None where it is independent."""
        if self.kept is None or other.unit != self.unit:
            return None
        return SharedNoise(self.kept, self.channel.support, other.channel.support)

    @property
    def is_place(self) -> bool:
        """Whether this is half of a point."""
        return self.domain.kind in ("box", "cells")

    @property
    def has_missing(self) -> bool:
        """Whether a missing value is a code of its own: the last one."""
        return self.channel.inputs > self.domain.size

    @property
    def values(self) -> tuple[Value, ...]:
        """Every value in code order, ``MISSING`` last where it is one."""
        decoded: Any = self.domain.decode(np.arange(self.domain.size, dtype=np.int32))
        listed = decoded.to_pylist() if isinstance(decoded, pa.Array) else decoded.tolist()
        return (*listed, MISSING) if self.has_missing else tuple(listed)

    def encode(self, published: pa.Array) -> NDArray[np.int32]:
        """Codes of published values: int32[rows].

        Raises:
            InputContractError: values outside the domain, or nulls where missing is not a code.
        """
        nulls = published.null_count
        if nulls and not self.has_missing:
            raise _refused(Reason.NULL_VALUE, self.name, "a value in every row", "missing values", _DAMAGED)
        present = published.drop_null() if nulls else published
        if isinstance(self.domain, NumberDomain):
            codes = self.domain.encode(present.to_numpy(zero_copy_only=False), outside="reject")
        else:
            codes = self.domain.encode(present, outside="reject")
        if not nulls:
            return codes
        whole = np.full(len(published), self.domain.size, dtype=np.int32)
        whole[np.asarray(published.is_valid().to_numpy(zero_copy_only=False), dtype=bool)] = codes
        return whole

    def members(self, value: Value) -> NDArray[np.bool_]:
        """Which codes a value stands for, or several: bool[inputs].

        Args:
            value: one value, or a list, tuple, range or set of them.

        Raises:
            InputContractError: a value that the domain does not hold, or none at all.
        """
        several = isinstance(value, list | tuple | set | frozenset | range)
        chosen = np.zeros(self.channel.inputs, dtype=bool)
        for one in cast(Sequence[Value], value) if several else (value,):
            chosen[self._code(one)] = True
        if not chosen.any():
            raise _refused(Reason.BAD_PARAMETER, self.name, "at least one value", "none", "Name values, or pass None.")
        return chosen

    def cells(self) -> tuple[tuple[Value, ...], NDArray[np.bool_]]:
        """What can be told apart: values, and the codes that each stands for, bool[inputs, values].

        Every value stands for itself, but where values are noised in bins only for the bin it represents.

        Raises:
            InputContractError: more than 4096 of them.
        """
        support = list(self.channel.support)
        if len(support) > MOST_CODES:
            fix = "Ask for a value, or for a range of values."
            raise _refused(Reason.BAD_PARAMETER, self.name, f"at most {MOST_CODES} values", f"{len(support)}", fix)
        values = self.values
        if len(support) == self.channel.inputs:
            return values, np.eye(self.channel.inputs, dtype=bool)
        kept = np.zeros((self.channel.outputs, len(support)))
        kept[support, np.arange(len(support))] = 1.0
        nearest = expectation(self.channel, kept).argmax(axis=1)  # int[inputs], the bin that a code is kept in
        return tuple(values[code] for code in support), nearest[:, None] == np.arange(len(support))

    @property
    def numbers(self) -> NDArray[np.float64] | None:
        """What each code counts as in a mean, NaN for missing: float64[inputs]; None where labels have no number.

        Dates count as days since 1970-01-01, whole-number labels as themselves.
        """
        if isinstance(self.domain, NumberDomain):
            values = self.domain.values.astype(np.float64)
        elif isinstance(self.domain, DateDomain):
            values = self.domain.values.astype("datetime64[D]").astype(np.float64)
        elif isinstance(self.domain, CategoryDomain) and self.domain.output == "integer":
            values = np.array([float(label) for label in self.domain.codes])
        else:
            return None
        return self._with_missing(values)

    @property
    def ranks(self) -> NDArray[np.float64] | None:
        """What each code counts as in a correlation: its number, or its place in a declared order; None without one.

        Two labels always have an order for this purpose: the sign of the correlation is that of the second.
        """
        numbers = self.numbers
        if (
            numbers is None
            and isinstance(self.domain, CategoryDomain)
            and (self.domain.ordered or self.domain.size == 2)
        ):
            return self._with_missing(np.arange(self.domain.size, dtype=np.float64))
        return numbers

    def _with_missing(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.append(values, np.nan) if self.has_missing else values

    def _code(self, value: Value) -> int:
        if value is MISSING and self.has_missing:
            return self.domain.size
        try:
            return self._place(value)
        except (TrasgoError, ValueError, TypeError, OverflowError):
            required = self._domain_words()
            raise _refused(
                Reason.OUT_OF_DOMAIN, self.name, required, repr(value), "Ask for a declared value."
            ) from None

    def _place(self, value: Any) -> int:
        if isinstance(self.domain, CategoryDomain):
            return list(self.domain.codes).index(value if isinstance(value, str) else str(int(value)))
        if isinstance(self.domain, NumberDomain):
            code = self.domain.encode(np.array([value], dtype=np.float64), outside="reject")
            exact = float(self.domain.decode(code)[0]) == float(value)
        else:
            days = np.array([value], dtype="datetime64[D]")
            code = self.domain.encode(days, outside="reject")
            exact = bool(self.domain.decode(code)[0] == days[0])
        if not exact:
            raise ValueError("between two values of the grid")
        return int(code[0])

    def _domain_words(self) -> str:
        missing = ", or MISSING" if self.has_missing else ""
        if isinstance(self.domain, CategoryDomain):
            return f"one of {', '.join(self.domain.codes[:_SHOWN])}{' ...' * (self.domain.size > _SHOWN)}{missing}"
        described = self.domain.describe()
        return f"{described['lower']} to {described['upper']} in steps of {described['step']}{missing}"

    @property
    def summary(self) -> str:
        """Domain and mechanism in a few words."""
        words = f"half of a point, one of {self.domain.size:,} cells" if self.is_place else self._domain_words()
        return f"{words}; {self.channel.name}, {_amount(self.channel.event)}"


def _amount(event: LossEvent) -> str:
    match event:
        case GeoEvent(geo):
            return f"geo epsilon {geo.text} per km"
        case RevealEvent(level):
            return f"epsilon {level.text}"
        case PureEvent(epsilon) | ApproximateEvent(epsilon):
            return f"epsilon {epsilon.text}"
    raise TypeError(f"{type(event).__name__} is no draw of a channel")


_SHOWN = 8
_DAMAGED = "This copy was changed, or was opened with verify=False: fetch the release again."


def read_columns(channel_file: dict[str, Any]) -> Iterator[NoisedColumn]:
    """The noised columns of a channel file, in its order.

    Args:
        channel_file: the parsed ``channel.json``.

    Raises:
        ConfigError: a domain or channel that cannot be rebuilt.
        VerificationError: weights that prove less than their claim.
    """
    for unit in channel_file["units"]:
        domain = domain_from_description(unit["domain"])
        channel = rebuild_channel(unit["mechanism"], domain, unit["parameters"])
        for column in unit["columns"]:
            name = column["name"]
            if isinstance(domain, ProductDomain):
                own, law = domain.part(name).domain, margin(channel, domain, name)
                yield NoisedColumn(name, unit["name"], own, law, kept_share(channel))
            else:
                yield NoisedColumn(name, unit["name"], domain, channel)


def _refused(reason: Reason, where: str, required: str, came: str, fix: str) -> InputContractError:
    return InputContractError.of(reason, where, required=required, came=came, fix=fix)
